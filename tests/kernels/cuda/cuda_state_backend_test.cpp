// The CUDA backend against the CPU backend: every byte of every page after the same calls.

#include <cuda_runtime_api.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <ostream>

#include "core/base/result.h"
#include "kernels/cpu/state_copy_cpu.h"
#include "kernels/cuda/cuda_state_backend.h"
#include "kernels/cuda/device_memory.h"
#include "kernels/cuda/state_hash_cuda.h"
#include "tests/kernels/cuda/both_backends.h"
#include "tests/kernels/cuda/cuda_device.h"
#include "tests/kernels/cuda/num_cases.h"
#include "tests/kernels/hash_case.h"

namespace hybridscope::cuda_state_backend_test {

void PrintTo(const LaunchOrder& order, std::ostream* out) {
  *out << "multiplier " << order.multiplier << ", every " << order.delayed_every << " delayed";
}

namespace {

using test::BothBackends;
using test::conv_spec;
using test::temporal_spec;

// How the blocks of threads of a launch begin: as they come, in another order, some of them late.
class EveryOrder : public ::testing::TestWithParam<LaunchOrder> {};
INSTANTIATE_TEST_SUITE_P(CudaStateBackend, EveryOrder,
                         ::testing::Values(LaunchOrder{}, LaunchOrder{.multiplier = 1000003},
                                           LaunchOrder{.delayed_every = 3},
                                           LaunchOrder{.multiplier = 7919, .delayed_every = 2}),
                         [](const auto& param) {
                           return "multiplier" + std::to_string(param.param.multiplier) +
                                  "delayed" + std::to_string(param.param.delayed_every);
                         });

TEST_P(EveryOrder, RandomStepsLeaveTheBytesOfTheCpu) {
  HS_NEED_CUDA();
  test::SeededDraw seeded;
  SCOPED_TRACE("seed " + std::to_string(seeded.seed()));
  for (int round = 0; round < test::num_cases(60); ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    const StateMemory memory = test::random_memory(seeded.draw());
    const BothBackends both(memory, GetParam());
    for (int step = 0; step < 4; ++step) {
      const BlockContents contents =
          test::random_contents(seeded.draw(), memory, seeded.draw()(0, 4));
      ASSERT_NO_FATAL_FAILURE(both.fill(contents));
      ASSERT_NO_FATAL_FAILURE(both.run(test::random_ops(seeded.draw(), memory, 5)));
      ASSERT_EQ(both.cuda->verify(contents).value(), both.cpu->verify(contents).value());
    }
    ASSERT_NO_FATAL_FAILURE(both.expect_equal_bytes());
    ASSERT_NO_FATAL_FAILURE(both.expect_equal_digests());
  }
}

// States of many tiles of threads: what one launch does is spread over the whole device.
StateMemory large_states(ConvStateLayout layout) {
  return test::make_memory({.layout = layout,
                            .num_blocks = 12,
                            .group_layers = {2, 1},
                            .states = {conv_spec(layout, 5, 6152, Dtype::bfloat16),
                                       temporal_spec({8, 64, 128}, Dtype::float32)},
                            .padding_bytes = 12});
}

TEST_P(EveryOrder, StepsOnLargeStatesLeaveTheBytesOfTheCpu) {
  HS_NEED_CUDA();
  test::SeededDraw seeded;
  SCOPED_TRACE("seed " + std::to_string(seeded.seed()));
  for (const ConvStateLayout layout : {ConvStateLayout::SD, ConvStateLayout::DS}) {
    const StateMemory memory = large_states(layout);
    const BothBackends both(memory, GetParam());
    for (int step = 0; step < test::num_cases(20); ++step) {
      const BlockContents contents = test::random_contents(seeded.draw(), memory, 3);
      ASSERT_NO_FATAL_FAILURE(both.fill(contents));
      ASSERT_NO_FATAL_FAILURE(both.run(test::random_ops(seeded.draw(), memory, 5)));
      ASSERT_EQ(both.cuda->verify(contents).value(), both.cpu->verify(contents).value());
    }
    ASSERT_NO_FATAL_FAILURE(both.expect_equal_bytes());
    ASSERT_NO_FATAL_FAILURE(both.expect_equal_digests());
  }
}

StepSize larger_of(const StepSize& a, const StepSize& b) {
  return {.num_poisoned = std::max(a.num_poisoned, b.num_poisoned),
          .num_copies = std::max(a.num_copies, b.num_copies),
          .num_rows = std::max(a.num_rows, b.num_rows),
          .num_writes = std::max(a.num_writes, b.num_writes),
          .num_tokens = std::max(a.num_tokens, b.num_tokens)};
}

// The same block again and again: each launch depends on the one before.
TEST_P(EveryOrder, RowsThatFollowEachOtherInOneBatchRunInOrder) {
  HS_NEED_CUDA();
  const BothBackends both(large_states(ConvStateLayout::SD), GetParam());
  StateOps ops;
  for (std::int32_t i = 0; i < 40; ++i) {
    const std::int32_t block = i % 3;
    ops.tokens.push_back(static_cast<TokenContent>(i));
    ops.token_fingerprints.push_back(static_cast<Fingerprint>(1000 + i));
    ops.writes.push_back({ForwardWriteKind::temporal, (block + 1) % 3, 1});
    ops.writes.push_back({ForwardWriteKind::conv_window, (block + 1) % 3, 1});
    ops.add_row({.temporal_src_block = i == 0 ? kNoSource : block,
                 .conv_src_block = i == 0 ? kNoSource : block,
                 .first_token = i,
                 .num_tokens = 1,
                 .first_write = 2 * i,
                 .num_writes = 2,
                 .start = 77});
  }
  ASSERT_NO_FATAL_FAILURE(both.run(ops));
  ASSERT_NO_FATAL_FAILURE(both.expect_equal_bytes());
}

// Known bug 4: positions 1, 2, ... move to 0, 1, ... of the same block.
TEST_P(EveryOrder, AShiftInsideABlockIsAMemmove) {
  HS_NEED_CUDA();
  for (const ConvStateLayout layout : {ConvStateLayout::SD, ConvStateLayout::DS}) {
    const BothBackends both(large_states(layout), GetParam());
    BlockContents contents{.blocks = {{.kind = StateKind::conv, .block = 2}},
                           .conv_fingerprints = {0xA1, 0xA2, 0xA3, 0xA4, 0xA5}};
    ASSERT_NO_FATAL_FAILURE(both.fill(contents));
    StateOps ops;
    ops.add_copy(
        {.conv_src_block = 2, .temporal_src_block = 2, .dst_block = 2, .accept_token_bias = 1});
    ASSERT_NO_FATAL_FAILURE(both.run(ops));
    contents.conv_fingerprints = {0xA2, 0xA3, 0xA4, 0xA5, 0xA5};
    EXPECT_TRUE(both.cuda->verify(contents).value().empty());
    ASSERT_NO_FATAL_FAILURE(both.expect_equal_bytes());
  }
}

TEST(CudaStateBackend, AMismatchIsTheFirstElementOfEachState) {
  HS_NEED_CUDA();
  const BothBackends both(large_states(ConvStateLayout::DS));
  const BlockContents contents{
      .blocks = {{.kind = StateKind::conv, .block = 2},
                 {.kind = StateKind::temporal, .block = 3, .fingerprint = 0xB1}},
      .conv_fingerprints = {0xA1, 0xA2, 0xA3, 0xA4, 0xA5}};
  ASSERT_NO_FATAL_FAILURE(both.fill(contents));
  EXPECT_TRUE(both.cuda->verify(contents).value().empty());
  const StateMemory& memory = both.cpu->memory();
  for (const std::int32_t block : {2, 3}) {
    auto page = DevicePages::read(*both.cuda, 1, block).value();
    for (std::size_t i = 40000; i < page.size(); i += 30011) page[i] ^= std::byte{4};
    ASSERT_TRUE(DevicePages::write(*both.cuda, 1, block, page));
    std::ranges::copy(page, both.cpu->bytes().begin() +
                                static_cast<std::ptrdiff_t>(memory.buffer_bytes() +
                                                            block * memory.page_size_bytes));
  }
  const auto mismatches = both.cuda->verify(contents).value();
  EXPECT_EQ(mismatches, both.cpu->verify(contents).value());
  ASSERT_EQ(mismatches.size(), 2U);
  EXPECT_EQ(mismatches[0].state_index, 2);
  EXPECT_EQ(mismatches[1].state_index, 3);
}

TEST(CudaStateBackend, StepsWithinTheLargestOneNeitherAllocateNorWait) {
  HS_NEED_CUDA();
  test::SeededDraw seeded;
  SCOPED_TRACE("seed " + std::to_string(seeded.seed()));
  for (int round = 0; round < test::num_cases(10); ++round) {
    const StateMemory memory = test::random_memory(seeded.draw());
    std::vector<StateOps> steps;
    StepSize largest;
    for (int step = 0; step < 40; ++step) {
      steps.push_back(test::random_ops(seeded.draw(), memory, 12));
      largest = larger_of(largest, size_of(steps.back()));
    }
    const auto backend =
        CudaStateBackend::create({.memory = memory, .largest_step = largest}).value();
    for (std::size_t step = 0; step < steps.size(); ++step) {
      ASSERT_TRUE(backend->run(steps[step]));
      if (step % 4 == 3) {
        ASSERT_TRUE(DevicePages::wait(*backend));
      }
    }
    EXPECT_EQ(backend->delays(), StateDelays{});
  }
}

TEST(CudaStateBackend, AStepLargerThanTheLargestMakesRoomOnce) {
  HS_NEED_CUDA();
  const auto backend =
      CudaStateBackend::create(
          {.memory = test::make_memory({.states = {temporal_spec({4}, Dtype::float32)}})})
          .value();
  StateOps step;
  for (std::int32_t i = 0; i < 5000; ++i) step.add_poison(i % 4);
  const auto run_in_each_buffer = [&] {
    for (int i = 0; i < 4; ++i) {
      ASSERT_TRUE(backend->run(step));
      ASSERT_TRUE(DevicePages::wait(*backend));
    }
  };
  ASSERT_NO_FATAL_FAILURE(run_in_each_buffer());
  const std::int64_t num_allocations = backend->delays().num_allocations;
  EXPECT_GT(num_allocations, 0);
  ASSERT_NO_FATAL_FAILURE(run_in_each_buffer());
  EXPECT_EQ(backend->delays().num_allocations, num_allocations);
}

TEST(CudaStateBackend, ABlockOutsideTheMemoryIsOurBug) {
  HS_NEED_CUDA();
  const BothBackends both(large_states(ConvStateLayout::SD));
  StateOps ops;
  ops.add_poison(12);
  EXPECT_THROW((void)both.cuda->run(ops), ContractViolation);
}

// Hashes of states on a device against those of the host.

template <class T>
T* uploaded(DeviceMemory& memory, const std::vector<T>& values) {
  const std::size_t num_bytes = values.size() * sizeof(T);
  EXPECT_TRUE(memory.reserve(0, static_cast<std::int64_t>(num_bytes + 1)));
  EXPECT_EQ(cudaMemcpy(memory.data(), values.data(), num_bytes, cudaMemcpyHostToDevice),
            cudaSuccess);
  return reinterpret_cast<T*>(memory.data());
}

class StateHashCudaTest : public ::testing::Test {
 protected:
  // The case's sums as the device makes them; twice, for a second call begins anew.
  std::vector<std::uint64_t> on_device(const test::HashCase& made) {
    const HashedStates states = made.states_at(uploaded(memory_, made.memory));
    const std::int32_t* blocks = uploaded(blocks_, made.blocks);
    std::vector<std::uint64_t> sums(made.blocks.size() * static_cast<std::size_t>(num_sums(states)),
                                    7);
    std::uint64_t* sums_on_device = uploaded(sums_, sums);
    const auto hasher = StateHashCuda::create(states);
    EXPECT_TRUE(hasher) << hasher.error().message;
    const auto stream = make_stream(0);
    EXPECT_TRUE(stream);
    if (!hasher || !stream) return {};
    for (int call = 0; call < 2; ++call) {
      const Status status =
          hasher.value().hash(blocks, static_cast<std::int64_t>(made.blocks.size()), sums_on_device,
                              stream.value().get());
      EXPECT_TRUE(status) << status.error().message;
    }
    EXPECT_EQ(cudaStreamSynchronize(stream.value().get()), cudaSuccess);
    EXPECT_EQ(cudaMemcpy(sums.data(), sums_on_device, sums.size() * sizeof(std::uint64_t),
                         cudaMemcpyDeviceToHost),
              cudaSuccess);
    return sums;
  }

  static std::vector<std::uint64_t> on_host(const test::HashCase& made) {
    const HashedStates states = made.states_at(made.memory.data());
    std::vector<std::uint64_t> sums(made.blocks.size() *
                                    static_cast<std::size_t>(num_sums(states)));
    hash_states(states, made.blocks, sums);
    return sums;
  }

 private:
  DeviceMemory memory_;
  DeviceMemory blocks_;
  DeviceMemory sums_;
};

TEST_F(StateHashCudaTest, RandomStatesHaveTheSumsOfTheHost) {
  HS_NEED_CUDA();
  test::SeededDraw seeded;
  SCOPED_TRACE("seed " + std::to_string(seeded.seed()));
  for (int round = 0; round < test::num_cases(200); ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    const test::HashCase made = test::random_hash_case(seeded.draw(), seeded.random());
    ASSERT_EQ(on_device(made), on_host(made));
  }
}

// A layer of a model: 2 MiB of temporal state and 4 positions of 8192 channels, 64 blocks.
TEST_F(StateHashCudaTest, StatesOfAModelHaveTheSumsOfTheHost) {
  HS_NEED_CUDA();
  test::SeededDraw seeded;
  constexpr std::int64_t kConvBytes = 4 * 8192 * 2;
  constexpr std::int64_t kPage = kConvBytes + (2 << 20);
  test::HashCase made{.memory = std::vector<std::byte>(65 * kPage),
                      .views = {{.block_stride = kPage,
                                 .num_positions = 4,
                                 .num_channels = 8192,
                                 .position_stride = 8192,
                                 .channel_stride = 1,
                                 .elem_size = 2,
                                 .ordinal = 0},
                                {.block_stride = kPage, .num_bytes = 2 << 20, .ordinal = 1}},
                      .offsets = {0, kConvBytes},
                      .num_blocks = 65};
  for (std::size_t at = 0; at < made.memory.size(); at += 8) {
    const std::uint64_t word = seeded.random()();
    std::memcpy(&made.memory[at], &word, 8);
  }
  for (std::int32_t block = 64; block > 0; --block) made.blocks.push_back(block);
  EXPECT_EQ(on_device(made), on_host(made));
}

TEST_F(StateHashCudaTest, StatesInHostMemoryAreRefused) {
  HS_NEED_CUDA();
  const std::vector<std::byte> memory(64);
  const auto hasher = StateHashCuda::create(
      {.views = {{.data = memory.data(), .block_stride = 32, .num_bytes = 32}}, .num_blocks = 2});
  ASSERT_FALSE(hasher);
  EXPECT_EQ(hasher.error().message, "the states are not in the memory of a CUDA device");
}

}  // namespace

}  // namespace hybridscope::cuda_state_backend_test
