// A plan's results with everything that is said about them.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/plan_job.h"
#include "cli/plan_report.h"
#include "sessions/plan/plan_file.h"

namespace hybridscope {

class PlanStory {
 public:
  // `num_requests`: of the traffic, 0: not known.
  PlanStory(const PlanContents& contents, const Sweep& sweep, std::vector<const PlanGoal*> goals,
            std::int64_t num_requests = 0);
  PlanStory(const PlanStory&) = delete;  // view() refers to this object
  PlanStory& operator=(const PlanStory&) = delete;

  PlanView view() const;
  // Heading, table and reasons.
  std::string text(std::int64_t most_rows) const;

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

}  // namespace hybridscope
