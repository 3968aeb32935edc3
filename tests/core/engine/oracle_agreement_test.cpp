// Random scenarios: no finding, no contract violation, and in modes none and align agreement with
// the slow oracle in every step.
#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "tests/core/engine/oracle_agreement.h"
#include "tests/support/property.h"

namespace hybridscope::test::oracle_agreement_test {
namespace {

// What all scenarios together did.
struct Seen {
  std::int64_t copies = 0, hits = 0, preempted = 0;
};

Seen check_scenarios(MambaCacheMode mode, int count) {
  Seen seen;
  check_property(count, [&] {
    const ScenarioShape shape = draw_shape(mode, draw);
    ScenarioRun run(make_scenario(shape));
    const std::string difference = run.run();
    seen.copies += run.num_copies();
    seen.hits += run.num_hits();
    seen.preempted += run.num_preempted();
    std::ostringstream out;
    out << shape << ": " << difference;
    if (!difference.empty()) RC_FAIL(out.str());
  });
  EXPECT_GT(seen.preempted, 0);
  return seen;
}

TEST(OracleAgreement, ModeAlignDecidesAndHoldsWhatTheOracleDoes) {
  const Seen seen = check_scenarios(MambaCacheMode::align, 1000);
  EXPECT_GT(seen.copies, 0);
  EXPECT_GT(seen.hits, 0);
}

TEST(OracleAgreement, ModeNoneDecidesAndHoldsWhatTheOracleDoes) {
  check_scenarios(MambaCacheMode::none, 400);
}

TEST(OracleAgreement, ModeAllHasNoFinding) {
  EXPECT_GT(check_scenarios(MambaCacheMode::all, 700).hits, 0);
}

}  // namespace
}  // namespace hybridscope::test::oracle_agreement_test
