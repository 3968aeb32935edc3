#include <gtest/gtest.h>

#include "core/state/all_mode.h"
#include "tests/core/state/golden_state.h"

namespace hybridscope::test {
namespace {

// One step; what it returns is compared with output.steps[i].
class AllModeRun {
 public:
  explicit AllModeRun(const Json& config)
      : config_(config),
        prev_last_scheduled_idx_(config.at("max_num_reqs").get<std::size_t>(), -1) {}

  Json step(const Json& step, const Json& expected) {
    const auto finished = names_.ids(step.at("finished_req_ids"));
    const auto preempted = names_.ids(step.at("preempted_req_ids"));
    const auto resumed = names_.ids(step.at("resumed_req_ids"));
    const GoneRequests gone{finished, preempted, resumed};
    Json row_names = step.at("req_ids");
    row_names.erase(row_names.begin() + step.at("num_reqs").get<int>(), row_names.end());
    const auto req_ids = names_.ids(row_names);
    Json got;
    if (step.at("run_preprocess").get<bool>()) {
      auto buffer = preprocess_mamba_all_specdec(
          {.max_num_reqs = config_.at("max_num_reqs").get<std::int32_t>(),
           .gone = gone,
           .req_ids = req_ids},
          mamba_state_idx_);
      if (!buffer) return {{"error", buffer.error().message}};
      prev_last_scheduled_idx_ = buffer.value();
      got["mamba_state_idx_after_preprocess"] = names_.state_idx_json(mamba_state_idx_);
    } else {
      cleanup_mamba_state_idx(gone, mamba_state_idx_);
      got["mamba_state_idx_after_cleanup"] = names_.state_idx_json(mamba_state_idx_);
    }
    if (expected.contains("prev_last_scheduled_idx"))
      got["prev_last_scheduled_idx"] = prev_last_scheduled_idx_;
    const auto scheduled = by_name(row_names, step.at("num_scheduled_tokens"));
    const auto computed = by_name(row_names, step.at("num_computed_tokens"));
    const Status status =
        postprocess_mamba_all({.num_spec_tokens = config_.at("num_spec_tokens").get<std::int32_t>(),
                               .block_size = config_.at("block_size").get<std::int32_t>(),
                               .req_ids = req_ids,
                               .num_scheduled_tokens = scheduled,
                               .num_computed_tokens = computed},
                              mamba_state_idx_);
    if (!status) return {{"error", status.error().message}};
    got["mamba_state_idx_after_postprocess"] = names_.state_idx_json(mamba_state_idx_);
    return got;
  }

 private:
  const Json& config_;
  RequestNames names_;
  MambaStateIdx mamba_state_idx_;
  std::vector<std::int32_t> prev_last_scheduled_idx_;
};

TEST(AllModeGolden, EveryCaseOfAllMode) {
  HS_NEED_GOLDEN();
  int failures = 0;
  const int cases = for_each_case("all_mode.jsonl", [&](const Json& test_case) {
    if (failures >= 5) return;
    AllModeRun run(test_case.at("config"));
    const Json& steps = test_case.at("input").at("steps");
    const Json& expected = test_case.at("output").at("steps");
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const Json got = run.step(steps.at(i), expected[i]);
      const std::string difference = first_difference(expected[i], got);
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
