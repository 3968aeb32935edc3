// Random scenarios: no finding, no contract violation, and in modes none and align agreement with
// the slow oracle in every step. HYBRIDSCOPE_SCENARIOS sets the number of scenarios of each test,
// HYBRIDSCOPE_SEED the seed.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cstdlib>
#include <sstream>
#include <string>
#include <unordered_map>

#include "tests/core/engine/oracle_agreement.h"

namespace hybridscope::test::oracle_agreement_test {
namespace {

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : std::strtoull(value, nullptr, 10);
}

// Says nothing: the result is printed once.
class Silent : public rc::detail::TestListener {
  void onTestCaseFinished(const rc::detail::CaseDescription&) override {}
  void onShrinkTried(const rc::detail::CaseDescription&, bool) override {}
  void onTestFinished(const rc::detail::TestMetadata&, const rc::detail::TestResult&) override {}
};

void check_scenarios(MambaCacheMode mode, const std::string& name, int default_count) {
  rc::detail::TestParams params;
  params.maxSuccess = static_cast<int>(
      from_environment("HYBRIDSCOPE_SCENARIOS", static_cast<std::uint64_t>(default_count)));
  params.seed = from_environment("HYBRIDSCOPE_SEED", 20261);
  Silent listener;
  std::int64_t steps = 0, copies = 0, hits = 0, preempted = 0;
  const auto result = rc::detail::checkTestable(
      [&] {
        const ScenarioShape shape = draw_shape(mode, [](int low, int high) {
          return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange(low, high + 1));
        });
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
      rc::detail::TestMetadata{name, name}, params, listener,
      std::unordered_map<std::string, rc::detail::Reproduce>{});
  std::cout << name << ": " << params.maxSuccess << " scenarios, seed " << params.seed << ", "
            << steps << " steps, " << copies << " copies, " << hits << " cache hits, " << preempted
            << " preemptions\n";
  std::ostringstream out;
  rc::detail::printResultMessage(result, out);
  EXPECT_TRUE(result.is<rc::detail::SuccessResult>()) << out.str();
  EXPECT_GT(preempted, 0);
}

TEST(OracleAgreement, ModeAlignDecidesAndHoldsWhatTheOracleDoes) {
  check_scenarios(MambaCacheMode::align, "align", 3000);
}

TEST(OracleAgreement, ModeNoneDecidesAndHoldsWhatTheOracleDoes) {
  check_scenarios(MambaCacheMode::none, "none", 1000);
}

TEST(OracleAgreement, ModeAllHasNoFinding) { check_scenarios(MambaCacheMode::all, "all", 2000); }

}  // namespace
}  // namespace hybridscope::test::oracle_agreement_test
