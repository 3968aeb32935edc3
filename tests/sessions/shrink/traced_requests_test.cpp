#include "sessions/shrink/traced_requests.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace hybridscope::traced_requests_test {
namespace {

using Json = nlohmann::ordered_json;
using ::testing::ElementsAre;

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
}  // namespace hybridscope::traced_requests_test
