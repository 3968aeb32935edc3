// A plan's results with everything that is said about them, in sentences and as a page.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "sessions/plan/plan_file.h"
#include "sessions/plan/plan_goals.h"
#include "sessions/plan/sweep.h"

namespace hybridscope {

// What would be recommended under another step time.
struct PlanSensitivity {
  std::string words;        // "if steps take half as long"
  std::string recommended;  // name of a combination, empty: not all of them were run
};

struct PlanView {
  const PlanHeader& header;
  const Sweep& sweep;
  std::span<const PlanResult> results;  // in the order of the sweep
  std::span<const PlanGoal* const> goals;
  const PlanChoice& choice;
  std::int64_t num_requests = 0;  // of the traffic, 0: not known
  std::span<const PlanSensitivity> sensitivity = {};
};

class PlanStory {
 public:
  // `num_requests`: of the traffic, 0: not known.
  PlanStory(const PlanContents& contents, const Sweep& sweep, std::vector<const PlanGoal*> goals,
            std::int64_t num_requests = 0);
  PlanStory(const PlanStory&) = delete;  // view() refers to this object
  PlanStory& operator=(const PlanStory&) = delete;

  PlanView view() const;

 private:
  std::vector<PlanResult> results_in(std::string_view suffix) const;
  PlanSensitivity sensitivity_of(const OtherStepTime& other) const;

  const PlanContents& contents_;
  const Sweep& sweep_;
  std::vector<const PlanGoal*> goals_;
  std::int64_t num_requests_;
  std::vector<PlanResult> results_;  // in the order of the sweep
  PlanChoice choice_;
  std::vector<PlanSensitivity> sensitivity_;
};

// Indices of results: the front first, the recommended one on top, then the others, at last those
// that did not run to their end.
std::vector<std::size_t> plan_order(const PlanView& view);
bool is_on_front(const PlanView& view, std::size_t result);
bool is_recommended(const PlanView& view, std::size_t result);

inline constexpr std::size_t kMostReasons = 20;

// "overload: this engine needs 88 min for 59 min of arrivals; about 1.5 such engines", of the
// recommended combination; without a step time nothing is said of minutes and engines. Empty: it
// keeps up, or requests wait for others.
std::string overload_words(const PlanView& view);

// "24 of 30 combinations run, 4 not possible, 2 not run".
std::string plan_counts(const PlanView& view);
// "qwen3-next-80b-a3b on trace.jsonl, 1,000 requests; " and the counts.
std::string plan_heading(const PlanView& view);
// Why combinations did not run to their end, a line for each reason:
// "max_num_seqs=256 and 3 more: not possible: ...". Behind `most` of them stands how many others
// there are.
std::vector<std::string> refused_lines(const PlanView& view, std::size_t most = kMostReasons);
// plan_reasons, and "if steps take half as long: the same"; empty: there is no recommendation.
std::vector<std::string> story_lines(const PlanView& view);
// Only "if steps take half as long: the same". Requires: there is a recommendation.
std::vector<std::string> sensitivity_lines(const PlanView& view);

// Why a plan recommends what it does, in sentences that name the numbers.

// One sentence a line: what the recommended result reaches of each goal; for each axis what another
// value would change with everything else equal, as far as it was run; how full the pool was.
// Without a model in the header nothing tells why a block has its size. Requires: there is a
// recommendation.
std::vector<std::string> plan_reasons(const PlanView& view);

// A plan as one self-contained HTML file that opens offline: what is recommended and why, the front
// as a scatter, memory and hits over time of one combination, and all figures in a table
// (docs/plan.md, The page).

// All results together have at most so many pieces in the page: with more, pieces that follow each
// other are added up, equally many in each result that ran.
inline constexpr std::int64_t kMostPagePoints = 100'000;

std::string plan_as_html(const PlanView& view);

}  // namespace hybridscope
