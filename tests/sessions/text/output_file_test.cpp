// Files that somebody takes away, replaces or links while they are written.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "sessions/text/command_files.h"
#include "sessions/text/growing_file.h"
#include "sessions/text/input_file.h"
#include "sessions/text/output_file.h"

namespace hybridscope::test::output_file_test {
namespace {

namespace fs = std::filesystem;

using testing::EndsWith;
using testing::HasSubstr;

class OutputFileTest : public testing::Test {
 protected:
  OutputFileTest() { fs::create_directories(folder_ / "in"); }
  ~OutputFileTest() override { fs::remove_all(folder_); }

  std::string at(const std::string& name) const { return (folder_ / name).string(); }
  std::string part(const std::string& name) const {
    return at(name) + ".hybridscope-" + std::to_string(::getpid()) + ".part";
  }
  static void write(const std::string& path, const std::string& text) {
    std::ofstream(path, std::ios::binary) << text;
  }
  static std::string bytes_of(const std::string& path) {
    std::stringstream bytes;
    bytes << std::ifstream(path, std::ios::binary).rdbuf();
    return bytes.str();
  }

  fs::path folder_ =
      fs::path(testing::TempDir()) / ("hybridscope_output_file_" + std::to_string(::getpid()));
};

TEST_F(OutputFileTest, WhoseTemporaryFileIsRemovedOrReplacedIsNotWritten) {
  for (const bool replaced : {false, true}) {
    write(at("out"), "before");
    OutputFile file = std::move(OutputFile::create(at("out"))).value();
    ASSERT_TRUE(file.write("new").ok());
    fs::remove(part("out"));
    if (replaced) write(part("out"), "somebody's");
    const Status finished = file.finish();
    ASSERT_FALSE(finished.ok());
    EXPECT_EQ(finished.error().kind, ErrorKind::not_available);
    EXPECT_THAT(finished.error().message,
                EndsWith(".part, which was to become it, was removed or replaced"));
    EXPECT_EQ(bytes_of(at("out")), "before");
  }
  EXPECT_EQ(bytes_of(part("out")), "somebody's");
}

TEST_F(OutputFileTest, AReplacedFileKeepsItsPermissionsAndATemporaryFileHasThem) {
  using fs::perms;
  write(at("secret"), "old");
  const perms owner_only = perms::owner_read | perms::owner_write;
  fs::permissions(at("secret"), owner_only);
  OutputFile file = std::move(OutputFile::create(at("secret"))).value();
  EXPECT_EQ(fs::status(part("secret")).permissions(), owner_only);
  ASSERT_TRUE(file.finish().ok());
  EXPECT_EQ(fs::status(at("secret")).permissions(), owner_only);
  const perms script = owner_only | perms::owner_exec | perms::group_read | perms::group_write;
  fs::permissions(at("secret"), script | perms::set_uid);
  fs::create_symlink("secret", at("name"));
  ASSERT_TRUE(write_output_file(at("name"), "new").ok());
  EXPECT_EQ(fs::status(at("secret")).permissions(), script);  // no more than permissions
}

TEST_F(OutputFileTest, OfALinkIsWhatTheLinkLeadsTo) {
  write(at("in/old"), "old");
  fs::create_symlink("in/old", at("link"));
  ASSERT_TRUE(write_output_file(at("link"), "new").ok());
  EXPECT_TRUE(fs::is_symlink(at("link")));
  EXPECT_EQ(bytes_of(at("in/old")), "new");
  fs::create_symlink("round", at("round"));
  EXPECT_THAT(write_output_file(at("round"), "new").error().message,
              HasSubstr("Too many levels of symbolic links"));
  EXPECT_TRUE(fs::is_symlink(at("round")));
}

TEST_F(OutputFileTest, NamesOfOneFileAreTheSame) {
  write(at("file"), "");
  write(at("other"), "");
  fs::create_hard_link(at("file"), at("hard"));
  fs::create_symlink("file", at("soft"));
  fs::create_symlink("in/ahead", at("to_ahead"));
  fs::create_directory_symlink("in", at("folder"));
  EXPECT_TRUE(same_file(at("file"), at("hard")));
  EXPECT_TRUE(same_file(at("soft"), at("in/../hard")));
  EXPECT_FALSE(same_file(at("file"), at("other")));
  EXPECT_FALSE(same_file(at("file"), at("none")));
  EXPECT_TRUE(same_file(at("to_ahead"), at("folder/./ahead")));  // nothing is there yet
  EXPECT_FALSE(same_file(at("to_ahead"), at("in/none")));
  EXPECT_EQ(link_target(at("to_ahead")), at("in/ahead"));
}

TEST_F(OutputFileTest, LinesAreNotAddedToAFileThatHasGone) {
  LineFile lines = std::move(LineFile::open(at("lines"))).value();
  ASSERT_TRUE(lines.append("one").ok());
  fs::rename(at("lines"), at("moved"));
  write(at("lines"), "somebody's");
  const Status added = lines.append("two");
  ASSERT_FALSE(added.ok());
  EXPECT_EQ(added.error().kind, ErrorKind::not_available);
  EXPECT_EQ(added.error().message,
            at("lines") + " was removed or replaced: what is added now would be lost");
  EXPECT_TRUE(lines.was_replaced());
  EXPECT_EQ(bytes_of(at("moved")), "one\n");
  EXPECT_EQ(bytes_of(at("lines")), "somebody's");
}

// 64 MiB of nothing, packed in some kilobytes, all of which is read at once.
TEST_F(OutputFileTest, UnpackingEndsWhenTheProgramIsAskedToStop) {
  {
    OutputFile file = std::move(OutputFile::create(at("bomb.zst"))).value();
    const std::string piece(std::size_t{1} << 20, '\n');
    for (int i = 0; i < 64; ++i) ASSERT_TRUE(file.write(piece).ok());
    ASSERT_TRUE(file.finish().ok());
  }
  std::string bytes(1000, '\0');
  bool stops = false;
  const ReadBytes ends = open_input_file(at("bomb.zst"), [&] { return stops; }).value();
  EXPECT_EQ(ends(bytes).value(), 1000U);
  stops = true;
  EXPECT_EQ(ends(bytes).value(), 0U);
  const ReadBytes fails = open_input_file(at("bomb.zst")).value();
  EXPECT_EQ(fails(bytes).value(), 1000U);
  stop_waiting_when([] { return true; });
  EXPECT_EQ(fails(bytes).error().message, "interrupted while it was read");
  stop_waiting_when(nullptr);
}

// The program is asked to stop while one of these lives.
struct AskedToStop {
  AskedToStop() {
    stop_waiting_when([] { return true; });
  }
  ~AskedToStop() { stop_waiting_when(nullptr); }
};

struct Pipe {
  Pipe() { opened = pipe(ends.data()) == 0; }
  ~Pipe() {
    for (const int end : ends) close(end);
  }
  bool opened = false;
  std::array<int, 2> ends{};
};

TEST(WriteBytes, GivesUpOnAReaderThatTakesNothingWhenAskedToStop) {
  const Pipe pipe;
  ASSERT_TRUE(pipe.opened);
  const AskedToStop asked;
  EXPECT_EQ(write_bytes(pipe.ends[1], std::string(200'000, 'x')), EINTR);
}

TEST(WriteBytes, GivesAReaderEverythingThoughAskedToStop) {
  const Pipe pipe;
  ASSERT_TRUE(pipe.opened);
  const AskedToStop asked;
  std::size_t taken = 0;
  std::thread reader([&] {
    std::array<char, 1000> bytes{};
    while (taken < 200'000)
      taken += static_cast<std::size_t>(read(pipe.ends[0], bytes.data(), bytes.size()));
  });
  EXPECT_EQ(write_bytes(pipe.ends[1], std::string(200'000, 'x')), 0);
  reader.join();
  EXPECT_EQ(taken, 200'000U);
}

TEST(WriteBytes, NameTheSystemsReason) {
  const int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
  EXPECT_EQ(write_bytes(full, "x"), ENOSPC);
  close(full);
  EXPECT_EQ(write_error_words(ENOSPC), "No space left on device");
  EXPECT_EQ(write_error_words(EINTR), "interrupted");
}

// Compressed files through both ends: OutputFile packs them, LineSource unpacks them.

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

}  // namespace hybridscope::test::output_file_test
