// Tables worked by hand. Of a request in mode align, with blocks of B tokens and K drafts: after a
// step that goes up to token t it has ceil(t / B) columns for states and K more for drafts; a
// column is null when its state was skipped by a longer chunk, or is no longer needed. The running
// state moves to the column of token t before the step (from column + accepted - 1), and a state
// that passes a boundary is copied to the boundary's column after it.
#include "sessions/export/step_actions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "sessions/scenario/scenario_reader.h"

namespace hybridscope {

// For messages of failed tests.
void PrintTo(const StepAction& action, std::ostream* out) {
  *out << "step " << action.step << ": " << action.num_computed_tokens_start << ", "
       << action.num_scheduled_tokens << ", [";
  for (const std::int32_t held : action.kv_cache_block_ids) *out << held << ' ';
  *out << "], (" << action.preprocess_copy_idx.source << ", " << action.preprocess_copy_idx.target
       << "), (" << action.postprocess_copy_idx.source << ", " << action.postprocess_copy_idx.target
       << ")";
}

namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

ExportedRun run_of(const std::string& name) {
  const std::string file = std::string(HYBRIDSCOPE_SOURCE_DIR) + "/scenarios/" + name + ".json";
  return make_exported_run(read_scenario_file(file).value(), file).value();
}

constexpr StateMove kNone = {};

StepAction action(std::int64_t step, std::int32_t start, std::int32_t scheduled,
                  std::vector<std::int32_t> held, StateMove pre = {}, StateMove post = {}) {
  return {step, start, scheduled, std::move(held), pre, post};
}

// B 8, K 1: 6 tokens; then a token and a draft, both accepted: 8 tokens, state in column 1, which
// is where the draft's state was written, so it is copied to the boundary's column 0; then token 9.
TEST(StepActions, AlignBoundaryByAcceptedDrafts) {
  EXPECT_THAT(step_actions_of(run_of("align_boundary_by_accepted_drafts"), "A"),
              ElementsAre(action(1, 0, 6, {1, 1}), action(2, 6, 2, {1, 1}, kNone, {1, 0}),
                          action(3, 8, 2, {1, 1, 1}, {0, 1})));
}

// B 8, K 0. A: token 9 opens column 1; once it is computed, column 0 is not needed by A. B hits 8
// tokens of A's sequence and goes on from column 0.
TEST(StepActions, AlignBoundaryByDecode) {
  const ExportedRun run = run_of("align_boundary_by_decode");
  EXPECT_THAT(step_actions_of(run, "A"),
              ElementsAre(action(1, 0, 6, {1}), action(2, 6, 1, {1}), action(3, 7, 1, {1}),
                          action(4, 8, 1, {1, 1}, {0, 1}), action(5, 9, 1, {0, 1}),
                          action(6, 10, 1, {0, 1})));
  EXPECT_THAT(step_actions_of(run, "B"),
              ElementsAre(action(6, 8, 6, {1, 1}, {0, 1}), action(7, 14, 1, {0, 1}),
                          action(8, 15, 1, {0, 1})));
}

// B 8, K 0. A prompt of 18 is cut at 16: column 0 is skipped. B hits 16 tokens.
TEST(StepActions, AlignBoundaryByPrefill) {
  const ExportedRun run = run_of("align_boundary_by_prefill");
  EXPECT_THAT(step_actions_of(run, "A"),
              ElementsAre(action(1, 0, 16, {0, 1}), action(2, 16, 2, {0, 1, 1}, {1, 2}),
                          action(3, 18, 1, {0, 0, 1}), action(4, 19, 1, {0, 0, 1}),
                          action(5, 20, 1, {0, 0, 1})));
  EXPECT_THAT(step_actions_of(run, "B"),
              ElementsAre(action(3, 16, 4, {0, 1, 1}, {1, 2}), action(4, 20, 1, {0, 0, 1}),
                          action(5, 21, 1, {0, 0, 1}), action(6, 22, 1, {0, 0, 1})));
}

// B 8, K 0, budget 8: chunks of 8, 8 and 6; token 25 opens column 3.
TEST(StepActions, ChunkedPrefill) {
  EXPECT_THAT(step_actions_of(run_of("chunked_prefill"), "A"),
              ElementsAre(action(1, 0, 8, {1}), action(2, 8, 8, {1, 1}, {0, 1}),
                          action(3, 16, 6, {0, 1, 1}, {1, 2}), action(4, 22, 1, {0, 0, 1}),
                          action(5, 23, 1, {0, 0, 1}), action(6, 24, 1, {0, 0, 1, 1}, {2, 3})));
}

// B 8, K 0: token 9 opens column 1.
TEST(StepActions, PlainDecode) {
  EXPECT_THAT(step_actions_of(run_of("plain_decode"), "A"),
              ElementsAre(action(1, 0, 6, {1}), action(2, 6, 1, {1}), action(3, 7, 1, {1}),
                          action(4, 8, 1, {1, 1}, {0, 1})));
}

// B 8, K 0. B shares 16 tokens with A, a boundary where A left a state. C shares 8, where A left
// none: C computes all, and stops at 8 to leave one there.
TEST(StepActions, SharedPrefixAlign) {
  const ExportedRun run = run_of("shared_prefix_align");
  EXPECT_THAT(step_actions_of(run, "B"),
              ElementsAre(action(3, 16, 4, {0, 1, 1}, {1, 2}), action(4, 20, 1, {0, 0, 1}),
                          action(5, 21, 1, {0, 0, 1})));
  EXPECT_THAT(step_actions_of(run, "C"),
              ElementsAre(action(3, 0, 8, {1}), action(4, 8, 8, {1, 1}, {0, 1}),
                          action(5, 16, 4, {0, 1, 1}, {1, 2}), action(6, 20, 1, {0, 0, 1}),
                          action(7, 21, 1, {0, 0, 1})));
}

// Mode none: one block for the state at any length, and no copies.
TEST(StepActions, OneTokenPrompt) {
  EXPECT_THAT(step_actions_of(run_of("one_token_prompt"), "A"),
              ElementsAre(action(4, 0, 1, {1}), action(5, 1, 1, {1}), action(6, 2, 1, {1}),
                          action(7, 3, 1, {1})));
}

// Mode none, K 3: one block and three for drafts. 3 of 4 tokens count in step 2; the budget of step
// 3 leaves no room for drafts; then 4 and 4 tokens, all accepted in step 4.
TEST(StepActions, StepsWithoutDrafts) {
  EXPECT_THAT(step_actions_of(run_of("steps_without_drafts"), "A"),
              ElementsAre(action(1, 0, 5, {1, 1, 1, 1}), action(2, 5, 4, {1, 1, 1, 1}),
                          action(3, 8, 1, {1, 1, 1, 1}), action(4, 9, 4, {1, 1, 1, 1}),
                          action(5, 13, 4, {1, 1, 1, 1})));
}

// B 8, K 1. C accepts 2 tokens in step 2 and 2 in step 4, is left out of step 3. In step 5 tokens 7
// and 8 are accepted: the state after 8 tokens is in the draft's column 1 and goes to column 0.
TEST(StepActions, StarvedRequest) {
  EXPECT_THAT(step_actions_of(run_of("starved_request"), "C"),
              ElementsAre(action(1, 0, 2, {1, 1}), action(2, 2, 2, {1, 1}), action(4, 4, 2, {1, 1}),
                          action(5, 6, 2, {1, 1}, kNone, {1, 0}),
                          action(6, 8, 2, {1, 1, 1}, {0, 1}), action(7, 10, 2, {0, 1, 1})));
}

// B 4, K 1, every draft accepted: the prompt of 6 skips column 0; 8, 12 and 16 are reached by a
// draft, whose state lies one column behind the running one.
TEST(StepActions, MultiTurnWithDrafts) {
  EXPECT_THAT(step_actions_of(run_of("multi_turn_with_drafts"), "A"),
              ElementsAre(action(1, 0, 6, {0, 1, 1}), action(2, 6, 2, {0, 1, 1}, kNone, {2, 1}),
                          action(3, 8, 2, {0, 1, 1, 1}, {1, 2}),
                          action(4, 10, 2, {0, 0, 1, 1}, kNone, {3, 2}),
                          action(5, 12, 2, {0, 0, 1, 1, 1}, {2, 3}),
                          action(6, 14, 2, {0, 0, 0, 1, 1}, kNone, {4, 3})));
}

// B 4, K 0. B is preempted with 13 known tokens and computes them again: attention still finds the
// first 4, whose state is gone, so B stops at 4 to leave it there again; then up to the boundary
// 12, which skips column 1.
TEST(StepActions, PreemptionAndResume) {
  const std::vector<StepAction> actions = step_actions_of(run_of("preemption_and_resume"), "B");
  ASSERT_GT(actions.size(), 11U);
  EXPECT_EQ(actions[8], action(14, 0, 4, {1}));
  EXPECT_EQ(actions[9], action(15, 4, 8, {1, 0, 1}, {0, 2}));
  EXPECT_EQ(actions[10], action(16, 12, 1, {0, 0, 1, 1}, {2, 3}));
}

// A prompt of 554 tokens, blocks of 560, 3 drafts of which 1 is accepted: 554, 556, 558, 560.
// Token 562 opens column 1, and the running state is that of the accepted draft, one column behind:
// column 1 itself. Two tokens more reach 560: the state of the draft in column 2 goes to column 0.
TEST(StepActions, TwoTokensAStepUpToABoundaryOf560) {
  Scenario scenario;
  scenario.model = "qwen3-next-80b-a3b";
  scenario.settings.mamba_cache_mode = MambaCacheMode::align;
  scenario.settings.block_size = 560;
  scenario.settings.num_gpu_blocks_override = 64;
  scenario.settings.max_num_seqs = 8;
  scenario.settings.max_model_len = 6720;
  scenario.settings.async_scheduling = false;
  scenario.settings.num_speculative_tokens = 3;
  scenario.requests = {{.id = "A", .prompt = {.tokens = 554}, .max_tokens = 7}};
  for (std::int32_t step = 2; step <= 5; ++step)
    scenario.script.push_back({.step = step, .accept = {{"A", 2}}});
  EXPECT_THAT(step_actions_of(make_exported_run(scenario, "scenario").value(), "A"),
              ElementsAre(action(1, 0, 554, {1, 1, 1, 1}), action(2, 554, 4, {1, 1, 1, 1}),
                          action(3, 556, 4, {1, 1, 1, 1}),
                          action(4, 558, 4, {1, 1, 1, 1, 1}, {1, 1}, {2, 0})));
}

TEST(StepActions, AreAPythonDictOfLists) {
  const ExportedRun run = run_of("align_boundary_by_accepted_drafts");
  EXPECT_EQ(step_actions_text(run, {"A"}),
            "# align boundary by accepted drafts: tiny-mamba2, mamba_cache_mode align, block_size "
            "8, K = 1\n"
            "# num_computed_tokens_start, num_scheduled_tokens, kv_cache_block_ids (1: held, 0: "
            "null),\n"
            "# preprocess_copy_idx, postprocess_copy_idx (columns; (-1, -1): no copy)\n"
            "step_actions = {\n"
            "    \"A\": [  # prompt of 6, max_tokens 4\n"
            "        StepAction(0, 6, [1, 1], (-1, -1), (-1, -1)),  # step 1\n"
            "        StepAction(6, 2, [1, 1], (-1, -1), (1, 0)),  # step 2\n"
            "        StepAction(8, 2, [1, 1, 1], (0, 1), (-1, -1)),  # step 3\n"
            "    ],\n"
            "}\n");
}

TEST(StepActions, AreJsonWithTheNamesOfTheColumns) {
  const ExportedRun run = run_of("align_boundary_by_accepted_drafts");
  const auto json = step_actions_json(run, {"A"});
  EXPECT_EQ(json["block_size"], 8);
  EXPECT_EQ(json["requests"][0]["num_prompt_tokens"], 6);
  EXPECT_EQ(json["requests"][0]["step_actions"][1].dump(),
            R"({"step":2,"num_computed_tokens_start":6,"num_scheduled_tokens":2,)"
            R"("kv_cache_block_ids":[1,1],"preprocess_copy_idx":[-1,-1],)"
            R"("postprocess_copy_idx":[1,0]})");
}

}  // namespace
}  // namespace hybridscope
