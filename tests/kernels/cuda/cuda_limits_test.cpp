// Sizes at which 32 bits, and the y and z dimensions of a grid, end.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "kernels/cpu/state_copy_cpu.h"
#include "kernels/cuda/copy_list_cuda.h"
#include "kernels/cuda/device_upload.h"
#include "tests/kernels/cuda/both_backends.h"
#include "tests/kernels/cuda/cuda_device.h"

namespace hybridscope::cuda_limits_test {
namespace {

using test::BothBackends;
using test::conv_spec;
using test::temporal_spec;

test::MemoryShape wide_pages(std::int32_t num_blocks) {
  return {.num_blocks = num_blocks,
          .group_layers = {2},
          .states = {conv_spec(ConvStateLayout::SD, 4, 64, Dtype::float16),
                     temporal_spec({1 << 18}, Dtype::float32)},
          .padding_bytes = 3584};
}

// Everything a step can do to blocks a, b, c.
StateOps step_on(std::int32_t a, std::int32_t b, std::int32_t c) {
  StateOps ops;
  ops.add_poison(a);
  ops.tokens = {7, 8};
  ops.token_fingerprints = {0xC1, 0xC2};
  ops.writes = {{ForwardWriteKind::temporal, a, 1},
                {ForwardWriteKind::temporal, b, 2},
                {ForwardWriteKind::conv_tail, a, 2}};
  ops.add_row({.temporal_src_block = c, .conv_src_block = c, .num_tokens = 2, .num_writes = 3});
  ops.begin_launch();
  ops.add_copy(
      {.conv_src_block = a, .temporal_src_block = a, .dst_block = c, .accept_token_bias = 1});
  ops.begin_launch();
  ops.add_copy({.conv_src_block = a, .temporal_src_block = b, .dst_block = a});
  ops.add_copy({.conv_src_block = c, .temporal_src_block = a, .dst_block = b});
  return ops;
}

BlockContents contents_of(std::int32_t block) {
  return {.blocks = {{.kind = StateKind::temporal, .block = block, .fingerprint = 0xB1},
                     {.kind = StateKind::conv, .block = block}},
          .conv_fingerprints = {0xA1, 0xA2, 0xA3, 0xA4}};
}

// 2 buffers of 4,096 pages of 1,052,672 bytes: block 2,041 begins behind 2^31, buffer 1 behind
// 2^32.
TEST(CudaLimits, BlocksBehind2To31BytesAreWhereTheyAreOnASmallMemory) {
  HS_NEED_CUDA();
  const StateMemory large = test::make_memory(wide_pages(4096));
  ASSERT_EQ(large.page_size_bytes, 1052672);
  ASSERT_GT(large.buffer_bytes(), std::int64_t{1} << 32);
  auto cuda = CudaStateBackend::create({.memory = large});
  if (!cuda && cuda.error().kind == ErrorKind::not_available) GTEST_SKIP() << cuda.error().message;
  ASSERT_TRUE(cuda) << cuda.error().message;
  const auto cpu = CpuStateBackend::create(test::make_memory(wide_pages(4))).value();
  // Blocks of the large memory and what stands for them in the small one; 2040 stays untouched.
  constexpr std::int32_t kLarge[] = {2041, 4095, 3000, 2040};
  ASSERT_NO_FATAL_FAILURE(test::fill_state(*cuda.value(), contents_of(3000)));
  test::fill_state(*cpu, contents_of(2));
  ASSERT_TRUE(cuda.value()->run(step_on(2041, 4095, 3000)));
  ASSERT_TRUE(cpu->run(step_on(0, 1, 2)));
  for (std::int32_t block = 0; block < 4; ++block) {
    for (std::int32_t buffer = 0; buffer < 2; ++buffer) {
      const auto page = DevicePages::read(*cuda.value(), buffer, kLarge[block]);
      ASSERT_TRUE(page) << page.error().message;
      const auto expected = std::as_const(*cpu).bytes().subspan(
          static_cast<std::size_t>(buffer * 4 + block) * 1052672, 1052672);
      EXPECT_TRUE(std::ranges::equal(page.value(), expected))
          << "block " << kLarge[block] << ", buffer " << buffer;
    }
  }
  // Digests do not depend on where a block lies.
  const std::int32_t small[] = {0, 1, 2, 3};
  EXPECT_EQ(cuda.value()->digests(kLarge).value(), cpu->digests(small).value());
  EXPECT_EQ(cuda.value()->verify(contents_of(4095)).value().size(),
            cpu->verify(contents_of(1)).value().size());
}

// 70,000 rows, then as many copies, poisoned blocks and contents, in one launch each.
TEST(CudaLimits, MoreRowsAndCopiesThan65535) {
  HS_NEED_CUDA();
  constexpr std::int32_t kCount = 70000;
  const BothBackends both(
      test::make_memory({.num_blocks = 2 * kCount,
                         .states = {conv_spec(ConvStateLayout::SD, 3, 4, Dtype::float16),
                                    temporal_spec({4}, Dtype::float16)}}));
  BlockContents contents;
  StateOps ops;
  for (std::int32_t i = 0; i < kCount; ++i) {
    contents.blocks.push_back(
        {.kind = StateKind::temporal, .block = i, .fingerprint = static_cast<Fingerprint>(i + 1)});
    ops.tokens.push_back(static_cast<TokenContent>(i));
    ops.token_fingerprints.push_back(static_cast<Fingerprint>(i + 5));
    ops.writes.push_back({ForwardWriteKind::temporal, i, 1});
    ops.writes.push_back({ForwardWriteKind::conv_tail, i, 1});
    ops.add_row({.temporal_src_block = i,
                 .conv_src_block = kNoSource,
                 .first_token = i,
                 .num_tokens = 1,
                 .first_write = 2 * i,
                 .num_writes = 2});
  }
  ops.begin_launch();
  for (std::int32_t i = 0; i < kCount; ++i)
    ops.add_copy({.conv_src_block = i, .temporal_src_block = i, .dst_block = kCount + i});
  ASSERT_NO_FATAL_FAILURE(both.fill(contents));
  EXPECT_TRUE(both.cuda->verify(contents).value().empty());
  ASSERT_NO_FATAL_FAILURE(both.run(ops));
  ASSERT_NO_FATAL_FAILURE(both.expect_equal_digests());
  EXPECT_EQ(both.cuda->verify(contents).value(), both.cpu->verify(contents).value());
  StateOps poison;
  for (std::int32_t i = 0; i < kCount; ++i) poison.add_poison(2 * kCount - 1 - i);
  ASSERT_NO_FATAL_FAILURE(both.run(poison));
  ASSERT_NO_FATAL_FAILURE(both.expect_equal_digests());
}

// 60,000 copies, at once or, where the second half reads what the first half wrote, in order.
TEST(CudaLimits, ALongListOfCopiesStaysInOrder) {
  HS_NEED_CUDA();
  constexpr std::int64_t kCount = 30000;
  for (const bool in_order : {false, true}) {
    // Three thirds of 8 bytes a block.
    std::vector<std::byte> cpu(3 * kCount * 8);
    for (std::size_t i = 0; i < cpu.size(); ++i) cpu[i] = static_cast<std::byte>(i * 131 >> 3);
    std::vector<std::byte> cuda = cpu;
    std::vector<StateCopy> copies;
    const auto add = [&](std::int64_t src, std::int64_t dst) {
      copies.push_back({.src_byte_offset = src * 8, .dst_byte_offset = dst * 8, .row_bytes = 8});
    };
    for (std::int64_t i = 0; i < kCount; ++i) add(i, kCount + i);
    const std::int64_t last = in_order ? 200 : kCount;
    for (std::int64_t i = 0; i < last; ++i) add(in_order ? kCount + i : i, 2 * kCount + i);
    const std::vector<std::span<std::byte>> cpu_states{cpu};
    const std::vector<std::span<std::byte>> cuda_states{cuda};
    ASSERT_TRUE(execute_copies(copies, cpu_states));
    const Status status = execute_copies_cuda(copies, cuda_states, 0);
    ASSERT_TRUE(status) << status.error().message;
    EXPECT_TRUE(cuda == cpu);
  }
}

// Pieces leave the host while the device is busy: here it is held up by a host function on the
// stream.

using ::testing::ElementsAre;

// Launches after it begin when the test opens it.
class Gate {
 public:
  void hold(cudaStream_t stream) {
    ASSERT_EQ(cudaLaunchHostFunc(stream, &Gate::wait, this), cudaSuccess);
  }
  void open() {
    open_ = true;
    open_.notify_all();
  }

 private:
  static void wait(void* gate) { static_cast<Gate*>(gate)->open_.wait(false); }
  std::atomic<bool> open_ = false;
};

class DeviceUploadTest : public ::testing::Test {
 protected:
  void SetUp() override {
    HS_NEED_CUDA();
    ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
    stream_ = make_stream(0).value();
    context_.stream = stream_.get();
    ASSERT_TRUE(seen_.reserve(0, kMostPieces * 4));
    ASSERT_TRUE(upload_.reserve(0, 4096));
    allocations_ = upload_.num_allocations();
  }
  // Also after a failure: the stream must not outlive the gate that it waits for.
  void TearDown() override {
    gate_.open();
    if (stream_ != nullptr) static_cast<void>(cudaStreamSynchronize(stream_.get()));
  }

  // One piece with one number, which a copy behind it keeps.
  void send(std::int32_t number) {
    ASSERT_LT(num_sent_, kMostPieces);
    ArrayPiece piece;
    const auto sent = piece.add(std::vector<std::int32_t>{number});
    ASSERT_TRUE(upload_.send(piece, context_));
    ASSERT_EQ(cudaMemcpyAsync(seen_.data() + 4 * num_sent_++, sent.in(upload_.data()), 4,
                              cudaMemcpyDeviceToDevice, context_.stream),
              cudaSuccess);
  }
  bool device_is_held() {
    const cudaError_t code = cudaStreamQuery(context_.stream);
    static_cast<void>(cudaGetLastError());
    return code == cudaErrorNotReady;
  }
  std::vector<std::int32_t> seen() {
    EXPECT_EQ(cudaStreamSynchronize(context_.stream), cudaSuccess);
    std::vector<std::int32_t> numbers(static_cast<std::size_t>(num_sent_));
    EXPECT_EQ(cudaMemcpy(numbers.data(), seen_.data(), 4 * numbers.size(), cudaMemcpyDeviceToHost),
              cudaSuccess);
    return numbers;
  }
  std::int64_t num_new_allocations() const { return upload_.num_allocations() - allocations_; }

  static constexpr std::int64_t kMostPieces = 8;
  Stream stream_;
  LaunchContext context_;
  DeviceMemory seen_;
  DeviceUpload upload_;
  Gate gate_;

 private:
  std::int64_t allocations_ = 0;
  std::int64_t num_sent_ = 0;
};

TEST_F(DeviceUploadTest, FourPiecesAreSentToADeviceThatIsHeldUp) {
  gate_.hold(context_.stream);
  for (const std::int32_t number : {11, 12, 13, 14}) send(number);
  EXPECT_TRUE(device_is_held());
  EXPECT_EQ(upload_.num_waits(), 0);
  EXPECT_EQ(num_new_allocations(), 0);
  gate_.open();
  EXPECT_THAT(seen(), ElementsAre(11, 12, 13, 14));
}

TEST_F(DeviceUploadTest, TheFifthPieceWaitsUntilTheFirstHasLeft) {
  gate_.hold(context_.stream);
  for (const std::int32_t number : {11, 12, 13, 14}) send(number);
  // A real delay: nothing tells when send() has begun to wait.
  std::thread opens([this] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    gate_.open();
  });
  send(15);
  opens.join();
  EXPECT_EQ(upload_.num_waits(), 1);
  EXPECT_EQ(num_new_allocations(), 0);
  EXPECT_THAT(seen(), ElementsAre(11, 12, 13, 14, 15));
}

TEST_F(DeviceUploadTest, PiecesThatHaveLeftAreNotWaitedFor) {
  for (std::int32_t number = 1; number <= 8; ++number) {
    send(number);
    ASSERT_EQ(cudaStreamSynchronize(context_.stream), cudaSuccess);
  }
  EXPECT_EQ(upload_.num_waits(), 0);
  EXPECT_THAT(seen(), ElementsAre(1, 2, 3, 4, 5, 6, 7, 8));
}

TEST_F(DeviceUploadTest, APieceLargerThanTheRoomMakesRoom) {
  ArrayPiece piece;
  const std::vector<std::int32_t> numbers(5000, 7);
  piece.add(numbers);
  ASSERT_TRUE(upload_.send(piece, context_));
  EXPECT_EQ(num_new_allocations(), 2);  // on the device, and one of the four on the host
  EXPECT_EQ(cudaStreamSynchronize(context_.stream), cudaSuccess);
}

}  // namespace

}  // namespace hybridscope::cuda_limits_test
