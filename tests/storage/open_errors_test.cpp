#include <SQLiteCpp/SQLiteCpp.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "storage/schema.h"
#include "storage/session_file.h"
#include "tests/storage/recorded_run.h"

namespace hybridscope::test::open_errors_test {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

std::string read_bytes(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream bytes;
  bytes << in.rdbuf();
  return bytes.str();
}

void write_bytes(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

class OpenErrors : public testing::Test {
 protected:
  void record() {
    ASSERT_TRUE(record_run(synthetic_run(4),
                           {.place = {.file = path_, .name = "one"}, .level = RecordLevel::blocks})
                    .ok());
  }
  Error error(FileAccess access, const std::string& path) {
    const auto opened = SessionFile::open(path, access, 50);
    return opened.ok() ? Error{ErrorKind::device, "it opened"} : opened.error();
  }
  Error error(FileAccess access) { return error(access, path_); }
  void exec(const std::string& sql) {
    SQLite::Database(path_, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE).exec(sql);
  }
  TemporaryFolder folder_;
  std::string path_ = folder_ / "runs.db";
};

TEST_F(OpenErrors, AFileOrDirectoryThatIsNotThere) {
  for (const FileAccess access : {FileAccess::read, FileAccess::write}) {
    EXPECT_EQ(error(access).kind, ErrorKind::not_found);
    EXPECT_THAT(error(access).message, HasSubstr("runs.db: no such file"));
  }
  EXPECT_FALSE(std::filesystem::exists(path_));
  const Error nowhere = error(FileAccess::create, folder_ / "none/runs.db");
  EXPECT_EQ(nowhere.kind, ErrorKind::not_available);
  EXPECT_THAT(nowhere.message, HasSubstr("no such directory"));
}

TEST_F(OpenErrors, ADirectoryIsDamagedInputOrAPlaceThatCannotBeWritten) {
  EXPECT_EQ(error(FileAccess::read, folder_.path()).kind, ErrorKind::corrupt);
  EXPECT_EQ(error(FileAccess::write, folder_.path()).kind, ErrorKind::corrupt);
  EXPECT_EQ(error(FileAccess::create, folder_.path()).kind, ErrorKind::not_available);
}

TEST_F(OpenErrors, ANewFileHasNoSessionInItsName) {
  const Error error = this->error(FileAccess::create, folder_ / "runs.txt:before");
  EXPECT_EQ(error.kind, ErrorKind::invalid_input);
  EXPECT_THAT(error.message, HasSubstr("runs.txt\" is no name of a session file, expected one that "
                                       "ends in .db, .db3, .sqlite or .sqlite3, such as "));
  EXPECT_THAT(error.message, EndsWith("runs.txt.db:before"));
}

TEST_F(OpenErrors, ANewFileEndsAsSessionFilesDo) {
  const Error error = this->error(FileAccess::create, folder_ / "before");
  EXPECT_EQ(error.kind, ErrorKind::invalid_input);
  EXPECT_THAT(error.message, EndsWith("before.db, or runs.db:before for a session of that name in "
                                      "runs.db"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "before"));
}

TEST_F(OpenErrors, WhatIsNoDatabaseIsLeftAlone) {
  for (const FileAccess access : {FileAccess::read, FileAccess::write, FileAccess::create}) {
    EXPECT_THAT(error(access, folder_.path()).message, HasSubstr("a directory"));
    write_bytes(path_, "{\"steps\": 3, \"a JSON file\": true}\n");
    EXPECT_EQ(error(access).kind, ErrorKind::corrupt);
    EXPECT_THAT(error(access).message, HasSubstr("no SQLite database"));
    EXPECT_EQ(read_bytes(path_), "{\"steps\": 3, \"a JSON file\": true}\n");
  }
  write_bytes(path_, "");
  EXPECT_THAT(error(FileAccess::read).message, HasSubstr("empty"));
  EXPECT_TRUE(SessionFile::open(path_, FileAccess::create).ok());
}

TEST_F(OpenErrors, ADatabaseOfAnotherProgram) {
  exec("CREATE TABLE t (a); PRAGMA application_id = 77");
  const std::string before = read_bytes(path_);
  for (const FileAccess access : {FileAccess::read, FileAccess::write, FileAccess::create}) {
    EXPECT_EQ(error(access).kind, ErrorKind::corrupt);
    EXPECT_THAT(error(access).message, HasSubstr("application_id 77, expected 1215910705"));
  }
  EXPECT_EQ(read_bytes(path_), before);
  std::filesystem::remove(path_);
  exec("CREATE TABLE t (a)");  // as most programs leave it
  EXPECT_THAT(error(FileAccess::create).message, HasSubstr("another program"));
}

TEST_F(OpenErrors, ANewerVersionIsNamedBesideTheNewestThatIsKnown) {
  record();
  exec("PRAGMA user_version = 9");
  for (const FileAccess access : {FileAccess::read, FileAccess::write, FileAccess::create}) {
    EXPECT_EQ(error(access).kind, ErrorKind::corrupt);
    EXPECT_THAT(error(access).message, HasSubstr("version 9"));
    EXPECT_THAT(error(access).message, HasSubstr("up to " + std::to_string(kSchemaVersion)));
  }
}

TEST_F(OpenErrors, ATruncatedFileIsCorruptWhereverItEnds) {
  record();
  const std::string whole = read_bytes(path_);
  ASSERT_GT(whole.size(), 100'000U);
  for (const std::size_t size : {std::size_t{10}, std::size_t{99}, std::size_t{100},
                                 std::size_t{8192}, whole.size() / 2, whole.size() - 1})
    for (const FileAccess access : {FileAccess::read, FileAccess::write, FileAccess::create}) {
      write_bytes(path_, whole.substr(0, size));
      EXPECT_EQ(error(access).kind, ErrorKind::corrupt) << size;
      EXPECT_THAT(error(access).message, HasSubstr("truncated")) << size;
    }
}

TEST_F(OpenErrors, ADamagedPageIsCorruptOrReadAsItIs) {
  record();
  const std::string whole = read_bytes(path_);
  std::size_t num_refused = 0;
  for (std::size_t at = 8192; at < whole.size(); at += 8192) {
    std::string damaged = whole;
    for (std::size_t i = 0; i < 64; ++i) damaged[at + i] = static_cast<char>(0xA5);
    write_bytes(path_, damaged);
    const auto opened = SessionFile::open(path_, FileAccess::read);
    const auto sessions = opened.ok() ? opened.value().sessions() : opened.error();
    if (sessions.ok()) continue;
    ++num_refused;
    EXPECT_EQ(sessions.error().kind, ErrorKind::corrupt) << sessions.error().message;
  }
  EXPECT_GT(num_refused, 0U);
}

TEST_F(OpenErrors, ALockedFileIsSaidToBeLocked) {
  record();
  SQLite::Database other(path_, SQLite::OPEN_READWRITE);
  other.exec("BEGIN IMMEDIATE");
  const Status locked = record_run(
      synthetic_run(1), {.place = {.file = path_, .name = "two"}, .busy_timeout_ms = 50});
  ASSERT_FALSE(locked.ok());
  EXPECT_EQ(locked.error().kind, ErrorKind::not_available);
  EXPECT_THAT(locked.error().message, HasSubstr("locked by another program"));
  EXPECT_TRUE(SessionFile::open(path_, FileAccess::read).ok());  // readers do not wait
}

// Runs `body` as a user who may write nothing here; 0: it answered true. Root may write anywhere.
int as_nobody(const std::function<bool()>& body) {
  const pid_t child = fork();
  if (child == 0) {
    if (geteuid() == 0 && setuid(65534) != 0) _exit(2);
    _exit(body() ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_F(OpenErrors, AReadOnlyFileOrDirectoryIsNotAvailableForWriting) {
  record();
  chmod(folder_.path().c_str(), 0555);
  chmod(path_.c_str(), 0444);
  const auto is_refused = [&](FileAccess access, const std::string& path) {
    const Error found = error(access, path);
    return found.kind == ErrorKind::not_available &&
           found.message.find("read-only") != std::string::npos;
  };
  EXPECT_EQ(as_nobody([&] { return is_refused(FileAccess::write, path_); }), 0);
  EXPECT_EQ(as_nobody([&] { return is_refused(FileAccess::create, path_); }), 0);
  EXPECT_EQ(as_nobody([&] { return is_refused(FileAccess::create, folder_ / "new.db"); }), 0);
  chmod(path_.c_str(), 0666);  // the file could be written, but not the log beside it
  EXPECT_EQ(
      as_nobody([&] { return error(FileAccess::create, path_).kind == ErrorKind::not_available; }),
      0);
  chmod(folder_.path().c_str(), 0755);
}

TEST_F(OpenErrors, AFileInAReadOnlyDirectoryCanBeRead) {
  record();
  chmod(folder_.path().c_str(), 0555);
  chmod(path_.c_str(), 0444);
  EXPECT_EQ(as_nobody([&] {
              const auto file = SessionFile::open(path_, FileAccess::read);
              return file.ok() && file.value().find("one").ok();
            }),
            0);
  chmod(folder_.path().c_str(), 0755);
}

}  // namespace
}  // namespace hybridscope::test::open_errors_test
