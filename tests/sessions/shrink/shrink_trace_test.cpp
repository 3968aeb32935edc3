#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "core/engine/policy_table.h"
#include "sessions/judge/trace_writer.h"
#include "sessions/shrink/shrink_trace.h"
#include "tests/sessions/judge/judged_run.h"
#include "tests/support/golden.h"

namespace hybridscope::shrink_trace_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Trace = std::vector<nlohmann::json>;

Trace pages_trace(const std::string& scenario) {
  return test::trace_of(scenario,
                        [](EngineConfig& config) { config.policies = reference_policies(); });
}

LineSource source_of(const std::string& text) {
  auto at = std::make_shared<std::size_t>(0);
  return LineSource("t.jsonl", [text, at](std::span<char> room) -> Result<std::size_t> {
    const std::size_t count = std::min(room.size(), text.size() - *at);
    std::copy_n(text.begin() + static_cast<std::ptrdiff_t>(*at), count, room.begin());
    *at += count;
    return count;
  });
}

std::string text_of(const Trace& lines) {
  std::string text;
  for (const nlohmann::json& line : lines) text += line.dump() + "\n";
  return text;
}

Result<ShrunkTrace> try_shrink(const std::string& text, const ShrinkOptions& options = {}) {
  LineSource source = source_of(text);
  return shrink_trace(source, "t.jsonl", options);
}

ShrunkTrace shrink(const Trace& lines, const ShrinkOptions& options = {}) {
  return try_shrink(text_of(lines), options).value();
}

std::vector<std::string> requests_of(const std::vector<std::string>& lines) {
  std::vector<std::string> names;
  for (const std::string& line : lines)
    for (const std::string& name : traced_requests(nlohmann::ordered_json::parse(line)))
      if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  return names;
}

// Five requests; C is skipped in step 4 and reads the wrong state in step 5. A trace has the wrong
// accepted count in C's own row, so no other request is needed; in step 4 no request is left.
TEST(ShrinkTrace, OnlyTheRequestThatIsWrongIsLeft) {
  const ShrunkTrace shrunk = shrink(pages_trace("skipped_for_a_step"));
  EXPECT_EQ(shrunk.rule, Rule::running_state_wrong);
  EXPECT_EQ(shrunk.violation_step, 5);
  EXPECT_EQ(shrunk.line, 6);  // the header is line 1
  EXPECT_EQ(shrunk.size_before, (TraceSize{.lines = 6, .requests = 5, .request_steps = 18}));
  EXPECT_EQ(shrunk.size_after, (TraceSize{.lines = 5, .requests = 1, .request_steps = 4}));
  EXPECT_THAT(requests_of(shrunk.lines), ElementsAre("C"));
  EXPECT_THAT(shrunk.text, HasSubstr("step 5 C row 0"));
}

TEST(ShrinkTrace, TheResultHasTheSameFinding) {
  const ShrunkTrace shrunk = shrink(pages_trace("skipped_for_a_step"));
  const test::Judgement judged = test::judge(shrunk.lines);
  EXPECT_EQ(judged.error, "");
  ASSERT_FALSE(judged.findings.empty());
  EXPECT_THAT(judged.findings.front(), HasSubstr("running-state-wrong step 5 C"));
}

TEST(ShrinkTrace, AgainItStaysAsItIs) {
  const ShrunkTrace shrunk = shrink(pages_trace("skipped_for_a_step"));
  std::string text;
  for (const std::string& line : shrunk.lines) text += line + "\n";
  EXPECT_EQ(try_shrink(text).value().lines, shrunk.lines);
}

// B's hit goes beyond what A wrote; without A nothing at all would be there, which is another
// fault.
TEST(ShrinkTrace, WhoWroteWhatIsReadStays) {
  const ShrunkTrace shrunk = shrink(pages_trace("multi_turn_with_drafts"));
  EXPECT_EQ(shrunk.rule, Rule::hit_longer_than_group);
  EXPECT_THAT(requests_of(shrunk.lines), ElementsAre("A", "B"));
}

TEST(ShrinkTrace, LinesThatWereNotChangedStayLetterForLetter) {
  Trace lines = pages_trace("multi_turn_with_drafts");
  const std::string text = text_of(lines);
  const ShrunkTrace shrunk = try_shrink(text).value();
  std::string front;
  for (const std::string& line : shrunk.lines) front += line + "\n";
  EXPECT_EQ(front, text.substr(0, front.size()));
}

TEST(ShrinkTrace, OfSeveralTracesTheOneWithTheFindingIsKept) {
  Trace lines = test::trace_of("plain_decode");
  const auto before = static_cast<std::int64_t>(lines.size());
  for (const nlohmann::json& line : pages_trace("skipped_for_a_step")) lines.push_back(line);
  const ShrunkTrace shrunk = shrink(lines);
  EXPECT_EQ(shrunk.line, before + 6);
  EXPECT_EQ(shrunk.size_before.lines, 6);
  EXPECT_THAT(shrunk.lines.front(), HasSubstr("hybridscope_trace"));
}

TEST(ShrinkTrace, WithoutAFindingThereIsNothingToShrink) {
  const auto none = try_shrink(text_of(test::trace_of("plain_decode")));
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().kind, ErrorKind::not_found);
  const auto other =
      try_shrink(text_of(pages_trace("skipped_for_a_step")), {.rule = Rule::no_progress});
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.error().message, "no finding no-progress");
}

TEST(ShrinkTrace, WhatIsWrongBeforeTheFindingIsNamedWithItsLine) {
  const auto broken = try_shrink("{\"step\": 1}\n");
  ASSERT_FALSE(broken.ok());
  EXPECT_THAT(broken.error().message, HasSubstr("t.jsonl:1: "));
  const auto empty = try_shrink("");
  ASSERT_FALSE(empty.ok());
  EXPECT_EQ(empty.error().message, "t.jsonl: no trace in it, expected a header line");
}

TEST(ShrinkTrace, WhatIsWrongBehindTheFindingIsNotRead) {
  const std::string text = text_of(pages_trace("skipped_for_a_step"));
  EXPECT_TRUE(try_shrink(text + "no JSON\n").ok());
}

TEST(ShrinkTrace, TheLimitOfRunsLeavesTheSmallestSoFar) {
  const ShrunkTrace shrunk = shrink(pages_trace("skipped_for_a_step"), {.max_runs = 2});
  EXPECT_EQ(shrunk.end, ShrinkEnd::run_limit);
  EXPECT_EQ(shrunk.num_runs, 2);
  EXPECT_LE(shrunk.size_after.requests, shrunk.size_before.requests);
  EXPECT_EQ(test::judge(shrunk.lines).error, "");
}

// The 17 cases of docs/trace-format.md that have an error. What is left has that very finding.
TEST(ShrinkTrace, TheReferencesOwnTracesKeepTheirFaults) {
  int shrunk_traces = 0;
  std::int64_t requests_before = 0;
  std::int64_t requests_after = 0;
  test::for_each_line("pipeline", [&](const std::string& line) {
    const auto lines = pipeline_trace(line, "pipeline.jsonl", 1).value();
    std::string text;
    for (const std::string& traced : lines) text += traced + "\n";
    const auto shrunk = try_shrink(text);
    if (!shrunk.ok()) {
      EXPECT_EQ(shrunk.error().kind, ErrorKind::not_found) << shrunk.error().message;
      return;
    }
    ++shrunk_traces;
    requests_before += shrunk.value().size_before.requests;
    requests_after += shrunk.value().size_after.requests;
    const test::Judgement judged = test::judge(shrunk.value().lines);
    EXPECT_EQ(judged.error, "");
    EXPECT_FALSE(judged.findings.empty());
  });
  EXPECT_EQ(shrunk_traces, 17);
  EXPECT_EQ(requests_before, 71);
  EXPECT_EQ(requests_after, 22);
}

using Json = nlohmann::ordered_json;

// c is admitted, a and b go on, z has ended.
Json step() {
  return Json::parse(R"({"step": 2,
    "scheduler_output": {
      "scheduled_new_reqs": [{"req_id": "c", "prompt_token_ids": [5], "block_ids": [[4]],
                              "num_computed_tokens": 0}],
      "scheduled_cached_reqs": {"req_ids": ["a", "b"], "resumed_req_ids": ["b", "a"],
                                "new_block_ids": [null, [[7]]], "num_computed_tokens": [9, 3]},
      "num_scheduled_tokens": {"a": 3, "b": 1, "c": 1},
      "scheduled_spec_decode_tokens": {"a": [500, 501]},
      "finished_req_ids": ["z"], "preempted_req_ids": []},
    "scheduler_block_ids": {"c": [[4]]},
    "num_cached_block": {"b": [1]},
    "input_batch": {"req_ids": ["b", "a", "c"], "num_accepted_tokens_cpu": [1, 2, 1]},
    "preprocess_copies": [{"req_id": "a", "src_block_idx": 0}, {"req_id": "b"}],
    "cudagraph": {"cudagraph_runtime_mode": "NONE"},
    "attn_metadata": {"1": {}},
    "model_runner_output": {"req_ids": ["a", "b", "c"], "sampled_token_ids": [[31, 32], [33], [34]]}})");
}

std::function<bool(const std::string&)> named(const std::string& name) {
  return [name](const std::string& other) { return other == name; };
}

TEST(TracedRequests, AreThoseOfTheSchedulerInTheOrderOfTheLine) {
  EXPECT_THAT(traced_requests(step()), ElementsAre("c", "a", "b", "z"));
}

TEST(TracedRequests, ARequestIsDroppedFromEveryListAndMap) {
  Json line = step();
  EXPECT_TRUE(drop_requests(line, named("a"), TracedBatch::without_metadata));
  const Json& output = line["scheduler_output"];
  EXPECT_EQ(output["scheduled_cached_reqs"].dump(),
            R"({"req_ids":["b"],"resumed_req_ids":["b"],"new_block_ids":[[[7]]],)"
            R"("num_computed_tokens":[3]})");
  EXPECT_EQ(output["num_scheduled_tokens"].dump(), R"({"b":1,"c":1})");
  EXPECT_EQ(output["scheduled_spec_decode_tokens"].dump(), "{}");
  EXPECT_EQ(line["input_batch"].dump(), R"({"req_ids":["b","c"],"num_accepted_tokens_cpu":[1,1]})");
  EXPECT_EQ(line["preprocess_copies"].dump(), R"([{"req_id":"b"}])");
  EXPECT_EQ(line["model_runner_output"].dump(),
            R"({"req_ids":["b","c"],"sampled_token_ids":[[33],[34]]})");
  EXPECT_THAT(traced_requests(line), ElementsAre("c", "b", "z"));
}

TEST(TracedRequests, TheirCopiesStatesAndHashesGoToo) {
  Json line = step();
  line["scheduler_output"]["kv_cache_block_copies"] =
      Json::parse(R"([{"src_block_id": 2, "dst_block_id": 3, "req_id": "a"},
                      {"src_block_id": 4, "dst_block_id": 5}])");
  line["prefill_checkpoints"] = Json::parse(R"([{"req_id": "a"}, {"req_id": "b"}])");
  line["block_hashes"] = Json::parse(R"({"lost": [{"block_id": 9}],
                                         "registered": [{"req_id": "a"}, {"req_id": "b"}]})");
  line["block_hashes_after_output"] = Json::parse(R"({"registered": [{"req_id": "a"}]})");
  line["num_drafts_offered"] = Json::parse(R"({"a": 2, "b": 1})");
  line["num_drafts_proposed"] = Json::parse(R"({"a": 2, "b": 1})");
  line["preempted_by_command"] = Json::parse(R"(["a", "b"])");
  EXPECT_TRUE(drop_requests(line, named("a"), TracedBatch::without_metadata));
  EXPECT_EQ(line["num_drafts_proposed"].dump(), R"({"b":1})");
  EXPECT_EQ(line["preempted_by_command"].dump(), R"(["b"])");
  EXPECT_EQ(line["scheduler_output"]["kv_cache_block_copies"].dump(),
            R"([{"src_block_id":4,"dst_block_id":5}])");
  EXPECT_EQ(line["prefill_checkpoints"].dump(), R"([{"req_id":"b"}])");
  EXPECT_EQ(line["block_hashes"].dump(),
            R"({"lost":[{"block_id":9}],"registered":[{"req_id":"b"}]})");
  EXPECT_EQ(line["block_hashes_after_output"].dump(), R"({"registered":[]})");
  EXPECT_EQ(line["num_drafts_offered"].dump(), R"({"b":1})");
}

TEST(TracedRequests, AdmissionsAndTheirBlocksGoToo) {
  Json line = step();
  drop_requests(line, named("c"), TracedBatch::without_metadata);
  EXPECT_EQ(line["scheduler_output"]["scheduled_new_reqs"].dump(), "[]");
  EXPECT_EQ(line["scheduler_block_ids"].dump(), "{}");
}

TEST(TracedRequests, WhatIsToldOfTheOtherBatchGoesWithARow) {
  Json line = step();
  drop_requests(line, named("a"), TracedBatch::without_metadata);
  EXPECT_FALSE(line.contains("attn_metadata"));
  EXPECT_TRUE(line.contains("cudagraph"));
  line = step();
  drop_requests(line, named("a"), TracedBatch::without_metadata_and_graph);
  EXPECT_FALSE(line.contains("cudagraph"));
}

TEST(TracedRequests, ARequestThatEndedHasNoRowToLeave) {
  Json line = step();
  EXPECT_TRUE(drop_requests(line, named("z"), TracedBatch::without_metadata));
  EXPECT_TRUE(line.contains("attn_metadata"));
  EXPECT_THAT(traced_requests(line), ElementsAre("c", "a", "b"));
}

TEST(TracedRequests, OthersLeaveTheLineAsItIs) {
  Json line = step();
  EXPECT_FALSE(drop_requests(line, named("q"), TracedBatch::without_metadata_and_graph));
  EXPECT_EQ(line, step());
}

TEST(TracedRequests, SomebodyIsScheduledUntilNobodyIsLeft) {
  Json line = step();
  EXPECT_TRUE(schedules_somebody(line));
  drop_requests(
      line, [](const std::string&) { return true; }, TracedBatch::without_metadata);
  EXPECT_FALSE(schedules_somebody(line));
}

TEST(TracedRequests, AHeaderTellsOfNobody) {
  EXPECT_TRUE(traced_requests(Json::parse(R"({"hybridscope_trace": 1, "config": {}})")).empty());
}

}  // namespace

}  // namespace hybridscope::shrink_trace_test
