// Drawn runs of our own engine with asynchronous scheduling or runner V2: the judge finds nothing
// in their traces, trace in full or stripped, and the comparison no difference.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "core/engine/policy_table.h"
#include "tests/sessions/judge/compared_run.h"
#include "tests/sessions/judge/judged_run.h"
#include "tests/support/property.h"
#include "tests/support/small_engine.h"

namespace hybridscope::test::async_run_property_test {
namespace {

using Lines = std::vector<nlohmann::json>;

SmallEngine drawn_engine() {
  SmallEngine small;
  small.mamba_type = one_in(2) ? MambaType::gdn_attention : MambaType::mamba2;
  small.mode = one_in(3) ? MambaCacheMode::none : MambaCacheMode::align;
  small.num_speculative_tokens = draw(0, 3);
  small.num_blocks = draw(24, 44);
  small.num_mamba_groups = draw(1, 2);
  small.max_model_len = 72;
  small.max_num_seqs = draw(2, 5);
  small.max_num_batched_tokens = draw(8, 40);
  return small;
}

std::vector<AddRequest> drawn_requests() {
  std::vector<AddRequest> requests;
  for (std::int32_t i = draw(1, 7); i > 0; --i) {
    const std::int32_t prompt = draw(1, 40);
    requests.push_back(request_of(prompt, draw(1, 24), static_cast<std::uint64_t>(i),
                                  std::min(draw(0, 3) * 8, prompt)));
  }
  return requests;
}

constexpr std::int32_t kNumDisturbedSteps = 16;
constexpr std::int32_t kMaxSteps = 1000;  // more than any run needs

enum class Commands : std::uint8_t {
  none,
  resets,  // told apart from everything else by a trace; an abort may pass for a stop
  any,
};

Lines drawn_run(const EngineConfig& config, Commands commands) {
  const std::vector<AddRequest> requests = drawn_requests();
  const auto last = static_cast<std::int32_t>(requests.size()) - 1;
  std::int32_t step = 0;
  return traced_run(config, requests, [&](Engine& engine) {
    RC_ASSERT(++step < kMaxSteps);
    if (step > kNumDisturbedSteps || commands == Commands::none) return;
    const auto give = [&](const Command& command) { RC_ASSERT(engine.apply(command).ok()); };
    if (one_in(12)) give(ResetPrefixCache{.reset_running_requests = true});
    if (commands == Commands::resets) return;
    if (one_in(12)) give(AbortRequest{{draw(0, last)}});
    if (one_in(8)) give(PreemptRequest{{draw(0, last)}});
    if (one_in(8)) give(SetStepBudget{8});
  });
}

// The first finding that no healthy run has, or the error; empty for none.
std::string fault_of(const Lines& lines) {
  const Judgement judgement = judge(lines);
  if (!judgement.error.empty()) return judgement.error;
  const auto fault = std::ranges::find_if(judgement.findings, [](const std::string& finding) {
    return !finding.starts_with("chunk-off-grid") && !finding.starts_with("drafts-cut");
  });
  return fault == judgement.findings.end() ? "" : *fault;
}

TEST(AsyncRunProperty, TracesAreHealthyToldInFullAndStripped) {
  check_property(20, [] {
    EngineConfig config = engine_config(drawn_engine());
    config.runner = one_in(2) ? ModelRunner::v2 : ModelRunner::v1;
    config.async_scheduling = config.runner == ModelRunner::v1 || one_in(2);
    Lines lines = drawn_run(config, Commands::any);
    RC_ASSERT(fault_of(lines) == "");
    strip(lines);
    RC_ASSERT(fault_of(lines) == "");
  });
}

TEST(AsyncRunProperty, TracesAgreeWithTheProfileTheyWereMadeUnder) {
  check_property(20, [] {
    SmallEngine small = drawn_engine();
    // A request that is reset with a frame in flight may never end under reference (known bug 51).
    const bool reference = one_in(2);
    small.policies = reference ? reference_policies() : safe_policies();
    EngineConfig config = engine_config(small);
    config.async_scheduling = true;
    const Lines lines = drawn_run(config, reference ? Commands::none : Commands::resets);
    RC_ASSERT(first_difference(lines, small.policies) == "");
  });
}

}  // namespace
}  // namespace hybridscope::test::async_run_property_test
