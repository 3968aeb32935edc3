// Pieces leave the host while the device is busy: here it is held up by a host function on the
// stream.
#include "kernels/cuda/device_upload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "tests/kernels/cuda/cuda_device.h"

namespace hybridscope::device_upload_test {
namespace {

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
}  // namespace hybridscope::device_upload_test
