#include <gtest/gtest.h>

#include "core/state/state_layout.h"
#include "tests/core/state/golden_state.h"

namespace hybridscope::test {
namespace {

std::string check_case(const Json& test_case) {
  const auto strides =
      test_case.at("input").at("block_table_strides").get<std::vector<std::int64_t>>();
  const auto layout = make_state_layout(state_tensors(test_case.at("config")), strides);
  const Json& expected = test_case.at("output");
  if (expected.contains("error")) return layout ? "expected an error" : "";
  if (!layout) return layout.error().message;
  Json got = layout_json(layout.value());
  got["mamba_group_ids"] = layout.value().mamba_group_ids;
  return first_difference(expected, got);
}

TEST(StateLayoutGolden, EveryCaseOfCtxInit) {
  HS_NEED_GOLDEN();
  int failures = 0;
  const int cases = for_each_case("ctx_init.jsonl", [&](const Json& test_case) {
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
