#include "sessions/text/followed_input.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <thread>

#include "tests/support/engine_socket.h"
#include "tests/support/temporary_folder.h"

namespace hybridscope::followed_input_test {
namespace {

// A path in a folder of its own, and the bytes that are read of it.
class FollowedFile : public testing::Test {
 protected:
  void append(const std::string& text) { std::ofstream(path_, std::ios::app) << text; }
  void follow(const std::string& place) {
    input_ = std::make_unique<FollowedInput>(place, [this] { return stop_.load(); });
  }
  std::string read() {
    std::array<char, 64> bytes{};
    const auto count = input_->read(bytes);
    return count.ok() ? std::string(bytes.data(), count.value()) : count.error().message;
  }

  const test::TemporaryFolder folder_;
  const std::string path_ = folder_ / "trace";
  std::atomic<bool> stop_ = false;
  std::unique_ptr<FollowedInput> input_ =
      std::make_unique<FollowedInput>(path_, [this] { return stop_.load(); });
};

// What is read has to wait for it.
void after_a_while(const auto& act) {
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  act();
}

TEST_F(FollowedFile, IsReadOnAsItGrows) {
  append("one\n");
  EXPECT_EQ(read(), "one\n");
  std::jthread writer([this] { after_a_while([this] { append("two\n"); }); });
  EXPECT_EQ(read(), "two\n");
}

TEST_F(FollowedFile, IsWaitedForIfItDoesNotExistYet) {
  std::jthread writer([this] { after_a_while([this] { append("one\n"); }); });
  EXPECT_EQ(read(), "one\n");
}

TEST_F(FollowedFile, EndsAStreamWhenItBecameShorterAndIsReadFromItsBeginning) {
  append("one and more\n");
  EXPECT_EQ(read(), "one and more\n");
  std::ofstream(path_) << "two\n";
  EXPECT_EQ(read(), "");
  EXPECT_EQ(read(), "two\n");
}

TEST_F(FollowedFile, EndsAStreamWhenAnotherFileHasItsName) {
  append("one\n");
  EXPECT_EQ(read(), "one\n");
  folder_.write("other", "another one\n");
  std::filesystem::rename(folder_ / "other", path_);
  EXPECT_EQ(read(), "");
  EXPECT_EQ(read(), "another one\n");
}

TEST_F(FollowedFile, EndsWhenItIsStopped) {
  append("one\n");
  EXPECT_EQ(read(), "one\n");
  stop_ = true;
  EXPECT_EQ(read(), "");
}

TEST_F(FollowedFile, CanBeAPipeThatIsReadOnAndEndsWhenItIsStopped) {
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  for (const std::string text : {"one\n", "two\n"}) {
    std::jthread writer([this, text] { after_a_while([this, text] { append(text); }); });
    EXPECT_EQ(read(), text);
  }
  const int silent = ::open(path_.c_str(), O_WRONLY);  // a writer that writes nothing
  std::jthread stopper([this] { after_a_while([this] { stop_ = true; }); });
  EXPECT_EQ(read(), "");
  ::close(silent);
}

TEST_F(FollowedFile, SaysHowManyBytesWait) {
  append("one\n");
  EXPECT_EQ(input_->bytes_waiting(), 0);
  EXPECT_EQ(read(), "one\n");
  EXPECT_EQ(input_->bytes_waiting(), 0);
  append("two\nthree\n");
  EXPECT_EQ(input_->bytes_waiting(), 10);
}

TEST_F(FollowedFile, CannotBeSentTo) {
  append("one\n");
  EXPECT_EQ(read(), "one\n");
  EXPECT_EQ(input_->send("hold").error().kind, ErrorKind::invalid_input);
}

TEST_F(FollowedFile, IsAnErrorIfItIsAFolder) {
  follow(folder_.path());
  EXPECT_EQ(read(), "cannot be read: Is a directory");
}

class FollowedSocket : public FollowedFile {
 protected:
  void SetUp() override { follow("unix:" + path_); }
};

TEST_F(FollowedSocket, IsReadUntilItIsClosed) {
  std::jthread engine([this] {
    after_a_while([this] {
      test::EngineSocket socket(path_);
      socket.take_client();
      socket.send("one\n");
    });
  });
  EXPECT_EQ(read(), "one\n");
  EXPECT_EQ(read(), "");
}

TEST_F(FollowedSocket, IsConnectedToAgainAfterItWasClosed) {
  test::EngineSocket socket(path_);
  std::jthread engine([&] {
    for (const char* text : {"one\n", "two\n"}) {
      socket.take_client();
      socket.send(text);
      socket.hang_up();
    }
  });
  EXPECT_EQ(read(), "one\n");
  EXPECT_EQ(read(), "");
  EXPECT_FALSE(input_->is_open());
  EXPECT_EQ(read(), "two\n");
}

TEST_F(FollowedSocket, TakesALineToTheEngine) {
  test::EngineSocket socket(path_);
  EXPECT_EQ(input_->send("hold").error().kind, ErrorKind::not_available);
  std::jthread engine([&] {
    socket.take_client();
    socket.send("one\n");
  });
  EXPECT_EQ(read(), "one\n");
  engine.join();
  EXPECT_TRUE(input_->send("hold").ok());
  EXPECT_EQ(socket.receive(), "hold");
}

TEST_F(FollowedSocket, IsAnErrorIfItsPathIsTooLong) {
  follow("unix:" + std::string(200, 'x'));
  EXPECT_EQ(read(), "a socket's path has at most 107 bytes, found 200");
}

}  // namespace
}  // namespace hybridscope::followed_input_test
