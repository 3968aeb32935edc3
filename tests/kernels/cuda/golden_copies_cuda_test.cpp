// The golden vectors of mode align with their copies executed on a CUDA device.
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "kernels/cuda/copy_list_cuda.h"
#include "kernels/cuda/describe_cuda.h"
#include "sessions/conformance/conformance.h"
#include "tests/support/golden.h"

namespace hybridscope::golden_copies_cuda_test {
namespace {

void execute_on_device(std::span<const StateCopy> copies,
                       std::span<const std::span<std::byte>> states) {
  const Status status = execute_copies_cuda(copies, states, 0);
  if (!status) throw std::runtime_error(status.error().message);
}

class GoldenCopiesCuda : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Files, GoldenCopiesCuda,
                         testing::Values("preprocess_align", "precopy_align", "postprocess_align",
                                         "pipeline"),
                         [](const auto& param) { return param.param; });

TEST_P(GoldenCopiesCuda, EveryVectorPasses) {
  if (const auto description = describe_cuda(); !description)
    GTEST_SKIP() << description.error().message;
  const FileReport report =
      check_vector_file(test::golden_path(GetParam()), {.execute_copies = &execute_on_device});
  EXPECT_GT(report.cases, 0);
  EXPECT_EQ(report.passed, report.cases);
  for (const FailedCase& failed : report.failed)
    ADD_FAILURE() << failed.id << " " << failed.difference.pointer << ": expected "
                  << failed.difference.expected.substr(0, 500) << ", got "
                  << failed.difference.got.substr(0, 500);
  for (const InvalidCase& invalid : report.invalid) ADD_FAILURE() << invalid.message;
}

}  // namespace
}  // namespace hybridscope::golden_copies_cuda_test
