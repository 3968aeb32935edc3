#include "sessions/judge/engine_comparison.h"

#include <fmt/core.h>

#include <utility>

#include "core/base/policy_set.h"
#include "sessions/judge/compare_schedule.h"
#include "sessions/judge/compare_worker.h"
#include "sessions/scenario/settings.h"

namespace hybridscope {
namespace {

Error in_header(const Error& error) { return {error.kind, "/config: " + error.message}; }

EngineDifference refusal(const ComparedStep& step, const Error& error) {
  EngineDifference found = step.difference(EngineDecision::our_engine);
  found.expected = "refuses: " + error.message;
  found.traced = "a step";
  return found;
}

}  // namespace

PolicySet compared_policies(const ForeignHeader& header, const EngineProfile& profile) {
  EngineSettings settings;
  settings.engine = profile;
  settings.runner = header.config.runner;
  settings.policies = header.policies;
  return resolve_policies(settings);
}

Result<EngineComparison> EngineComparison::create(const ForeignHeader& header,
                                                  const PolicySet& policies, RequestName name_of,
                                                  OtherHit other_hit) {
  EngineConfig config = header.config;
  config.policies = policies;
  auto scheduler = EngineScheduler::create(config, other_hit);
  if (!scheduler.ok()) return in_header(scheduler.error());
  auto worker = EngineWorker::create(config, name_of);
  if (!worker.ok()) return in_header(worker.error());
  return EngineComparison(config, std::move(scheduler).value(), std::move(worker).value(),
                          std::move(name_of));
}

EngineComparison::EngineComparison(const EngineConfig& config, EngineScheduler scheduler,
                                   EngineWorker worker, RequestName name_of)
    : config_(config),
      scheduler_(std::move(scheduler)),
      worker_(std::move(worker)),
      name_of_(std::move(name_of)) {}

void EngineComparison::compare(const ForeignStep& step) {
  if (first_difference_) return;
  ++num_steps_;
  first_difference_ = compare_step(step);
  if (!first_difference_) scheduler_.take_output(step);
}

MaybeDifference EngineComparison::compare_step(const ForeignStep& traced) {
  const ComparedStep step{.traced = traced, .config = config_, .name_of = name_of_};
  const auto schedule = scheduler_.schedule(traced);
  if (!schedule.ok()) return refusal(step, schedule.error());
  if (auto found = compare_schedule(step, scheduler_, schedule.value())) return found;
  const auto trace = worker_.run(traced, scheduler_, schedule.value());
  if (!trace.ok()) return refusal(step, trace.error());
  return compare_worker(step, worker_, *trace.value());
}

}  // namespace hybridscope
