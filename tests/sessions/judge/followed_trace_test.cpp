#include "sessions/judge/trace_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>

#include "tests/support/engine_socket.h"
#include "tests/support/temporary_folder.h"

namespace hybridscope::followed_trace_test {
namespace {

class FollowedTraceOfASocket : public testing::Test {
 protected:
  // "1 {...}" for a trace line, "held 4 why", "end 7", "running" or "other" for a control line,
  // "ended", "ended in a line".
  std::string next() {
    const auto line = trace_.next();
    if (!line.ok()) return line.error().message;
    const FollowedLine& got = line.value();
    if (got.kind == FollowedLine::Kind::ended) return got.is_cut ? "ended in a line" : "ended";
    if (got.kind == FollowedLine::Kind::trace)
      return std::to_string(got.number) + " " + std::string(got.text.text);
    if (got.control.kind == ControlLine::Kind::held)
      return "held " + std::to_string(got.control.step) + " " + got.control.reason;
    if (got.control.kind == ControlLine::Kind::end)
      return "end " + std::to_string(got.control.step);
    return got.control.kind == ControlLine::Kind::running ? "running" : "other";
  }
  void send(const std::string& text) {
    engine_ = std::jthread([this, text] {
      socket_.take_client();
      socket_.send(text);
      socket_.hang_up();
    });
  }

  const test::TemporaryFolder folder_;
  test::EngineSocket socket_{folder_ / "socket"};
  FollowedInput input_{"unix:" + (folder_ / "socket"), [] { return false; }};
  FollowedTrace trace_{input_};
  std::jthread engine_;
};

TEST_F(FollowedTraceOfASocket, ControlLinesAreApartAndHaveNoNumber) {
  send(R"({"step":1}
{"control":"held","step":1,"reason":"a break"}
 { "control" : "running" }
{"control":"paused","since":3}
{"step":2,"control":"held"}
)");
  EXPECT_EQ(next(), R"(1 {"step":1})");
  EXPECT_EQ(next(), "held 1 a break");
  EXPECT_EQ(next(), "running");
  EXPECT_EQ(next(), "other");
  EXPECT_EQ(next(), R"(2 {"step":2,"control":"held"})");
  EXPECT_EQ(next(), "ended");
}

TEST_F(FollowedTraceOfASocket, AnUnfinishedLineAtTheEndOfAStreamIsDropped) {
  send("{\"step\":1}\n{\"ste");
  EXPECT_EQ(next(), R"(1 {"step":1})");
  EXPECT_EQ(next(), "ended in a line");
  send("{\"step\":1}\n");
  EXPECT_EQ(next(), R"(1 {"step":1})");
}

// It is in the file, too, so it has a number there.
TEST_F(FollowedTraceOfASocket, AnEndMarkTellsTheLastStepAndIsCounted) {
  send("{\"step\":7}\n{\"control\":\"end\",\"step\":7}\n{\"step\":1}\n");
  EXPECT_EQ(next(), R"(1 {"step":7})");
  EXPECT_EQ(next(), "end 7");
  EXPECT_EQ(next(), R"(3 {"step":1})");
  EXPECT_EQ(next(), "ended");
}

TEST(ControlLine, IsOneWhoseFirstMemberIsControl) {
  EXPECT_FALSE(read_control_line(R"({"step":1})"));
  EXPECT_FALSE(read_control_line(R"(["control"])"));
  EXPECT_FALSE(read_control_line(""));
  EXPECT_EQ(read_control_line(R"({"control":"held","step":7,"reason":"r"})"),
            (ControlLine{.kind = ControlLine::Kind::held, .step = 7, .reason = "r"}));
}

TEST(ControlLine, IsOfAnotherKindIfItCannotBeUnderstood) {
  EXPECT_EQ(read_control_line(R"({"control":"full","reason":"r"})"),
            (ControlLine{.kind = ControlLine::Kind::full, .step = 0, .reason = "r"}));
  EXPECT_EQ(read_control_line(R"({"control":17})"), ControlLine());
  EXPECT_EQ(read_control_line(R"({"control":"held")"), ControlLine());
}

using Is = KnownLines::Is;

TEST(KnownLines, RecogniseLinesThatAreSentAgain) {
  KnownLines known;
  EXPECT_EQ(known.take("header"), Is::news);
  EXPECT_EQ(known.take("step 1"), Is::news);
  known.begin_again();
  EXPECT_EQ(known.take("header"), Is::known);
  EXPECT_EQ(known.take("step 1"), Is::known);
  EXPECT_EQ(known.take("step 2"), Is::news);
  EXPECT_EQ(known.count(), 3U);
}

TEST(KnownLines, RecogniseAnotherTrace) {
  KnownLines known;
  known.take("header");
  known.take("step 1");
  known.begin_again();
  EXPECT_EQ(known.take("header"), Is::known);
  EXPECT_EQ(known.take("another step 1"), Is::another);
  EXPECT_EQ(known.position(), 1U);
}

}  // namespace
}  // namespace hybridscope::followed_trace_test
