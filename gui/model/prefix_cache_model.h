// The prefix cache lookups of a step: how much of each request was cached, group by group, and why
// not more.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gui/model/picture.h"
#include "gui/model/shown_run.h"

namespace hybridscope {

class Workbench;

// One group's part, as a bar over the request's tokens.
struct LookupBar {
  std::string name;  // "group 1 (mamba2)"
  std::int32_t block_size = 0;
  std::int32_t present_length = 0;  // tokens found
  std::int32_t hit_length = 0;      // tokens it could serve on its own
  std::int32_t miss_token = -1;     // the first token of the first missing block; -1: none
  bool only_ends = false;           // mamba: of the cached tokens only the state at the end counts
  std::string words;                // why not more
};

struct LookupCard {
  RequestId request{};
  std::string name;
  std::string words;            // "hit of 16 tokens, at most 19 (its 20 known tokens - 1)"
  std::int32_t num_tokens = 0;  // known at the lookup
  std::int32_t num_hit_tokens = 0;
  bool admitted = false;
  std::vector<LookupBar> groups;
  // Admitted requests of runs whose cache report is known; else empty.
  std::int32_t num_common_tokens = 0;  // shared with an earlier request
  std::string shared;                  // the request it shares with, and how much was served
  std::vector<std::string> lost;       // one sentence per reason
};

inline constexpr std::string_view kNoLookups =
    "No request was looked up in this step: that happens when a request is admitted, new or after "
    "a preemption.";

inline constexpr std::string_view kLookupsNotTraced = "The trace has no prefix cache lookups.";

// Shown in place of cards.
std::string no_lookups_words(const ShownRun& run);

// "Smallest cacheable prefix: 8 tokens, ...", for any run.
std::string smallest_prefix_line(const EngineConfig& config);

// The last admission of a request before the shown step.
struct EarlierLookup {
  RequestId request{};
  std::string shared;
  std::vector<std::string> lost;  // one sentence per reason
};

// The request's lookup in an earlier step; empty: it was not admitted yet, or was admitted in this
// step, or `cache` is null.
std::optional<EarlierLookup> find_earlier_lookup(const StepView& view, const CacheReport* cache,
                                                 RequestId request);

// `cache`: ShownRun::cache_report(); may be null.
std::vector<LookupCard> make_prefix_cache_model(const StepView& view, const CacheReport* cache);

// What the panel shows. Requires: a step is shown.
Picture prefix_cache_picture(Workbench& workbench);

}  // namespace hybridscope
