// What would have made a hit longer: each change is tried alone by running the plan again up to the
// lookup. A change is reported only if the hit became longer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sessions/cache_report/lookup_report.h"
#include "sessions/run/run_plan.h"

namespace hybridscope {

enum class ChangeKind : std::uint8_t {
  more_shared_tokens,  // amount: more tokens shared with the same request
  longer_prompt,       // amount: more tokens at the end of the prompt
  later,               // amount: steps
  more_blocks,         // amount: blocks
  shorter_chunks,      // amount: long_prefill_token_threshold
  no_drafts,           // amount: 0 (K)
  smaller_blocks,      // amount: block_size
  mode_all,            // amount: 0
  caching_on,          // amount: 0; turns caching on, in mode align
  keep_states,         // amount: prefix_cache_retention_interval
  match_unit           // amount: prefix_match_unit
};

std::string_view change_slug(ChangeKind kind);

struct CacheChange {
  ChangeKind kind = ChangeKind::more_shared_tokens;
  std::int64_t amount = 0;          // the smallest tried value that helps
  std::int32_t num_hit_tokens = 0;  // with the change
  friend bool operator==(const CacheChange&, const CacheChange&) = default;
};

// "92 more shared tokens", "3 steps later", "K = 0".
std::string change_words(const CacheChange& change);

// Is change `a` the smaller one? A change to one request (tokens or steps) is smaller than more
// blocks; more blocks is smaller than a size or threshold that affects every request; turning a
// feature on or off is the largest. Within one kind the lower amount is smaller, else the longer
// hit.
bool is_smaller_change(const CacheChange& a, const CacheChange& b);

// One lookup, identified by names that hold in every run of the plan.
struct LookupOfPlan {
  LookupReport report;
  std::string request;
  std::string other;  // the request it shares its prefix with; empty: none
};

class ChangeSearch {
 public:
  // `max_rows`: the most rows that all steps run by all calls of find() may have; larger attempts
  // are skipped.
  ChangeSearch(const RunPlan& plan, std::int64_t max_rows);

  // The smallest change first (is_smaller_change). Only for lookups that lost tokens.
  std::vector<CacheChange> find(const LookupOfPlan& lookup);
  // For a hit that ends inside a block: the hit with each coarser prefix_match_unit, up to the
  // block size, with which every hit ends at a block's end. Units that the engine refuses are left
  // out.
  std::vector<CacheChange> coarser_units(const LookupOfPlan& lookup);
  // Is the budget of rows used up?
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
  void try_keeping_states(const LookupOfPlan& lookup, Changes& changes);
  void try_finer_units(const LookupOfPlan& lookup, Changes& changes);
  void try_settings(const LookupOfPlan& lookup, Changes& changes);

  const RunPlan& plan_;
  CacheRules rules_;
  std::int64_t rows_left_;
};

}  // namespace hybridscope
