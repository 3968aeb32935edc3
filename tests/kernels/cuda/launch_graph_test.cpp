// Launches recorded in a graph.
#include "kernels/cuda/launch_graph.h"

#include <gmock/gmock.h>

#include "kernels/cuda/device_memory.h"
#include "tests/kernels/cuda/cuda_device.h"

namespace hybridscope::launch_graph_test {
namespace {

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
}  // namespace hybridscope::launch_graph_test
