// Hashes of the engine's memory in a trace (docs/trace-format.md, States). The healthy trace has
// W = 4 and K = 2: a window has 5 positions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "tests/sessions/judge/judged_run.h"
#include "tests/sessions/judge/trace_lines.h"

namespace hybridscope::test::traced_states_test {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// Blocks 2 and 10 are the running states of "a" and "b".
json states() {
  return json::parse(R"({"1": {"block_ids": [2, 10, -1],
    "before_forward": {"temporal": [20, 100, 0],
                       "conv": [[1, 2, 3, 4, 5], [6, 7, 8, 9, 10], [0, 0, 0, 0, 0]]},
    "after_forward": {"temporal": [21, 101, 0],
                      "conv": [[2, 3, 4, 5, 6], [7, 8, 9, 10, 11], [0, 0, 0, 0, 0]]}}})");
}

TEST(TracedStates, AreReadByGroup) {
  std::vector<json> lines = healthy_trace();
  lines[1]["states"] = states();
  lines.resize(2);
  TraceReader reader("t.jsonl");
  ASSERT_EQ(read_error(reader, lines), "");
  ASSERT_EQ(reader.step().states.size(), 1U);
  const ToldGroup& group = reader.step().states[0];
  EXPECT_EQ(group.group, 1);
  EXPECT_EQ(group.num_positions, 5);
  EXPECT_THAT(group.block_ids, ElementsAre(2, 10, -1));
  EXPECT_THAT(group.before_forward.temporal, ElementsAre(20, 100, 0));
  EXPECT_EQ(group.after_forward.conv.size(), 15U);
  EXPECT_EQ(group.after_forward.conv[5], 7U);
}

TEST(TracedStates, AWindowMayBeASingleNumberAndAKindMayBeLeftOut) {
  std::vector<json> lines = healthy_trace();
  lines[1]["states"] = json::parse(R"({"1": {"block_ids": [2],
    "before_forward": {"conv": [[1]]}, "after_forward": {"conv": [[2]]}}})");
  lines.resize(2);
  TraceReader reader("t.jsonl");
  ASSERT_EQ(read_error(reader, lines), "");
  EXPECT_EQ(reader.step().states[0].num_positions, 1);
  EXPECT_THAT(reader.step().states[0].before_forward.temporal, IsEmpty());
}

struct Case {
  const char* name;
  const char* pointer;  // in "states"; taken out by ""
  const char* value;
  const char* message;  // without "t.jsonl:2: /states"
};
void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

class TracedStatesErrors : public testing::TestWithParam<Case> {};

TEST_P(TracedStatesErrors, NameThePlace) {
  const Case& c = GetParam();
  json told = states();
  const json::json_pointer pointer(c.pointer);
  if (*c.value != '\0')
    told[pointer] = json::parse(c.value);
  else
    told[pointer.parent_pointer()].erase(pointer.back());
  std::vector<json> lines = healthy_trace();
  lines[1]["states"] = told;
  EXPECT_EQ(read_error(lines), std::string("t.jsonl:2: /states") + c.message);
}

const Case kCases[] = {
    {"AGroupIsAMambaGroup", "/0", "{}", "/0: expected the number of a mamba group, found \"0\""},
    {"TheMomentsAreTwo", "/1/after_forward", "", "/1: key \"after_forward\" is missing"},
    {"AHashHas48Bits", "/1/before_forward/temporal/0", "281474976710656",
     "/1/before_forward/temporal/0: expected an integer from 0 to 281474976710655, found "
     "281474976710656"},
    {"EachBlockHasAHash", "/1/before_forward/temporal", "[1, 2]",
     "/1/before_forward/temporal: length 2, expected 3 (as block_ids)"},
    {"AWindowHasItsPositions", "/1/after_forward/conv/1", "[1, 2, 3]",
     "/1/after_forward/conv/1: 3 positions, expected 1 or 5, the same for all blocks of a group"},
    {"BothMomentsTellTheSameStates", "/1/after_forward/temporal", "",
     "/1: before_forward and after_forward have hashes of different states, expected the same"},
};

INSTANTIATE_TEST_SUITE_P(Case, TracedStatesErrors, testing::ValuesIn(kCases),
                         [](const auto& c) { return std::string(c.param.name); });

json told(std::vector<int> blocks, std::vector<int> before, std::vector<int> after) {
  return {{"1",
           {{"block_ids", std::move(blocks)},
            {"before_forward", {{"temporal", std::move(before)}}},
            {"after_forward", {{"temporal", std::move(after)}}}}}};
}

// The state of "a" is in block 5; step 2 copies it to 6 before it runs, step 3 copies 6 to 8.
std::vector<json> told_tail() {
  std::vector<json> lines = shared_tail();
  lines[1]["states"] = told({5}, {0}, {50});
  lines[2]["states"] = told({5, 6}, {50, 50}, {51, 50});
  lines[3]["states"] = told({5, 8}, {51, 50}, {52, 53});
  return lines;
}

TEST(TracedStates, NothingIsFoundWhereMemoryIsWhatTheDecisionsLeave) {
  const Judgement judged = judge(told_tail());
  EXPECT_EQ(judged.error, "");
  EXPECT_THAT(judged.findings, IsEmpty());
}

TEST(TracedStates, AStateThatChangedBetweenTwoStepsIsAFinding) {
  std::vector<json> lines = told_tail();
  lines[3]["states"] = told({5, 8}, {99, 50}, {52, 53});
  EXPECT_THAT(judge(lines).findings, ElementsAre("state-changed step 3 a: expected 51, seen 99"));
}

TEST(TracedStates, ACopyOfACopyIsFollowed) {
  std::vector<json> lines = told_tail();
  lines[3]["states"] = told({5, 8}, {51, 51}, {52, 53});
  EXPECT_THAT(judge(lines).findings, ElementsAre("copy-differs step 3 b: expected 6, seen 51"));
}

// The engine may fill a block with zeros that the trace's hits take for a known one.
TEST(TracedStates, ABlockThatTheEngineFillsWithZerosIsNotKnown) {
  std::vector<json> lines = told_tail();
  lines[3]["states"] = told({5, 8}, {7, 50}, {52, 53});
  lines[3]["scheduler_output"]["new_block_ids_to_zero"] = {5};
  for (const std::string& finding : judge(lines).findings)
    EXPECT_THAT(finding, Not(HasSubstr("state-changed")));
}

TEST(TracedStates, AGroupMayTellNoBlocks) {
  std::vector<json> lines = healthy_trace();
  lines.resize(2);
  lines[1]["states"] = json::parse(R"({"1": {"block_ids": [],
    "before_forward": {"temporal": [], "conv": []},
    "after_forward": {"temporal": [], "conv": []}}})");
  TraceReader reader("t.jsonl");
  ASSERT_EQ(read_error(reader, lines), "");
  EXPECT_EQ(reader.step().states[0].num_positions, 0);
}

TEST(TracedStates, AStepMayTellNothing) {
  std::vector<json> lines = told_tail();
  lines[2].erase("states");
  EXPECT_THAT(judge(lines).findings, IsEmpty());
}

}  // namespace
}  // namespace hybridscope::test::traced_states_test
