// The same memory on the CPU and on a CUDA device.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "kernels/cpu/cpu_state_backend.h"
#include "kernels/cuda/cuda_state_backend.h"
#include "tests/kernels/cuda/cuda_device.h"
#include "tests/kernels/cuda/device_pages.h"
#include "tests/kernels/random_state.h"

namespace hybridscope::test {

// Page by page.
inline void fill_state(StateBackend& backend, const BlockContents& contents) {
  const StateMemory& memory = backend.memory();
  for_each_filled_state(
      memory, contents, [&](std::ptrdiff_t offset, const std::vector<std::byte>& image) {
        const auto buffer = static_cast<std::int32_t>(offset / memory.buffer_bytes());
        const std::ptrdiff_t in_buffer = offset % memory.buffer_bytes();
        const auto block = static_cast<std::int32_t>(in_buffer / memory.page_size_bytes);
        auto page = DevicePages::read(backend, buffer, block);
        ASSERT_TRUE(page) << page.error().message;
        std::ranges::copy(image, page.value().begin() + in_buffer % memory.page_size_bytes);
        const Status written = DevicePages::write(backend, buffer, block, page.value());
        ASSERT_TRUE(written) << written.error().message;
      });
}

// The same memory twice.
struct BothBackends {
  std::unique_ptr<CpuStateBackend> cpu;
  std::unique_ptr<StateBackend> cuda;

  explicit BothBackends(const StateMemory& memory, const LaunchOrder& order = {})
      : cpu(CpuStateBackend::create(memory).value()),
        cuda(CudaStateBackend::create({.memory = memory, .launch_order = order}).value()) {}

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
        const auto page = DevicePages::read(*cuda, buffer, block);
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
