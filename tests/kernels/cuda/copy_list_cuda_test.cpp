// The batched memcpy of a host copy list, and the block-table gather.
#include "kernels/cuda/copy_list_cuda.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "kernels/cpu/state_copy_cpu.h"
#include "kernels/cuda/block_table_gather_cuda.h"
#include "sessions/conformance/vector_table.h"
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

}  // namespace
}  // namespace hybridscope::copy_list_cuda_test
