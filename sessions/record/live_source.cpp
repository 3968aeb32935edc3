#include "sessions/record/live_source.h"

#include <utility>

namespace hybridscope {

Result<std::unique_ptr<LiveSource>> LiveSource::create(RunPlan plan, RecordLevel level,
                                                       std::string title, CheckScope scope) {
  CheckedRunOptions options;
  options.check = scope;
  return create(std::move(plan), level, std::move(title), std::move(options));
}

Result<std::unique_ptr<LiveSource>> LiveSource::create(RunPlan plan, RecordLevel level,
                                                       std::string title,
                                                       CheckedRunOptions options) {
  auto run = CheckedRun::create(std::move(plan), std::move(options));
  if (!run.ok()) return run.error();
  return std::unique_ptr<LiveSource>(
      new LiveSource(std::move(run).value(), level, std::move(title)));
}

LiveSource::LiveSource(CheckedRun run, RecordLevel level, std::string title)
    : title_(std::move(title)),
      run_(std::move(run)),
      recorder_(run_.engine().config(), level,
                [this](RequestId request) { return request_name(request); }) {
  if (level == RecordLevel::full) run_.log_writes();
}

std::string LiveSource::request_name(RequestId request) const {
  return run_.engine().name_of(request);
}

Result<const StepStamp*> LiveSource::next() {
  const auto stepped = run_.next();
  if (!stepped.ok()) return stepped.error();
  if (!stepped.value()) return nullptr;
  const CheckedStep& step = *stepped.value();
  recorder_.record(step.trace, step.findings, step.writes, record_);
  if (step.speech != nullptr) record_.speech = *step.speech;
  stamp_ = {.step = step.trace.step, .digests = record_.digests, .counts = record_.counts};
  return &stamp_;
}

}  // namespace hybridscope
