#include <gtest/gtest.h>

#include "core/state/copy_spec.h"
#include "tests/core/state/golden_state.h"

namespace hybridscope::test {
namespace {

Json run_case(const Json& test_case) {
  const Json& config = test_case.at("config");
  const Json& input = test_case.at("input");
  const StateTensor state{.shape = input.at("shape").get<std::vector<std::int64_t>>(),
                          .stride = input.at("stride").get<std::vector<std::int64_t>>(),
                          .elem_size = config.at("element_size").get<std::int32_t>()};
  const auto block_ids = ints(input.at("block_ids"));
  const CopySpecArgs args{
      .block_ids = block_ids,
      .cur_block_idx = input.at("cur_block_idx").get<std::int32_t>(),
      .num_accepted_tokens = input.at("num_accepted_tokens").get<std::int32_t>()};
  const auto kind = config.at("func") == "conv" ? StateKind::conv : StateKind::temporal;
  const auto layout = config.at("layout") == "DS" ? ConvStateLayout::DS : ConvStateLayout::SD;
  const Result<CopySpec> spec = get_copy_spec(state, args, kind, layout);
  if (!spec) return {{"error", spec.error().message}};
  Json start = nullptr;
  if (spec.value().start_byte_offset) start = *spec.value().start_byte_offset;
  return {{"start_byte_offset", start},
          {"num_elements", spec.value().num_elements},
          {"copy_bytes", spec.value().copy_bytes}};
}

TEST(CopySpecGolden, EveryCaseOfCopySpecs) {
  HS_NEED_GOLDEN();
  int failures = 0;
  const int cases = for_each_case("copy_specs.jsonl", [&](const Json& test_case) {
    if (failures >= 5) return;
    const Json got = run_case(test_case);
    const Json& expected = test_case.at("output");
    const std::string difference =
        expected.contains("error")
            ? (got.contains("error") ? "" : "expected an error, got " + got.dump())
            : first_difference(expected, got);
    if (difference.empty()) return;
    ++failures;
    ADD_FAILURE() << test_case.at("id") << ": " << difference;
  });
  EXPECT_GT(cases, 0);
}

}  // namespace
}  // namespace hybridscope::test
