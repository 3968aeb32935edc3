// A plan's results with everything that is said about them.
#pragma once

#include <array>
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

// Other step times for which a plan says what it would recommend.
struct OtherStepTime {
  double factor;
  std::string_view words;   // "if steps take half as long"
  std::string_view suffix;  // of the results' names
};
inline constexpr std::array kOtherStepTimes = {
    OtherStepTime{0.5, "if steps take half as long", " (step time x0.5)"},
    OtherStepTime{2, "if steps take twice as long", " (step time x2)"}};

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

// The sweep of a result file. Error: its sweeps or settings are not this program's.
Result<Sweep> sweep_of(const PlanHeader& header);

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

// Indices of results: the front first, the recommended one on top, then the others.
std::vector<std::size_t> plan_order(const PlanView& view);
bool is_on_front(const PlanView& view, std::size_t result);
bool is_recommended(const PlanView& view, std::size_t result);

// "qwen3-next-80b-a3b on trace.jsonl, 1,000 requests; 24 of 24 combinations run".
std::string plan_heading(const PlanView& view);
// plan_reasons, and "if steps take half as long: the same"; empty: there is no recommendation.
std::vector<std::string> story_lines(const PlanView& view);
// Only "if steps take half as long: the same". Requires: there is a recommendation.
std::vector<std::string> sensitivity_lines(const PlanView& view);

}  // namespace hybridscope
