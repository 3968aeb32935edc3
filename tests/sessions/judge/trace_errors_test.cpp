// What is bad input (docs/trace-format.md): the healthy trace with one thing changed.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <vector>

#include "tests/sessions/judge/judged_run.h"

namespace hybridscope::trace_errors_test {
namespace {

using Json = nlohmann::json;

struct Case {
  const char* name;     // a rule
  std::size_t line;     // that is changed, from 1
  const char* pointer;  // of the value that is replaced or added; taken out by ""
  const char* value;    // JSON
  const char* message;  // without "t.jsonl:"
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

Json changed(Json line, const Case& c) {
  const Json::json_pointer pointer(c.pointer);
  if (*c.value != '\0')
    line[pointer] = Json::parse(c.value);
  else
    line[pointer.parent_pointer()].erase(pointer.back());
  return line;
}

class TraceErrors : public ::testing::TestWithParam<Case> {};

TEST_P(TraceErrors, NameLinePointerFoundAndExpected) {
  std::vector<Json> lines = test::healthy_trace();
  ASSERT_EQ(test::read_error(lines), "");
  const Case& c = GetParam();
  lines[c.line - 1] = changed(lines[c.line - 1], c);
  EXPECT_EQ(test::read_error(lines), std::string("t.jsonl:") + c.message);
}

TEST(TraceErrorsOfNames, ARequestIdHasAtMost4096Bytes) {
  const auto error_with = [](std::size_t bytes) {
    std::vector<Json> lines = test::healthy_trace();
    lines[1][Json::json_pointer("/scheduler_output/scheduled_new_reqs/0/req_id")] =
        std::string(bytes, 'a');
    return test::read_error(lines);
  };
  const std::string place = "t.jsonl:2: /scheduler_output/scheduled_new_reqs/0/req_id: ";
  EXPECT_EQ(error_with(4097), place + "a request id of 4097 bytes, expected at most 4096");
  EXPECT_NE(error_with(4096).substr(0, place.size()), place);
}

const Case kHeaderCases[] = {
    {"VersionIsAtMostOne", 1, "/hybridscope_trace", "2",
     "1: /hybridscope_trace: version 2, this program reads version 1"},
    {"VersionIsAnInteger", 1, "/hybridscope_trace", "\"1\"",
     "1: /hybridscope_trace: expected an integer from 1 to 9223372036854775807, found \"1\""},
    {"NameIsText", 1, "/name", "5", "1: /name: expected a string, found 5"},
    {"ConfigIsRequired", 1, "/config", "", "1: key \"config\" is missing"},
    {"ConfigIsAnObject", 1, "/config", "[]", "1: /config: expected an object, found an array of 0"},
    {"ModeIsRequired", 1, "/config/mamba_cache_mode", "",
     "1: /config: key \"mamba_cache_mode\" is missing"},
    {"ModeIsOneOfThree", 1, "/config/mamba_cache_mode", "\"aling\"",
     "1: /config/mamba_cache_mode: expected one of none, all, align, found \"aling\", did you mean "
     "\"align\"?"},
    {"AsyncSchedulingIsABoolean", 1, "/config/async_scheduling", "1",
     "1: /config/async_scheduling: expected true or false, found 1"},
    {"RunnerIsOneOfTwo", 1, "/config/runner", "\"v3\"",
     "1: /config/runner: expected one of v1, v2, found \"v3\", did you mean \"v1\"?"},
    {"PoolHasTwoBlocks", 1, "/config/num_gpu_blocks", "1",
     "1: /config/num_gpu_blocks: expected an integer from 2 to 4194304, found 1"},
    {"PoolSizeIsAnInteger", 1, "/config/num_gpu_blocks", "46.0",
     "1: /config/num_gpu_blocks: expected an integer from 2 to 4194304, found 46.0"},
    {"LengthIsRequired", 1, "/config/max_model_len", "",
     "1: /config: key \"max_model_len\" is missing"},
    {"GroupsAreRequired", 1, "/config/kv_cache_groups", "",
     "1: /config: key \"kv_cache_groups\" is missing"},
    {"GroupsAreOneAtLeast", 1, "/config/kv_cache_groups", "[]",
     "1: /config/kv_cache_groups: 0 groups, expected 1 to 32"},
    {"GroupTypeIsKnown", 1, "/config/kv_cache_groups/0/type", "\"full\"",
     "1: /config/kv_cache_groups/0/type: expected one of full_attention, mamba, found \"full\", "
     "did you mean \"full_attention\"?"},
    {"GroupHasABlockSize", 1, "/config/kv_cache_groups/1/block_size", "",
     "1: /config/kv_cache_groups/1: key \"block_size\" is missing"},
    {"MambaTypeIsKnown", 1, "/config/kv_cache_groups/1/mamba_type", "\"gdn\"",
     "1: /config/kv_cache_groups/1/mamba_type: expected one of mamba1, mamba2, linear_attention, "
     "short_conv, gdn_attention, kda, found \"gdn\", did you mean \"gdn_attention\"?"},
    {"DraftsAreAtMost64", 1, "/config/num_speculative_tokens", "65",
     "1: /config/num_speculative_tokens: expected an integer from 0 to 64, found 65"},
    {"DraftsHaveAMethod", 1, "/config/speculative_method", "\"none\"",
     "1: /config/speculative_method: expected mtp, ngram or draft_model with "
     "num_speculative_tokens 2, found "
     "\"none\""},
    {"MethodIsKnown", 1, "/config/speculative_method", "\"eagle\"",
     "1: /config/speculative_method: expected one of none, mtp, ngram, draft_model, found "
     "\"eagle\""},
    {"AReorderBatchThresholdIsNullOrLeftOut", 1, "/config/reorder_batch_threshold", "3",
     "1: /config/reorder_batch_threshold: expected null (or to leave it out), found 3"},
    {"WatermarkIsAFraction", 1, "/config/watermark", "1.5",
     "1: /config/watermark: expected a number from 0 to 1, found 1.5"},
    {"CaptureSizesAscend", 1, "/config/cudagraph_capture_sizes", "[4, 2]",
     "1: /config/cudagraph_capture_sizes: expected ascending sizes"},
    {"BooleansAreBooleans", 1, "/config/enable_prefix_caching", "1",
     "1: /config/enable_prefix_caching: expected true or false, found 1"},
};

const Case kStepCases[] = {
    {"StepIsRequired", 3, "/step", "", "3: key \"step\" is missing"},
    {"StepGrows", 3, "/step", "1", "3: /step: step 1 after step 1, expected a greater one"},
    {"StepIsAnInteger", 3, "/step", "\"2\"",
     "3: /step: expected an integer from 0 to 9223372036854775807, found \"2\""},
    {"StepIsNotNegative", 2, "/step", "-1",
     "2: /step: expected an integer from 0 to 9223372036854775807, found -1"},
    {"SchedulerOutputIsRequired", 3, "/scheduler_output", "",
     "3: key \"scheduler_output\" is missing"},
    {"SchedulerBlockIdsAreRequired", 3, "/scheduler_block_ids", "",
     "3: key \"scheduler_block_ids\" is missing"},
    {"InputBatchIsRequired", 3, "/input_batch", "", "3: key \"input_batch\" is missing"},
    {"OutputIsRequiredBeforeAnotherStep", 2, "/model_runner_output", "",
     "2: key \"model_runner_output\" is missing (only the last step of a trace may leave it out)"},
    {"StepTimeIsNotNegative", 2, "/step_time_us", "-1",
     "2: /step_time_us: expected an integer from 0 to 1000000000000, found -1"},
    {"StepTimeIsANumber", 3, "/step_time_us", "\"9ms\"",
     "3: /step_time_us: expected an integer from 0 to 1000000000000, found \"9ms\""},
    {"BudgetIsNotAboveTheEngines", 3, "/token_budget", "17",
     "3: /token_budget: expected an integer from 0 to 16, found 17"},
    {"ProposedDraftsAreOfLiveRequests", 3, "/num_drafts_proposed", R"({"z": 1})",
     "3: /num_drafts_proposed/z: request \"z\" was never introduced or is finished"},
    {"PreemptedByCommandAreLiveRequests", 3, "/preempted_by_command", R"(["z"])",
     "3: /preempted_by_command/0: request \"z\" was never introduced or is finished"},
    {"ResetIsABoolean", 3, "/reset_prefix_cache", "\"yes\"",
     "3: /reset_prefix_cache: expected true or false, found \"yes\""},
};

const Case kRequestsCases[] = {
    {"NewRequestHasAName", 2, "/scheduler_output/scheduled_new_reqs/0/req_id", "",
     "2: /scheduler_output/scheduled_new_reqs/0: key \"req_id\" is missing"},
    {"NewRequestHasAPrompt", 2, "/scheduler_output/scheduled_new_reqs/0/prompt_token_ids", "",
     "2: /scheduler_output/scheduled_new_reqs/0: key \"prompt_token_ids\" is missing"},
    {"PromptHasATokenAtLeast", 2, "/scheduler_output/scheduled_new_reqs/0/prompt_token_ids", "[]",
     "2: /scheduler_output/scheduled_new_reqs/0/prompt_token_ids: expected at least one token, "
     "found an empty array"},
    {"TokenIdsAreNotNegative", 2, "/scheduler_output/scheduled_new_reqs/0/prompt_token_ids/1", "-1",
     "2: /scheduler_output/scheduled_new_reqs/0/prompt_token_ids/1: expected an integer from 0 to "
     "2147483647, found -1"},
    {"NewRequestHasBlocks", 2, "/scheduler_output/scheduled_new_reqs/0/block_ids", "",
     "2: /scheduler_output/scheduled_new_reqs/0: key \"block_ids\" is missing"},
    {"NewRequestHasComputedTokens", 2, "/scheduler_output/scheduled_new_reqs/0/num_computed_tokens",
     "", "2: /scheduler_output/scheduled_new_reqs/0: key \"num_computed_tokens\" is missing"},
    {"ComputedTokensAreNotNegative", 2,
     "/scheduler_output/scheduled_new_reqs/0/num_computed_tokens", "-1",
     "2: /scheduler_output/scheduled_new_reqs/0/num_computed_tokens: expected an integer from 0 to "
     "91, found -1"},
    {"ComputedTokensFitTheModel", 2, "/scheduler_output/scheduled_new_reqs/0/num_computed_tokens",
     "92",
     "2: /scheduler_output/scheduled_new_reqs/0/num_computed_tokens: expected an integer from 0 to "
     "91, found 92"},
    {"NewRequestsAreDifferent", 2, "/scheduler_output/scheduled_new_reqs/1/req_id", "\"a\"",
     "2: /scheduler_output/scheduled_new_reqs/1/req_id: request \"a\" is listed twice"},
    {"SaltIsText", 2, "/scheduler_output/scheduled_new_reqs/0/cache_salt", "7",
     "2: /scheduler_output/scheduled_new_reqs/0/cache_salt: expected a string, found 7"},
    {"CachedRequestIsKnown", 3, "/scheduler_output/scheduled_cached_reqs/req_ids/0", "\"z\"",
     "3: /scheduler_output/scheduled_cached_reqs/req_ids/0: request \"z\" was never introduced or "
     "is finished"},
    {"CachedRequestIsNotFinished", 3, "/scheduler_output/finished_req_ids", "[\"a\"]",
     "3: /scheduler_output/scheduled_cached_reqs/req_ids/0: request \"a\" was never introduced or "
     "is finished"},
    {"CachedRequestsAreDifferent", 3, "/scheduler_output/scheduled_cached_reqs/req_ids/1", "\"a\"",
     "3: /scheduler_output/scheduled_cached_reqs/req_ids/1: request \"a\" is listed twice"},
    {"CachedRequestsAreNotAdmittedToo", 3, "/scheduler_output/scheduled_new_reqs",
     "[{\"req_id\": \"a\", \"block_ids\": [[], []], \"num_computed_tokens\": 0}]",
     "3: /scheduler_output/scheduled_cached_reqs/req_ids/0: request \"a\" is in scheduled_new_reqs "
     "too"},
    {"CachedListsAreParallel", 3, "/scheduler_output/scheduled_cached_reqs/num_computed_tokens",
     "[2]",
     "3: /scheduler_output/scheduled_cached_reqs/num_computed_tokens: length 1, expected 2 (as "
     "req_ids)"},
    {"CachedListsAreAsLongAsTheRequests", 3,
     "/scheduler_output/scheduled_cached_reqs/num_output_tokens", "[1, 1, 1]",
     "3: /scheduler_output/scheduled_cached_reqs/num_output_tokens: length 3, expected 2 (as "
     "req_ids)"},
    {"CachedBlocksAreRequired", 3, "/scheduler_output/scheduled_cached_reqs/new_block_ids", "",
     "3: /scheduler_output/scheduled_cached_reqs: key \"new_block_ids\" is missing"},
    {"CachedBlocksHaveAListAGroup", 3, "/scheduler_output/scheduled_cached_reqs/new_block_ids/1",
     "[[9]]",
     "3: /scheduler_output/scheduled_cached_reqs/new_block_ids/1: length 1, expected 2 (a list a "
     "KV-cache group)"},
    {"ResumedRequestIsACachedOne", 3, "/scheduler_output/scheduled_cached_reqs/resumed_req_ids",
     "[\"b\", \"z\"]",
     "3: /scheduler_output/scheduled_cached_reqs/resumed_req_ids/1: request \"z\" was never "
     "introduced or is finished"},
    {"ResumedRequestsAreDifferent", 3, "/scheduler_output/scheduled_cached_reqs/resumed_req_ids",
     "[\"b\", \"b\"]",
     "3: /scheduler_output/scheduled_cached_reqs/resumed_req_ids/1: request \"b\" is listed "
     "twice"},
    {"ResumedRequestHasAllBlocks", 3, "/scheduler_output/scheduled_cached_reqs/new_block_ids/1",
     "null",
     "3: /scheduler_output/scheduled_cached_reqs/new_block_ids/1: expected all block ids of the "
     "resumed request \"b\", found null"},
    {"PreemptedRequestIsKnown", 3, "/scheduler_output/preempted_req_ids", "[\"z\"]",
     "3: /scheduler_output/preempted_req_ids/0: request \"z\" was never introduced or is finished"},
    {"PreemptedRequestsAreDifferent", 3, "/scheduler_output/preempted_req_ids", "[\"a\", \"a\"]",
     "3: /scheduler_output/preempted_req_ids/1: request \"a\" is listed twice"},
    {"FinishedListHoldsText", 3, "/scheduler_output/finished_req_ids", "[1]",
     "3: /scheduler_output/finished_req_ids/0: expected a string, found 1"},
};

const Case kTokensCases[] = {
    {"TokensAreRequired", 3, "/scheduler_output/num_scheduled_tokens", "",
     "3: /scheduler_output: key \"num_scheduled_tokens\" is missing"},
    {"TokensOfACachedRequestAreThere", 3, "/scheduler_output/num_scheduled_tokens/a", "",
     "3: /scheduler_output/num_scheduled_tokens: request \"a\" of scheduled_cached_reqs is "
     "missing"},
    {"TokensOfANewRequestAreThere", 2, "/scheduler_output/num_scheduled_tokens/b", "",
     "2: /scheduler_output/num_scheduled_tokens: request \"b\" of scheduled_new_reqs is missing"},
    {"TokensAreOfScheduledRequests", 3, "/scheduler_output/scheduled_cached_reqs",
     "{\"req_ids\": [\"a\"], \"new_block_ids\": [null], \"num_computed_tokens\": [2]}",
     "3: /scheduler_output/num_scheduled_tokens/b: request \"b\" is in neither scheduled_new_reqs "
     "nor scheduled_cached_reqs"},
    {"TokensAreOfKnownRequests", 3, "/scheduler_output/num_scheduled_tokens/z", "1",
     "3: /scheduler_output/num_scheduled_tokens/z: request \"z\" was never introduced or is "
     "finished"},
    {"TokensAreOneAtLeast", 3, "/scheduler_output/num_scheduled_tokens/a", "0",
     "3: /scheduler_output/num_scheduled_tokens/a: expected an integer from 1 to 91, found 0"},
    {"TokensFitTheBudget", 3, "/scheduler_output/num_scheduled_tokens/a", "14",
     "3: /scheduler_output/num_scheduled_tokens: 17 tokens, expected at most 16 "
     "(max_num_batched_tokens)"},
    {"DraftsAreOfScheduledRequests", 3, "/scheduler_output/scheduled_spec_decode_tokens/z", "[1]",
     "3: /scheduler_output/scheduled_spec_decode_tokens/z: request \"z\" was never introduced or "
     "is finished"},
    {"DraftsLeaveATokenThatIsKnown", 3, "/scheduler_output/num_scheduled_tokens/a", "2",
     "3: /scheduler_output/scheduled_spec_decode_tokens/a: length 2, expected at most 1 drafts in "
     "2 scheduled tokens"},
    {"DraftsAreAtMostK", 3, "/scheduler_output/scheduled_spec_decode_tokens/a", "[1, 2, 3]",
     "3: /scheduler_output/scheduled_spec_decode_tokens/a: length 3, expected at most 2 drafts in "
     "3 scheduled tokens"},
    {"DraftsAreTokensOrPlaceholders", 3, "/scheduler_output/scheduled_spec_decode_tokens/a",
     "[1, -2]",
     "3: /scheduler_output/scheduled_spec_decode_tokens/a/1: expected an integer from -1 to "
     "2147483647, found -2"},
};

const Case kBlocksCases[] = {
    {"AdmittedRequestsTellTheirBlocks", 2, "/scheduler_block_ids/b", "",
     "2: /scheduler_block_ids: request \"b\" is missing, which this step admits"},
    {"ResumedRequestsTellTheirBlocks", 3, "/scheduler_block_ids/b", "",
     "3: /scheduler_block_ids: request \"b\" is missing, which this step resumes"},
    {"BlocksAreOfKnownRequests", 3, "/scheduler_block_ids/z", "[[], []]",
     "3: /scheduler_block_ids/z: request \"z\" was never introduced or is finished"},
    {"BlocksAreOfThePool", 3, "/scheduler_block_ids/b/0/0", "46",
     "3: /scheduler_block_ids/b/0/0: expected an integer from 0 to 45, found 46"},
    {"BlocksAreNotNegative", 3, "/scheduler_block_ids/b/1/2", "-1",
     "3: /scheduler_block_ids/b/1/2: expected an integer from 0 to 45, found -1"},
    {"BlockListsAreOneAGroup", 3, "/scheduler_block_ids/b", "[[9], [10], [11]]",
     "3: /scheduler_block_ids/b: length 3, expected 2 (a list a KV-cache group)"},
    {"BlockListsAreLists", 3, "/scheduler_block_ids/b/0", "9",
     "3: /scheduler_block_ids/b/0: expected an array, found 9"},
    {"ColumnsFitTheModel", 3, "/scheduler_block_ids/b/0",
     "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]",
     "3: /scheduler_block_ids/b/0: 15 columns, expected at most 14: max_model_len 88 in blocks of "
     "8, and 1 + K"},
    {"CachedBlockCountsAreOneAGroup", 3, "/num_cached_block/a", "[1]",
     "3: /num_cached_block/a: length 1, expected 2 (a count a KV-cache group)"},
    {"CachedBlockCountsFitTheColumns", 3, "/num_cached_block/a/0", "15",
     "3: /num_cached_block/a/0: expected an integer from 0 to 14, found 15"},
    {"CachedBlockCountsAreOfKnownRequests", 3, "/num_cached_block/z", "[0, 0]",
     "3: /num_cached_block/z: request \"z\" was never introduced or is finished"},
};

const Case kWorkerCases[] = {
    {"RowsAreScheduled", 3, "/input_batch/req_ids/1", "\"z\"",
     "3: /input_batch/req_ids/1: request \"z\" was never introduced or is finished"},
    {"RowsAreDifferent", 3, "/input_batch/req_ids/1", "\"a\"",
     "3: /input_batch/req_ids/1: request \"a\" is listed twice"},
    {"RowsAreAllScheduledRequests", 3, "/input_batch/req_ids", "[\"b\"]",
     "3: /input_batch/req_ids: request \"a\" of num_scheduled_tokens is missing"},
    {"RowsHaveAcceptedCountsWithDrafts", 3, "/input_batch/num_accepted_tokens_cpu", "",
     "3: /input_batch: key \"num_accepted_tokens_cpu\" is missing"},
    {"AcceptedCountsAreParallel", 3, "/input_batch/num_accepted_tokens_cpu", "[1]",
     "3: /input_batch/num_accepted_tokens_cpu: length 1, expected 2 (as req_ids)"},
    {"AcceptedCountsAreNotNegative", 3, "/input_batch/num_accepted_tokens_cpu/0", "-1",
     "3: /input_batch/num_accepted_tokens_cpu/0: expected an integer from 0 to 91, found -1"},
    {"CountsOfTheDeviceAreParallel", 3, "/input_batch/num_computed_tokens", "[1]",
     "3: /input_batch/num_computed_tokens: length 1, expected 2 (as req_ids)"},
    {"OnlyRunnerV2HasSlots", 3, "/input_batch/idx_mapping", "[0, 1]",
     "3: /input_batch/idx_mapping: runner v1 has no slots (expected \"runner\": \"v2\" in the "
     "header)"},
    {"StateColumnsAreColumns", 3, "/input_batch/mamba_state_idx/0", "14",
     "3: /input_batch/mamba_state_idx/0: expected an integer from 0 to 13, found 14"},
    {"RowBlocksAreParallel", 3, "/input_batch/block_ids", "[null]",
     "3: /input_batch/block_ids: length 1, expected 2 (as req_ids)"},
    {"CopiesAreAList", 3, "/preprocess_copies", "{}",
     "3: /preprocess_copies: expected an array, found an object"},
    {"CopiesAreOfKnownRequests", 3, "/preprocess_copies/0/req_id", "\"z\"",
     "3: /preprocess_copies/0/req_id: request \"z\" was never introduced or is finished"},
    {"CopiesHaveASource", 3, "/preprocess_copies/0/src_block_idx", "",
     "3: /preprocess_copies/0: key \"src_block_idx\" is missing"},
    {"CopyColumnsAreColumns", 3, "/preprocess_copies/0/dest_block_idx", "-1",
     "3: /preprocess_copies/0/dest_block_idx: expected an integer from 0 to 13, found -1"},
    {"CopyGroupIsAMambaGroup", 3, "/postprocess_copies/0/group", "0",
     "3: /postprocess_copies/0/group: expected the number of a mamba group, found 0"},
    {"CopyGroupExists", 3, "/postprocess_copies/0/group", "2",
     "3: /postprocess_copies/0/group: expected an integer from 0 to 1, found 2"},
    {"CopyBlocksAreOfThePool", 3, "/postprocess_copies/0/dest_block_id", "46",
     "3: /postprocess_copies/0/dest_block_id: expected an integer from 0 to 45, found 46"},
    {"CopyOfAGroupHasATarget", 3, "/postprocess_copies/0/dest_block_id", "",
     "3: /postprocess_copies/0: key \"dest_block_id\" is missing"},
    {"CopyOfAGroupHasASource", 3, "/postprocess_copies/0",
     "{\"req_id\": \"a\", \"group\": 1, \"dest_block_id\": 9}",
     "3: /postprocess_copies/0: key \"conv_src_block_id\" is missing"},
    {"GraphModeIsRequired", 3, "/cudagraph/cudagraph_runtime_mode", "",
     "3: /cudagraph: key \"cudagraph_runtime_mode\" is missing"},
    {"GraphModeIsKnown", 3, "/cudagraph/cudagraph_runtime_mode", "\"FULL_DECODE_ONLY\"",
     "3: /cudagraph/cudagraph_runtime_mode: expected one of NONE, PIECEWISE, FULL, found "
     "\"FULL_DECODE_ONLY\""},
    {"FullGraphHasTokens", 3, "/cudagraph/num_tokens", "",
     "3: /cudagraph: key \"num_tokens\" is missing"},
    {"FullGraphHasRows", 3, "/cudagraph/num_reqs", "null",
     "3: /cudagraph/num_reqs: expected an integer from 1 to 65536, found null"},
    {"SampledRequestsAreScheduled", 3, "/model_runner_output/req_ids/0", "\"z\"",
     "3: /model_runner_output/req_ids/0: request \"z\" was never introduced or is finished"},
    {"SampledListsAreParallel", 3, "/model_runner_output/sampled_token_ids", "[]",
     "3: /model_runner_output/sampled_token_ids: length 0, expected 1 (as req_ids)"},
    {"SampledTokensAreRequired", 3, "/model_runner_output/sampled_token_ids", "",
     "3: /model_runner_output: key \"sampled_token_ids\" is missing"},
    {"SampledRequestsAreDifferent", 3, "/model_runner_output/req_ids", "[\"b\", \"b\"]",
     "3: /model_runner_output/req_ids/1: request \"b\" is listed twice"},
    {"SampledTokensAreIdsOrUnknown", 3, "/model_runner_output/sampled_token_ids/0/1", "-2",
     "3: /model_runner_output/sampled_token_ids/0/1: expected an integer from -1 to 2147483647, "
     "found -2"},
};

const Case kMetadataCases[] = {
    {"MetadataIsOfAMambaGroup", 3, "/attn_metadata/0", "{}",
     "3: /attn_metadata/0: expected the number of a mamba group, found \"0\""},
    {"MetadataGroupIsANumber", 3, "/attn_metadata/one", "{}",
     "3: /attn_metadata/one: expected the number of a mamba group, found \"one\""},
    {"MetadataOfAGroupIsAnObject", 3, "/attn_metadata/1", "[]",
     "3: /attn_metadata/1: expected an object, found an array of 0"},
    {"MetadataHoldsNumbers", 3, "/attn_metadata/1/num_prefills", "\"none\"",
     "3: /attn_metadata/1/num_prefills: expected a number of 32 bits, true or false, found "
     "\"none\""},
    {"MetadataHoldsIntegersOf32Bits", 3, "/attn_metadata/1/spec_state_indices_tensor/0/0",
     "2147483648",
     "3: /attn_metadata/1/spec_state_indices_tensor/0/0: expected a number of 32 bits, true or "
     "false, found 2147483648"},
    {"MetadataRowsAreEquallyLong", 3, "/attn_metadata/1/spec_state_indices_tensor/1", "[10]",
     "3: /attn_metadata/1/spec_state_indices_tensor/1: a row of length 1, expected 3 as the first"},
    {"MetadataHasTwoDimensionsAtMost", 3, "/attn_metadata/1/spec_state_indices_tensor", "[[[1]]]",
     "3: /attn_metadata/1/spec_state_indices_tensor/0/0: expected a number of 32 bits, true or "
     "false, found an array of 1"},
    {"MetadataShapeHasTwoDimensionsAtMost", 3,
     "/attn_metadata/1/non_spec_state_indices_tensor/shape", "[1, 1, 1]",
     "3: /attn_metadata/1/non_spec_state_indices_tensor/shape: 3 dimensions, expected 1 or 2"},
    {"MetadataDataFitsItsShape", 3, "/attn_metadata/1/non_spec_state_indices_tensor/data", "[1]",
     "3: /attn_metadata/1/non_spec_state_indices_tensor/data: length 1, expected 0 x 3"},
    {"MetadataShapeHasData", 3, "/attn_metadata/1/non_spec_state_indices_tensor/data", "",
     "3: /attn_metadata/1/non_spec_state_indices_tensor: key \"data\" is missing"},
};

std::string case_name(const ::testing::TestParamInfo<Case>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(Header, TraceErrors, ::testing::ValuesIn(kHeaderCases), case_name);
INSTANTIATE_TEST_SUITE_P(Step, TraceErrors, ::testing::ValuesIn(kStepCases), case_name);
INSTANTIATE_TEST_SUITE_P(Requests, TraceErrors, ::testing::ValuesIn(kRequestsCases), case_name);
INSTANTIATE_TEST_SUITE_P(Tokens, TraceErrors, ::testing::ValuesIn(kTokensCases), case_name);
INSTANTIATE_TEST_SUITE_P(Blocks, TraceErrors, ::testing::ValuesIn(kBlocksCases), case_name);
INSTANTIATE_TEST_SUITE_P(Worker, TraceErrors, ::testing::ValuesIn(kWorkerCases), case_name);
INSTANTIATE_TEST_SUITE_P(Metadata, TraceErrors, ::testing::ValuesIn(kMetadataCases), case_name);

}  // namespace
}  // namespace hybridscope::trace_errors_test
