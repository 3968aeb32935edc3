#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "sessions/text/growing_file.h"
#include "sessions/text/input_file.h"
#include "tests/support/engine_socket.h"
#include "tests/support/temporary_folder.h"

namespace hybridscope::input_file_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Gives `text` in pieces of `piece` bytes.
LineSource source_of(std::string text, std::size_t piece, std::size_t max_line_bytes) {
  auto read = [text = std::move(text), piece,
               at = std::size_t{0}](std::span<char> bytes) mutable -> Result<std::size_t> {
    const std::size_t count = std::min({piece, bytes.size(), text.size() - at});
    std::copy_n(text.data() + at, count, bytes.data());
    at += count;
    return count;
  };
  return LineSource("t.jsonl", std::move(read), max_line_bytes);
}

std::vector<std::string> lines_of(LineSource source) {
  std::vector<std::string> lines;
  while (true) {
    const auto line = source.next();
    EXPECT_TRUE(line.ok());
    if (!line.ok() || !line.value()) return lines;
    lines.emplace_back(line.value()->text);
  }
}

TEST(LineSource, LinesLackTheirNewline) {
  EXPECT_THAT(lines_of(source_of("one\n\ntwo\n", 100, 50)), ElementsAre("one", "", "two"));
  EXPECT_THAT(lines_of(source_of("", 100, 50)), IsEmpty());
}

TEST(LineSource, TheLastLineMayLackItsNewline) {
  EXPECT_THAT(lines_of(source_of("one\ntwo", 100, 50)), ElementsAre("one", "two"));
}

TEST(LineSource, LinesAreWholeHoweverTheirBytesCome) {
  EXPECT_THAT(lines_of(source_of("one\ntwo\n\nthree\n", 1, 50)),
              ElementsAre("one", "two", "", "three"));
  EXPECT_THAT(lines_of(source_of("one\ntwo\n\nthree", 2, 50)),
              ElementsAre("one", "two", "", "three"));
}

TEST(LineSource, ALineIsThereBeforeTheNextBytesAreAskedFor) {
  int calls = 0;
  LineSource source("t.jsonl", [&](std::span<char> bytes) -> Result<std::size_t> {
    ++calls;
    std::copy_n("one\ntwo\n", 8, bytes.data());
    return std::size_t{8};
  });
  EXPECT_EQ(source.next().value()->text, "one");
  EXPECT_EQ(source.next().value()->text, "two");
  EXPECT_EQ(calls, 1);
}

TEST(LineSource, LinesLongerThanTheFirstBufferAreRead) {
  const std::string longest(std::size_t{5} << 20, 'x');
  EXPECT_THAT(lines_of(source_of("a\n" + longest + "\nb", 1 << 19, std::size_t{6} << 20)),
              ElementsAre("a", longest, "b"));
}

TEST(LineSource, ALineAboveTheLimitIsAnError) {
  LineSource source = source_of("one\n12345\n123456\n", 3, 5);
  EXPECT_EQ(source.next().value()->text, "one");
  EXPECT_EQ(source.next().value()->text, "12345");
  const auto line = source.next();
  ASSERT_FALSE(line.ok());
  EXPECT_EQ(line.error().kind, ErrorKind::corrupt);
  EXPECT_EQ(line.error().message, "t.jsonl:3: a line of more than 5 bytes");
}

TEST(LineSource, LinesAndBytesAreCounted) {
  LineSource source = source_of("one\n\ntwo", 4, 50);
  EXPECT_EQ(source.line_number(), 0);
  ASSERT_TRUE(source.next().ok());
  EXPECT_EQ(source.line_number(), 1);
  EXPECT_EQ(source.bytes_taken(), 4);
  ASSERT_TRUE(source.next().ok());
  ASSERT_TRUE(source.next().ok());
  EXPECT_EQ(source.line_number(), 3);
  EXPECT_EQ(source.bytes_taken(), 8);
  EXPECT_FALSE(source.next().value().has_value());
  EXPECT_EQ(source.line_number(), 3);
}

TEST(LineSource, AFailedReadNamesTheLineThatItCutsOff) {
  bool first = true;
  LineSource source("t.jsonl", [&](std::span<char> bytes) -> Result<std::size_t> {
    if (!first) return Error{ErrorKind::io, "cannot be read: broken"};
    first = false;
    std::memcpy(bytes.data(), "one\ntw", 6);
    return std::size_t{6};
  });
  EXPECT_EQ(source.next().value()->text, "one");
  EXPECT_EQ(source.next().error().message, "t.jsonl:2: cannot be read: broken");
}

TEST(LineSource, FilesAreReadByPath) {
  auto source = LineSource::open(HYBRIDSCOPE_SOURCE_DIR "/CMakeLists.txt");
  ASSERT_TRUE(source.ok());
  EXPECT_EQ(source.value().next().value()->text, "cmake_minimum_required(VERSION 3.25)");
}

TEST(LineSource, AFileThatIsNotThereIsAnError) {
  const auto source = LineSource::open("no/such/file.jsonl");
  ASSERT_FALSE(source.ok());
  EXPECT_EQ(source.error().kind, ErrorKind::io);
  EXPECT_EQ(source.error().message,
            "no/such/file.jsonl: cannot be opened: No such file or directory");
}

TEST(LineSource, ADirectoryIsAnError) {
  const auto source = LineSource::open(HYBRIDSCOPE_SOURCE_DIR);
  ASSERT_FALSE(source.ok());
  EXPECT_EQ(source.error().kind, ErrorKind::io);
}

// Opening does not wait for a writer, and reading waits only until `stop` holds.
TEST(LineSource, ANamedPipeWithoutWriterEndsWhenItIsStopped) {
  const std::string pipe = testing::TempDir() + "line_source_pipe" + std::to_string(getpid());
  std::remove(pipe.c_str());
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  std::int64_t asked = 0;
  auto lines = LineSource::open(pipe, [&] { return ++asked > 2; });
  ASSERT_TRUE(lines.ok());
  EXPECT_FALSE(lines.value().next().value());
  EXPECT_GT(asked, 2);
  std::remove(pipe.c_str());
}

TEST(LineSource, ANamedPipeIsReadUntilItsWriterIsGone) {
  const std::string pipe = testing::TempDir() + "line_source_pipe" + std::to_string(getpid());
  std::remove(pipe.c_str());
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  auto lines = LineSource::open(pipe, [] { return false; });
  ASSERT_TRUE(lines.ok());
  std::thread writer([&] { std::ofstream(pipe) << "one\ntwo\n"; });
  EXPECT_EQ(lines.value().next().value()->text, "one");
  EXPECT_EQ(lines.value().next().value()->text, "two");
  writer.join();
  EXPECT_FALSE(lines.value().next().value());
  std::remove(pipe.c_str());
}

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

}  // namespace hybridscope::input_file_test
