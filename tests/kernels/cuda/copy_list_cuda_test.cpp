// The batched memcpy of a host copy list, and the block-table gather.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "kernels/cpu/state_copy_cpu.h"
#include "kernels/cuda/block_table_gather_cuda.h"
#include "kernels/cuda/copy_list_cuda.h"
#include "kernels/cuda/cuda_state_backend.h"
#include "kernels/cuda/describe_cuda.h"
#include "sessions/conformance/vector_states.h"
#include "tests/kernels/cuda/cuda_device.h"
#include "tests/kernels/cuda/num_cases.h"

namespace hybridscope::copy_list_cuda_test {
namespace {

std::vector<std::byte> random_bytes(test::SeededDraw& seeded, std::size_t size) {
  std::vector<std::byte> bytes(size);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(seeded.random()());
  return bytes;
}

// Regions of any alignment, some of them inside each other.
StateCopy random_copy(const test::Draw& draw, std::int32_t num_states, std::int32_t size) {
  StateCopy copy{.state_index = draw(0, num_states - 1), .num_rows = draw(1, 5)};
  const std::int32_t unit = 1 << draw(0, 4);
  copy.row_bytes = unit * draw(0, size / 8 / unit);
  copy.row_stride_bytes = copy.num_rows == 1 ? 0 : copy.row_bytes + unit * draw(0, 3);
  const auto span =
      static_cast<std::int32_t>((copy.num_rows - 1) * copy.row_stride_bytes + copy.row_bytes);
  copy.src_byte_offset = draw(0, std::max(size - span, 0) / unit) * unit;
  copy.dst_byte_offset = draw(1, 4) == 4 && copy.src_byte_offset >= unit
                             ? copy.src_byte_offset - unit
                             : draw(0, std::max(size - span, 0) / unit) * unit;
  return copy;
}

// As they come, permuted, delayed, both.
LaunchOrder order_of(int round) {
  return {.multiplier = round % 2 == 0 ? 1 : 7919, .delayed_every = round % 4 < 2 ? 0 : 2};
}

TEST(CopyListCuda, RandomListsLeaveTheBytesOfTheCpu) {
  HS_NEED_CUDA();
  test::SeededDraw seeded;
  SCOPED_TRACE("seed " + std::to_string(seeded.seed()));
  for (int round = 0; round < test::num_cases(300); ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    // Two buffers; in the first one, two states that overlap.
    const std::int32_t size = seeded.draw()(1, 3) == 3 ? 400000 : 2000;
    const auto padded = static_cast<std::size_t>(size + 64);
    std::vector<std::byte> cpu[] = {random_bytes(seeded, padded), random_bytes(seeded, padded)};
    std::vector<std::byte> cuda[] = {cpu[0], cpu[1]};
    const auto states_of = [](std::vector<std::byte>(&buffers)[2]) {
      return std::vector<std::span<std::byte>>{buffers[0], std::span(buffers[0]).subspan(48),
                                               buffers[1]};
    };
    std::vector<StateCopy> copies;
    const std::int32_t count = seeded.draw()(1, 6);
    for (std::int32_t i = 0; i < count; ++i) copies.push_back(random_copy(seeded.draw(), 3, size));
    ASSERT_TRUE(execute_copies(copies, states_of(cpu)));
    const Status status = execute_copies_cuda(copies, states_of(cuda), 0, order_of(round));
    ASSERT_TRUE(status) << status.error().message;
    ASSERT_EQ(cuda[0], cpu[0]);
    ASSERT_EQ(cuda[1], cpu[1]);
  }
}

// 1 MiB shifted by 2, 4, 6, 16 bytes down and up inside itself.
TEST(CopyListCuda, AShiftInsideARegionIsAMemmove) {
  HS_NEED_CUDA();
  test::SeededDraw seeded;
  const std::vector<std::byte> bytes = random_bytes(seeded, (1 << 20) + 64);
  for (const std::int64_t shift : {2, 4, 6, 16})
    for (const bool down : {true, false}) {
      std::vector<std::byte> expected = bytes;
      std::vector<std::byte> seen = bytes;
      const StateCopy copy{.src_byte_offset = down ? shift : 0,
                           .dst_byte_offset = down ? 0 : shift,
                           .row_bytes = 1 << 20};
      std::memmove(expected.data() + copy.dst_byte_offset, bytes.data() + copy.src_byte_offset,
                   1 << 20);
      const std::vector<std::span<std::byte>> states{seen};
      const Status status = execute_copies_cuda(std::span(&copy, 1), states, 0, order_of(3));
      ASSERT_TRUE(status) << status.error().message;
      EXPECT_EQ(seen, expected) << shift << (down ? " down" : " up");
    }
}

TEST(BlockTableGatherCuda, RandomTablesGiveTheWindowsOfTheHost) {
  HS_NEED_CUDA();
  test::SeededDraw seeded;
  SCOPED_TRACE("seed " + std::to_string(seeded.seed()));
  for (int round = 0; round < test::num_cases(30); ++round) {
    const std::int32_t num_rows = round == 0 ? 70000 : seeded.draw()(1, 300);
    const std::int32_t num_spec = seeded.draw()(0, 5);
    const std::int32_t columns = num_spec + seeded.draw()(1, 20);
    const std::int32_t block_size = seeded.draw()(1, 600);
    std::vector<std::int32_t> table(static_cast<std::size_t>(num_rows) *
                                    static_cast<std::size_t>(columns));
    for (std::int32_t& block : table) block = seeded.draw()(-1, 1 << 30);
    std::vector<std::int32_t> seq_lens(static_cast<std::size_t>(num_rows));
    for (std::int32_t& length : seq_lens)
      length = seeded.draw()(0, (columns - num_spec) * block_size);
    const BlockTableGatherInput input{.config = {.mamba_cache_mode = MambaCacheMode::align,
                                                 .block_size = ReciprocalDivider(block_size),
                                                 .num_speculative_blocks = num_spec},
                                      .block_table = matrix_view(table.data(), num_rows, columns),
                                      .seq_lens = seq_lens};
    std::vector<std::int32_t> storage(static_cast<std::size_t>((2 + num_spec) * num_rows));
    const TensorView<std::int32_t> expected = mamba_get_block_table_tensor(input, storage).value();
    const auto gathered = gather_block_table_cuda(input, 0, order_of(round));
    ASSERT_TRUE(gathered) << gathered.error().message;
    ASSERT_TRUE(std::ranges::equal(
        gathered.value(), std::span(expected.data, static_cast<std::size_t>(expected.size()))));
  }
}

// Runs everywhere: the columns are looked at before any device is.
TEST(BlockTableGatherCuda, AColumnOutsideTheTableIsRefusedAsOnTheHost) {
  const std::vector<std::int32_t> table{1, 2};
  const std::vector<std::int32_t> seq_lens{9};
  const BlockTableGatherInput input{
      .config = {.mamba_cache_mode = MambaCacheMode::align, .block_size = ReciprocalDivider(4)},
      .block_table = matrix_view(table.data(), 1, 2),
      .seq_lens = seq_lens};
  const auto gathered = gather_block_table_cuda(input, 0);
  ASSERT_FALSE(gathered);
  if (gathered.error().kind == ErrorKind::not_available) GTEST_SKIP() << gathered.error().message;
  EXPECT_EQ(gathered.error().message, "block table has 2 columns, but a row needs columns 2 to 2");
}

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

}  // namespace hybridscope::copy_list_cuda_test
