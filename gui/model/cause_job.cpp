#include "gui/model/cause_job.h"

#include <chrono>
#include <utility>

#include "core/base/check.h"

namespace hybridscope {

void CauseJob::begin(const RunPlan& plan, const ShownFinding& finding, CheckScope scope) {
  HS_EXPECT(!is_busy());
  std::erase_if(dropped_, [](const std::future<FindingCause>& search) {
    return search.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  });
  finding_ = finding.text;
  search_ = std::async(std::launch::async, [plan, found = finding.finding, scope] {
    return find_cause(plan, found,
                      {.scope = scope, .most_request_steps = kMostUnaskedRequestSteps});
  });
}

void CauseJob::drop() {
  if (is_busy()) dropped_.push_back(std::move(search_));
  search_ = {};
}

std::optional<CauseJob::Found> CauseJob::take() {
  if (!is_busy() || search_.wait_for(std::chrono::milliseconds(1)) != std::future_status::ready)
    return std::nullopt;
  return Found{.finding = std::move(finding_), .cause = search_.get()};
}

}  // namespace hybridscope
