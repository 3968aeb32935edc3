// What would have made a hit longer: changes that were tried, one at a time, by running the plan
// again up to the lookup. A change is told only where the hit really became longer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sessions/cache_report/cacheable_prefix.h"
#include "sessions/cache_report/lookup_report.h"
#include "sessions/run/run_plan.h"

namespace hybridscope {

enum class ChangeKind : std::uint8_t {
  more_shared_tokens,  // amount: tokens more in common with the same request
  longer_prompt,       // amount: tokens more at its end
  later,               // amount: steps
  more_blocks,         // amount: blocks
  shorter_chunks,      // amount: long_prefill_token_threshold
  no_drafts,           // amount: K, 0
  smaller_blocks,      // amount: block_size
  mode_all,            // amount: 0
  caching_on           // amount: 0; mode align
};

std::string_view change_slug(ChangeKind kind);

struct CacheChange {
  ChangeKind kind = ChangeKind::more_shared_tokens;
  std::int64_t amount = 0;          // the smallest that helps, of those that were tried
  std::int32_t num_hit_tokens = 0;  // then
  friend bool operator==(const CacheChange&, const CacheChange&) = default;
};

// "92 more shared tokens", "3 steps later", "K = 0".
std::string change_words(const CacheChange& change);

// Is it less to change? What touches one request, by tokens or steps, is less than more blocks;
// these are less than another size or threshold for every request, and that is less than turning
// something on or off. Of one kind the lower amount is less; else the one with the longer hit.
bool is_smaller_change(const CacheChange& a, const CacheChange& b);

// One lookup, told by names that hold in every run of the plan.
struct LookupOfPlan {
  LookupReport report;
  std::string request;
  std::string other;  // whose prefix it has in common; empty: nobody's
};

class ChangeSearch {
 public:
  // `max_rows`: rows of all steps that may be run for it, over all calls of find(); what would take
  // more is not tried.
  ChangeSearch(const RunPlan& plan, std::int64_t max_rows);

  // The smallest first (is_smaller_change). Only where tokens were lost.
  std::vector<CacheChange> find(const LookupOfPlan& lookup);
  // Is nothing left to try with?
  bool exhausted() const { return rows_left_ <= 0; }

 private:
  using Changes = std::vector<CacheChange>;

  bool helps(const Result<RunPlan>& changed, const LookupOfPlan& lookup, CacheChange change,
             Changes& changes);
  template <class Try>
  void refine(std::int64_t good, std::int64_t bad, const Try& helps_with);
  std::optional<std::int32_t> hit_with(const RunPlan& plan, const LookupOfPlan& lookup);
  void try_shared_tokens(const LookupOfPlan& lookup, Changes& changes);
  void try_longer_prompt(const LookupOfPlan& lookup, Changes& changes);
  void try_later(const LookupOfPlan& lookup, Changes& changes);
  void try_more_blocks(const LookupOfPlan& lookup, Changes& changes);
  void try_shorter_chunks(const LookupOfPlan& lookup, Changes& changes);
  void try_smaller_blocks(const LookupOfPlan& lookup, Changes& changes);
  void try_settings(const LookupOfPlan& lookup, Changes& changes);

  const RunPlan& plan_;
  CacheRules rules_;
  std::int64_t rows_left_;
};

}  // namespace hybridscope
