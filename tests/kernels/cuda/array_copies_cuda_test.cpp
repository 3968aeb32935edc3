// Arrays of a device that one launch brings to the host.

#include <cuda_runtime_api.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>
#include <span>
#include <vector>

#include "kernels/cuda/array_copies_cuda.h"
#include "kernels/cuda/device_memory.h"
#include "kernels/cuda/launch_graph.h"
#include "tests/kernels/cuda/cuda_device.h"

namespace hybridscope::array_copies_cuda_test {
namespace {

std::vector<std::byte> random_bytes(std::size_t size, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<std::byte> bytes(size);
  std::ranges::generate(bytes, [&] { return static_cast<std::byte>(random()); });
  return bytes;
}

class ArrayCopiesCudaTest : public ::testing::Test {
 protected:
  void SetUp() override {
    HS_NEED_CUDA();
    auto made = ArrayCopiesCuda::create(0);
    ASSERT_TRUE(made) << made.error().message;
    copies_.emplace(std::move(made).value());
    stream_ = make_stream(0).value();
    ASSERT_TRUE(memory_.reserve(0, static_cast<std::int64_t>(values_.size())));
    put(values_);
  }
  void put(const std::vector<std::byte>& values) {
    ASSERT_EQ(cudaMemcpyAsync(memory_.data(), values.data(), values.size(), cudaMemcpyHostToDevice,
                              stream_.get()),
              cudaSuccess);
  }
  const std::byte* at(std::size_t offset) const { return memory_.data() + offset; }
  std::shared_ptr<const CopiedArrays> launch(const std::vector<ArrayCopy>& copies,
                                             std::int64_t num_bytes) {
    auto launched = copies_->launch(copies, num_bytes, stream_.get());
    EXPECT_TRUE(launched) << launched.error().message;
    return launched.value();
  }

  std::vector<std::byte> values_ = random_bytes(1 << 20, 1);
  DeviceMemory memory_;
  Stream stream_;
  std::optional<ArrayCopiesCuda> copies_;
};

TEST_F(ArrayCopiesCudaTest, ArraysOfAnySizeAndAlignmentStandWhereTheyBelong) {
  std::vector<ArrayCopy> copies;
  std::int64_t size = 0;
  // 70 arrays are two launches; 300,000 bytes are shared by blocks.
  for (std::int64_t i = 0; i < 70; ++i) {
    const std::int64_t num_bytes = i == 3 ? 300000 : i * 13;
    copies.push_back({at(static_cast<std::size_t>(i * 1001)), num_bytes, size});
    size += num_bytes + i % 5;
  }
  const auto copied = launch(copies, size);
  ASSERT_TRUE(copied->wait());
  for (const ArrayCopy& copy : copies) {
    const auto got = copied->bytes().subspan(static_cast<std::size_t>(copy.to),
                                             static_cast<std::size_t>(copy.num_bytes));
    const auto* const expected = values_.data() + (copy.from - at(0));
    EXPECT_TRUE(std::ranges::equal(got, std::span(expected, got.size()))) << copy.num_bytes;
  }
}

TEST_F(ArrayCopiesCudaTest, CopiesAreOfTheirMomentInTheStream) {
  const auto first = launch({{at(0), 1000, 0}}, 1000);
  const auto later_values = random_bytes(values_.size(), 2);
  put(later_values);
  const auto second = launch({{at(0), 1000, 0}}, 1000);
  ASSERT_TRUE(first->wait());
  ASSERT_TRUE(second->wait());
  EXPECT_TRUE(std::ranges::equal(first->bytes(), std::span(values_).first(1000)));
  EXPECT_TRUE(std::ranges::equal(second->bytes(), std::span(later_values).first(1000)));
}

TEST_F(ArrayCopiesCudaTest, HostMemoryIsUsedAgainWhenNobodyHasIt) {
  const std::byte* const first = launch({{at(0), 64, 0}}, 64)->bytes().data();
  const auto second = launch({{at(64), 64, 0}}, 64);
  EXPECT_EQ(second->bytes().data(), first);
  EXPECT_NE(launch({{at(0), 64, 0}}, 64)->bytes().data(), first);
  ASSERT_TRUE(second->wait());
  EXPECT_TRUE(std::ranges::equal(second->bytes(), std::span(values_).subspan(64, 64)));
}

TEST_F(ArrayCopiesCudaTest, ACopyThatDoesNotFitIsRefused) {
  const std::vector<ArrayCopy> copies = {{at(0), 64, 10}};
  const auto launched = copies_->launch(copies, 73, stream_.get());
  ASSERT_FALSE(launched);
  EXPECT_EQ(launched.error().message, "a copy of 64 bytes to 10 is not inside 73");
}

// Launches recorded in a graph.

using ::testing::HasSubstr;

class LaunchGraphTest : public ::testing::Test {
 protected:
  void SetUp() override {
    HS_NEED_CUDA();
    ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
    stream_ = make_stream(0).value();
    context_.stream = stream_.get();
    ASSERT_TRUE(memory_.reserve(0, 2));
    set(0, 0);
    set(1, 0);
  }
  void set(int at, int value) {
    ASSERT_EQ(cudaMemset(memory_.data() + at, value, 1), cudaSuccess);
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  }
  int seen(int at) {
    std::byte value{};
    EXPECT_EQ(cudaStreamSynchronize(context_.stream), cudaSuccess);
    EXPECT_EQ(cudaMemcpy(&value, memory_.data() + at, 1, cudaMemcpyDeviceToHost), cudaSuccess);
    return static_cast<int>(value);
  }
  // Byte 0 to byte 1.
  Status copy() {
    return cudaMemcpyAsync(memory_.data() + 1, memory_.data(), 1, cudaMemcpyDeviceToDevice,
                           context_.stream) == cudaSuccess
               ? Status(Ok{})
               : Status(Error{ErrorKind::device, "copy"});
  }

  Stream stream_;
  LaunchContext context_;
  DeviceMemory memory_;
};

TEST_F(LaunchGraphTest, LaunchesAreRecordedOnceAndReplayedOnWhatTheMemoryHoldsThen) {
  set(0, 7);
  const auto graph = LaunchGraph::record(context_, [&] { return copy(); });
  ASSERT_TRUE(graph) << graph.error().message;
  EXPECT_EQ(seen(1), 0);  // recorded, not run
  for (const int value : {7, 8, 9}) {
    set(0, value);
    ASSERT_TRUE(graph.value().launch());
    EXPECT_EQ(seen(1), value);
  }
}

TEST_F(LaunchGraphTest, WhatWaitsIsNotRecorded) {
  const auto graph = LaunchGraph::record(context_, [&]() -> Status {
    if (Status status = copy(); !status) return status;
    static_cast<void>(cudaStreamSynchronize(context_.stream));
    static_cast<void>(cudaGetLastError());
    return Ok{};
  });
  ASSERT_FALSE(graph);
  EXPECT_EQ(graph.error().kind, ErrorKind::device);
  EXPECT_THAT(graph.error().message, HasSubstr("cudaStreamEndCapture"));
  static_cast<void>(cudaGetLastError());
}

TEST_F(LaunchGraphTest, AnErrorOfTheLaunchesIsTheErrorAndTheStreamCanBeUsedAgain) {
  const auto graph = LaunchGraph::record(context_, [] { return Status(invalid_input("no")); });
  ASSERT_FALSE(graph);
  EXPECT_EQ(graph.error().message, "no");
  EXPECT_TRUE(LaunchGraph::record(context_, [&] { return copy(); }));
}

}  // namespace

}  // namespace hybridscope::array_copies_cuda_test
