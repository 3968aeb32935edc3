#include "sessions/cache_report/lookup_report.h"

#include <algorithm>

namespace hybridscope {
namespace {

struct ReasonNames {
  std::string_view slug;
  std::string_view name;
};

constexpr std::array<ReasonNames, kNumMissReasons> kNames = {{
    {"caching_off", "caching off"},
    {"last_token", "last token"},
    {"block_granularity", "block granularity"},
    {"eagle_drop", "eagle drop"},
    {"not_computed", "not yet computed"},
    {"state_missing", "state missing"},
    {"evicted", "evicted"},
}};

}  // namespace

std::string_view miss_reason_slug(MissReason reason) {
  return kNames[static_cast<std::size_t>(reason)].slug;
}

std::string_view miss_reason_name(MissReason reason) {
  return kNames[static_cast<std::size_t>(reason)].name;
}

MissReason LookupReport::main_reason() const {
  return static_cast<MissReason>(std::max_element(lost.begin(), lost.end()) - lost.begin());
}

void CacheTotals::add(const LookupReport& report) {
  ++lookups;
  resumed += report.admission == Admission::resumed ? 1 : 0;
  tokens += report.num_tokens;
  common_tokens += report.common.num_tokens;
  hit_tokens += report.num_hit_tokens;
  lookups_with_common_tokens += report.common.num_tokens > 0 ? 1 : 0;
  lookups_with_hit += report.num_hit_tokens > 0 ? 1 : 0;
  for (std::size_t reason = 0; reason < kNumMissReasons; ++reason)
    lost[reason] += report.lost[reason];
}

}  // namespace hybridscope
