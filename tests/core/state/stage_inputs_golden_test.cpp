#include <gtest/gtest.h>

#include "core/state/stage_inputs.h"
#include "tests/core/state/golden_state.h"

namespace hybridscope::test {
namespace {

std::string check_step(const Json& step, const Json& expected, PostprocessInputBuffers& buffers) {
  RequestNames names;
  Json row_names = step.at("req_ids");
  row_names.erase(row_names.begin() + step.at("num_reqs").get<int>(), row_names.end());
  const auto req_ids = names.ids(row_names);
  const auto scheduled = by_name(row_names, step.at("num_scheduled_tokens"));
  const auto computed = by_name(row_names, step.at("num_computed_tokens"));
  const auto drafts = by_name(row_names, step.at("scheduled_spec_decode_tokens"));
  const Status status =
      stage_postprocess_inputs({.req_ids = req_ids,
                                .num_scheduled_tokens = scheduled,
                                .num_computed_tokens = computed,
                                .num_draft_tokens = drafts},
                               names.state_idx(step.at("mamba_state_idx")), buffers);
  if (expected.contains("error")) return status ? "expected an error" : "";
  if (!status) return status.error().message;
  return first_difference(expected, {{"mamba_state_idx", buffers.mamba_state_idx},
                                     {"num_scheduled_tokens", buffers.num_scheduled_tokens},
                                     {"num_computed_tokens", buffers.num_computed_tokens},
                                     {"num_draft_tokens", buffers.num_draft_tokens}});
}

TEST(StageInputsGolden, EveryCaseOfStageInputs) {
  HS_NEED_GOLDEN();
  int failures = 0;
  const int cases = for_each_case("stage_inputs.jsonl", [&](const Json& test_case) {
    if (failures >= 5) return;
    PostprocessInputBuffers buffers = make_postprocess_input_buffers(
        test_case.at("config").at("max_num_reqs").get<std::int32_t>());
    const Json& expected = test_case.at("output").at("steps");
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const std::string difference =
          check_step(test_case.at("input").at("steps").at(i), expected[i], buffers);
      if (difference.empty()) continue;
      ++failures;
      ADD_FAILURE() << test_case.at("id") << " step " << i << ": " << difference;
      return;
    }
  });
  EXPECT_GT(cases, 0);
}

}  // namespace
}  // namespace hybridscope::test
