#include "integrations/python/src/stepped_run.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "integrations/python/src/python_values.h"
#include "sessions/explain/explain_finding.h"
#include "sessions/explain/explain_step.h"
#include "sessions/job/reported_run.h"
#include "sessions/job/session_json.h"

namespace hybridscope {

Result<std::unique_ptr<SteppedRun>> SteppedRun::create(RunOptions options,
                                                       const Backends& backends) {
  if (Status state = check_state_option(options.state); !state.ok()) return state.error();
  if (Status apart = check_given_files(files_of(options)); !apart.ok()) return apart.error();
  auto plan = make_run_plan(options);
  if (!plan.ok()) return plan.error();
  auto run = ReportedRun::create(std::move(plan).value(), options, backends);
  if (!run.ok()) return run.error();
  std::unique_ptr<SteppedRun> stepped(new SteppedRun(std::move(options), std::move(run).value()));
  if (Status begun = stepped->begin_files(); !begun.ok()) return begun.error();
  return stepped;
}

SteppedRun::SteppedRun(RunOptions options, std::unique_ptr<ReportedRun> run)
    : options_(std::move(options)),
      run_(std::move(run)),
      tables_(static_cast<std::int32_t>(run_->engine().config().kv_cache_config.groups.size()),
              run_->engine().config().kv_cache_config.num_blocks) {}

Status SteppedRun::begin_files() {
  auto files = begin_run_files(options_, *run_);
  if (!files.ok()) return files.error();
  files_ = std::move(files).value();
  return Ok{};
}

void SteppedRun::leave_step() {
  if (current_)
    for (const CacheEvent& event : current_->trace.commit_events) tables_.apply(event);
  current_.reset();
}

Result<bool> SteppedRun::step() {
  if (refused_ || unrecorded_ || run_->is_at_its_limit() || run_->has_ended()) return false;
  leave_step();
  SinkOf stood_on([this](const CheckedStep& step) {
    current_.emplace(step);
    return Going::stop;
  });
  StepSink* const sinks[] = {&files_, &stood_on};
  if (const auto driven = run_->drive(sinks); !driven.ok()) {
    unrecorded_ = driven.refused_by == &files_;
    if (!unrecorded_) refused_ = driven.error();
    return driven.error();
  }
  for (const CacheEvent& event : current_->trace.cache_events) tables_.apply(event);
  return true;
}

nlohmann::ordered_json SteppedRun::step_as_json() const {
  return step_to_json(current_->trace, run_->names(), current_->findings);
}

std::vector<nlohmann::ordered_json> SteppedRun::findings() const {
  std::vector<nlohmann::ordered_json> all;
  for (const Finding& finding : current_->findings)
    all.push_back(finding_to_json(finding, run_->names()));
  return all;
}

std::string SteppedRun::explain() const {
  return explain_step(
      {.trace = current_->trace,
       .config = run_->engine().config(),
       .names = run_->names(),
       .scheduler_tables = tables_,
       .findings = current_->findings,
       .own_count =
           [this](RequestId request) { return run_->own_count(current_->trace.step, request); },
       .chain_words = run_->chain_words()});
}

Result<SteppedRun::End> SteppedRun::finish(bool interrupted) {
  if (!refused_)
    if (Status digested = run_->digest_state(); !digested.ok()) refused_ = digested.error();
  const EarlyEnd end{.interrupted = interrupted,
                     .refused = refused_ ? refused_->message : std::string(),
                     .unwritten = unrecorded_,
                     .timings = false};
  if (Status ended = files_.finish(steps_end(*run_, end)); !ended.ok()) return ended.error();
  RunReport report = run_->finish(end);
  const RunOutcome outcome = outcome_of(report, options_.strict);
  return End{std::move(report), outcome_name(outcome)};
}

}  // namespace hybridscope
