// Rules of bad input that take more than one changed value.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/sessions/judge/trace_lines.h"

namespace hybridscope::trace_rules_test {
namespace {

using Json = nlohmann::json;

TEST(TraceRules, TheFirstLineIsAHeader) {
  EXPECT_EQ(test::read_error({test::healthy_trace()[1]}),
            "t.jsonl:1: key \"hybridscope_trace\" is missing (expected a header first)");
}

TEST(TraceRules, NothingIsReadBeforeAHeaderThatIsBroken) {
  std::vector<Json> lines = test::healthy_trace();
  lines[0]["config"].erase("max_num_seqs");
  TraceReader reader("t.jsonl");
  EXPECT_NE(test::read_error(reader, lines), "");
  EXPECT_EQ(reader.read_line(lines[1].dump(), 2).error().message,
            "t.jsonl:2: key \"hybridscope_trace\" is missing (expected a header first)");
}

TEST(TraceRules, DraftsAreAtMostKHoweverManyTokensRun) {
  std::vector<Json> lines = test::healthy_trace();
  lines[2]["scheduler_output"]["num_scheduled_tokens"]["a"] = 8;
  lines[2]["scheduler_output"]["scheduled_spec_decode_tokens"]["a"] = {1, 2, 3};
  EXPECT_EQ(test::read_error(lines),
            "t.jsonl:3: /scheduler_output/scheduled_spec_decode_tokens/a: length 3, expected at "
            "most 2 (num_speculative_tokens)");
}

TEST(TraceRules, RowsFitTheBatch) {
  std::vector<Json> lines = test::healthy_trace();
  lines[0]["config"]["max_num_seqs"] = 1;
  EXPECT_EQ(test::read_error(lines),
            "t.jsonl:2: /scheduler_output/num_scheduled_tokens: 2 requests, expected at most 1 "
            "(max_num_seqs)");
}

TEST(TraceRules, SlotsAreFewerThanMaxNumSeqs) {
  std::vector<Json> lines = test::healthy_trace();
  lines[0]["config"]["runner"] = "v2";
  lines[2]["input_batch"]["idx_mapping"] = {0, 4};
  EXPECT_EQ(test::read_error(lines),
            "t.jsonl:3: /input_batch/idx_mapping/1: expected an integer from 0 to 3, found 4");
}

TEST(TraceRules, AcceptedCountsMayBeLeftOutWhereTheHostDoesNotHaveThem) {
  for (const auto& [key, value] : {std::pair<std::string, Json>{"async_scheduling", true},
                                   std::pair<std::string, Json>{"runner", "v2"}}) {
    std::vector<Json> lines = test::healthy_trace();
    lines[0]["config"][key] = value;
    for (std::size_t i : {1U, 2U}) lines[i]["input_batch"].erase("num_accepted_tokens_cpu");
    EXPECT_EQ(test::read_error(lines), "") << key;
  }
}

TEST(TraceRules, AResumedRequestIsOneOfTheCached) {
  std::vector<Json> lines = test::healthy_trace();
  Json& cached = lines[2]["scheduler_output"]["scheduled_cached_reqs"];
  cached = Json::parse(R"({"req_ids": ["a"], "resumed_req_ids": ["b"], "new_block_ids": [null],
                           "num_computed_tokens": [2]})");
  EXPECT_EQ(
      test::read_error(lines),
      "t.jsonl:3: /scheduler_output/scheduled_cached_reqs/resumed_req_ids/0: request \"b\" is "
      "not in req_ids");
}

TEST(TraceRules, ARequestThatIsNotScheduledHasNoRow) {
  std::vector<Json> lines = test::healthy_trace();
  lines[2]["scheduler_output"]["scheduled_cached_reqs"] =
      Json::parse(R"({"req_ids": ["a"], "new_block_ids": [null], "num_computed_tokens": [2]})");
  lines[2]["scheduler_output"]["num_scheduled_tokens"] = {{"a", 3}};
  lines[2]["scheduler_output"]["scheduled_spec_decode_tokens"].erase("b");
  EXPECT_EQ(test::read_error(lines),
            "t.jsonl:3: /input_batch/req_ids/1: request \"b\" is not in num_scheduled_tokens");
}

// The healthy step 2 with `found` in its text replaced.
std::string error_of_text(const std::string& found, const std::string& replacement) {
  const std::vector<Json> lines = test::healthy_trace();
  TraceReader reader("t.jsonl");
  EXPECT_EQ(test::read_error(reader, {lines[0], lines[1]}), "");
  std::string text = lines[2].dump();
  text.replace(text.find(found), found.size(), replacement);
  const auto read = reader.read_line(text, 3);
  return read.ok() ? "" : read.error().message;
}

TEST(TraceRules, AMapNamesARequestOnce) {
  EXPECT_EQ(error_of_text(R"("num_scheduled_tokens":{)", R"("num_scheduled_tokens":{"a":3,)"),
            "t.jsonl:3: /scheduler_output/num_scheduled_tokens/a: request \"a\" is listed twice");
  EXPECT_EQ(error_of_text(R"("num_cached_block":{)", R"("num_cached_block":{"a":[0,0],)"),
            "t.jsonl:3: /num_cached_block/a: request \"a\" is listed twice");
}

TEST(TraceRules, MetadataNamesAGroupOnce) {
  EXPECT_EQ(error_of_text(R"("attn_metadata":{)", R"("attn_metadata":{"1":{},)"),
            "t.jsonl:3: /attn_metadata/1: this group is listed twice");
}

TEST(TraceRules, ALineThatIsCutOffIsRefused) {
  for (const Json& line : test::healthy_trace()) {
    const std::string text = line.dump();
    for (std::size_t length = 1; length < text.size(); ++length) {
      TraceReader reader("t.jsonl");
      EXPECT_FALSE(reader.read_line(text.substr(0, length), 1).ok()) << length;
    }
  }
}

}  // namespace
}  // namespace hybridscope::trace_rules_test
