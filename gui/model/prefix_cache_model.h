// The prefix cache lookups of a step: how much of each request was cached, group by group, and why
// not more. Also why requests of the whole run hit what they did, and which states of a prompt are
// retained.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/trace/step_trace.h"
#include "gui/model/picture.h"
#include "gui/model/shown_run.h"
#include "sessions/cache_report/cache_report.h"
#include "sessions/explain/explain_decision.h"
#include "sessions/explain/explain_names.h"
#include "sessions/run/run_plan.h"

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

// Why the prefix cache served requests what it did, collected while the run is made.

class CacheLog {
 public:
  // After an edit at most this many steps are made again for the report.
  static constexpr std::int64_t kMostStepsAgain = 4000;

  // Both must outlive this.
  CacheLog(const RunPlan& plan, const Names& names) : plan_(plan), names_(names) {}
  CacheLog(const CacheLog&) = delete;  // the report asks this object for requests
  CacheLog& operator=(const CacheLog&) = delete;

  // Call for every step in order.
  void take(const StepTrace& trace);
  // The plan has changed for the steps after `step`: those already taken are forgotten.
  void forget_after(std::int64_t step);

  // The report on all steps up to `last_known_step`; null: after an edit too many would be made
  // again.
  const CacheReport* report(std::int64_t last_known_step);

 private:
  CacheReport empty_report(const EngineConfig& config) const;
  void make_again(std::int64_t last_step);

  const RunPlan& plan_;
  const Names& names_;
  std::optional<CacheReport> report_;
  std::int64_t last_step_ = 0;  // that was taken
  bool outdated_ = false;       // it has steps that the plan no longer makes
};

// Which states of the selected request's prompt the retention interval keeps in the prefix cache,
// and why the others are dropped (semantics: retention).

// The state at the end of a block.
struct PromptBoundary {
  std::int32_t num_tokens = 0;  // before the state
  bool kept = true;
  std::string why;  // "the end of the prompt", "no multiple of 32, and none of the others kept"
  friend bool operator==(const PromptBoundary&, const PromptBoundary&) = default;
};

struct RetentionModel {
  std::string name;  // of the request
  std::string group_name;
  std::int32_t num_prompt_tokens = 0;
  std::int32_t block_size = 0;
  std::string words;                       // "Retention interval 0 keeps only ..."
  std::vector<PromptBoundary> boundaries;  // ends of blocks within the prompt
  std::string dropped;                     // "Dropped: 8, 16: ..." in a sentence; empty: none is
};

// Boundaries inside blocks have rules of their own.
inline constexpr std::string_view kRetentionHelp =
    "The states at the ends of blocks. The end of a prompt inside a block, and a checkpoint that a "
    "prefill stored on its way, are registered by rules of their own.";

// What the retention rule keeps of the selected request. Empty: no request is selected, it was not
// admitted yet or that is not known, prefix caching is off, or the model has no recurrent state.
// Requires: run.step() > 0.
std::optional<RetentionModel> make_retention_model(ShownRun& run, RequestId selected);

}  // namespace hybridscope
