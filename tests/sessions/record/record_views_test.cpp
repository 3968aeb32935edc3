#include "sessions/record/record_views.h"

#include <gtest/gtest.h>

#include "sessions/explain/explain_names.h"
#include "sessions/explain/explain_step.h"
#include "tests/sessions/record/recorded_run.h"

namespace hybridscope::record_views_test {
namespace {

using test::RecordedRun;

// A scenario's run beside what a player would have of it.
class Replayed {
 public:
  Replayed(const Scenario& scenario, RecordLevel level)
      : run_(scenario, level),
        config_(run_.runner().engine().config()),
        names_(make_names(config_.kv_cache_config,
                          [this](RequestId id) { return run_.runner().engine().name_of(id); })),
        scheduler_(num_groups(), config_.kv_cache_config.num_blocks),
        worker_(num_groups()),
        views_(config_) {
    names_.mamba_cache_mode = config_.mamba_cache_mode;
  }
  bool done() const { return run_.done(); }

  // Explains the next step from its own trace and from its record.
  std::pair<std::string, std::string> next() {
    const StepRecord& record = run_.next();
    apply(record.trace.cache_events);
    for (const WorkerTableChange& change : record.worker_changes) worker_.apply(change);
    auto both =
        std::pair(explain(run_.trace(), record), explain(views_.attach(record, worker_), record));
    apply(record.trace.commit_events);
    return both;
  }

 private:
  std::int32_t num_groups() const {
    return static_cast<std::int32_t>(config_.kv_cache_config.groups.size());
  }
  void apply(const std::vector<CacheEvent>& events) {
    for (const CacheEvent& event : events) {
      scheduler_.apply(event);
      if (event.kind == CacheEventKind::table_dropped) worker_.drop(event.request);
    }
  }
  std::string explain(const StepTrace& trace, const StepRecord& record) const {
    return explain_step({.trace = trace,
                         .config = config_,
                         .names = names_,
                         .scheduler_tables = scheduler_,
                         .findings = record.findings});
  }

  RecordedRun run_;
  EngineConfig config_;
  Names names_;
  BlockTableMirror scheduler_;
  WorkerTables worker_;
  RecordViews views_;
};

class RecordViewsOf : public ::testing::TestWithParam<std::string> {};

TEST_P(RecordViewsOf, AFullRecordExplainsItsStepAsTheRunDoes) {
  Replayed replayed(test::shipped_scenario_file(GetParam()), RecordLevel::full);
  int steps = 0;
  for (; !replayed.done(); ++steps) {
    const auto [live, recorded] = replayed.next();
    ASSERT_EQ(recorded, live);
  }
  EXPECT_GT(steps, 1);
}

INSTANTIATE_TEST_SUITE_P(Scenarios, RecordViewsOf,
                         ::testing::ValuesIn(test::shipped_scenario_files()),
                         [](const auto& scenario) {
                           return scenario.param.substr(0, scenario.param.find('.'));
                         });

TEST(RecordViews, ALevelWithoutArraysHasNoMetadata) {
  Replayed replayed(test::shipped_scenario_file("align_boundary_by_decode.json"),
                    RecordLevel::blocks);
  const auto [live, recorded] = replayed.next();
  EXPECT_NE(live.find("Metadata"), std::string::npos);
  EXPECT_EQ(recorded.find("Metadata"), std::string::npos);
  EXPECT_EQ(recorded.substr(recorded.find("\nRows"), 400), live.substr(live.find("\nRows"), 400));
}

}  // namespace
}  // namespace hybridscope::record_views_test
