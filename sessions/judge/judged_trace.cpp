#include "sessions/judge/judged_trace.h"

#include <fmt/core.h>

#include <utility>

#include "core/base/check.h"
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

JudgedTrace::JudgedTrace(std::string file, CheckScope scope)
    : reader_(std::move(file)), scope_(scope), names_(numbered_names()) {}

Result<TraceLine> JudgedTrace::read(PaddedLine text, std::int64_t line) {
  line_ = line;
  return reader_.read_line(text, line);
}

Result<TraceLine> JudgedTrace::read(std::string_view text, std::int64_t line) {
  line_ = line;
  return reader_.read_line(text, line);
}

Status JudgedTrace::begin() {
  judge_.reset();
  auto judge = TraceJudge::create(reader_.header());
  if (!judge.ok()) return at_line(judge.error());
  judge_.emplace(std::move(judge).value());
  names_ =
      make_names(reader_.header().config, [this](RequestId id) { return reader_.name_of(id); });
  return Ok{};
}

Result<JudgedStep> JudgedTrace::judge() {
  HS_EXPECT(judge_.has_value());
  auto judged = judge_->judge(reader_.step(), scope_);
  if (!judged.ok()) return at_line(judged.error());
  return judged;
}

Error JudgedTrace::at_line(const Error& error) const {
  return {error.kind, fmt::format("{}:{}: {}", file(), line_, error.message)};
}

}  // namespace hybridscope
