#include "kernels/cuda/describe_cuda.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/cuda/copy_list_cuda.h"
#include "kernels/cuda/cuda_state_backend.h"
#include "tests/kernels/cuda/cuda_device.h"

namespace hybridscope::describe_cuda_test {
namespace {

using ::testing::HasSubstr;

StateMemory small_memory() {
  return test::make_memory({.states = {test::temporal_spec({4}, Dtype::float32)}});
}

// Runs everywhere: one of the two is true of any machine.
TEST(DescribeCuda, SaysWhatThereIsOrWhyThereIsNothing) {
  const Result<CudaDescription> description = describe_cuda();
  if (!description) {
    EXPECT_EQ(description.error().kind, ErrorKind::not_available);
    EXPECT_THAT(description.error().message,
                ::testing::AnyOf(HasSubstr("no CUDA device"), HasSubstr("built without CUDA"),
                                 HasSubstr("a newer driver is needed")));
    return;
  }
  ASSERT_FALSE(description.value().devices.empty());
  for (const CudaDevice& device : description.value().devices) {
    EXPECT_FALSE(device.name.empty());
    EXPECT_GE(device.major, 5);
    EXPECT_GT(device.total_bytes, std::int64_t{1} << 30);
  }
}

TEST(DescribeCuda, WithoutADeviceNothingIsCreatedAndTheReasonIsTheSame) {
  const Result<CudaDescription> description = describe_cuda();
  if (description) GTEST_SKIP() << "there is a device: " << description.value().devices[0].name;
  const auto backend = CudaStateBackend::create({.memory = small_memory()});
  ASSERT_FALSE(backend);
  EXPECT_EQ(backend.error().kind, ErrorKind::not_available);
  EXPECT_EQ(backend.error().message, description.error().message);
  const Status copies = execute_copies_cuda({}, {}, 0);
  ASSERT_FALSE(copies);
  EXPECT_EQ(copies.error().message, description.error().message);
}

TEST(DescribeCuda, AnOrdinalThatNoDeviceHasIsRefused) {
  HS_NEED_CUDA();
  for (const std::int32_t device : {-1, 99}) {
    const auto backend = CudaStateBackend::create({.memory = small_memory(), .device = device});
    ASSERT_FALSE(backend);
    EXPECT_EQ(backend.error().kind, ErrorKind::not_available);
    EXPECT_THAT(backend.error().message,
                HasSubstr("there is no CUDA device " + std::to_string(device) + ", only 0 to "));
  }
}

TEST(DescribeCuda, MoreThanTheDeviceHasIsRefusedWithTheNumbers) {
  HS_NEED_CUDA();
  const auto backend = CudaStateBackend::create(
      {.memory = test::make_memory(
           {.num_blocks = 1 << 20,
            .states = {test::temporal_spec({1 << 20, 1 << 10}, Dtype::float32)}})});
  ASSERT_FALSE(backend);
  EXPECT_EQ(backend.error().kind, ErrorKind::not_available);
  // 2^52 bytes of states and 64 MiB beside them.
  EXPECT_THAT(backend.error().message, HasSubstr("4503599694479360 bytes are needed, "));
}

}  // namespace
}  // namespace hybridscope::describe_cuda_test
