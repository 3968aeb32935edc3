// Faults between an engine and a language model on a CUDA device: wrong blocks, columns, counts,
// tokens and copies leave on it, bit for bit, what they leave on the host.
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "tests/core/check/mutated_language_run.h"
#include "tests/kernels/cuda/cuda_device.h"
#include "tests/kernels/language/paired_machine.h"
#include "tests/support/property.h"

namespace hybridscope::test::planted_language_cuda_test {
namespace {

// Runs changed traces and expects that most were changed.
void run_changed_traces(const MakeLanguageMachine& make, NumericForm form) {
  const std::uint64_t seed = from_environment("HYBRIDSCOPE_SEED", 20261128);
  int planted = 0;
  for (std::uint64_t i = 0; i < test::num_cases(60) && !testing::Test::HasFailure(); ++i) {
    SCOPED_TRACE("HYBRIDSCOPE_SEED=" + std::to_string(seed + i));
    std::mt19937_64 random(seed + i);
    planted += MutatedLanguageRun(random, make, form).run();
  }
  EXPECT_GT(planted, 60);
}

TEST(PlantedLanguageCuda, ChangedTracesHaveTheBitsOfTheHost) {
  HS_NEED_CUDA();
  run_changed_traces(&PairedMachine::create, NumericForm::recurrent);
}

// What rows that meet and chunks that overlap leave in form chunked depends on nothing but them.
TEST(PlantedLanguageCuda, ChangedTracesInFormChunkedHaveTheSameBitsTwice) {
  HS_NEED_CUDA();
  run_changed_traces(&PairedMachine::create_both_on_device, NumericForm::chunked);
}

}  // namespace
}  // namespace hybridscope::test::planted_language_cuda_test
