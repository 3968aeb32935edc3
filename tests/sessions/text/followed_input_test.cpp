#include "sessions/text/followed_input.h"

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

namespace hybridscope::followed_input_test {
namespace {

namespace fs = std::filesystem;

// A path in a folder of its own, and the bytes that are read of it.
class FollowedInput : public testing::Test {
 protected:
  FollowedInput() { fs::create_directory(folder_); }
  ~FollowedInput() override { fs::remove_all(folder_); }

  void append(const std::string& text) { std::ofstream(path_, std::ios::app) << text; }

  std::string read() {
    std::array<char, 64> bytes{};
    const auto count = read_(bytes);
    return count.ok() ? std::string(bytes.data(), count.value()) : count.error().message;
  }

  const fs::path folder_ = fs::temp_directory_path() / fmt::format("followed_{}", ::getpid());
  const std::string path_ = folder_ / "trace";
  bool stop_ = false;
  ReadBytes read_ = follow_input(path_, [this] { return stop_; });
};

void after_a_while(const auto& act) {
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  act();
}

TEST_F(FollowedInput, AFileIsReadOnAsItGrows) {
  append("one\n");
  EXPECT_EQ(read(), "one\n");
  std::jthread writer([this] { after_a_while([this] { append("two\n"); }); });
  EXPECT_EQ(read(), "two\n");
}

TEST_F(FollowedInput, AFileThatDoesNotExistYetIsWaitedFor) {
  std::jthread writer([this] { after_a_while([this] { append("one\n"); }); });
  EXPECT_EQ(read(), "one\n");
}

TEST_F(FollowedInput, AFileThatBecameShorterIsReadFromItsBeginning) {
  append("one and more\n");
  EXPECT_EQ(read(), "one and more\n");
  std::ofstream(path_) << "two\n";
  EXPECT_EQ(read(), "two\n");
}

TEST_F(FollowedInput, ItEndsWhenItIsTold) {
  append("one\n");
  EXPECT_EQ(read(), "one\n");
  stop_ = true;
  EXPECT_EQ(read(), "");
}

TEST_F(FollowedInput, AFolderIsAnError) {
  read_ = follow_input(folder_, [] { return false; });
  EXPECT_EQ(read(), "cannot be read: Is a directory");
}

TEST_F(FollowedInput, ASocketIsReadUntilItIsClosed) {
  std::jthread engine([this] {
    after_a_while([this] {
      sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
      std::strncpy(address.sun_path, path_.c_str(), sizeof(address.sun_path) - 1);
      const int server = ::socket(AF_UNIX, SOCK_STREAM, 0);
      ASSERT_EQ(::bind(server, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
      ASSERT_EQ(::listen(server, 1), 0);
      const int client = ::accept(server, nullptr, nullptr);
      ASSERT_EQ(::write(client, "one\n", 4), 4);
      ::close(client);
      ::close(server);
    });
  });
  read_ = follow_input("unix:" + path_, [] { return false; });
  EXPECT_EQ(read(), "one\n");
  EXPECT_EQ(read(), "");
}

TEST_F(FollowedInput, APathThatIsTooLongForASocketIsAnError) {
  read_ = follow_input("unix:" + std::string(200, 'x'), [] { return false; });
  EXPECT_EQ(read(), "a socket's path has at most 107 bytes, found 200");
}

}  // namespace
}  // namespace hybridscope::followed_input_test
