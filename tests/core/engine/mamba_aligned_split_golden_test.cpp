// golden/mamba_aligned_split.jsonl: the reference's rule for chunks of mode align.
#include <gtest/gtest.h>

#include "core/engine/scheduler.h"
#include "tests/support/golden.h"

namespace hybridscope::test {
namespace {

TEST(MambaAlignedSplitGolden, EveryCaseEqualsTheReference) {
  HS_NEED_GOLDEN();
  int failures = 0;
  const int cases = for_each_case("mamba_aligned_split.jsonl", [&](const Json& test_case) {
    if (failures >= 5) return;
    const Json& input = test_case.at("input");
    const std::int32_t num_new_tokens = mamba_block_aligned_split(
        {.num_computed_tokens = input.at("num_computed_tokens"),
         .num_prompt_tokens = input.at("num_prompt_tokens"),
         .num_tokens = input.at("num_tokens"),
         .num_new_tokens = input.at("num_new_tokens"),
         .num_new_local_computed_tokens = input.at("num_new_local_computed_tokens"),
         .num_external_computed_tokens = input.at("num_external_computed_tokens"),
         .num_uncached_common_prefix_tokens = input.at("num_uncached_common_prefix_tokens"),
         .block_size = test_case.at("config").at("block_size"),
         .use_eagle = test_case.at("config").at("use_eagle")});
    const auto difference =
        first_difference(test_case.at("output"), {{"num_new_tokens", num_new_tokens}});
    failures += difference.empty() ? 0 : 1;
    EXPECT_EQ(difference, "") << test_case.at("id");
  });
  EXPECT_GT(cases, 0);
  EXPECT_EQ(failures, 0);
}

}  // namespace
}  // namespace hybridscope::test
