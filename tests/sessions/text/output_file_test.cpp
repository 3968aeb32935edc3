// Files that somebody takes away, replaces or links while they are written.
#include "sessions/text/output_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>

#include "sessions/text/file_identity.h"
#include "sessions/text/input_file.h"
#include "sessions/text/line_file.h"
#include "sessions/text/stop_request.h"

namespace hybridscope::output_file_test {
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

}  // namespace
}  // namespace hybridscope::output_file_test
