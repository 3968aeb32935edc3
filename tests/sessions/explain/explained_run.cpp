#include "tests/sessions/explain/explained_run.h"

#include "sessions/explain/explain_step.h"
#include "sessions/run/step_judge.h"

namespace hybridscope::test {

ExplainedRun::ExplainedRun(const EngineConfig& config)
    : engine_(Engine::create(config).value()),
      checker_(StepChecker::create(make_check_config(config)).value()),
      tables_(static_cast<std::int32_t>(config.kv_cache_config.groups.size()),
              config.kv_cache_config.num_blocks),
      names_(make_names(engine_)) {}

RequestId ExplainedRun::add(const std::string& name, std::int32_t prompt, std::int32_t max_tokens,
                            std::int32_t shared) {
  AddRequest request = request_of(prompt, max_tokens, static_cast<std::uint64_t>(name[0]), shared);
  request.name = name;
  return engine_.add_request(request).value();
}

std::string ExplainedRun::step(std::int64_t number) {
  std::string text;
  do {
    trace_ = &engine_.step();
    const auto found = checker_.check(*trace_, CheckScope::all);
    findings_.insert(findings_.end(), found.begin(), found.end());
    for (const CacheEvent& event : trace_->cache_events) tables_.apply(event);
    text = explain_step({.trace = *trace_,
                         .config = engine_.config(),
                         .names = names_,
                         .scheduler_tables = tables_,
                         .findings = found});
    for (const CacheEvent& event : trace_->commit_events) tables_.apply(event);
  } while (trace_->step < number);
  return text;
}

}  // namespace hybridscope::test
