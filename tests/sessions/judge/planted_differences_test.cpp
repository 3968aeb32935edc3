// One changed decision in a healthy trace each, and what the comparison says of it; the known bugs
// that a comparison with our engine finds behind a trace.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "core/base/policy_set.h"
#include "sessions/judge/trace_cause.h"
#include "sessions/judge/trace_writer.h"
#include "sessions/known_bugs/bug_exhibit.h"
#include "sessions/run/checked_run.h"
#include "sessions/run/run_plan.h"
#include "tests/sessions/judge/judged_run.h"
#include "tests/support/small_engine.h"

namespace hybridscope::test::planted_differences_test {
namespace {

using Json = nlohmann::json;
using Lines = std::vector<Json>;
using testing::ElementsAre;
using testing::IsEmpty;

// GDN, mode align, blocks of 8 tokens, K = 2, 16 tokens a step. r1 has a prompt of 10 tokens and
// runs from step 1, r2 one of 13 and runs from step 2; steps 3 to 8 verify both. In step 4 both
// move on to column 2 and r2 leaves a boundary state behind; r1 ends in step 8.
Lines two_requests() {
  return traced_run(engine_config({.mamba_type = MambaType::gdn_attention,
                                   .num_speculative_tokens = 2,
                                   .max_num_batched_tokens = 16}),
                    {request_of(10, 12, 1), request_of(13, 14, 2)});
}

// The first difference from profile safe after `change` of lines[step].
std::string after(const std::function<void(Lines&)>& change) {
  Lines lines = two_requests();
  change(lines);
  return first_difference(lines, safe_policies());
}

Json& scheduler(Lines& lines, std::size_t step) { return lines[step]["scheduler_output"]; }
Json& cached(Lines& lines, std::size_t step) {
  return scheduler(lines, step)["scheduled_cached_reqs"];
}
Json& batch(Lines& lines, std::size_t step) { return lines[step]["input_batch"]; }
Json& metadata(Lines& lines, std::size_t step) { return lines[step]["attn_metadata"]["1"]; }

void swap_first_two(Json& object) {
  for (Json& list : object)
    if (list.is_array() && list.size() == 2) std::swap(list[0], list[1]);
}

TEST(PlantedDifference, NoneAgrees) {
  EXPECT_EQ(after([](Lines&) {}), "");
}

TEST(PlantedDifference, ARequestThatShouldHaveEnded) {
  EXPECT_EQ(after([](Lines& lines) {
              scheduler(lines, 1)["scheduled_new_reqs"][0]["max_tokens"] = 12;
              scheduler(lines, 9)["finished_req_ids"] = Json::array();
            }),
            "step 9, request r1: finished_req_ids: ours finished, trace not finished (rule: "
            "Scheduler.update_from_output)");
}

TEST(PlantedDifference, APreemption) {
  EXPECT_EQ(after([](Lines& lines) { scheduler(lines, 3)["preempted_req_ids"] = {"r2"}; }),
            "step 3, request r2: preempted_req_ids: ours not preempted, trace preempted (rule: "
            "Scheduler.schedule)");
}

TEST(PlantedDifference, ARequestThatIsAdmittedAboveTheWatermark) {
  EXPECT_EQ(after([](Lines& lines) { lines[0]["config"]["watermark"] = 0.95; }),
            "step 2, request r2: scheduled requests: ours not scheduled, trace 13 tokens (rule: "
            "Scheduler.schedule)");
}

TEST(PlantedDifference, TheOrderOfRunningRequests) {
  EXPECT_EQ(after([](Lines& lines) { swap_first_two(cached(lines, 3)); }),
            "step 3, index 0: order of scheduled requests: ours r1, trace r2 (rule: "
            "Scheduler.schedule)");
}

TEST(PlantedDifference, AResumedRequestThatWasNeverPreempted) {
  EXPECT_EQ(after([](Lines& lines) {
              cached(lines, 3)["resumed_req_ids"] = {"r1"};
              cached(lines, 3)["new_block_ids"][0] = {{1, 2}, {0, 3, 4, 5}};
              lines[3]["scheduler_block_ids"]["r1"] = {{1, 2}, {0, 3, 4, 5}};
            }),
            "step 3, request r1: admission: ours running, trace resumed (rule: "
            "Scheduler.schedule)");
}

TEST(PlantedDifference, AComputedCountThatForgetsRejectedDrafts) {
  EXPECT_EQ(after([](Lines& lines) { cached(lines, 5)["num_computed_tokens"][0] = 17; }),
            "step 5, request r1: num_computed_tokens: ours 15, trace 17 (rule: "
            "Scheduler.update_from_output)");
}

TEST(PlantedDifference, AChunkLongerThanTheThreshold) {
  EXPECT_EQ(after([](Lines& lines) { lines[0]["config"]["long_prefill_token_threshold"] = 8; }),
            "step 1, request r1: num_scheduled_tokens: ours 8, trace 10 (rule: "
            "Scheduler._mamba_block_aligned_split)");
}

TEST(PlantedDifference, ADroppedDraft) {
  EXPECT_EQ(
      after([](Lines& lines) { scheduler(lines, 3)["scheduled_spec_decode_tokens"]["r2"] = {7}; }),
      "step 3, request r2: scheduled_spec_decode_tokens: ours 2, trace 1 (rule: "
      "Scheduler.schedule)");
}

TEST(PlantedDifference, AnotherBlockInTheSchedulersTable) {
  EXPECT_EQ(
      after([](Lines& lines) { lines[3]["scheduler_block_ids"]["r2"][0][2] = 12; }),
      "step 3, request r2, group 0, column 2: scheduler_block_ids: ours block 11, trace block "
      "12 (rule: KVCacheManager.allocate_slots)");
}

TEST(PlantedDifference, ANewBlockThatIsNotReported) {
  EXPECT_EQ(after([](Lines& lines) { cached(lines, 3)["new_block_ids"][1] = nullptr; }),
            "step 3, request r2, group 0, column 0: new_block_ids: ours block 11, trace no block "
            "(rule: KVCacheManager.allocate_slots)");
}

TEST(PlantedDifference, TheOrderOfRows) {
  EXPECT_EQ(after([](Lines& lines) { swap_first_two(batch(lines, 3)); }),
            "step 3, row 0: input_batch.req_ids: ours r1, trace r2 (rule: InputBatch.condense, "
            "GPUModelRunner._may_reorder_batch)");
}

TEST(PlantedDifference, ABlockInTheWorkersTable) {
  EXPECT_EQ(after([](Lines& lines) {
              batch(lines, 3)["block_ids"] = {nullptr, {{6, 7, 11}, {0, 8, 9, 12}}};
            }),
            "step 3, request r2, row 1, group 1, column 3: input_batch.block_ids: ours block 10, "
            "trace block 12 (rule: GPUModelRunner._update_states)");
}

TEST(PlantedDifference, AnAcceptedCount) {
  EXPECT_EQ(after([](Lines& lines) { batch(lines, 4)["num_accepted_tokens_cpu"][0] = 1; }),
            "step 4, request r1, row 0: num_accepted_tokens_cpu: ours 3, trace 1 (rule: "
            "InputBatch.add_request, GPUModelRunner._update_states_after_model_execute)");
}

TEST(PlantedDifference, AGraph) {
  EXPECT_EQ(
      after([](Lines& lines) { lines[3]["cudagraph"]["cudagraph_runtime_mode"] = "PIECEWISE"; }),
      "step 3: cudagraph: ours FULL, 6 tokens, 2 rows, trace PIECEWISE, 6 tokens (rule: "
      "CudagraphDispatcher.dispatch)");
}

TEST(PlantedDifference, APreCopyThatIsNotMade) {
  EXPECT_EQ(
      after([](Lines& lines) {
        lines[4]["preprocess_copies"] = {{{"req_id", "r1"},
                                          {"src_block_idx", 1},
                                          {"dest_block_idx", 2},
                                          {"accept_token_bias", 2}}};
      }),
      "step 4, request r2, row 1: preprocess_copies: ours column 1 to column 2, bias 1, trace "
      "no copy (rule: preprocess_mamba)");
}

TEST(PlantedDifference, TheBiasOfAPreCopy) {
  EXPECT_EQ(
      after([](Lines& lines) {
        lines[4]["preprocess_copies"] = {{{"req_id", "r1"},
                                          {"src_block_idx", 1},
                                          {"dest_block_idx", 2},
                                          {"accept_token_bias", 1}}};
      }),
      "step 4, request r1, row 0: preprocess_copies: ours column 1 to column 2, bias 2, trace "
      "column 1 to column 2, bias 1 (rule: preprocess_mamba)");
}

TEST(PlantedDifference, AnAcceptedCountThatIsNotReset) {
  EXPECT_EQ(
      after([](Lines& lines) { batch(lines, 4)["num_accepted_tokens_after_preprocess"][1] = 2; }),
      "step 4, request r2, row 1: num_accepted_tokens_after_preprocess: ours 1, trace 2 "
      "(rule: preprocess_mamba)");
}

TEST(PlantedDifference, ARunningColumn) {
  EXPECT_EQ(after([](Lines& lines) {
              batch(lines, 4)["mamba_state_idx"] = {1, 2};
            }),
            "step 4, request r1, row 0: mamba_state_idx: ours 2, trace 1 (rule: preprocess_mamba)");
}

TEST(PlantedDifference, AnElementOfTheMetadata) {
  EXPECT_EQ(after([](Lines& lines) {
              metadata(lines, 3)["spec_state_indices_tensor"] = {
                  {"shape", {6, 3}},
                  {"data", {3, 4, 5, 9, 9, 10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}}};
            }),
            "step 3, group 1, spec_state_indices_tensor, index 3: attn_metadata: ours 8, trace 9 "
            "(rule: GDNAttentionMetadataBuilder.build)");
}

TEST(PlantedDifference, ANumberOfTheMetadata) {
  EXPECT_EQ(after([](Lines& lines) { metadata(lines, 3)["num_spec_decodes"] = 1; }),
            "step 3, group 1, num_spec_decodes: attn_metadata: ours 2, trace 1 (rule: "
            "GDNAttentionMetadataBuilder.build)");
}

TEST(PlantedDifference, AShapeOfTheMetadata) {
  EXPECT_EQ(after([](Lines& lines) {
              metadata(lines, 3)["num_accepted_tokens"] = {1, 1};
            }),
            "step 3, group 1, num_accepted_tokens: attn_metadata: ours shape [6], trace shape [2] "
            "(rule: GDNAttentionMetadataBuilder.build)");
}

TEST(PlantedDifference, AnArrayThatShouldBeNone) {
  EXPECT_EQ(after([](Lines& lines) {
              metadata(lines, 3)["has_initial_state"] = {1, 1};
            }),
            "step 3, group 1, has_initial_state: attn_metadata: ours None, trace shape [2] (rule: "
            "GDNAttentionMetadataBuilder.build)");
}

TEST(PlantedDifference, APostCopyThatIsNotMade) {
  EXPECT_EQ(after([](Lines& lines) { lines[4]["postprocess_copies"] = Json::array(); }),
            "step 4, request r2, row 1: postprocess_copies: ours column 2 to column 1, bias 0, "
            "trace no copy (rule: postprocess_mamba_fused_kernel)");
}

TEST(PlantedDifference, ABlockOfAPostCopy) {
  EXPECT_EQ(
      after([](Lines& lines) {
        lines[4]["postprocess_copies"] = {
            {{"req_id", "r2"}, {"group", 1}, {"conv_src_block_id", 9}, {"dest_block_id", 10}}};
      }),
      "step 4, request r2, row 1, group 1: postprocess_copies: ours conv of block 9 and "
      "temporal of block 9 to block 8, bias 0, trace conv of block 9 to block 10 (rule: "
      "postprocess_mamba_fused_kernel)");
}

TEST(PlantedDifference, ATokenSampledFromAnUnfinishedChunk) {
  Lines lines = traced_run(engine_config({.max_num_batched_tokens = 16}), {request_of(24, 1, 1)});
  lines[1]["model_runner_output"]["sampled_token_ids"] = {{5}};
  EXPECT_EQ(first_difference(lines, safe_policies()),
            "step 1, request r1: sampled_token_ids: ours at most 0 tokens, trace 1 tokens (rule: "
            "Scheduler.update_from_output)");
}

TEST(PlantedDifference, ACopyThatChangesNothingIsNone) {
  EXPECT_EQ(after([](Lines& lines) {
              lines[3]["preprocess_copies"] = {{{"req_id", "r1"},
                                                {"src_block_idx", 1},
                                                {"dest_block_idx", 1},
                                                {"accept_token_bias", 0}}};
            }),
            "");
}

// The known bug behind the findings of a trace, found from the trace alone.

struct Traced {
  KeptTrace trace;
  FindingRoots chains;
};

// The scenario's run as the trace of an engine with this name.
Traced trace_of(const Scenario& scenario, const std::string& engine_name) {
  CheckedRun run = CheckedRun::create(plan_scenario(scenario, "s.json").value()).value();
  TraceWriter writer(run.engine().config(), traced_requests_of(run.engine()));
  auto header = nlohmann::json::parse(writer.header(scenario.name));
  header["engine"] = engine_name;
  Traced traced;
  traced.trace.begin(header.dump());
  while (!run.has_ended()) {
    const CheckedStep step = run.step().value();
    traced.trace.add(writer.step(step.trace));
    for (const Finding& finding : step.findings)
      if (rule_info(finding.rule).severity == Severity::error) traced.chains.add(finding);
  }
  return traced;
}

std::vector<std::string> causes(const Traced& traced) {
  std::vector<std::string> ids;
  const auto found = TraceCauses().find(traced.trace, std::span(traced.chains.roots()).first(1));
  for (const KnownBug* bug : found[0]) ids.emplace_back(bug->id);
  return ids;
}

std::vector<std::string> causes_of_faulty(const std::string& id) {
  return causes(trace_of(faulty_scenario(shipped_bug(id).value()), "another engine"));
}

TEST(TraceCause, IsTheBugWithWhichOurEngineDecidesTheSame) {
  EXPECT_THAT(causes_of_faulty("skipped-step-forgets-accepted-count"),
              ElementsAre("skipped-step-forgets-accepted-count"));
  EXPECT_THAT(causes_of_faulty("mid-block-chunk-poisons-slot"),
              ElementsAre("mid-block-chunk-poisons-slot"));
  EXPECT_THAT(causes_of_faulty("optimistic-length-picks-column"),
              ElementsAre("optimistic-length-picks-column"));
  EXPECT_THAT(causes_of_faulty("same-step-prefix-hit"), ElementsAre("same-step-prefix-hit"));
}

TEST(TraceCause, BugsOfTheSamePoliciesAreAllNamed) {
  EXPECT_THAT(causes_of_faulty("padded-prompt-tail-folds-placeholders"),
              ElementsAre("padded-prompt-tail-folds-placeholders",
                          "padded-one-token-prompt-folds-placeholders"));
}

TEST(TraceCause, AFaultOfKernelsIsInNoDecision) {
  EXPECT_THAT(causes_of_faulty("conv-rolling-window-varlen"), IsEmpty());
}

TEST(TraceCause, ATraceThatDecidesAsProfileSafeHasNone) {
  Traced healthy = trace_of(
      healthy_scenario(shipped_bug("skipped-step-forgets-accepted-count").value()), "another");
  Finding finding;
  finding.step = 4;
  healthy.chains.add(finding);
  EXPECT_THAT(causes(healthy), IsEmpty());
}

// Several bugs of the release act at once: no single one decides as it does, so it is the release
// without one of them that is compared.
TEST(TraceCause, OfAReleaseIsTheBugWithoutWhichItDecidesOtherwise) {
  Scenario scenario = healthy_scenario(shipped_bug("skipped-step-forgets-accepted-count").value());
  scenario.settings.engine = parse_engine_profile("vllm-0.24.0").value();
  const Traced traced = trace_of(scenario, "vllm 0.24.0");
  ASSERT_EQ(traced.chains.roots().size(), 1U);
  EXPECT_THAT(causes(traced), ElementsAre("skipped-step-forgets-accepted-count"));
}

TEST(TraceCause, ItSaysWhyItIsNotLookedFor) {
  const Traced faulty = trace_of(
      faulty_scenario(shipped_bug("skipped-step-forgets-accepted-count").value()), "another");
  TraceCauses searched;
  searched.find(faulty.trace, faulty.chains.roots());
  EXPECT_EQ(searched.why_not_searched(), "");

  Traced long_one = faulty;
  long_one.trace.add(std::string(KeptTrace::kMostBytes, ' '));
  TraceCauses causes;
  causes.find(long_one.trace, faulty.chains.roots());
  EXPECT_EQ(causes.why_not_searched(), "the trace has more than 32 MiB");
  causes.find(faulty.trace, {});
  EXPECT_EQ(causes.why_not_searched(), "");
}

TEST(TraceCause, NoLineIsKeptOfALongTrace) {
  KeptTrace trace;
  trace.begin("{}");
  trace.add(std::string(KeptTrace::kMostBytes, ' '));
  trace.add("{}");
  EXPECT_THAT(trace.lines(), IsEmpty());
  trace.begin("{}");
  EXPECT_EQ(trace.lines().size(), 1U);
}

}  // namespace
}  // namespace hybridscope::test::planted_differences_test
