#include "gui/model/open_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "gui/model/graph_padding_model.h"
#include "gui/model/live_run.h"
#include "gui/model/prefix_cache_model.h"
#include "sessions/judge/trace_writer.h"
#include "tests/sessions/record/plan_run.h"
#include "tests/storage/recorded_run.h"

namespace hybridscope::open_run_test {
namespace {

using testing::HasSubstr;

const std::string kScenario =
    std::string(HYBRIDSCOPE_SOURCE_DIR) + "/scenarios/align_boundary_by_accepted_drafts.json";

// The trace of the scenario's run.
std::string trace_of_scenario() {
  const auto live = LiveRun::create(test::plan_of_file(kScenario)).value();
  const Engine& engine = live->player().run().engine();
  TraceWriter writer(live->config(), {.name = live->names().request,
                                      .token = [&](RequestId request, std::int32_t position) {
                                        return engine.token(request, position);
                                      }});
  std::string text = writer.header("engine") + "\n";
  while (live->forward().value()) text += writer.step(live->view().trace) + "\n";
  return text;
}

class OpenRun : public testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name) << text;
    return folder_ / name;
  }
  test::TemporaryFolder folder_;
};

TEST_F(OpenRun, AScenarioRunsLive) {
  const auto run = open_run(kScenario);
  ASSERT_TRUE(run.ok());
  EXPECT_EQ(run.value()->title(), "align boundary by accepted drafts");
  EXPECT_FALSE(run.value()->is_whole());
  EXPECT_NE(run.value()->plan(), nullptr);
}

TEST_F(OpenRun, TrafficRunsLiveByTheDefaultSettings) {
  const std::string file = write("few.jsonl",
                                 "{\"timestamp\": 0, \"input_length\": 600, \"output_length\": 3, "
                                 "\"hash_ids\": [0, 1]}\n"
                                 "{\"timestamp\": 0, \"input_length\": 512, \"output_length\": 3, "
                                 "\"hash_ids\": [0]}\n");
  const auto run = open_run(file);
  ASSERT_TRUE(run.ok()) << run.error().message;
  ASSERT_NE(run.value()->plan(), nullptr);
  EXPECT_EQ(run.value()->plan()->requests.size(), 2u);
  EXPECT_EQ(run.value()->plan()->setup.layout.model.name, "qwen3-next-80b-a3b");
}

TEST_F(OpenRun, TrafficOfEveryFormatIsRecognisedWhateverItsName) {
  const auto chat = open_run(write(
      "chat.json",
      R"([{"conversations": [{"from": "human", "value": "a"}, {"from": "gpt", "value": "b"}]}])"));
  ASSERT_TRUE(chat.ok()) << chat.error().message;
  EXPECT_EQ(chat.value()->plan()->requests.size(), 1U);
  const auto burst =
      open_run(write("b.csv", "Timestamp,Request tokens,Response tokens\n5,10,2\n6,20,3\n"));
  ASSERT_TRUE(burst.ok()) << burst.error().message;
  EXPECT_EQ(burst.value()->plan()->requests.size(), 2U);
}

TEST_F(OpenRun, ATraceIsJudgedAndShownLikeASession) {
  const std::string text = trace_of_scenario();
  const auto run = open_run(write("engine.jsonl", text));
  ASSERT_TRUE(run.ok()) << run.error().message;
  EXPECT_THAT(run.value()->title(), HasSubstr("engine.jsonl"));
  EXPECT_THAT(run.value()->speech().why, HasSubstr("hybridscope judge TRACE --weights DIR"));
  EXPECT_TRUE(run.value()->is_whole());
  EXPECT_EQ(run.value()->plan(), nullptr);
  ASSERT_TRUE(run.value()->forward().value());
  EXPECT_EQ(run.value()->view().trace.rows.size(), 1u);
  EXPECT_EQ(no_lookups_words(*run.value()), kLookupsNotTraced);
  EXPECT_THAT(make_graph_padding_model(*run.value()).words, HasSubstr("does not say why"));
}

TEST_F(OpenRun, OfSeveralTracesTheFirstIsShown) {
  const std::string text = trace_of_scenario();
  const auto one = open_run(write("one.jsonl", text));
  const auto two = open_run(write("two.jsonl", text + text));
  ASSERT_TRUE(two.ok()) << two.error().message;
  EXPECT_THAT(two.value()->title(), HasSubstr("two.jsonl (the first trace of several)"));
  EXPECT_EQ(two.value()->last_known_step(), one.value()->last_known_step());
}

TEST_F(OpenRun, WhatCannotBeReadIsNamed) {
  EXPECT_THAT(open_run(folder_ / "none.json").error().message, HasSubstr("none.json"));
  EXPECT_THAT(open_run(write("bad.json", "{")).error().message, HasSubstr("bad.json"));
  EXPECT_THAT(open_run(write("bad.jsonl", "{}\n")).error().message, HasSubstr("bad.jsonl:1"));
  EXPECT_THAT(open_run(write("empty.jsonl", "")).error().message, HasSubstr("no trace is in it"));
  EXPECT_THAT(open_run(write("no.db", "text")).error().message, HasSubstr("no.db"));
}

}  // namespace
}  // namespace hybridscope::open_run_test
