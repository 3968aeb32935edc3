// A field's value as a difference shows it, by the type of the field: enums by name.
#pragma once

#include <string_view>
#include <type_traits>

#include "core/caching/cache_events.h"
#include "core/check/finding.h"
#include "core/metadata/graph_padding.h"
#include "core/state/copy_decision.h"
#include "core/trace/step_trace.h"
#include "sessions/diff/diff_value.h"

namespace hybridscope::value_names {

std::string_view name(CommandKind value);
std::string_view name(CommandOutcome value);
std::string_view name(IgnoredReason value);
std::string_view name(Admission value);
std::string_view name(SkipReason value);
std::string_view name(LookupStop value);
std::string_view name(RowClass value);
std::string_view name(RowOrigin value);
std::string_view name(CUDAGraphMode value);
std::string_view name(CudagraphDispatchReason value);
std::string_view name(StateCopyRule value);
std::string_view name(StateCopyOutcome value);
std::string_view name(CommitOutcome value);
std::string_view name(CacheEventKind value);
std::string_view name(Rule value);
std::string_view name(ContentKind value);
std::string_view name(WriteKind value);

// "post_copy temporal", "attention": a write by what wrote and what was written.
std::string_view write_name(WriteKind kind, ContentKind content);

// `number`: the value as an integer. Not for requests and texts.
template <class T>
DiffValue make_value(std::int64_t number) {
  if constexpr (std::is_enum_v<T>)
    return {DiffValueKind::word, number, name(static_cast<T>(number))};
  else if constexpr (std::is_same_v<T, bool>)
    return {DiffValueKind::flag, number};
  else if constexpr (std::is_same_v<T, std::uint64_t>)
    return {DiffValueKind::hash, number};
  else
    return {DiffValueKind::number, number};
}

}  // namespace hybridscope::value_names
