#include <gtest/gtest.h>

#include "core/state/align_postprocess.h"
#include "tests/kernels/golden_replay.h"

namespace hybridscope::test {
namespace {

Result<PostprocessAlignResult> run_v1(const StateLayout& layout, const Json& input,
                                      std::size_t max_num_reqs) {
  const auto accepted = ints(input.at("num_accepted_tokens"));
  const auto state_idx = ints(input.at("mamba_state_idx"));
  const auto scheduled = ints(input.at("num_scheduled_tokens"));
  const auto computed = ints(input.at("num_computed_tokens"));
  const auto drafts = ints(input.at("num_draft_tokens"));
  const GoldenBlockTables tables(input.at("block_tables"));
  return run_fused_postprocess(layout,
                               {.num_reqs = input.at("num_reqs").get<std::int32_t>(),
                                .num_accepted_tokens = accepted,
                                .mamba_state_idx = state_idx,
                                .num_scheduled_tokens = scheduled,
                                .num_computed_tokens = computed,
                                .num_draft_tokens = drafts,
                                .block_tables = tables.views},
                               std::vector<std::int32_t>(max_num_reqs, 0));
}

Result<PostprocessAlignResult> run_v2(const StateLayout& layout, const Json& input) {
  const auto idx_mapping = ints(input.at("idx_mapping"));
  const auto accepted = ints(input.at("num_accepted_tokens"));
  const auto state_idx = ints(input.at("mamba_state_idx"));
  const auto computed = ints(input.at("new_num_computed_tokens"));
  const GoldenBlockTables tables(input.at("block_tables"));
  return run_fused_postprocess_align(layout, {.num_reqs = input.at("num_reqs").get<std::int32_t>(),
                                              .idx_mapping = idx_mapping,
                                              .num_accepted_tokens = accepted,
                                              .state_idx = state_idx,
                                              .new_num_computed_tokens = computed,
                                              .block_tables = tables.views});
}

std::string check_case(const Json& test_case) {
  const Json& config = test_case.at("config");
  const Json& input = test_case.at("input");
  const MambaStateTensors tensors = state_tensors(config);
  std::vector<std::int64_t> strides;
  for (const Json& table : input.at("block_tables")) strides.push_back(std::ssize(table[0]));
  const auto layout = make_state_layout(tensors, strides);
  if (!layout) return layout.error().message;
  GoldenMemory memory(config.at("memory"));
  Json got{{"ctx", layout_json(layout.value())}, {"raw_crc32_before", memory.raw_crc32()}};
  const auto result =
      config.at("form") == "V1"
          ? run_v1(layout.value(), input, config.at("max_num_reqs").get<std::size_t>())
          : run_v2(layout.value(), input);
  if (!result) return result.error().message;
  execute(result.value().copies, memory);
  got["num_accepted_out"] = result.value().num_accepted_tokens;
  got["copies"] = copies_json(result.value().copies);
  got["raw_crc32_after"] = memory.raw_crc32();
  got["state_crc32_after"] = state_crc32(tensors, memory);
  return first_difference(test_case.at("output"), got);
}

TEST(PostprocessAlignGolden, EveryCaseOfPostprocessAlign) {
  HS_NEED_GOLDEN();
  int failures = 0;
  const int cases = for_each_case("postprocess_align.jsonl", [&](const Json& test_case) {
    if (failures >= 5) return;
    const std::string difference = check_case(test_case);
    if (difference.empty()) return;
    ++failures;
    ADD_FAILURE() << test_case.at("id") << ": " << difference;
  });
  EXPECT_GT(cases, 0);
}

}  // namespace
}  // namespace hybridscope::test
