// A language model runs whatever a changed trace says: nothing outside its memory is touched.
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "tests/core/check/mutated_language_run.h"
#include "tests/support/property.h"

namespace hybridscope::test::mutated_language_test {
namespace {

TEST(MutatedLanguage, AChangedTraceRunsToItsEnd) {
  const std::uint64_t seed = from_environment("HYBRIDSCOPE_SEED", 20261128);
  int planted = 0;
  for (std::uint64_t i = 0; i < num_cases(30) && !HasFailure(); ++i) {
    SCOPED_TRACE("HYBRIDSCOPE_SEED=" + std::to_string(seed + i));
    std::mt19937_64 random(seed + i);
    MutatedLanguageRun run(random);
    planted += run.run();
    EXPECT_GE(run.language().texts().size(), 2U);
  }
  EXPECT_GT(planted, 30);
}

}  // namespace
}  // namespace hybridscope::test::mutated_language_test
