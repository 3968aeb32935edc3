// Random scenarios: no finding, no contract violation, and in modes none and align agreement with
// the slow oracle in every step. HYBRIDSCOPE_SCENARIOS sets the number of scenarios of each test,
// HYBRIDSCOPE_SEED the seed.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cstdlib>
#include <sstream>

#include "tests/core/engine/oracle_agreement.h"

namespace hybridscope::test {
namespace {

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : std::strtoull(value, nullptr, 10);
}

ScenarioShape draw_shape(MambaCacheMode mode) {
  const auto in = [](int low, int high) {
    return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange(low, high + 1));
  };
  const bool all = mode == MambaCacheMode::all;
  const MambaType types[] = {MambaType::mamba2, MambaType::mamba1, MambaType::gdn_attention};
  ScenarioShape shape;
  shape.seed =
      *rc::gen::noShrink(rc::gen::resize(rc::kNominalSize, rc::gen::arbitrary<std::uint64_t>()));
  shape.mode = mode;
  shape.mamba_type = types[in(0, all ? 1 : 2)];
  shape.block_size = in(1, 8);
  shape.num_speculative_tokens = in(0, 3);
  shape.ngram = in(0, 1) == 1;
  shape.num_mamba_groups = in(1, 3);
  shape.conv_kernel = in(2, 4);
  shape.num_requests = in(1, 7);
  shape.longest_text = in(1, 30);
  shape.longest_output = in(1, 20);
  shape.extra_blocks = in(0, 1) == 0 ? in(0, 4) : in(0, 60);
  shape.max_num_seqs = in(1, 5);
  shape.extra_batched_tokens = in(0, 40);
  shape.long_prefill_blocks = in(0, 3) == 0 ? in(1, 3) : 0;
  shape.cut_model_len = in(0, 2) == 0 ? in(1, 8) : 0;
  shape.steps_between_arrivals = in(0, 5);
  shape.num_budget_steps = in(0, 1) * in(1, 40);
  shape.num_preemptions = in(0, 1) * in(1, 4);
  shape.num_aborts = in(0, 4) / 4;
  shape.num_resets = in(0, 4) / 3;
  shape.acceptance_percent = 10 * in(0, 10);
  shape.reserve_full_isl = in(0, 1) == 1;
  shape.priority = in(0, 2) == 2;
  shape.full_graphs = in(0, 3) > 0;
  return shape;
}

void check_scenarios(MambaCacheMode mode, const std::string& name, int default_count) {
  rc::detail::TestParams params;
  params.maxSuccess = static_cast<int>(
      from_environment("HYBRIDSCOPE_SCENARIOS", static_cast<std::uint64_t>(default_count)));
  params.seed = from_environment("HYBRIDSCOPE_SEED", 20261);
  std::int64_t steps = 0, copies = 0, hits = 0, preempted = 0;
  const auto result = rc::detail::checkTestable(
      [&] {
        const ScenarioShape shape = draw_shape(mode);
        ScenarioRun run(make_scenario(shape));
        const std::string difference = run.run();
        steps += run.num_steps();
        copies += run.num_copies();
        hits += run.num_hits();
        preempted += run.num_preempted();
        std::ostringstream out;
        out << shape << ": " << difference;
        if (!difference.empty()) RC_FAIL(out.str());
      },
      rc::detail::TestMetadata{name, name}, params);
  std::cout << name << ": " << params.maxSuccess << " scenarios, seed " << params.seed << ", "
            << steps << " steps, " << copies << " copies, " << hits << " cache hits, " << preempted
            << " preemptions\n";
  std::ostringstream out;
  rc::detail::printResultMessage(result, out);
  EXPECT_TRUE(result.is<rc::detail::SuccessResult>()) << out.str();
  EXPECT_GT(preempted, 0);
}

TEST(OracleAgreement, ModeAlignDecidesAndHoldsWhatTheOracleDoes) {
  check_scenarios(MambaCacheMode::align, "align", 900);
}

TEST(OracleAgreement, ModeNoneDecidesAndHoldsWhatTheOracleDoes) {
  check_scenarios(MambaCacheMode::none, "none", 300);
}

TEST(OracleAgreement, ModeAllHasNoFinding) { check_scenarios(MambaCacheMode::all, "all", 500); }

}  // namespace
}  // namespace hybridscope::test
