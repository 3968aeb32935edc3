// Hashes of states on a device against those of the host.
#include "kernels/cuda/state_hash_cuda.h"

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstring>

#include "kernels/cpu/state_hash_cpu.h"
#include "kernels/cuda/device_memory.h"
#include "tests/kernels/cuda/cuda_device.h"
#include "tests/kernels/cuda/num_cases.h"
#include "tests/kernels/hash_case.h"

namespace hybridscope::state_hash_cuda_test {
namespace {

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
}  // namespace hybridscope::state_hash_cuda_test
