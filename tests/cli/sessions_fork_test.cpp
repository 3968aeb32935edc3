// Recorded sessions run again and go other ways.
#include "cli/sessions_command.h"

#include <gmock/gmock.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <filesystem>

#include "cli/process.h"
#include "core/engine/row_inputs_policies.h"
#include "sessions/record/session_plan.h"
#include "sessions/run/checked_run.h"
#include "sessions/scenario/scenario_reader.h"

namespace hybridscope::sessions_fork_test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

struct Said {
  int code = 0;
  std::string out;
  std::string err;
};

class RecordedSessions : public testing::Test {
 protected:
  RecordedSessions() {
    std::filesystem::create_directories(folder_);
    record("before", plan());
  }
  ~RecordedSessions() override { std::filesystem::remove_all(folder_); }

  static RunPlan plan() {
    const std::string file = std::string(HYBRIDSCOPE_SOURCE_DIR) + "/scenarios/v2_slots.json";
    return plan_scenario(read_scenario_file(file).value(), file).value();
  }

  std::string place(const std::string& name) const { return folder_ + "/runs.db:" + name; }

  // Runs `run` and stores it as if it were a run of `kept`.
  void record(const std::string& name, const RunPlan& run, const std::string& kept = "",
              SessionKind kind = SessionKind::run) const {
    CheckedRun checked = CheckedRun::create(run).value();
    const Names names = make_names(checked.engine());
    SessionHeader header;
    header.kind = kind;
    header.source = "v2_slots.json";
    header.engine = "safe";
    header.plan = kept.empty() ? write_session_plan(run) : kept;
    header.config = run.setup.config;
    StepFiles files = StepFiles::begin({.record = {.place = place(name)}},
                                       {.header = [&] { return header; }, .names = names})
                          .value();
    StepSink* const sinks[] = {&files};
    ASSERT_TRUE(drive(checked, sinks).ok());
    ASSERT_TRUE(files.finish({}).ok());
  }

  static Said said_by(const std::function<int()>& command) {
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    Said said;
    said.code = command();
    std::fflush(stdout);
    std::fflush(stderr);
    said.out = testing::internal::GetCapturedStdout();
    said.err = testing::internal::GetCapturedStderr();
    return said;
  }
  Said rerun(const std::string& name, bool json = false) const {
    return said_by([&] { return sessions_rerun_command({.place = place(name), .json = json}); });
  }
  static Said fork(const SessionsForkOptions& options) {
    return said_by([&] { return sessions_fork_command(options); });
  }

 private:
  std::string folder_ = testing::TempDir() + "hybridscope_fork_" + std::to_string(::getpid());
};

TEST_F(RecordedSessions, ReproduceStepByStep) {
  const Said said = rerun("before");
  EXPECT_EQ(said.code, kExitFine);
  EXPECT_THAT(said.out, HasSubstr("runs.db:before reproduces: 6 steps as recorded\n"));
}

TEST_F(RecordedSessions, OneThatDoesNotReproduceSaysFromWhichStepOnAndInWhat) {
  RunPlan other = plan();
  other.requests[0].request.prompt[0].length += 1;
  record("tampered", plan(), write_session_plan(other));
  const Said said = rerun("tampered");
  EXPECT_EQ(said.code, kExitFindings);
  EXPECT_THAT(said.out, HasSubstr("runs.db:tampered does not reproduce here\n"));
  EXPECT_THAT(said.out, HasSubstr("otherwise, first step 1: commands, schedule"));
  EXPECT_THAT(rerun("tampered", true).out, HasSubstr("\"reproduces\": false"));
}

TEST_F(RecordedSessions, OfAnotherEngineCannotRunAgain) {
  record("judged", plan(), "{\"format\":1}", SessionKind::judge);
  const Said said = rerun("judged");
  EXPECT_EQ(said.code, kExitInput);
  EXPECT_THAT(said.err, HasSubstr("runs.db:judged holds the decisions of another engine"));
}

TEST_F(RecordedSessions, AForkIsRecordedWithItsParentAndReproducesItself) {
  SessionsForkOptions options{.place = place("before"), .step = 3, .preempt = {"A"}};
  options.files.record.place = place("after");
  const Said said = fork(options);
  EXPECT_EQ(said.code, kExitFine) << said.err << said.out;
  EXPECT_THAT(said.out, HasSubstr("runs.db:before at step 3: "));
  const RecordedPlan after = open_recorded_plan(place("after")).value();
  EXPECT_EQ(after.info.header.parent_name, "before");
  EXPECT_EQ(after.info.header.forked_at, 3);
  EXPECT_EQ(after.info.status, SessionStatus::complete);
  EXPECT_EQ(rerun("after").code, kExitFine);
  options = {.place = place("after"), .step = 5, .policies = {"row_order=query_len"}};
  EXPECT_EQ(fork(options).code, kExitFine);
}

TEST_F(RecordedSessions, AForkOfOneThatDoesNotReproduceIsRefused) {
  RunPlan other = plan();
  other.requests[0].request.prompt[0].length += 1;
  record("tampered", plan(), write_session_plan(other));
  const Said said = fork({.place = place("tampered"), .step = 6, .budget = 3});
  EXPECT_EQ(said.code, kExitInput);
  EXPECT_THAT(said.err, StartsWith("hybridscope sessions fork: step 1: commands, schedule"));
  EXPECT_THAT(said.err, HasSubstr("does not reproduce here, so it cannot be forked at step 6"));
}

TEST_F(RecordedSessions, WhatAForkCannotDoIsToldInOneLine) {
  const auto error_of = [&](SessionsForkOptions options, int code = kExitInput) {
    options.place = place("before");
    const Said said = fork(options);
    EXPECT_EQ(said.code, code) << said.err;
    return said.err;
  };
  EXPECT_THAT(error_of({.step = 3}, kExitUsage),
              HasSubstr("nothing changes: give at least one of --accept"));
  EXPECT_THAT(error_of({.step = 99, .budget = 1}), HasSubstr("before ends with step 6"));
  EXPECT_THAT(error_of({.step = 3, .accept = {"A"}}, kExitUsage),
              StartsWith("hybridscope sessions fork: --accept A: expected NAME=VALUE"));
  EXPECT_THAT(error_of({.step = 3, .accept = {"A=two"}}, kExitUsage),
              HasSubstr("two is not a number"));
  EXPECT_THAT(error_of({.step = 3, .accept = {"Z=1"}}),
              HasSubstr("fork at step 3: /accept/Z: no request is called \"Z\""));
  EXPECT_THAT(error_of({.step = 3, .policies = {"row=x"}}, kExitUsage),
              HasSubstr("no policy is called row"));
  EXPECT_THAT(error_of({.step = 3, .policies = {"full_attention_cut=every_group"}}),
              HasSubstr("cannot change while an engine runs"));
}

TEST_F(RecordedSessions, WhatAnOptionOfAForkDoesNotTakeIsUsage) {
  const auto usage = [&](SessionsForkOptions options) {
    options.place = place("before");
    const Said said = fork(options);
    EXPECT_EQ(said.code, kExitUsage) << said.err;
    return said.err;
  };
  EXPECT_THAT(usage({.step = 3, .accept = {"A=-1"}}),
              HasSubstr("--accept A=-1: A is -1, expected 1 or more"));
  EXPECT_THAT(usage({.step = 3, .drafts = {"A=-1"}}), HasSubstr("expected 0 or more"));
  EXPECT_THAT(usage({.step = 3, .engine = "nope"}), HasSubstr("nope"));
  SessionsForkOptions taken{.step = 3, .budget = 4};
  taken.files.record.place = place("before");
  EXPECT_THAT(usage(taken), HasSubstr("already"));
}

TEST(SessionsForkOptions, AStepIsFromOneOn) {
  CLI::App app;
  SessionsForkOptions options;
  add_sessions_fork(app, options);
  try {
    app.parse("fork run.db:x --at 0 --budget 7");
    ADD_FAILURE() << "0 was taken";
  } catch (const CLI::ParseError& error) {
    EXPECT_LT(std::string(error.what()).size(), 100u) << error.what();
  }
}

TEST(SessionsForkOptions, AreReadFromTheCommandLine) {
  CLI::App app;
  SessionsForkOptions options;
  CLI::App& command = add_sessions_fork(app, options);
  app.parse(
      "fork run.db:x --at 5 --accept a=b=2 --drafts B=0 --preempt C --abort D --budget 7 "
      "--reset-running --policy no_draft_step=column_zero --engine reference --drop-script");
  EXPECT_TRUE(command.parsed());
  const ForkAt at = fork_of(options).value();
  EXPECT_EQ(at.step, 5);
  EXPECT_TRUE(at.drop_script);
  EXPECT_EQ(at.changes, (ScriptStep{.budget = 7,
                                    .accept = {{"a=b", 2}},
                                    .drafts = {{"B", 0}},
                                    .preempt = {"C"},
                                    .abort = {"D"},
                                    .reset_prefix_cache = PrefixCacheReset::preempting_running,
                                    .engine = EngineProfile::reference,
                                    .policies = {NoDraftStep::column_zero}}));
}

}  // namespace
}  // namespace hybridscope::sessions_fork_test
