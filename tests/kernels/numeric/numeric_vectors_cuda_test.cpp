// `conformance --backend cuda` without the command: vectors of real recurrences on a CUDA device.
#include <gtest/gtest.h>

#include "app/vector_kernels.h"
#include "sessions/conformance/conformance.h"
#include "tests/sessions/conformance/golden_on_device.h"
#include "tests/support/golden.h"

namespace hybridscope::numeric_vectors_cuda_test {
namespace {

class NumericVectorsCuda : public testing::TestWithParam<test::GoldenOnDevice> {};
INSTANTIATE_TEST_SUITE_P(Kinds, NumericVectorsCuda,
                         testing::ValuesIn(test::numeric_golden_on_device()),
                         [](const auto& file) { return file.param.kind; });

TEST_P(NumericVectorsCuda, TheDeviceGivesTheBitsOfTheVectors) {
  const auto kernels = cuda_vector_kernels(0);
  if (!kernels) GTEST_SKIP() << kernels.error().message;
  const FileReport report = check_vector_file(test::golden_path("numeric/" + GetParam().kind),
                                              {.kernels = kernels.value()});
  EXPECT_FALSE(report.kernel_error) << report.kernel_error->message;
  EXPECT_EQ(report.passed, GetParam().run);
  EXPECT_EQ(report.not_run, 0);
  for (const FailedCase& failed : report.failed)
    ADD_FAILURE() << failed.id << " " << failed.difference.pointer << ": expected "
                  << failed.difference.expected << ", got " << failed.difference.got;
  for (const InvalidCase& invalid : report.invalid) ADD_FAILURE() << invalid.message;
}

}  // namespace
}  // namespace hybridscope::numeric_vectors_cuda_test
