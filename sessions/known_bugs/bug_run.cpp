#include "sessions/known_bugs/bug_run.h"

#include <fmt/core.h>

#include <utility>

#include "core/base/fingerprint.h"
#include "core/numeric/hybrid_model.h"
#include "core/trace/block_table_mirror.h"
#include "sessions/explain/explain_names.h"
#include "sessions/explain/explain_step.h"
#include "sessions/known_bugs/recall_prompts.h"
#include "sessions/run/checked_run.h"
#include "sessions/run/drive.h"
#include "sessions/run/run_summary.h"

namespace hybridscope {

Result<BugSide> run_bug_side(Scenario scenario, const LanguageModel& language) {
  if (language.model != nullptr && language.model->vocab_size == kByteVocabulary)
    scenario = with_recall_prompts(std::move(scenario));
  auto plan = plan_scenario(scenario, scenario.name);
  if (!plan.ok()) return plan.error();
  auto created = CheckedRun::create(std::move(plan).value(), {.language = language});
  if (!created.ok()) return created.error();
  CheckedRun& run = created.value();
  const EngineConfig& config = run.engine().config();
  const Names names = make_names(run.engine());
  SummaryBuilder summary(config);
  ExpectationCheck expectation(scenario.expect);
  const KVCacheConfig& cache = config.kv_cache_config;
  BlockTableMirror tables(static_cast<std::int32_t>(cache.groups.size()), cache.num_blocks);
  BugSide side{.scenario = std::move(scenario)};
  if (language.model != nullptr) side.findings.set_runs_replays();
  const auto driven = drive(run, [&](const CheckedStep& step) {
    const StepTrace& trace = step.trace;
    summary.add(trace);
    bool wrong = false;
    side.findings.add(
        trace, step.findings,
        [&](const Finding& finding) { return expectation.expects(finding, names); }, names);
    for (const Finding& finding : step.findings)
      wrong = wrong || rule_info(finding.rule).severity == Severity::error;
    for (const CacheEvent& event : trace.cache_events) tables.apply(event);
    if (wrong && side.first_step == 0) {
      side.first_step = trace.step;
      side.explanation =
          explain_step({.trace = trace,
                        .config = config,
                        .names = names,
                        .scheduler_tables = tables,
                        .findings = step.findings,
                        .own_count =
                            [&](RequestId request) {
                              return side.findings.own_counts().before(trace.step, request);
                            },
                        .chain_words = side.findings.last_chain_words()});
    }
    for (const CacheEvent& event : trace.commit_events) tables.apply(event);
  });
  if (!driven.ok()) return driven.error();
  side.summary = summary.summary();
  side.unmet = expectation.unmet(side.summary);
  if (run.has_language()) side.texts = spoken_words(run.texts(), run.vocab_size(), names);
  return side;
}

bool BugSide::as_declared() const {
  return unmet.empty() && findings.num_unexpected(Severity::error) == 0 &&
         findings.num_unexpected(Severity::warning) == 0;
}

Result<BugRun> run_bug(const BugExhibit& exhibit, const LanguageModel& language) {
  auto faulty = run_bug_side(faulty_scenario(exhibit), language);
  if (!faulty.ok()) return faulty.error();
  auto healthy = run_bug_side(healthy_scenario(exhibit), language);
  if (!healthy.ok()) return healthy.error();
  return BugRun{std::move(faulty).value(), std::move(healthy).value()};
}

}  // namespace hybridscope
