// The pure functions of core/metadata against golden/.
#include <gtest/gtest.h>

#include <functional>

#include "core/metadata/batch_split.h"
#include "core/metadata/block_table_gather.h"
#include "core/metadata/causal_conv1d_metadata.h"
#include "core/metadata/chunk_metadata.h"
#include "core/metadata/num_computed_tokens.h"
#include "core/metadata/prefix_block_indices.h"
#include "tests/core/metadata/batch_support.h"

namespace hybridscope {
namespace {

using test::Json;

const Json kError = {{"error", "invalid_input"}};

// Compares recompute(case) with every field of `output`; the class of an error does not matter.
void expect_golden(const std::string& file, const std::function<Json(const Json&)>& recompute) {
  int failures = 0;
  const int cases = test::for_each_case(file, [&](const Json& test_case) {
    if (failures >= 5) return;
    const Json& expected = test_case.at("output");
    const Json got = recompute(test_case);
    if (expected.contains("error") && got.contains("error")) return;
    const std::string difference = test::first_difference(expected, got);
    if (difference.empty()) return;
    ADD_FAILURE() << file << " " << test_case.at("id") << " " << difference;
    ++failures;
  });
  EXPECT_GT(cases, 0);
}

Json split_json(const Result<BatchSplit>& split) {
  if (!split) return kError;
  return {{"num_decodes", split.value().num_decodes},
          {"num_prefills", split.value().num_prefills},
          {"num_decode_tokens", split.value().num_decode_tokens},
          {"num_prefill_tokens", split.value().num_prefill_tokens}};
}

TEST(BatchSplitGolden, FirstVersion) {
  HS_NEED_GOLDEN();
  expect_golden("split_batch.jsonl", [](const Json& c) {
    const test::Batch batch = test::batch_from_json(c.at("input"));
    return split_json(split_decodes_and_prefills(
        batch.view(), {.decode_threshold = c.at("config").at("decode_threshold"),
                       .require_uniform = c.at("config").at("require_uniform")}));
  });
}

TEST(BatchSplitGolden, SecondVersion) {
  HS_NEED_GOLDEN();
  expect_golden("split_batch_v2.jsonl", [](const Json& c) {
    const test::Batch batch = test::batch_from_json(c.at("input"));
    const Json& config = c.at("config");
    return split_json(split_decodes_and_prefills_v2(
        batch.view(),
        {.decode_threshold = config.at("decode_threshold"),
         .require_uniform = config.at("require_uniform"),
         .treat_short_extends_as_decodes = config.at("treat_short_extends_as_decodes")}));
  });
}

TEST(BlockTableGatherGolden, AllCases) {
  HS_NEED_GOLDEN();
  expect_golden("block_table_gather.jsonl", [](const Json& c) -> Json {
    const Json& config = c.at("config");
    const Json& input = c.at("input");
    const test::Table table =
        test::table_from_json(input.at("block_table"), input.at("block_table_shape"));
    const auto seq_lens = input.at("seq_lens").get<std::vector<std::int32_t>>();
    const std::string mode = config.at("mamba_cache_mode");
    const std::int32_t num_speculative_blocks = config.at("num_speculative_blocks");
    std::vector<std::int32_t> storage(seq_lens.size() *
                                      static_cast<std::size_t>(num_speculative_blocks + 2));
    const auto gathered = mamba_get_block_table_tensor(
        {.config = {.mamba_cache_mode = mode == "all"     ? MambaCacheMode::all
                                        : mode == "align" ? MambaCacheMode::align
                                                          : MambaCacheMode::none,
                    .block_size = ReciprocalDivider(config.at("block_size")),
                    .num_speculative_blocks = num_speculative_blocks},
         .block_table = table.view(),
         .seq_lens = seq_lens},
        storage);
    if (!gathered) return kError;
    const TensorView<std::int32_t>& view = gathered.value();
    Json data = Json::array();
    for (std::int32_t r = 0; r < view.rows; ++r)
      data.push_back(Json(std::vector<std::int32_t>(&view.data[r * view.cols],
                                                    &view.data[r * view.cols] + view.cols)));
    return {{"shape", {view.rows, view.cols}}, {"data", data}};
  });
}

TEST(VarlenChunksGolden, AllCases) {
  HS_NEED_GOLDEN();
  expect_golden("varlen_chunks.jsonl", [](const Json& c) -> Json {
    const auto query_start_loc =
        c.at("input").at("query_start_loc").get<std::vector<std::int32_t>>();
    const auto chunks =
        compute_varlen_chunk_metadata(query_start_loc, c.at("config").at("chunk_size"));
    if (!chunks) return kError;
    return {{"cu_chunk_seqlens", chunks.value().cu_chunk_seqlens},
            {"last_chunk_indices", chunks.value().last_chunk_indices},
            {"seq_idx_chunks", chunks.value().seq_idx_chunks}};
  });
}

// One builder object runs through all cases, so that contents of an earlier case would show.
TEST(CausalConv1dGolden, AllCases) {
  HS_NEED_GOLDEN();
  CausalConv1dMetadataBuilder builder;
  expect_golden("conv1d_metadata.jsonl", [&builder](const Json& c) -> Json {
    const auto query_start_loc =
        c.at("input").at("query_start_loc").get<std::vector<std::int32_t>>();
    const auto conv1d = builder.compute(query_start_loc);
    if (!conv1d) return kError;
    const CausalConv1dMetadata& m = conv1d.value();
    const auto pointer_json = [&m](const TensorView<std::int32_t>& array) -> Json {
      for (std::int32_t i = m.tot; i < array.rows; ++i) EXPECT_EQ(array.at(i), -1);
      return {{"length", array.rows},
              {"prefix", test::values(vector_view(array.data, m.tot))},
              {"fill", -1}};
    };
    return {{"nums_dict",
             {{"8",
               {{"nums", test::values(m.nums)},
                {"tot", m.tot},
                {"mlist", test::values(m.mlist())},
                {"mlist_len", m.tot},
                {"offsetlist", test::values(m.offsetlist())}}}}},
            {"batch_ptr", pointer_json(m.batch_ptr)},
            {"token_chunk_offset_ptr", pointer_json(m.token_chunk_offset_ptr)}};
  });
}

TEST(FlaChunksGolden, AllCases) {
  HS_NEED_GOLDEN();
  FlaChunkBuilder builder;
  int failures = 0;
  const int cases = test::for_each_case("fla_chunks.jsonl", [&](const Json& c) {
    if (failures >= 5) return;
    const auto cu_seqlens = c.at("input").at("cu_seqlens").get<std::vector<std::int32_t>>();
    const std::int32_t chunk_size = c.at("config").at("chunk_size");
    const Json& expected = c.at("output");
    Json got = Json::object();
    if (const auto indices = builder.prepare_chunk_indices(cu_seqlens, chunk_size); indices) {
      Json pairs = Json::array();
      for (std::int32_t i = 0; i < indices.value().rows; ++i)
        pairs.push_back({indices.value().at(i, 0), indices.value().at(i, 1)});
      got["chunk_indices"] = pairs;
      got["chunk_indices_shape"] = {indices.value().rows, indices.value().cols};
    } else if (expected.at("chunk_indices").is_object()) {
      got["chunk_indices"] = expected.at("chunk_indices");
    }
    const auto offsets = builder.prepare_chunk_offsets(cu_seqlens, chunk_size);
    ASSERT_TRUE(offsets.ok());
    got["chunk_offsets"] = test::values(offsets.value());
    got["chunk_offsets_shape"] = {offsets.value().rows};
    const std::string difference = test::first_difference(expected, got);
    if (difference.empty()) return;
    ADD_FAILURE() << c.at("id") << " " << difference;
    ++failures;
  });
  EXPECT_GT(cases, 0);
}

TEST(PrefixBlockIndicesGolden, AllCases) {
  HS_NEED_GOLDEN();
  expect_golden("prefix_block_indices.jsonl", [](const Json& c) -> Json {
    test::Batch batch;
    batch.query_start_loc = c.at("input").at("query_start_loc").get<std::vector<std::int32_t>>();
    batch.seq_lens = c.at("input").at("seq_lens").get<std::vector<std::int32_t>>();
    const auto num_computed = compute_num_computed_tokens(batch.view());
    Json last_computed = Json::array();
    Json first_scheduled = Json::array();
    Json last_scheduled = Json::array();
    for (std::size_t r = 0; r < num_computed.size(); ++r) {
      const PrefixBlockIndices row =
          compute_prefix_block_indices({.num_computed_tokens = num_computed[r],
                                        .seq_len = batch.seq_lens[r],
                                        .block_size = c.at("config").at("block_size")});
      last_computed.push_back(row.block_idx_last_computed_token);
      first_scheduled.push_back(row.block_idx_first_scheduled_token);
      last_scheduled.push_back(row.block_idx_last_scheduled_token);
    }
    return {{"block_idx_last_computed_token", last_computed},
            {"block_idx_first_scheduled_token", first_scheduled},
            {"block_idx_last_scheduled_token", last_scheduled}};
  });
}

}  // namespace
}  // namespace hybridscope
