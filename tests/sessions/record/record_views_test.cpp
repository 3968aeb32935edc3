#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <string>

#include "sessions/explain/explain_names.h"
#include "sessions/explain/explain_step.h"
#include "sessions/record/record_views.h"
#include "sessions/record/speech_json.h"
#include "tests/sessions/record/recorded_run.h"

namespace hybridscope::record_views_test {
namespace {

using test::RecordedRun;

// A scenario's run beside what a player would have of it.
class Replayed {
 public:
  Replayed(const Scenario& scenario, RecordLevel level)
      : run_(scenario, level),
        config_(run_.engine().config()),
        names_(make_names(run_.engine())),
        scheduler_(num_groups(), config_.kv_cache_config.num_blocks),
        worker_(num_groups()),
        views_(config_) {}
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

// What a language model said and held, as JSON and back.

constexpr RequestId kA{0};
constexpr SpeechLimits kLimits{
    .num_requests = 1, .num_groups = 2, .num_blocks = 8, .num_layers = 3, .vocab_size = 50};

StepSpeech everything() {
  return {.step = 3,
          .words = {.prompts = {{kA, {5, 6}}},
                    .tokens = {{kA,
                                {.step = 3,
                                 .position = 2,
                                 .id = 7,
                                 .twin_id = 9,
                                 .was_drafted = true,
                                 .margin = 0.5F,
                                 .divergence = std::numeric_limits<double>::infinity(),
                                 .is_forced = true,
                                 .likely = {{7, 0.75F}},
                                 .twin_likely = {{9, 0.25F}}}}},
                    .rejected = {{kA, {3, 3, 4}}},
                    .taken = {{kA, 1}},
                    .alone = {{kA, {9}}}},
          .compared = {{kA, 1, 4, StateKind::conv, true}},
          .states = {{.step = 3,
                      .request = kA,
                      .row = 0,
                      .group = 1,
                      .layer = 2,
                      .kind = StateKind::conv,
                      .is_read = true,
                      .block = 4,
                      .num_tokens = 2,
                      .first_element = 1,
                      .num_elements = 6,
                      .largest = 0.125}}};
}

TEST(SpeechJson, WhatWasWrittenIsReadBackEqual) {
  const std::string text = speech_to_json(everything()).dump();
  const auto read = read_speech_text(text, 3, kLimits);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read.value(), everything());
}

TEST(SpeechJson, IsAListOfNumbersForEachThing) {
  EXPECT_EQ(speech_to_json(everything())["tokens"].dump(),
            "[[0,2,7,9,1,1,0.5,null,[[7,0.75]],[[9,0.25]]]]");
  EXPECT_EQ(speech_to_json(everything())["states"].dump(), "[[0,0,1,2,0,1,4,2,1,6,0.125]]");
  EXPECT_EQ(speech_to_json({}).dump(), "{}");
}

TEST(SpeechJson, NumbersOutOfRangeAreDamage) {
  const auto error = [](const char* text) { return read_speech_text(text, 3, kLimits).error(); };
  EXPECT_EQ(error(R"({"taken": [[1, 1]]})").message,
            "speech/taken: 1, expected a number from 0 to 0");
  EXPECT_EQ(error(R"({"alone": [[0, [50]]]})").message,
            "speech/alone: 50, expected a number from 0 to 49");
  EXPECT_EQ(error(R"({"compared": [[0, 1, 8, 0, 0]]})").message,
            "speech/compared: 8, expected a number from 0 to 7");
  EXPECT_EQ(error(R"({"states": [[0]]})").message, "speech/states: a value is missing");
  EXPECT_EQ(error(R"({"tokens": 4})").message, "speech/tokens: expected a list");
  EXPECT_EQ(error("[").message, "speech: no JSON");
}

TEST(SpeechJson, TheModelIsReadBackEqual) {
  const SpeechInfo info{.weights = "tiny",
                        .form = NumericForm::chunked,
                        .vocab_size = 50,
                        .layers = {{0, "attention", false}, {1, "GatedDeltaNet", true}}};
  EXPECT_EQ(read_speech_info_text(speech_info_text(&info)).value(), info);
  EXPECT_EQ(speech_info_text(nullptr), "");
  EXPECT_EQ(read_speech_info_text(R"({"weights": "tiny"})").error().message,
            "language model: \"form\" is missing or impossible");
}

}  // namespace

}  // namespace hybridscope::record_views_test
