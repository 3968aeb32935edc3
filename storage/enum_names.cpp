#include <array>

#include "core/caching/cache_hit.h"
#include "core/check/finding.h"
#include "core/metadata/named_arrays.h"
#include "storage/schema.h"

namespace hybridscope {
namespace {

// In the order of each enum.
constexpr auto kNames = std::to_array<EnumName>({
    {"command", 0, "add_request"},
    {"command", 1, "preempt"},
    {"command", 2, "abort"},
    {"command", 3, "reset_prefix_cache"},
    {"command", 4, "set_step_budget"},
    {"command", 5, "set_accepted_tokens"},
    {"command", 6, "set_draft_tokens"},
    {"command", 7, "set_policies"},
});

}  // namespace

std::span<const EnumName> enum_names() { return kNames; }

}  // namespace hybridscope
