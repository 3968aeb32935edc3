#include "sessions/judge/trace_judge.h"

#include <utility>

#include "sessions/run/check_setup.h"

namespace hybridscope {

Result<TraceJudge> TraceJudge::create(const ForeignHeader& header) {
  auto importer = ForeignImporter::create(header);
  if (!importer.ok()) return importer.error();
  CheckConfig config = make_check_config(header.config);
  if (header.config.cudagraph_capture_sizes.empty()) config.limits->cudagraph_capture_sizes.clear();
  auto checker = StepChecker::create(config);
  if (!checker.ok()) return checker.error();
  return TraceJudge(std::move(importer).value(), std::move(checker).value());
}

TraceJudge::TraceJudge(ForeignImporter importer, StepChecker checker)
    : importer_(std::move(importer)), checker_(std::move(checker)) {}

Result<JudgedStep> TraceJudge::judge(const ForeignStep& step, CheckScope scope) {
  const auto trace = importer_.import(step);
  if (!trace.ok()) return trace.error();
  ++num_steps_;
  num_request_steps_ += static_cast<std::int64_t>(trace.value()->rows.size());
  const auto findings = checker_.check(*trace.value(), scope);
  return JudgedStep{*trace.value(), findings, importer_.tables(), checker_.writes()};
}

}  // namespace hybridscope
