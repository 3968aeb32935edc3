// Shared by tests on a CUDA device, which are skipped with a reason if there is none.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "kernels/cpu/cpu_state_backend.h"
#include "kernels/cuda/cuda_state_backend.h"
#include "kernels/cuda/describe_cuda.h"
#include "tests/kernels/fill_state.h"
#include "tests/kernels/random_state.h"

// Put first in a test that needs a device.
#define HS_NEED_CUDA()                                                             \
  if (const auto hs_description = ::hybridscope::describe_cuda(); !hs_description) \
  GTEST_SKIP() << hs_description.error().message

namespace hybridscope::test {

// Numbers from a seed that HYBRIDSCOPE_SEED sets; tests print it.
class SeededDraw {
 public:
  SeededDraw() : seed_(seed_of_environment()), random_(seed_) {}
  std::uint64_t seed() const { return seed_; }
  std::mt19937_64& random() { return random_; }
  Draw draw() {
    return [this](std::int32_t least, std::int32_t most) {
      return std::uniform_int_distribution<std::int32_t>(least, most)(random_);
    };
  }

 private:
  static std::uint64_t seed_of_environment() {
    const char* seed = std::getenv("HYBRIDSCOPE_SEED");
    return seed == nullptr ? 20261 : std::strtoull(seed, nullptr, 10);
  }
  std::uint64_t seed_;
  std::mt19937_64 random_;
};

// Page by page.
inline void fill_state(CudaStateBackend& backend, const BlockContents& contents) {
  const StateMemory& memory = backend.memory();
  for_each_filled_state(
      memory, contents, [&](std::ptrdiff_t offset, const std::vector<std::byte>& image) {
        const auto buffer = static_cast<std::int32_t>(offset / memory.buffer_bytes());
        const std::ptrdiff_t in_buffer = offset % memory.buffer_bytes();
        const auto block = static_cast<std::int32_t>(in_buffer / memory.page_size_bytes);
        auto page = backend.read_page(buffer, block);
        ASSERT_TRUE(page) << page.error().message;
        std::ranges::copy(image, page.value().begin() + in_buffer % memory.page_size_bytes);
        const Status written = backend.write_page(buffer, block, page.value());
        ASSERT_TRUE(written) << written.error().message;
      });
}

// The same memory twice.
struct BothBackends {
  std::unique_ptr<CpuStateBackend> cpu;
  std::unique_ptr<CudaStateBackend> cuda;

  explicit BothBackends(const StateMemory& memory)
      : cpu(CpuStateBackend::create(memory).value()),
        cuda(CudaStateBackend::create({.memory = memory}).value()) {}

  void run(const StateOps& ops) const {
    ASSERT_TRUE(cpu->run(ops));
    const Status status = cuda->run(ops);
    ASSERT_TRUE(status) << status.error().message;
  }
  void fill(const BlockContents& contents) const {
    fill_state(*cpu, contents);
    fill_state(*cuda, contents);
  }

  // All pages, padding included.
  void expect_equal_bytes() const {
    const StateMemory& memory = cpu->memory();
    for (std::int32_t buffer = 0; buffer < memory.num_buffers; ++buffer)
      for (std::int32_t block = 0; block < memory.num_blocks; ++block) {
        const auto page = cuda->read_page(buffer, block);
        ASSERT_TRUE(page) << page.error().message;
        const std::span<const std::byte> expected = std::as_const(*cpu).bytes().subspan(
            static_cast<std::size_t>(buffer * memory.buffer_bytes() +
                                     block * memory.page_size_bytes),
            static_cast<std::size_t>(memory.page_size_bytes));
        ASSERT_TRUE(std::ranges::equal(page.value(), expected))
            << "buffer " << buffer << ", block " << block;
      }
  }

  void expect_equal_digests() const {
    std::vector<std::int32_t> blocks;
    for (std::int32_t block = 0; block < cpu->memory().num_blocks; ++block) blocks.push_back(block);
    const auto digests = cuda->digests(blocks);
    ASSERT_TRUE(digests) << digests.error().message;
    ASSERT_EQ(digests.value(), cpu->digests(blocks).value());
  }
};

}  // namespace hybridscope::test
