#include "sessions/text/input_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

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
  const std::string pipe = testing::TempDir() + "line_source_pipe";
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
  const std::string pipe = testing::TempDir() + "line_source_pipe";
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

}  // namespace

}  // namespace hybridscope::input_file_test
