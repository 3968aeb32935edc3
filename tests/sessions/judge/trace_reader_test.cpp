#include "sessions/judge/trace_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "sessions/text/name_hash.h"
#include "tests/sessions/judge/judged_run.h"

namespace hybridscope::trace_reader_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::StartsWith;
using Json = nlohmann::json;

constexpr RequestId kA{0};
constexpr RequestId kB{1};

// The reader after the first `count` lines of the healthy trace.
TraceReader after(std::size_t count) {
  std::vector<Json> lines = test::healthy_trace();
  lines.resize(count);
  TraceReader reader("t.jsonl");
  EXPECT_EQ(test::read_error(reader, lines), "");
  return reader;
}

// The JSON examples of docs/trace-format.md, each on one line.
std::vector<std::string> documented_examples() {
  std::ifstream file(HYBRIDSCOPE_SOURCE_DIR "/docs/trace-format.md");
  std::stringstream buffer;
  buffer << file.rdbuf();
  const std::string text = buffer.str();
  std::vector<std::string> examples;
  for (std::size_t at = text.find("```json\n"); at != std::string::npos;
       at = text.find("```json\n", at + 8))
    examples.push_back(Json::parse(text.substr(at + 8, text.find("\n```", at) - at - 8)).dump());
  return examples;
}

TEST(TraceReader, ReadsTheExamplesOfTheFormat) {
  const std::vector<std::string> examples = documented_examples();
  ASSERT_EQ(examples.size(), 2U);
  TraceReader reader("t.jsonl");
  EXPECT_EQ(reader.read_line(examples[0], 1).value(), TraceLine::header);
  EXPECT_EQ(reader.header().name, "two chats");
  Json first = test::healthy_trace()[1];
  first["scheduler_output"]["scheduled_new_reqs"].erase(1);
  first["scheduler_output"]["num_scheduled_tokens"].erase("b");
  first["scheduler_block_ids"].erase("b");
  first["input_batch"] = {{"req_ids", {"a"}}, {"num_accepted_tokens_cpu", {1}}};
  first["model_runner_output"] = {{"req_ids", {"a"}}, {"sampled_token_ids", {{20}}}};
  EXPECT_EQ(reader.read_line(first.dump(), 2).value(), TraceLine::step);
  EXPECT_EQ(reader.read_line(examples[1], 3).value(), TraceLine::step);
  EXPECT_EQ(reader.step().step, 2);
}

TEST(TraceReader, LinesOfWhiteSpaceAreEmpty) {
  TraceReader reader("t.jsonl");
  EXPECT_EQ(reader.read_line(" \t\r", 1).value(), TraceLine::empty);
}

TEST(TraceReader, StandardInputIsNamedSo) {
  TraceReader reader("-");
  EXPECT_EQ(reader.read_line("{}", 7).error().message,
            "<stdin>:7: key \"hybridscope_trace\" is missing (expected a header first)");
}

TEST(TraceReader, ALineWithPaddingIsReadWhereItLies) {
  const std::string text = test::healthy_trace()[0].dump();
  const std::string padded = text + std::string(kLinePadding, 'x');
  TraceReader reader("t.jsonl");
  const PaddedLine line{std::string_view(padded).substr(0, text.size())};
  EXPECT_EQ(reader.read_line(line, 1).value(), TraceLine::header);
}

TEST(TraceReader, AdmittedRequestsHaveTheirPromptBlocksAndParameters) {
  const TraceReader reader = after(2);
  const ForeignStep& step = reader.step();
  ASSERT_EQ(step.scheduled_new_reqs.size(), 2U);
  const ForeignNewRequest& a = step.scheduled_new_reqs[0];
  EXPECT_EQ(a.request, kA);
  EXPECT_EQ(reader.name_of(a.request), "a");
  EXPECT_THAT(step.at(a.prompt_token_ids), ElementsAre(11, 12));
  EXPECT_THAT(step.list(a.block_ids, 0), ElementsAre(1));
  EXPECT_THAT(step.list(a.block_ids, 1), ElementsAre(2, 3, 4));
  EXPECT_EQ(a.max_tokens, 20);
  EXPECT_EQ(a.priority, 1);
  EXPECT_EQ(a.cache_salt, text_content("x"));
  EXPECT_EQ(step.scheduled_new_reqs[1].max_tokens, -1);
  EXPECT_EQ(step.scheduled_new_reqs[1].cache_salt, 0U);
}

TEST(TraceReader, CachedRequestsAreReadFromParallelLists) {
  const TraceReader reader = after(3);
  const ForeignStep& step = reader.step();
  ASSERT_EQ(step.scheduled_cached_reqs.size(), 2U);
  EXPECT_FALSE(step.scheduled_cached_reqs[0].resumed);
  EXPECT_FALSE(step.scheduled_cached_reqs[0].new_block_ids.present());
  EXPECT_EQ(step.scheduled_cached_reqs[0].num_computed_tokens, 2);
  EXPECT_EQ(step.scheduled_cached_reqs[0].num_output_tokens, 1);
  EXPECT_TRUE(step.scheduled_cached_reqs[1].resumed);
  EXPECT_THAT(step.list(step.scheduled_cached_reqs[1].new_block_ids, 1), ElementsAre(10, 11, 12));
}

TEST(TraceReader, TokensAndDraftsAreCountsInTheOrderOfTheLine) {
  const TraceReader reader = after(3);
  const ForeignStep& step = reader.step();
  ASSERT_EQ(step.num_scheduled_tokens.size(), 2U);
  EXPECT_EQ(step.num_scheduled_tokens[1].request, kB);
  EXPECT_EQ(step.num_scheduled_tokens[1].count, 3);
  ASSERT_EQ(step.scheduled_spec_decode_tokens.size(), 2U);
  EXPECT_EQ(step.scheduled_spec_decode_tokens[0].count, 2);
  EXPECT_THAT(step.placeholder_drafts, ElementsAre(kB));
  EXPECT_THAT(step.preempted_req_ids, ElementsAre(kA));
  EXPECT_THAT(step.finished_req_ids, IsEmpty());
}

TEST(TraceReader, WhatTheSchedulerHoldsIsReadByGroup) {
  const TraceReader reader = after(3);
  const ForeignStep& step = reader.step();
  ASSERT_EQ(step.scheduler_block_ids.size(), 1U);
  EXPECT_EQ(step.scheduler_block_ids[0].request, kB);
  EXPECT_THAT(step.list(step.scheduler_block_ids[0].block_ids, 0), ElementsAre(9));
  ASSERT_EQ(step.num_cached_block.size(), 1U);
  EXPECT_THAT(step.list(step.num_cached_block[0].block_ids, 0), ElementsAre(1));
  EXPECT_THAT(step.list(step.num_cached_block[0].block_ids, 1), ElementsAre(0));
  EXPECT_TRUE(step.reset_prefix_cache);
}

TEST(TraceReader, RowsStandInTheOrderOfTheBatch) {
  const TraceReader reader = after(3);
  const ForeignStep& step = reader.step();
  ASSERT_EQ(step.rows.size(), 2U);
  EXPECT_EQ(step.rows[1].request, kB);
  EXPECT_EQ(step.rows[1].num_accepted_tokens, 2);
  EXPECT_EQ(step.rows[1].num_accepted_tokens_after_preprocess, 1);
  EXPECT_EQ(step.rows[1].num_computed_tokens_cpu, 1);
  EXPECT_EQ(step.rows[1].mamba_state_idx, 1);
  EXPECT_FALSE(step.rows[0].block_ids.present());
  EXPECT_THAT(step.list(step.rows[1].block_ids, 0), ElementsAre(9));
}

TEST(TraceReader, CountsOfTheDeviceStandBesideThoseOfTheHost) {
  std::vector<Json> lines = test::healthy_trace();
  lines[2]["input_batch"]["num_computed_tokens"] = {2, 0};
  lines[2]["input_batch"]["num_accepted_tokens"] = {1, 3};
  TraceReader reader("t.jsonl");
  ASSERT_EQ(test::read_error(reader, lines), "");
  EXPECT_EQ(reader.step().rows[1].num_computed_tokens_cpu, 1);
  EXPECT_EQ(reader.step().rows[1].num_computed_tokens, 0);
}

// Runner V1 makes mode align's copies by the host's count (vLLM v1/worker/mamba_utils.py
// preprocess_mamba); elsewhere the kernels have the device's.
TEST(TraceReader, TheHostsAcceptedCountsDecideInModeAlignOfRunnerV1) {
  std::vector<Json> lines = test::healthy_trace();
  lines[2]["input_batch"]["num_accepted_tokens"] = {1, 3};
  TraceReader align("t.jsonl");
  ASSERT_EQ(test::read_error(align, lines), "");
  EXPECT_EQ(align.step().rows[1].num_accepted_tokens, 2);
  lines[0]["config"]["runner"] = "v2";
  TraceReader v2("t.jsonl");
  ASSERT_EQ(test::read_error(v2, lines), "");
  EXPECT_EQ(v2.step().rows[1].num_accepted_tokens, 3);
}

TEST(TraceReader, RowsOfRunnerV2HaveSlots) {
  std::vector<Json> lines = test::healthy_trace();
  lines[0]["config"]["runner"] = "v2";
  lines[2]["input_batch"].erase("num_accepted_tokens_cpu");
  lines[2]["input_batch"]["idx_mapping"] = {3, 0};
  TraceReader reader("t.jsonl");
  ASSERT_EQ(test::read_error(reader, lines), "");
  EXPECT_EQ(reader.step().rows[0].slot, 3);
  EXPECT_EQ(reader.step().rows[1].slot, 0);
  EXPECT_EQ(reader.step().rows[1].num_accepted_tokens, -1);
}

TEST(TraceReader, DraftsOfMinusOnePadAnAdmittedRequestAndAreUnknownInARunningOne) {
  std::vector<Json> lines = test::healthy_trace();
  lines[2]["scheduler_output"]["scheduled_spec_decode_tokens"] = {{"a", {-1, -1}}, {"b", {-1, -1}}};
  TraceReader reader("t.jsonl");
  ASSERT_EQ(test::read_error(reader, lines), "");
  EXPECT_THAT(reader.step().placeholder_drafts, ElementsAre(kB));
}

TEST(TraceReader, CountsThatARowLacksAreMinusOne) {
  const TraceReader reader = after(2);
  EXPECT_EQ(reader.step().rows[0].slot, -1);
  EXPECT_EQ(reader.step().rows[0].num_computed_tokens_cpu, -1);
  EXPECT_EQ(reader.step().rows[0].num_computed_tokens, -1);
  EXPECT_EQ(reader.step().rows[0].num_accepted_tokens_after_preprocess, -1);
  EXPECT_EQ(reader.step().rows[0].mamba_state_idx, -1);
  EXPECT_EQ(reader.step().rows[0].num_accepted_tokens, 1);
}

TEST(TraceReader, CopiesAreByColumnsOrByBlocks) {
  const TraceReader reader = after(3);
  const ForeignStep& step = reader.step();
  ASSERT_EQ(step.preprocess_copies->size(), 1U);
  const ForeignCopy& columns = step.preprocess_copies->front();
  EXPECT_EQ(columns.request, kB);
  EXPECT_EQ(columns.group, -1);
  EXPECT_EQ(columns.src_block_idx, 0);
  EXPECT_EQ(columns.dest_block_idx, 1);
  EXPECT_EQ(columns.accept_token_bias, 1);
  ASSERT_EQ(step.postprocess_copies->size(), 1U);
  const ForeignCopy& blocks = step.postprocess_copies->front();
  EXPECT_EQ(blocks.group, 1);
  EXPECT_EQ(blocks.src_block_idx, -1);
  EXPECT_EQ(blocks.conv_src_block_id, 5);
  EXPECT_EQ(blocks.temporal_src_block_id, 6);
  EXPECT_EQ(blocks.dest_block_id, 9);
}

TEST(TraceReader, ACopyMayLackOneSourceAndItsBias) {
  std::vector<Json> lines = test::healthy_trace();
  lines[2]["postprocess_copies"][0].erase("conv_src_block_id");
  lines[2]["postprocess_copies"][0].erase("accept_token_bias");
  TraceReader reader("t.jsonl");
  EXPECT_EQ(test::read_error(reader, lines), "");
  const ForeignCopy& copy = reader.step().postprocess_copies->front();
  EXPECT_EQ(copy.conv_src_block_id, -1);
  EXPECT_EQ(copy.temporal_src_block_id, 6);
  EXPECT_EQ(copy.accept_token_bias, -1);
}

TEST(TraceReader, TheGraphOfTheForwardContextIsRead) {
  const TraceReader reader = after(3);
  ASSERT_TRUE(reader.step().graph.has_value());
  EXPECT_EQ(reader.step().graph->cudagraph_runtime_mode, CUDAGraphMode::full);
  EXPECT_EQ(reader.step().graph->num_tokens, 8);
  EXPECT_EQ(reader.step().graph->num_reqs, 4);
  EXPECT_TRUE(reader.step().graph->uniform);
}

TEST(TraceReader, AGraphThatIsNotFullNeedsNoCounts) {
  std::vector<Json> lines = test::healthy_trace();
  lines[2]["cudagraph"] = {{"cudagraph_runtime_mode", "PIECEWISE"}, {"num_reqs", nullptr}};
  TraceReader reader("t.jsonl");
  EXPECT_EQ(test::read_error(reader, lines), "");
  EXPECT_EQ(reader.step().graph->num_reqs, -1);
  EXPECT_EQ(reader.step().graph->num_tokens, 0);
}

const ForeignArray* find_array(const ForeignStep& step, std::string_view name) {
  for (const ForeignArray& array : step.attn_metadata.at(0).arrays)
    if (array.name == name) return &array;
  return nullptr;
}

TEST(TraceReader, MetadataIsReadByTheNamesOfItsFields) {
  const TraceReader reader = after(3);
  const ForeignStep& step = reader.step();
  ASSERT_EQ(step.attn_metadata.size(), 1U);
  EXPECT_EQ(step.attn_metadata[0].group, 1);
  EXPECT_EQ(step.attn_metadata[0].arrays.size(), 6U);  // foreign fields are left out
  EXPECT_TRUE(find_array(step, "num_prefills")->scalar);
  const ForeignArray* states = find_array(step, "spec_state_indices_tensor");
  ASSERT_NE(states, nullptr);
  EXPECT_EQ(states->rows, 2);
  EXPECT_EQ(states->cols, 3);
  EXPECT_THAT(step.at(states->values), ElementsAre(2, 3, 4, 10, 11, 12));
  EXPECT_THAT(step.at(find_array(step, "spec_sequence_masks")->values), ElementsAre(1, 0));
  EXPECT_THAT(step.at(find_array(step, "nums_dict.8.tot")->values), ElementsAre(5));
}

TEST(TraceReader, AnEmptyArrayKeepsItsShape) {
  const TraceReader reader = after(3);
  const ForeignArray* states = find_array(reader.step(), "non_spec_state_indices_tensor");
  ASSERT_NE(states, nullptr);
  EXPECT_EQ(states->rows, 0);
  EXPECT_EQ(states->cols, 3);
  EXPECT_FALSE(states->scalar);
}

TEST(TraceReader, SampledTokensHaveARowForEachScheduledRequest) {
  const TraceReader reader = after(3);
  const ForeignStep& step = reader.step();
  ASSERT_EQ(step.sampled_token_ids->size(), 2U);
  EXPECT_EQ(step.sampled_token_ids->at(0).request, kA);
  EXPECT_THAT(step.at(step.sampled_token_ids->at(0).token_ids), IsEmpty());
  EXPECT_THAT(step.at(step.sampled_token_ids->at(1).token_ids), ElementsAre(30, 31));
}

TEST(TraceReader, WhatALineLeavesOutIsAbsent) {
  const TraceReader reader = after(2);
  EXPECT_FALSE(reader.step().preprocess_copies.has_value());
  EXPECT_FALSE(reader.step().postprocess_copies.has_value());
  EXPECT_FALSE(reader.step().graph.has_value());
  EXPECT_FALSE(reader.step().reset_prefix_cache);
  EXPECT_THAT(reader.step().num_cached_block, IsEmpty());
  EXPECT_THAT(reader.step().attn_metadata, IsEmpty());
}

TEST(TraceReader, TheTimeOfAStepIsReadAndMayBeMissing) {
  std::vector<Json> lines = test::healthy_trace();
  lines[1]["step_time_us"] = 8412;
  TraceReader reader("t.jsonl");
  EXPECT_EQ(test::read_error(reader, {lines[0], lines[1]}), "");
  EXPECT_EQ(reader.step().step_time_us, 8412);
  EXPECT_EQ(reader.read_line(lines[2].dump(), 3).value(), TraceLine::step);
  EXPECT_EQ(reader.step().step_time_us, std::nullopt);
}

TEST(TraceReader, TheLastStepOfATraceMayLackItsOutput) {
  std::vector<Json> lines = test::healthy_trace();
  lines[2].erase("model_runner_output");
  lines.push_back(lines[0]);
  TraceReader reader("t.jsonl");
  EXPECT_EQ(test::read_error(reader, lines), "");
}

TEST(TraceReader, AHeaderStartsATraceInWhichNobodyIsKnown) {
  std::vector<Json> lines = test::healthy_trace();
  lines.push_back(lines[0]);
  lines.push_back(lines[1]);
  TraceReader reader("t.jsonl");
  EXPECT_EQ(test::read_error(reader, lines), "");
  EXPECT_EQ(reader.num_requests(), 2);
  EXPECT_EQ(reader.step().step, 1);
  EXPECT_EQ(reader.step().scheduled_new_reqs[0].request, kA);
}

TEST(TraceReader, ANameThatIsUsedAgainIsAnotherRequest) {
  std::vector<Json> lines = test::healthy_trace();
  lines[2] = lines[1];
  lines[2]["step"] = 5;
  lines[2]["scheduler_output"]["finished_req_ids"] = {"a", "b"};
  TraceReader reader("t.jsonl");
  EXPECT_EQ(test::read_error(reader, lines), "");
  EXPECT_THAT(reader.step().finished_req_ids, ElementsAre(kA, kB));
  EXPECT_EQ(reader.step().scheduled_new_reqs[0].request, RequestId{2});
  EXPECT_EQ(reader.step().num_scheduled_tokens[0].request, RequestId{2});
  EXPECT_EQ(reader.name_of(kA), "a");
  EXPECT_EQ(reader.name_of(RequestId{2}), "a");
}

TEST(TraceReader, ARequestThatEndedWhileItWaitedMayBeNamedAsFinished) {
  std::vector<Json> lines = test::healthy_trace();
  lines[2]["scheduler_output"]["finished_req_ids"] = {"never scheduled"};
  TraceReader reader("t.jsonl");
  EXPECT_EQ(test::read_error(reader, lines), "");
  EXPECT_THAT(reader.step().finished_req_ids, IsEmpty());
}

TEST(TraceReader, ALiveRequestIsAdmittedAgainWithoutItsPrompt) {
  std::vector<Json> lines = test::healthy_trace();
  lines[2] = lines[1];
  lines[2]["step"] = 2;
  lines[2]["scheduler_output"]["scheduled_new_reqs"][0].erase("prompt_token_ids");
  TraceReader reader("t.jsonl");
  EXPECT_EQ(test::read_error(reader, lines), "");
  EXPECT_EQ(reader.step().scheduled_new_reqs[0].request, kA);
  EXPECT_EQ(reader.step().scheduled_new_reqs[0].prompt_token_ids.count, 0U);
}

TEST(TraceReader, OfAKeyThatOccursTwiceTheFirstCounts) {
  TraceReader reader = after(2);
  std::string text = test::healthy_trace()[2].dump();
  text.insert(1, "\"step\": 7, ");
  EXPECT_EQ(reader.read_line(text, 3).value(), TraceLine::step);
  EXPECT_EQ(reader.step().step, 7);
}

TEST(TraceReader, TextThatIsNoJsonNamesLineAndColumn) {
  TraceReader reader = after(1);
  const auto broken = reader.read_line("{\"step\": }", 2);
  EXPECT_EQ(broken.error().kind, ErrorKind::corrupt);
  EXPECT_THAT(broken.error().message, StartsWith("t.jsonl:2:10: syntax error"));
  EXPECT_THAT(reader.read_line("{\"step\": NaN}", 2).error().message,
              StartsWith("t.jsonl:2:10: syntax error"));
  EXPECT_THAT(reader.read_line("{\"a\": \"\xFF\"}", 2).error().message,
              StartsWith("t.jsonl:2:8: byte 0xFF is no UTF-8"));
  EXPECT_FALSE(reader.read_line(std::string(5000, '['), 2).ok());
}

TEST(TraceReader, AnIntegerBeyond64BitsIsRefused) {
  TraceReader reader = after(1);
  EXPECT_EQ(reader.read_line("{\"step\": 123456789012345678901234567890}", 2).error().message,
            "t.jsonl:2: Problem while parsing a number");
}

}  // namespace
}  // namespace hybridscope::trace_reader_test
