// `conformance --backend cuda` without the command: the reference vectors that have kernels, on a
// CUDA device.
#include <gmock/gmock.h>

#include "app/vector_kernels.h"
#include "sessions/conformance/conformance.h"
#include "tests/sessions/conformance/golden_on_device.h"
#include "tests/support/golden.h"

namespace hybridscope::golden_vectors_cuda_test {
namespace {

class GoldenVectorsCuda : public testing::TestWithParam<test::GoldenOnDevice> {};
INSTANTIATE_TEST_SUITE_P(Kinds, GoldenVectorsCuda, testing::ValuesIn(test::golden_on_device()),
                         [](const auto& file) { return file.param.kind; });

TEST_P(GoldenVectorsCuda, TheDeviceGivesTheAnswersOfTheReference) {
  const auto kernels = cuda_vector_kernels(0);
  if (!kernels) GTEST_SKIP() << kernels.error().message;
  const FileReport report =
      check_vector_file(test::golden_path(GetParam().kind), {.kernels = kernels.value()});
  EXPECT_FALSE(report.kernel_error) << report.kernel_error->message;
  EXPECT_EQ(report.cases, GetParam().run);
  EXPECT_EQ(report.passed, GetParam().run);
  EXPECT_EQ(report.not_run, GetParam().not_run);
  for (const FailedCase& failed : report.failed)
    ADD_FAILURE() << failed.id << " " << failed.difference.pointer << ": expected "
                  << failed.difference.expected.substr(0, 500) << ", got "
                  << failed.difference.got.substr(0, 500);
  for (const InvalidCase& invalid : report.invalid) ADD_FAILURE() << invalid.message;
}

// Runs everywhere: one of the two is true of any machine.
TEST(VectorKernelsCuda, AnOrdinalThatNoDeviceHasIsRefused) {
  const auto kernels = cuda_vector_kernels(99);
  ASSERT_FALSE(kernels);
  EXPECT_EQ(kernels.error().kind, ErrorKind::not_available);
  EXPECT_THAT(kernels.error().message, testing::HasSubstr("CUDA"));
}

}  // namespace
}  // namespace hybridscope::golden_vectors_cuda_test
