// Compressed files through both ends: OutputFile packs them, LineSource unpacks them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <span>
#include <sstream>
#include <string_view>

#include "sessions/text/input_file.h"
#include "sessions/text/output_file.h"

namespace hybridscope::zstd_input_test {
namespace {

using ::testing::HasSubstr;

class ZstdInput : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(::testing::TempDir()) /
              ("zstd_input_" + std::to_string(::getpid()) + "_" +
               ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string at(const std::string& name) const { return (folder_ / name).string(); }
  // 40,000 lines "line 0", "line 1", ...
  void write_lines(const std::string& path) const {
    OutputFile file = std::move(OutputFile::create(path)).value();
    for (int i = 0; i < 40000; ++i)
      ASSERT_TRUE(file.write("line " + std::to_string(i) + "\n").ok());
    ASSERT_TRUE(file.finish().ok());
  }
  static std::string bytes_of(const std::string& path) {
    std::ostringstream bytes;
    bytes << std::ifstream(path, std::ios::binary).rdbuf();
    return bytes.str();
  }
  // The last line; the error's message should there be one.
  static std::string read_to_end(const std::string& path) {
    LineSource source = std::move(LineSource::open(path)).value();
    std::string last;
    for (;;) {
      const auto line = source.next();
      if (!line.ok()) return line.error().message;
      if (!line.value()) return last;
      last = line.value()->text;
    }
  }
  std::filesystem::path folder_;
};

TEST_F(ZstdInput, LinesComeBackAsTheyWereWritten) {
  write_lines(at("lines.zst"));
  write_lines(at("lines"));
  EXPECT_LT(std::filesystem::file_size(at("lines.zst")),
            std::filesystem::file_size(at("lines")) / 3);
  EXPECT_EQ(read_to_end(at("lines.zst")), "line 39999");
  EXPECT_EQ(read_to_end(at("lines")), "line 39999");
}

TEST_F(ZstdInput, AFileIsRecognisedByItsBytesNotItsName) {
  write_lines(at("lines.zst"));
  std::filesystem::rename(at("lines.zst"), at("lines.jsonl"));
  EXPECT_EQ(read_to_end(at("lines.jsonl")), "line 39999");
  std::ofstream(at("text.zst")) << "(a text\nof two lines";
  EXPECT_EQ(read_to_end(at("text.zst")), "of two lines");
}

TEST_F(ZstdInput, FramesBehindEachOtherAreOneFile) {
  write_lines(at("a.zst"));
  const std::string frame = bytes_of(at("a.zst"));
  std::ofstream(at("b.zst"), std::ios::binary) << frame << frame;
  LineSource source = std::move(LineSource::open(at("b.zst"))).value();
  while (source.next().value()) continue;
  EXPECT_EQ(source.line_number(), 80000);
}

TEST_F(ZstdInput, AStreamThatIsCutOffIsAnError) {
  write_lines(at("a.zst"));
  const std::string frame = bytes_of(at("a.zst"));
  for (const std::size_t length : {frame.size() - 1, frame.size() / 2, std::size_t{5}}) {
    std::ofstream(at("b.zst"), std::ios::binary) << frame.substr(0, length);
    EXPECT_THAT(read_to_end(at("b.zst")),
                HasSubstr(": the zstd stream is cut off in the middle of a frame"));
  }
}

TEST_F(ZstdInput, AnErrorNamesFileLineAndWhatWasExpected) {
  write_lines(at("a.zst"));
  const std::string frame = bytes_of(at("a.zst"));
  for (const std::size_t length : {2U, 3U, 5U}) {
    std::ofstream(at("b.zst"), std::ios::binary) << frame.substr(0, length);
    EXPECT_EQ(read_to_end(at("b.zst")),
              at("b.zst") +
                  ":1: the zstd stream is cut off in the middle of a frame (expected a whole file, "
                  "as zstd wrote it)");
  }
  std::ofstream(at("b.zst"), std::ios::binary) << frame << "40001 lines";
  EXPECT_EQ(read_to_end(at("b.zst")),
            at("b.zst") +
                ":40001: damaged zstd stream: Unknown frame descriptor (expected a whole "
                "file, as zstd wrote it)");
}

// 1 GiB of one line: packed it is 32 KiB.
TEST_F(ZstdInput, WhatUnpacksToMoreThanALineMayHaveIsReadNoFurther) {
  {
    OutputFile file = std::move(OutputFile::create(at("bomb.zst"))).value();
    const std::string piece(std::size_t{1} << 20, 'x');
    for (int i = 0; i < 1024; ++i) ASSERT_TRUE(file.write(piece).ok());
    ASSERT_TRUE(file.finish().ok());
  }
  EXPECT_LT(std::filesystem::file_size(at("bomb.zst")), 200'000U);
  LineSource source(at("bomb.zst"), open_input_file(at("bomb.zst")).value(), 5'000'000);
  EXPECT_EQ(source.next().error().message,
            at("bomb.zst") + ":1: a line of more than 5000000 bytes");
}

TEST_F(ZstdInput, ADamagedStreamIsAnError) {
  write_lines(at("a.zst"));
  std::string frame = bytes_of(at("a.zst"));
  frame[frame.size() / 2] = static_cast<char>(frame[frame.size() / 2] ^ 0x55);
  std::ofstream(at("b.zst"), std::ios::binary) << frame;
  EXPECT_THAT(read_to_end(at("b.zst")), HasSubstr(": damaged zstd stream: "));
}

TEST_F(ZstdInput, WithoutFinishNothingIsLeftAndWhatWasThereStays) {
  std::ofstream(at("a.txt")) << "before";
  {
    OutputFile file = std::move(OutputFile::create(at("a.txt"))).value();
    ASSERT_TRUE(file.write("half").ok());
  }
  EXPECT_EQ(bytes_of(at("a.txt")), "before");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1);
}

TEST_F(ZstdInput, AFileThatCannotBeMadeIsAnError) {
  const Error none = OutputFile::create(at("none/a.txt")).error();
  EXPECT_THAT(none.message, HasSubstr("none/a.txt: No such file or directory"));
  EXPECT_EQ(none.kind, ErrorKind::not_available);
  EXPECT_THAT(OutputFile::create(folder_.string()).error().message, HasSubstr("it is a directory"));
}

// A terminal tells of the end once for each Ctrl-D.
TEST(UnpackedInput, IsAskedForItsEndOnce) {
  for (const std::string_view text : {"", "(", "ab"}) {
    int asked = 0;
    const ReadBytes read = unpack_zstd([&](std::span<char> bytes) -> Result<std::size_t> {
      return ++asked == 1 ? text.copy(bytes.data(), bytes.size()) : std::size_t{0};
    });
    std::array<char, 8> bytes{};
    if (!text.empty()) EXPECT_EQ(read(bytes).value(), text.size());
    EXPECT_EQ(read(bytes).value(), 0u);
    EXPECT_EQ(asked, text.empty() ? 1 : 2) << text;
  }
}

}  // namespace
}  // namespace hybridscope::zstd_input_test
