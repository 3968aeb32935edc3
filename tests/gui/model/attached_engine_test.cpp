// The workbench attached to an engine that the test plays.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "gui/model/attached_engine.h"
#include "gui/model/workbench.h"
#include "tests/gui/model/drive.h"
#include "tests/sessions/judge/judged_run.h"
#include "tests/support/engine_socket.h"
#include "tests/support/temporary_folder.h"

namespace hybridscope::attached_engine_test {
namespace {

using test::apply;
using testing::HasSubstr;
using testing::StartsWith;

// [header, step 1, ...], each with its newline.
std::vector<std::string> lines_of(const std::vector<nlohmann::json>& trace) {
  std::vector<std::string> lines;
  for (const nlohmann::json& line : trace) lines.push_back(line.dump() + "\n");
  return lines;
}

class Attached : public testing::Test {
 protected:
  // Looks at the engine until this holds, for ten seconds at most.
  template <class Predicate>
  bool until(Predicate holds) {
    const auto start = std::chrono::steady_clock::now();
    const auto now_us = [&] {
      return std::chrono::duration_cast<std::chrono::microseconds>(
                 std::chrono::steady_clock::now() - start)
          .count();
    };
    while (!holds()) {
      if (now_us() > 10'000'000) return false;
      workbench_.advance(10'000, now_us);
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return true;
  }
  bool until_step(std::int64_t step) {
    return until([&] { return workbench_.run() != nullptr && workbench_.run()->step() == step; });
  }
  bool until_newest(std::int64_t step) {
    return until(
        [&] { return workbench_.run() != nullptr && workbench_.run()->last_known_step() == step; });
  }
  AttachedModel model() const {
    return make_attached_model(*workbench_.attached(), workbench_.run());
  }

  const test::TemporaryFolder folder_;
  const std::vector<std::string> lines_ = lines_of(test::trace_of("preemption_and_resume"));
  Workbench workbench_;
};

class AttachedToASocket : public Attached {
 protected:
  void attach() {
    workbench_.attach({.place = "unix:" + (folder_ / "engine"), .record = record_});
    engine_.take_client();
  }
  // Lines of the trace from `first` up to `last`; line 0 is the header, line N is step N.
  void send(std::size_t first, std::size_t last) {
    for (std::size_t i = first; i <= last; ++i) engine_.send(lines_[i]);
  }

  std::string record_;
  test::EngineSocket engine_{folder_ / "engine"};
};

TEST_F(AttachedToASocket, TheNewestStepIsShownAsItComes) {
  attach();
  send(0, 2);
  ASSERT_TRUE(until_step(2));
  EXPECT_EQ(model().state, "live");
  EXPECT_EQ(model().newest, "newest step 2");
  send(3, 3);
  ASSERT_TRUE(until_step(3));
  EXPECT_TRUE(workbench_.attached()->follows());
}

TEST_F(AttachedToASocket, BeforeTheFirstStepTheWindowSaysWhatItWaitsFor) {
  workbench_.attach({.place = "unix:" + (folder_ / "engine")});
  EXPECT_EQ(waiting_words(*workbench_.attached()),
            "Waiting for an engine that listens on unix:" + (folder_ / "engine") + ".");
  engine_.take_client();
  send(0, 0);
  ASSERT_TRUE(until([&] { return workbench_.attached()->status().trace == 1; }));
  EXPECT_THAT(waiting_words(*workbench_.attached()), HasSubstr("first step has not come yet"));
  EXPECT_EQ(workbench_.run(), nullptr);
}

TEST_F(AttachedToASocket, WhoGoesBackStaysThereAndSeesHowManyStepsAreNew) {
  attach();
  send(0, 2);
  ASSERT_TRUE(until_step(2));
  apply(workbench_, {"run.step_back"});
  send(3, 4);
  ASSERT_TRUE(until_newest(4));
  EXPECT_EQ(workbench_.run()->step(), 1);
  EXPECT_EQ(model().newest, "3 new steps");
  apply(workbench_, {"run.end"});
  EXPECT_EQ(workbench_.run()->step(), 4);
  EXPECT_TRUE(workbench_.attached()->follows());
}

TEST_F(AttachedToASocket, FollowingCanBeSwitchedOffAtTheNewestStep) {
  attach();
  send(0, 2);
  ASSERT_TRUE(until_step(2));
  apply(workbench_, {"engine.follow"});
  send(3, 3);
  ASSERT_TRUE(until_newest(3));
  EXPECT_EQ(workbench_.run()->step(), 2);
  apply(workbench_, {"engine.follow"});
  EXPECT_EQ(workbench_.run()->step(), 3);
}

TEST_F(AttachedToASocket, PlayingUpToTheNewestStepGoesOnWithIt) {
  attach();
  send(0, 3);
  ASSERT_TRUE(until_step(3));
  apply(workbench_, {"run.start"});
  apply(workbench_, {"run.speed", "5"});
  apply(workbench_, {"run.play"});
  ASSERT_TRUE(until([&] { return !workbench_.is_moving(); }));
  EXPECT_EQ(workbench_.run()->step(), 3);
  EXPECT_TRUE(workbench_.attached()->follows());
}

TEST_F(AttachedToASocket, AReconnectBringsNoStepTwice) {
  attach();
  send(0, 2);
  ASSERT_TRUE(until_step(2));
  engine_.hang_up();
  ASSERT_TRUE(until([&] { return workbench_.attached()->status().state == AttachState::lost; }));
  EXPECT_THAT(model().state, StartsWith("ended early after step "));
  EXPECT_EQ(workbench_.run()->step(), 2);
  engine_.take_client();
  send(0, 4);
  ASSERT_TRUE(until_step(4));
  EXPECT_EQ(workbench_.run()->marks().size(), 4U);
  EXPECT_EQ(workbench_.attached()->status().trace, 1);
  EXPECT_EQ(model().state, "live");
}

TEST_F(AttachedToASocket, AnotherHeaderBeginsAnotherTrace) {
  attach();
  send(0, 3);
  ASSERT_TRUE(until_step(3));
  send(0, 1);
  ASSERT_TRUE(until_step(1));
  EXPECT_EQ(workbench_.attached()->status().trace, 2);
  EXPECT_EQ(workbench_.run()->last_known_step(), 1);
}

TEST_F(AttachedToASocket, AnotherTraceBehindTheSameHeaderIsReadFromItsBeginning) {
  attach();
  send(0, 3);
  ASSERT_TRUE(until_step(3));
  engine_.hang_up();
  auto others = test::trace_of("preemption_and_resume");
  others[2].erase("cudagraph");
  const auto send_others = [&] {
    for (const std::string& line : lines_of({others[0], others[1], others[2]})) engine_.send(line);
  };
  engine_.take_client();
  send_others();
  engine_.hang_up();  // the client has hung up too, to be sent the first lines again
  engine_.take_client();
  send_others();
  ASSERT_TRUE(until([&] { return workbench_.attached()->status().trace == 2; }));
  ASSERT_TRUE(until_step(2));
  EXPECT_EQ(workbench_.run()->last_known_step(), 2);
}

TEST_F(AttachedToASocket, ABreakpointHoldsTheEngine) {
  attach();
  send(0, 1);
  ASSERT_TRUE(until_step(1));
  apply(workbench_, {"breakpoint.add", "step==3"});
  ASSERT_TRUE(until([&] { return workbench_.attached()->holds(); }));
  send(2, 3);
  EXPECT_EQ(engine_.receive(), "hold");
  engine_.send("{\"control\":\"held\",\"step\":3,\"reason\":\"a client\"}\n");
  ASSERT_TRUE(until([&] { return model().is_held; }));
  EXPECT_THAT(model().hold, StartsWith("held after step 3: step==3"));
  EXPECT_EQ(model().state, "held");
  ASSERT_TRUE(until_step(3));
  EXPECT_EQ(workbench_.breakpoints().list()[0].hits(), 1);
  apply(workbench_, {"engine.continue"});
  EXPECT_EQ(engine_.receive(), "continue");
  engine_.send("{\"control\":\"running\"}\n");
  ASSERT_TRUE(until([&] { return !model().is_held; }));
}

TEST_F(AttachedToASocket, TheWindowSaysWhyAnEngineTellsNoMoreSteps) {
  attach();
  send(0, 1);
  ASSERT_TRUE(until_step(1));
  EXPECT_EQ(model().error, "");
  engine_.send("{\"control\":\"full\",\"reason\":\"its trace has come to the limit\"}\n");
  ASSERT_TRUE(until([&] { return !model().error.empty(); }));
  EXPECT_EQ(model().error, "its trace has come to the limit");
  EXPECT_EQ(model().state, "live");
}

TEST_F(AttachedToASocket, AFindingHoldsTheEngineIfThatIsWanted) {
  auto wrong = test::trace_of("align_boundary_by_accepted_drafts");
  wrong[2]["postprocess_copies"] = nlohmann::json::array();
  const std::vector<std::string> lines = lines_of(wrong);
  attach();
  engine_.send(lines[0] + lines[1]);
  ASSERT_TRUE(until_step(1));
  apply(workbench_, {"engine.hold_at_findings"});
  engine_.send(lines[2] + lines[3]);
  EXPECT_EQ(engine_.receive(), "hold");
  ASSERT_TRUE(until([&] { return model().is_hold_asked; }));
  EXPECT_THAT(model().hold, StartsWith("asked to hold: running-state-wrong: step 3"));
}

TEST_F(AttachedToASocket, WhoLooksElsewhereIsNotTakenToABreak) {
  attach();
  send(0, 2);
  ASSERT_TRUE(until_step(2));
  apply(workbench_, {"run.go_to", "1"});
  apply(workbench_, {"breakpoint.add", "step==3"});
  ASSERT_TRUE(until([&] { return workbench_.attached()->holds(); }));
  send(3, 3);
  EXPECT_EQ(engine_.receive(), "hold");
  ASSERT_TRUE(until([&] { return workbench_.breakpoints().list()[0].hits() == 1; }));
  EXPECT_EQ(workbench_.run()->step(), 1);
  EXPECT_THAT(workbench_.notice().text, StartsWith("step 3: "));
}

TEST_F(AttachedToASocket, TheUserHoldsAndContinuesTheEngine) {
  attach();
  send(0, 1);
  ASSERT_TRUE(until_step(1));
  apply(workbench_, {"engine.hold"});
  EXPECT_EQ(engine_.receive(), "hold");
  engine_.send("{\"control\":\"held\",\"step\":1,\"reason\":\"a client\"}\n");
  ASSERT_TRUE(until([&] { return model().is_held; }));
  EXPECT_EQ(model().hold, "held after step 1: Hold was pressed");
  EXPECT_FALSE(workbench_.apply({"engine.hold"}).ok());
}

TEST_F(AttachedToASocket, ABadLineIsShownAndWhatWasReadStays) {
  attach();
  send(0, 2);
  ASSERT_TRUE(until_step(2));
  engine_.send("{\"step\":\"three\"}\n");
  ASSERT_TRUE(until([&] { return workbench_.attached()->status().state == AttachState::ended; }));
  EXPECT_THAT(model().error, HasSubstr("engine:4: /step: "));
  EXPECT_EQ(workbench_.notice().kind, NoticeKind::error);
  EXPECT_EQ(workbench_.run()->step(), 2);
  send(0, 1);
  ASSERT_TRUE(until_step(1));
  EXPECT_EQ(model().error, "");
  EXPECT_EQ(model().state, "live");
}

TEST_F(AttachedToASocket, TheSessionIsKeptWhereThatIsAskedFor) {
  record_ = folder_ / "runs.db:living";
  attach();
  send(0, 3);
  ASSERT_TRUE(until_step(3));
  apply(workbench_, {"file.close"});
  EXPECT_EQ(workbench_.attached(), nullptr);
  const auto reader = SessionReader::open({.file = folder_ / "runs.db", .name = "living"}).value();
  EXPECT_EQ(reader->info().status, SessionStatus::complete);
  EXPECT_EQ(reader->last_step(), 3);
}

TEST_F(AttachedToASocket, WhatWasReadStaysAfterDetaching) {
  attach();
  send(0, 3);
  ASSERT_TRUE(until_step(3));
  apply(workbench_, {"engine.detach"});
  EXPECT_EQ(workbench_.attached(), nullptr);
  apply(workbench_, {"run.start"});
  EXPECT_EQ(workbench_.run()->step(), 1);
}

TEST_F(AttachedToASocket, AScriptWaitsForAStep) {
  attach();
  std::jthread engine([this] { send(0, 3); });
  apply(workbench_, {"engine.wait", "3"});
  EXPECT_TRUE(workbench_.is_busy());
  ASSERT_TRUE(until([&] { return !workbench_.is_busy(); }));
  EXPECT_EQ(workbench_.run()->step(), 3);
}

class AttachedToAFile : public Attached {
 protected:
  void write(std::size_t first, std::size_t last) {
    for (std::size_t i = first; i <= last; ++i)
      std::ofstream(folder_ / "trace.jsonl", std::ios::app) << lines_[i];
  }
};

TEST_F(AttachedToAFile, ItIsFollowedAsItGrows) {
  workbench_.attach({.place = folder_ / "trace.jsonl"});
  EXPECT_THAT(waiting_words(*workbench_.attached()), StartsWith("Waiting for an engine that wri"));
  write(0, 2);
  ASSERT_TRUE(until_step(2));
  write(3, 4);
  ASSERT_TRUE(until_step(4));
}

TEST_F(AttachedToAFile, AnEngineThatWritesAFileCannotBeHeld) {
  write(0, 1);
  workbench_.attach({.place = folder_ / "trace.jsonl"});
  ASSERT_TRUE(until_step(1));
  EXPECT_FALSE(model().can_hold);
  EXPECT_THAT(workbench_.apply({"engine.hold"}).error().message,
              HasSubstr("trace.jsonl is a file: an engine is reached through unix:PATH only"));
}

TEST_F(AttachedToAFile, ABreakpointOfAFileStopsTheWindowOnly) {
  write(0, 1);
  workbench_.attach({.place = folder_ / "trace.jsonl"});
  ASSERT_TRUE(until_step(1));
  apply(workbench_, {"breakpoint.add", "step==2"});
  ASSERT_TRUE(until([&] { return workbench_.attached()->holds(); }));
  write(2, 4);
  ASSERT_TRUE(until_newest(4));
  EXPECT_EQ(workbench_.run()->step(), 2);
  EXPECT_THAT(workbench_.notice().text, HasSubstr("(not held: "));
}

TEST(AttachedModel, SaysHowFarTheWindowIsBehindWhatIsUnderWay) {
  EXPECT_EQ(behind_words(64, Exactness::counted), "");
  EXPECT_EQ(behind_words(412, Exactness::counted), "412 steps behind");
  EXPECT_EQ(behind_words(12345, Exactness::estimated), "about 12,345 steps behind");
}

}  // namespace
}  // namespace hybridscope::attached_engine_test
