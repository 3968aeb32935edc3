// metadata-inconsistent: each array of a step against the others, one planted number at a time.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sessions/run/step_judge.h"
#include "tests/core/check/planted.h"

namespace hybridscope::test::planted_metadata_test {
namespace {

struct MetadataPlant {
  std::string name;
  SmallEngine small{};
  int steps_before = 0;
  Plant plant;
  ExpectedFinding expected{};
};

void PrintTo(const MetadataPlant& plant, std::ostream* out) { *out << plant.name; }

class PlantedMetadata : public testing::TestWithParam<MetadataPlant> {};

// Two prompts, 12 and 6 tokens. Mode align cuts the first at the block boundary: step 1 has 8 + 6
// prefill tokens, step 2 a decode row and 4 prefill tokens, step 3 two decode rows. Mode all: 12 +
// 6 prefill tokens in step 1.
TEST_P(PlantedMetadata, IsFound) {
  const MetadataPlant& p = GetParam();
  PlantedRun run(p.small);
  run.add(request_of(12, 9, 1)).add(request_of(6, 9, 2)).steps(p.steps_before).step(p.plant);
  EXPECT_TRUE(found(run.findings(), p.expected));
}

const SmallEngine kAlign{};
const SmallEngine kAll{.mode = MambaCacheMode::all};
const SmallEngine kAllVerify{.mode = MambaCacheMode::all, .num_speculative_tokens = 1};
const SmallEngine kVerify{.num_speculative_tokens = 1};

ExpectedFinding inconsistent(std::int64_t expected, std::int64_t seen, std::string_view detail) {
  return {
      .rule = Rule::metadata_inconsistent, .expected = expected, .seen = seen, .detail = detail};
}

std::vector<MetadataPlant> batch_plants() {
  return {
      MetadataPlant{"query_start_loc", kAlign, 0,
                    [](StepTrace& t, OwnedArrays& a) { a.edit(t.common.query_start_loc)[1] = 7; },
                    inconsistent(8, 7, "query_start_loc")},
      MetadataPlant{"query_start_loc_end", kAlign, 0,
                    [](StepTrace& t, OwnedArrays& a) { a.edit(t.common.query_start_loc)[2] = 13; },
                    inconsistent(14, 13, "last entry of query_start_loc")},
      MetadataPlant{"query_start_loc_descends", kAlign, 0,
                    [](StepTrace& t, OwnedArrays& a) { a.edit(t.common.query_start_loc)[1] = 15; },
                    inconsistent(14, 15, "query_start_loc leaves the step's tokens")},
      MetadataPlant{"query_start_loc_size", kAlign, 0,
                    [](StepTrace& t, OwnedArrays&) {
                      t.common.query_start_loc = t.common.query_start_loc.first(2);
                    },
                    inconsistent(3, 2, "entries of query_start_loc")},
      MetadataPlant{
          "seq_lens_size", kAlign, 0,
          [](StepTrace& t, OwnedArrays&) { t.common.seq_lens = t.common.seq_lens.first(1); },
          inconsistent(2, 1, "entries of seq_lens")},
      MetadataPlant{"seq_lens", kAlign, 1,
                    [](StepTrace& t, OwnedArrays& a) { a.edit(t.common.seq_lens)[1] = 11; },
                    inconsistent(12, 11, "seq_lens")},
      MetadataPlant{"num_reqs", kAlign, 0,
                    [](StepTrace& t, OwnedArrays&) { t.common.num_reqs = 1; },
                    inconsistent(2, 1, "rows of the batch")},
      MetadataPlant{"num_actual_tokens", kAlign, 0,
                    [](StepTrace& t, OwnedArrays&) { t.common.num_actual_tokens = 16; },
                    inconsistent(14, 16, "num_actual_tokens")},
      MetadataPlant{"max_query_len", kAlign, 0,
                    [](StepTrace& t, OwnedArrays&) { t.common.max_query_len = 6; },
                    inconsistent(8, 6, "max_query_len")},
      MetadataPlant{"num_scheduled_tokens", kAlign, 0,
                    [](StepTrace& t, OwnedArrays&) { t.num_scheduled_tokens = 15; },
                    inconsistent(14, 15, "num_scheduled_tokens")},
      MetadataPlant{"tokens", kAlign, 0, [](StepTrace& t, OwnedArrays&) { t.tokens.push_back(1); },
                    inconsistent(14, 15, "tokens")},
      MetadataPlant{"row_without_request", kAlign, 0,
                    [](StepTrace& t, OwnedArrays&) { t.rows[1].scheduled = 5; },
                    inconsistent(2, 5, "the row's scheduled request does not exist")},
      MetadataPlant{"request_without_row", kAlign, 0,
                    [](StepTrace& t, OwnedArrays&) { t.rows[1].scheduled = 0; },
                    inconsistent(1, 0, "rows of a scheduled request")},
      MetadataPlant{"request_with_two_rows", kAlign, 0,
                    [](StepTrace& t, OwnedArrays&) { t.rows[1].scheduled = 0; },
                    inconsistent(1, 2, "rows of a scheduled request")},
      MetadataPlant{"groups", kAlign, 0, [](StepTrace& t, OwnedArrays&) { t.groups.pop_back(); },
                    inconsistent(2, 1, "KV-cache groups")},
      MetadataPlant{"kind_of_group", kAlign, 0,
                    [](StepTrace& t, OwnedArrays&) { t.groups[1].is_mamba = false; },
                    inconsistent(1, 0, "kind of the group")},
      MetadataPlant{"block_size_of_group", kAlign, 0,
                    [](StepTrace& t, OwnedArrays&) { t.groups[1].block_size = 16; },
                    inconsistent(8, 16, "block size of the group")},
      MetadataPlant{"event_without_block",
                    kAlign,
                    0,
                    [](StepTrace& t, OwnedArrays&) { t.cache_events[0].block = 64; },
                    {.rule = Rule::metadata_inconsistent,
                     .block = 64,
                     .detail = "a cache event names a block or table that does not exist"}},
      MetadataPlant{"event_without_group",
                    kAlign,
                    0,
                    [](StepTrace& t, OwnedArrays&) {
                      event_of(t.cache_events, CacheEventKind::column_set, 1).group = 2;
                    },
                    {.rule = Rule::metadata_inconsistent,
                     .group = 2,
                     .detail = "a cache event names a block or table that does not exist"}}};
}

std::vector<MetadataPlant> mamba_plants() {
  return {
      MetadataPlant{"no_metadata", kAlign, 0,
                    [](StepTrace& t, OwnedArrays&) { t.groups[1].metadata.reset(); },
                    inconsistent(1, 0, "a mamba group without metadata")},
      MetadataPlant{"num_decodes", kAlign, 1,
                    [](StepTrace& t, OwnedArrays&) { mamba_of(t).num_decodes = 0; },
                    inconsistent(1, 0, "num_decodes")},
      MetadataPlant{"num_prefill_tokens", kAlign, 1,
                    [](StepTrace& t, OwnedArrays&) { mamba_of(t).num_prefill_tokens = 5; },
                    inconsistent(4, 5, "num_prefill_tokens")},
      MetadataPlant{"split_between_rows", kAlign, 1,
                    [](StepTrace& t, OwnedArrays&) {
                      mamba_of(t).num_prefill_tokens = 3;
                      mamba_of(t).num_decode_tokens = 2;
                    },
                    inconsistent(1, 2, "decode tokens")},
      MetadataPlant{
          "query_start_loc_p", kAlign, 0,  // a token of B's given to A
          [](StepTrace& t, OwnedArrays& a) { a.edit(mamba_of(t).query_start_loc_p)[1] = 9; },
          inconsistent(8, 9, "query_start_loc_p")},
      MetadataPlant{
          "query_start_loc_d", kVerify, 2,
          [](StepTrace& t, OwnedArrays& a) { a.edit(mamba_of(t).query_start_loc_d)[1] = 3; },
          inconsistent(2, 3, "query_start_loc_d")},
      MetadataPlant{"state_indices_missing", kAlign, 1,
                    [](StepTrace& t, OwnedArrays&) { mamba_of(t).state_indices_tensor_d = {}; },
                    inconsistent(1, -1, "state_indices_tensor_d")},
      MetadataPlant{"has_initial_states_short", kAlign, 0,
                    [](StepTrace& t, OwnedArrays&) { mamba_of(t).has_initial_states_p.rows = 1; },
                    inconsistent(2, 1, "has_initial_states_p")},
      MetadataPlant{"conv1d_programs", kAlign, 0,
                    [](StepTrace& t, OwnedArrays&) { mamba_of(t).conv1d.tot = 1; },
                    inconsistent(2, 1, "nums_dict: conv1d programs in all")},
      MetadataPlant{"conv1d_chunk", kAlign, 0,
                    [](StepTrace& t, OwnedArrays& a) {
                      a.edit(mamba_of(t).conv1d.token_chunk_offset_ptr)[1] = 1;
                    },
                    inconsistent(0, 1, "token_chunk_offset_ptr: token chunk of a conv1d program")},
      MetadataPlant{
          "cu_chunk_seqlen_p", kAlign, 0,
          [](StepTrace& t, OwnedArrays& a) { a.edit(mamba2_of(t).cu_chunk_seqlen_p)[1] = 7; },
          inconsistent(8, 7, "cu_chunk_seqlen_p")},
      MetadataPlant{
          "last_chunk_indices_p", kAlign, 0,
          [](StepTrace& t, OwnedArrays& a) { a.edit(mamba2_of(t).last_chunk_indices_p)[0] = 1; },
          inconsistent(0, 1, "last_chunk_indices_p")},
      MetadataPlant{"chunks_missing", kAlign, 0,
                    [](StepTrace& t, OwnedArrays&) { mamba2_of(t).seq_idx_p = {}; },
                    inconsistent(1, 0, "prefill chunks")}};
}

std::vector<MetadataPlant> all_mode_plants() {
  return {
      MetadataPlant{
          "num_computed_tokens_p", kAll, 0,
          [](StepTrace& t, OwnedArrays& a) { a.edit(mamba_of(t).num_computed_tokens_p)[1] = 3; },
          inconsistent(0, 3, "num_computed_tokens_p")},
      MetadataPlant{
          "block_idx_missing", kAll, 0,
          [](StepTrace& t, OwnedArrays&) { mamba_of(t).block_idx_last_scheduled_token = {}; },
          inconsistent(2, -1, "block_idx_last_scheduled_token")},
      MetadataPlant{"boundary_not_crossed", kAllVerify, 0,
                    [](StepTrace& t, OwnedArrays& a) {
                      // A ends with 12 tokens in column 1; column 2 is for a draft's state.
                      const auto last = a.edit(mamba_of(t).block_idx_last_scheduled_token);
                      EXPECT_EQ(last[0], 1);
                      last[0] = 2;
                    },
                    inconsistent(0, 16, "the row does not cross the boundary it is told to store")},
      MetadataPlant{"boundary_not_stored",
                    kAll,
                    0,
                    [](StepTrace& t, OwnedArrays& a) {
                      a.edit(mamba_of(t).block_idx_first_scheduled_token_p)[0] = 1;
                    },
                    {.rule = Rule::label_mismatch,
                     .group = 1,
                     .content = ContentKind::temporal,
                     .expected = 8,
                     .seen = 0,
                     .cause = ExpectedCause{}}},
      MetadataPlant{"wrong_source_column",
                    kAll,
                    1,
                    [](StepTrace& t, OwnedArrays& a) {
                      // A: 12 tokens computed, the state is in column 1.
                      const auto& metadata = mamba_of(t);
                      EXPECT_EQ(metadata.block_idx_last_computed_token.at(0), 1);
                      a.edit(mamba_of(t).block_idx_last_computed_token)[0] = 0;
                    },
                    {.rule = Rule::running_state_wrong,
                     .request = 0,
                     .content = ContentKind::temporal,
                     .column = 0,
                     .expected = 12,
                     .seen = 8,
                     .cause = ExpectedCause{WriteKind::prefill, 1, 0, 8}}},
      MetadataPlant{"column_outside_the_table",
                    kAll,
                    1,
                    [](StepTrace& t, OwnedArrays& a) {
                      a.edit(mamba_of(t).block_idx_last_scheduled_token)[0] = 1000;
                    },
                    {.rule = Rule::foreign_write,
                     .request = 0,
                     .block = -1,
                     .detail = "the row's first state index is null: its state is not advanced"}}};
}

std::string name_of_plant(const testing::TestParamInfo<MetadataPlant>& plant) {
  return plant.param.name;
}

INSTANTIATE_TEST_SUITE_P(Batch, PlantedMetadata, testing::ValuesIn(batch_plants()), name_of_plant);
INSTANTIATE_TEST_SUITE_P(Mamba, PlantedMetadata, testing::ValuesIn(mamba_plants()), name_of_plant);
INSTANTIATE_TEST_SUITE_P(AllMode, PlantedMetadata, testing::ValuesIn(all_mode_plants()),
                         name_of_plant);

// Blocks and chunks of 8 tokens, mode all: the state of 8 tokens, in A's column 0, is the one at
// the end of its first chunk (vLLM mamba_mixer2.py). A chunk that ends one token early leaves that
// of 7.
TEST(PlantedChunks, ABoundaryStateIsTheOneAtTheEndOfItsChunk) {
  PlantedRun run(kAll);
  run.add(request_of(12, 9, 1)).add(request_of(6, 9, 2));
  run.step([](StepTrace& trace, OwnedArrays& arrays) {
    const auto ends = arrays.edit(mamba2_of(trace).cu_chunk_seqlen_p);
    ASSERT_EQ(ends[1], 8);
    ends[1] = 7;
  });
  EXPECT_TRUE(found(run.findings(), {.rule = Rule::label_mismatch,
                                     .step = 1,
                                     .group = 1,
                                     .content = ContentKind::temporal,
                                     .expected = 8,
                                     .seen = 7}));
}

TEST(PlantedChunks, ABoundaryStateIsNotTakenFromAnotherRowsChunk) {
  PlantedRun run(kAll);
  run.add(request_of(12, 9, 1)).add(request_of(6, 9, 2));
  run.step([](StepTrace& trace, OwnedArrays& arrays) {
    arrays.edit(mamba2_of(trace).seq_idx_p)[0] = 1;
  });
  EXPECT_TRUE(
      found(run.findings(),
            {.rule = Rule::metadata_inconsistent,
             .step = 1,
             .request = 0,
             .column = 0,
             .detail = "the state of a block boundary is taken from a chunk of another row"}));
}

// Rules about what a step may not exceed: schedule-over-limit, graph-not-captured.

// Three requests decode from step 2 on, with K = 1 in verify rows of two tokens; each step is one
// of uniform decodes in a graph of eight tokens and four rows.
PlantedRun three_verify_rows() {
  PlantedRun run({.num_speculative_tokens = 1, .max_num_seqs = 4});
  run.add(request_of(3, 20, 1)).add(request_of(4, 20, 2)).add(request_of(5, 20, 3)).steps(1);
  return run;
}

TEST(PlantedLimits, StepIsAsDescribed) {
  PlantedRun run = three_verify_rows();
  run.step([](StepTrace& trace, OwnedArrays&) {
    EXPECT_EQ(trace.num_scheduled_tokens, 6);
    EXPECT_EQ(trace.graph.reason, CudagraphDispatchReason::uniform_decode_graph);
    EXPECT_EQ(trace.graph.num_tokens_padded, 8);
    EXPECT_EQ(trace.graph.num_reqs_padded, 4);
  });
  EXPECT_TRUE(nothing_found(run.findings()));
}

TEST(PlantedLimits, MoreTokensThanTheBudget) {
  PlantedRun run = three_verify_rows();
  run.step([](StepTrace& trace, OwnedArrays&) { trace.token_budget = 5; });
  EXPECT_TRUE(found_only(run.findings(), {{.rule = Rule::schedule_over_limit,
                                           .step = 2,
                                           .expected = 5,
                                           .seen = 6,
                                           .detail = "tokens of the step"}}));
}

// The checker gets settings that differ from the engine's.
std::vector<Finding> found_with(const CheckLimits& limits) {
  const EngineConfig config = engine_config({.num_speculative_tokens = 1, .max_num_seqs = 4});
  Engine engine = Engine::create(config).value();
  CheckConfig check = make_check_config(config);
  check.limits = limits;
  StepChecker checker = StepChecker::create(check).value();
  for (std::uint64_t text = 1; text <= 3; ++text)
    EXPECT_TRUE(engine.add_request(request_of(3, 20, text)).ok());
  std::vector<Finding> findings;
  for (int step = 0; step < 2; ++step)
    for (const Finding& finding : checker.check(engine.step()))
      if (rule_info(finding.rule).severity == Severity::error) findings.push_back(finding);
  return findings;
}

TEST(PlantedLimits, MoreRequestsThanMaxNumSeqs) {
  EXPECT_TRUE(found(found_with({.max_num_seqs = 2, .max_model_len = 256}),
                    {.rule = Rule::schedule_over_limit,
                     .step = 1,
                     .expected = 2,
                     .seen = 3,
                     .detail = "requests at once"}));
}

TEST(PlantedLimits, RequestBeyondMaxModelLen) {
  // Three tokens in step 1; in step 2 the one sampled and its draft, tokens four and five.
  EXPECT_TRUE(found_only(found_with({.max_num_seqs = 4, .max_model_len = 4}),
                         {{.rule = Rule::schedule_over_limit,
                           .step = 2,
                           .request = 0,
                           .expected = 4,
                           .seen = 5,
                           .detail = "tokens of the request"},
                          {.rule = Rule::schedule_over_limit, .request = 1},
                          {.rule = Rule::schedule_over_limit, .request = 2}}));
}

TEST(PlantedLimits, GraphThatNobodyCaptured) {
  EXPECT_TRUE(found(
      found_with({.max_num_seqs = 4, .max_model_len = 256, .cudagraph_capture_sizes = {2, 4, 16}}),
      {.rule = Rule::graph_not_captured,
       .step = 2,
       .seen = 8,
       .detail = "tokens of a graph that nobody captured"}));
  // Sizes that were not given are not checked.
  EXPECT_TRUE(nothing_found(found_with({.max_num_seqs = 4, .max_model_len = 256})));
}

TEST(PlantedLimits, GraphOfMoreRowsThanWereCaptured) {
  PlantedRun run = three_verify_rows();
  run.step([](StepTrace& trace, OwnedArrays&) { trace.graph.num_reqs_padded = 8; });
  EXPECT_TRUE(found(run.findings(), {.rule = Rule::graph_not_captured,
                                     .step = 2,
                                     .expected = 4,
                                     .seen = 8,
                                     .detail = "rows of the graph"}));
}

TEST(PlantedLimits, GraphTooSmallForTheStep) {
  PlantedRun run = three_verify_rows();
  run.step([](StepTrace& trace, OwnedArrays&) { trace.graph.num_tokens_padded = 4; });
  EXPECT_TRUE(found(run.findings(), {.rule = Rule::graph_not_captured,
                                     .step = 2,
                                     .expected = 6,
                                     .seen = 4,
                                     .detail = "tokens of a graph too small"}));
}

}  // namespace

}  // namespace hybridscope::test::planted_metadata_test
