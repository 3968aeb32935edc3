// Hashes of the engine's memory in a trace (docs/trace-format.md, States). The healthy trace has
// W = 4 and K = 2: a window has 5 positions.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "sessions/judge/trace_writer.h"
#include "tests/sessions/judge/judged_run.h"

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

// Hashes, copies of blocks and states inside a prefill in a trace (docs/trace-format.md).

using testing::Contains;

TEST(TracedCopies, AHitInsideABlockReadsTheCopyOfItsBlocks) {
  const Judgement judgement = judge(shared_tail());
  EXPECT_EQ(judgement.error, "");
  EXPECT_THAT(judgement.findings, IsEmpty());  // the chunk ends inside a block, on a hash block
  EXPECT_EQ(judgement.computed[static_cast<std::size_t>(Computed::num_cached_block)], 0);
}

TEST(TracedCopies, WithoutTheCopyTheRequestReadsABlockThatNobodyWrote) {
  std::vector<json> lines = shared_tail();
  lines[3]["scheduler_output"]["kv_cache_block_copies"].erase(1);
  EXPECT_THAT(judge(lines).findings, Contains(HasSubstr("hit-longer-than-group step 3 b")));
  EXPECT_THAT(judge(lines).findings, Contains(HasSubstr("read-of-unwritten-block step 3 b")));
}

TEST(TracedCopies, ACopyOfAnotherBlockGivesAWrongState) {
  std::vector<json> lines = shared_tail();
  // Block 5 holds the 22 tokens that "a" has by now.
  lines[3]["scheduler_output"]["kv_cache_block_copies"][1]["src_block_id"] = 5;
  EXPECT_THAT(judge(lines).findings,
              Contains("running-state-wrong step 3 b: expected 20, seen 21"));
}

TEST(TracedCopies, TheRunningStateIsKeptOnlyIfTheTailIsCopied) {
  std::vector<json> lines = shared_tail();
  lines[2]["scheduler_output"].erase("kv_cache_block_copies");
  lines[2]["block_hashes"] = json::object();
  EXPECT_THAT(judge(lines).findings, Contains("label-mismatch step 2 a: expected 20, seen 21"));
}

TEST(TracedHashes, AHashOfTheWrongNumberOfTokensIsAFinding) {
  std::vector<json> lines = shared_tail();
  lines[1]["block_hashes"]["registered"][3]["num_tokens"] = 18;
  EXPECT_THAT(judge(lines).findings, Contains("label-mismatch step 1 a: expected 18, seen 20"));
}

TEST(TracedHashes, ABlockWithoutAHashHasNoneToLose) {
  std::vector<json> lines = shared_tail();
  lines[1]["block_hashes"]["lost"] = {{{"block_id", 9}}};
  EXPECT_EQ(judge(lines).findings, judge(shared_tail()).findings);
}

std::string error_after(std::size_t line, const char* pointer, const json& value) {
  std::vector<json> lines = shared_tail();
  lines[line - 1][json::json_pointer(pointer)] = value;
  return judge(lines).error;
}

TEST(TracedCopies, BadInputNamesLinePlaceFoundAndExpected) {
  constexpr const char* kSource = "/scheduler_output/kv_cache_block_copies/0/src_block_id";
  EXPECT_EQ(
      error_after(3, kSource, 16),
      "t.jsonl:3: /scheduler_output/kv_cache_block_copies/0/src_block_id: expected an integer "
      "from 1 to 15, found 16");
  EXPECT_EQ(
      error_after(3, "/scheduler_output/kv_cache_block_copies/0/group", 2),
      "t.jsonl:3: /scheduler_output/kv_cache_block_copies/0/group: expected an integer from 0 "
      "to 1, found 2");
  EXPECT_EQ(error_after(3, "/scheduler_output/kv_cache_block_copies/0/req_id", "z"),
            "t.jsonl:3: /scheduler_output/kv_cache_block_copies/0/req_id: request \"z\" was never "
            "introduced or is finished");
  EXPECT_EQ(error_after(3, "/scheduler_output/kv_cache_block_copies/0/num_tokens", 25),
            "t.jsonl:3: /scheduler_output/kv_cache_block_copies/0/num_tokens: 25 for a block in "
            "column 2 of group 1, expected 17 to 24");
  EXPECT_EQ(
      error_after(4, "/scheduler_output/kv_cache_block_copies/0",
                  {{"src_block_id", 10}, {"dst_block_id", 11}}),
      "t.jsonl:4: /scheduler_output/kv_cache_block_copies/0: no scheduled request holds block "
      "10 or block 11, expected req_id and group");
}

TEST(TracedHashes, BadInputNamesLinePlaceFoundAndExpected) {
  EXPECT_EQ(error_after(2, "/block_hashes", json::array()),
            "t.jsonl:2: /block_hashes: expected an object, found an array of 0");
  EXPECT_EQ(
      error_after(2, "/block_hashes/registered/0/group", 2),
      "t.jsonl:2: /block_hashes/registered/0/group: expected an integer from 0 to 1, found 2");
  EXPECT_EQ(
      error_after(2, "/block_hashes/registered/0/column", 9),
      "t.jsonl:2: /block_hashes/registered/0/column: expected an integer from 0 to 8, found 9");
  EXPECT_EQ(error_after(2, "/block_hashes/registered/0/block_id", 0),
            "t.jsonl:2: /block_hashes/registered/0/block_id: expected an integer from 1 to 15, "
            "found 0");
  EXPECT_EQ(error_after(3, "/block_hashes/lost/0/block_id", 16),
            "t.jsonl:3: /block_hashes/lost/0/block_id: expected an integer from 1 to 15, found 16");
}

constexpr const char* kInside = "state_inside_a_prefill";

TEST(TracedCheckpoints, AStateInsideAPrefillIsInTheTrace) {
  const std::vector<json> lines = trace_of(kInside);
  EXPECT_EQ(lines[0]["config"]["kv_cache_groups"][1]["num_prefill_checkpoint_blocks"], 1);
  EXPECT_EQ(lines[0]["config"]["kv_cache_groups"][1]["prefill_checkpoint_alignment"], 1);
  const json expected = {
      {"req_id", "A"}, {"group", 1}, {"column", 2}, {"block_id", 5}, {"num_tokens", 24}};
  EXPECT_EQ(lines[1]["prefill_checkpoints"], json::array({expected}));
}

// The writer's own trace with one thing changed; without metadata our builder makes it.
std::vector<json> inside_but(const char* pointer, const json& value) {
  std::vector<json> lines = trace_of(kInside);
  strip(lines);
  lines[1]["prefill_checkpoints"][0][json::json_pointer(pointer)] = value;
  return lines;
}

TEST(TracedCheckpoints, AStateThatTheLayersDoNotStoreIsAFinding) {
  EXPECT_THAT(judge(inside_but("/reserved", true)).findings, IsEmpty());
  EXPECT_THAT(judge(inside_but("/written", false)).findings,
              Contains(HasSubstr("published-not-written step 1")));
}

TEST(TracedCheckpoints, AStateIsStoredWhereTheTraceSays) {
  // Reserved: block 5 in column 2. The layers are told column 3, where the running state is.
  std::vector<json> lines = inside_but("/written", false);
  lines[1]["prefill_checkpoints"].push_back({{"req_id", "A"},
                                             {"group", 1},
                                             {"column", 3},
                                             {"block_id", 6},
                                             {"num_tokens", 24},
                                             {"reserved", false}});
  EXPECT_THAT(judge(lines).findings, Contains(HasSubstr("published-not-written step 1")));
  EXPECT_THAT(judge(lines).findings, Contains(HasSubstr("read-of-unwritten-block")));
}

TEST(TracedCheckpoints, AStateStoredTooEarlyIsAFinding) {
  EXPECT_THAT(judge(inside_but("/num_tokens", 20)).findings,
              Contains("label-mismatch step 1 A: expected 24, seen 20"));
}

TEST(TracedCheckpoints, BadInputNamesLinePlaceFoundAndExpected) {
  EXPECT_EQ(judge(inside_but("/num_tokens", 40)).error,
            "t.jsonl:2: /prefill_checkpoints/0/num_tokens: a state after 40 tokens, but the chunk "
            "runs from 0 to 30, expected 1 to 29");
  EXPECT_EQ(judge(inside_but("/group", 2)).error,
            "t.jsonl:2: /prefill_checkpoints/0/group: expected an integer from 0 to 1, found 2");
  EXPECT_EQ(judge(inside_but("/group", 0)).error,
            "t.jsonl:2: /prefill_checkpoints/0/group: group 0 stores no state inside a prefill, "
            "expected one with num_prefill_checkpoint_blocks 1 in the header");
  EXPECT_EQ(judge(inside_but("/block_id", 32)).error,
            "t.jsonl:2: /prefill_checkpoints/0/block_id: expected an integer from 0 to 31, found "
            "32");
  EXPECT_EQ(judge(inside_but("/block_id", 6)).error,
            "t.jsonl:2: /prefill_checkpoints/0/block_id: block 6, but column 2 of group 1 holds "
            "block 5, expected the same");
  EXPECT_EQ(judge(inside_but("/req_id", "B")).error,
            "t.jsonl:2: /prefill_checkpoints/0/req_id: request \"B\" was never introduced or is "
            "finished");
}

CacheEvent registered(std::int32_t block, std::int32_t num_tokens) {
  return {.kind = CacheEventKind::registered, .block = block, .num_tokens = num_tokens};
}
CacheEvent evicted(std::int32_t block) { return {.kind = CacheEventKind::evicted, .block = block}; }

TEST(HashChangesOfAStep, WhatCameAndWentIsNotNamed) {
  HashChanges changes;
  const std::vector<CacheEvent> events = {registered(3, 8), evicted(3), registered(4, 16)};
  changes.apply(events);
  const HashDifference difference = changes.take(/*all_lost=*/false);
  EXPECT_THAT(difference.lost, IsEmpty());
  EXPECT_THAT(difference.registered, ElementsAre(registered(4, 16)));
}

TEST(HashChangesOfAStep, AHashThatIsReplacedIsLostAndThenRegistered) {
  HashChanges changes;
  changes.apply(std::vector{registered(3, 6)});
  changes.take(/*all_lost=*/false);
  changes.apply(std::vector{evicted(3), registered(3, 8)});
  const HashDifference difference = changes.take(/*all_lost=*/false);
  EXPECT_THAT(difference.lost, ElementsAre(evicted(3)));
  EXPECT_THAT(difference.registered, ElementsAre(registered(3, 8)));
}

TEST(HashChangesOfAStep, OneOfSeveralHashesIsLostByItsTokens) {
  HashChanges changes;
  changes.apply(std::vector{registered(3, 8), registered(3, 6)});
  changes.take(/*all_lost=*/false);
  const CacheEvent one{.kind = CacheEventKind::withdrawn, .block = 3, .num_tokens = 6};
  changes.apply(std::vector{one});
  EXPECT_THAT(changes.take(/*all_lost=*/false).lost, ElementsAre(one));
}

TEST(HashChangesOfAStep, AfterAResetOnlyRegistrationsAreNamed) {
  HashChanges changes;
  changes.apply(std::vector{registered(3, 8)});
  changes.take(/*all_lost=*/false);
  changes.apply(std::vector{evicted(3), registered(3, 8)});
  const HashDifference difference = changes.take(/*all_lost=*/true);
  EXPECT_THAT(difference.lost, IsEmpty());
  EXPECT_THAT(difference.registered, ElementsAre(registered(3, 8)));
}

}  // namespace

}  // namespace hybridscope::test::traced_states_test
