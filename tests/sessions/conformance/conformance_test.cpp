#include "sessions/conformance/conformance.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "sessions/text/output_file.h"

namespace hybridscope::conformance_test {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

namespace fs = std::filesystem;

// A folder of its own for each test.
class Conformance : public testing::Test {
 protected:
  void SetUp() override { fs::create_directories(folder_); }
  void TearDown() override { fs::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name, std::ios::binary) << text;
    return (folder_ / name).string();
  }

  // Packed with zstd, whatever the name.
  std::string write_packed(const std::string& name, const std::string& text) {
    OutputFile file = std::move(OutputFile::create((folder_ / "packed.zst").string())).value();
    EXPECT_TRUE(file.write(text).ok());
    EXPECT_TRUE(file.finish().ok());
    fs::rename(folder_ / "packed.zst", folder_ / name);
    return (folder_ / name).string();
  }

  const fs::path folder_ = fs::path(testing::TempDir()) /
                           ("conformance_" + std::to_string(getpid()) + "_" +
                            testing::UnitTest::GetInstance()->current_test_info()->name());
};

// Two sequences of 3 and 5 tokens in chunks of 4.
const std::string kRight =
    R"({"id": "fla_1", "config": {"chunk_size": 4}, "input": {"cu_seqlens": [0, 3, 8]}, "output":
{"chunk_indices": [[0, 0], [1, 0], [1, 1]], "chunk_indices_shape": [3, 2],
 "chunk_offsets": [0, 1, 3], "chunk_offsets_shape": [3]}})";

std::string line(std::string text, const std::string& from = "", const std::string& to = "") {
  for (char& c : text)
    if (c == '\n') c = ' ';
  if (!from.empty()) text.replace(text.find(from), from.size(), to);
  return text + "\n";
}

TEST_F(Conformance, AZstdFileIsCheckedLikeWhatIsInIt) {
  const std::string text = line(kRight) + "\n" + line(kRight, "[1, 1]", "[1, 2]") + "7\n";
  for (const std::string& path :
       {write_packed("fla_chunks.jsonl.zst", text), write_packed("fla_chunks.jsonl", text),
        write("fla_chunks_2.jsonl.zst", text)}) {
    const FileReport report = check_vector_file(path, {});
    EXPECT_EQ(report.kind->name, "fla_chunks") << path;
    EXPECT_EQ(report.cases, 2) << path;
    ASSERT_THAT(report.failed, SizeIs(1)) << path;
    EXPECT_EQ(report.failed[0].line, 3) << path;
    ASSERT_THAT(report.invalid, SizeIs(1)) << path;
    EXPECT_EQ(report.invalid[0].message, path + ":4: expected an object, found 7");
  }
  EXPECT_EQ(check_vector_file(write_packed("vectors.jsonl.zst", line(kRight)), {}).passed, 1);
}

TEST_F(Conformance, OfAZstdFileThatIsCutOffTheLinesBeforeAreChecked) {
  std::string text;
  for (int i = 0; i < 20000; ++i) text += line(kRight, "fla_1", "fla_" + std::to_string(i));
  const std::string path = write_packed("fla_chunks.jsonl.zst", text);
  fs::resize_file(path, fs::file_size(path) / 2);
  const FileReport report = check_vector_file(path, {});
  EXPECT_GT(report.cases, 1000);
  EXPECT_LT(report.cases, 19000);
  EXPECT_EQ(report.passed, report.cases);
  ASSERT_THAT(report.invalid, SizeIs(1));
  EXPECT_EQ(report.invalid[0].line, report.cases + 1);
  EXPECT_EQ(report.invalid[0].message,
            path + ":" + std::to_string(report.cases + 1) +
                ": the zstd stream is cut off in the middle of a frame (expected a whole file, as "
                "zstd wrote it)");
}

TEST_F(Conformance, OfAZstdFileWithoutAWholeLineTheFaultIsNamed) {
  const std::string whole = write_packed("fla_chunks.jsonl.zst", line(kRight));
  for (const char* name : {"fla_chunks_2.jsonl.zst", "other.jsonl.zst"}) {
    fs::copy_file(whole, folder_ / name);
    fs::resize_file(folder_ / name, fs::file_size(whole) / 2);
    const FileReport report = check_vector_file((folder_ / name).string(), {});
    ASSERT_THAT(report.invalid, SizeIs(1)) << name;
    EXPECT_EQ(report.invalid[0].line, 1);
    EXPECT_THAT(report.invalid[0].message,
                HasSubstr(std::string(name) + ":1: the zstd stream is cut off"));
  }
}

TEST_F(Conformance, AZstdFileOfOneEndlessLineIsReadUpToTheLimitOfALine) {
  const std::string path = write_packed("fla_chunks.jsonl.zst", std::string(100 << 20, 'x'));
  EXPECT_LT(fs::file_size(path), 20'000U);
  const FileReport report = check_vector_file(path, {});
  ASSERT_THAT(report.invalid, SizeIs(1));
  EXPECT_EQ(report.invalid[0].message,
            path + ": more than 67108864 bytes (expected at most that many)");
}

TEST_F(Conformance, AZstdFileOfEndlessBadLinesIsReadUntilTheirMessagesTakeMoreThanALine) {
  std::string text;
  for (int i = 0; i < 40'000; ++i) text += "7\n";
  const FileReport report = check_vector_file(write_packed("fla_chunks.jsonl.zst", text),
                                              {.max_error_bytes = std::size_t{1} << 20});
  EXPECT_LT(report.invalid.size(), 20'000U);
  EXPECT_THAT(report.invalid.back().message,
              EndsWith("takes more than 1048576 bytes; nothing behind this line was read"));
}

TEST_F(Conformance, CountsWhatPassesAndTellsWhatDiffers) {
  const std::string path =
      write("fla_chunks.jsonl", line(kRight) + "\n" + line(kRight, "[1, 1]", "[1, 2]"));
  const FileReport report = check_vector_file(path, {});
  EXPECT_EQ(report.kind->name, "fla_chunks");
  EXPECT_EQ(report.cases, 2);
  EXPECT_EQ(report.passed, 1);
  EXPECT_THAT(report.invalid, IsEmpty());
  ASSERT_THAT(report.failed, SizeIs(1));
  EXPECT_EQ(report.failed[0].line, 3);
  EXPECT_EQ(report.failed[0].difference.pointer, "/chunk_indices/2/1");
  EXPECT_EQ(report.failed[0].difference.expected, "2");
  EXPECT_EQ(report.failed[0].difference.got, "1");
  EXPECT_EQ(report.failed[0].input,
            R"({"config":{"chunk_size":4},"input":{"cu_seqlens":[0,3,8]}})");
}

TEST_F(Conformance, ABadLineIsNamedAndTheOthersStillRun) {
  const std::string path = write(
      "fla_chunks.jsonl", "{\"id\": \n" + line(kRight, "\"id\": \"fla_1\", ", "") +
                              line(kRight, "[0, 3, 8]", "[0, \"3\"]") +
                              line(kRight, "\"output\":", "\"answer\":") + "7\n" + line(kRight));
  const FileReport report = check_vector_file(path, {});
  EXPECT_EQ(report.passed, 1);
  ASSERT_THAT(report.invalid, SizeIs(5));
  EXPECT_THAT(report.invalid[0].message, HasSubstr(path + ":1:"));
  EXPECT_EQ(report.invalid[1].message, path + ":2: no member \"id\"");
  EXPECT_THAT(report.invalid[2].message,
              HasSubstr(path + ":3: /input/cu_seqlens/1: expected an integer"));
  EXPECT_EQ(report.invalid[3].message, path + ":4: no member \"output\"");
  EXPECT_EQ(report.invalid[4].message, path + ":5: expected an object, found 7");
}

TEST_F(Conformance, TheFilterSelectsById) {
  const std::string path =
      write("fla_chunks.jsonl", line(kRight) + line(kRight, "fla_1", "fla_22") + line(kRight));
  EXPECT_EQ(check_vector_file(path, {.filter = "fla_2"}).cases, 1);
  EXPECT_EQ(check_vector_file(path, {.filter = "none"}).cases, 0);
}

TEST_F(Conformance, AFileWithAnotherNameIsRecognisedByItsFields) {
  const FileReport report = check_vector_file(write("vectors.jsonl", line(kRight)), {});
  ASSERT_NE(report.kind, nullptr);
  EXPECT_EQ(report.kind->name, "fla_chunks");
  EXPECT_EQ(report.passed, 1);
}

TEST_F(Conformance, FilesWithoutVectorsAreInvalid) {
  EXPECT_THAT(check_vector_file(write("fla_chunks.jsonl", " \n\n"), {}).invalid[0].message,
              HasSubstr("no vector"));
  EXPECT_THAT(check_vector_file(write("other.jsonl", "[1]\n"), {}).invalid[0].message,
              HasSubstr("unknown kind of vector"));
  EXPECT_THAT(check_vector_file((folder_ / "none.jsonl").string(), {}).invalid[0].message,
              HasSubstr("cannot be opened"));
  EXPECT_THAT(check_vector_file(folder_.string(), {}).invalid[0].message,
              HasSubstr("is a directory"));
}

TEST_F(Conformance, WhereNoLineIsJsonTheFirstErrorIsGiven) {
  const std::string path = write("other.jsonl", "\nid = 3\nid = 4\n");
  const FileReport report = check_vector_file(path, {});
  ASSERT_THAT(report.invalid, SizeIs(1));
  EXPECT_EQ(report.invalid[0].line, 2);
  EXPECT_THAT(report.invalid[0].message, StartsWith(path + ":2:1: "));
  EXPECT_THAT(report.invalid[0].message, HasSubstr("names no kind of vector"));
}

TEST_F(Conformance, FieldsOfAnotherKindThanTheNameSaysAreNoted) {
  const FileReport report = check_vector_file(write("scheduler.jsonl", line(kRight)), {});
  EXPECT_EQ(report.kind->name, "scheduler");
  ASSERT_NE(report.fields_of, nullptr);
  EXPECT_EQ(report.fields_of->name, "fla_chunks");
  EXPECT_THAT(report.invalid, SizeIs(1));
}

TEST_F(Conformance, AFolderIsItsJsonlFilesByName) {
  write("b.jsonl", "");
  write("a.jsonl", "");
  write("c.jsonl.zst", "");
  write("c.zst", "");
  write("README.md", "");
  const auto files = vector_files(folder_.string());
  ASSERT_TRUE(files.ok());
  EXPECT_THAT(files.value(),
              ElementsAre(EndsWith("a.jsonl"), EndsWith("b.jsonl"), EndsWith("c.jsonl.zst")));
  EXPECT_FALSE(vector_files((folder_ / "none").string()).ok());
}

TEST_F(Conformance, OfAFileAndItsPackedCopyBothAreTaken) {
  write("a.jsonl", "");
  write("a.jsonl.zst", "");
  EXPECT_THAT(vector_files(folder_.string()).value(),
              ElementsAre(EndsWith("/a.jsonl"), EndsWith("/a.jsonl.zst")));
}

TEST_F(Conformance, AFolderWithoutVectorsIsAnError) {
  write("README.md", "");
  EXPECT_EQ(vector_files(folder_.string()).error().message,
            folder_.string() + ": no file there ends in .jsonl or .jsonl.zst");
}

TEST_F(Conformance, OnlyFilesOfAFolderAreTakenAndLinksFollowed) {
  ASSERT_EQ(mkfifo((folder_ / "pipe.jsonl").c_str(), 0600), 0);
  fs::create_directory(folder_ / "folder.jsonl");
  fs::create_symlink(folder_ / "pipe.jsonl", folder_ / "link_to_pipe.jsonl");
  fs::create_symlink(write("vectors.txt", ""), folder_ / "link.jsonl");
  fs::create_symlink(folder_ / "gone", folder_ / "lost.jsonl");
  const auto files = vector_files(folder_.string());
  ASSERT_TRUE(files.ok());
  EXPECT_THAT(files.value(), ElementsAre(EndsWith("/link.jsonl"), EndsWith("/lost.jsonl")));
}

TEST_F(Conformance, OnlyTheFirstFailuresKeepTheirTexts) {
  std::string text;
  for (std::size_t i = 0; i < kFailuresInFull + 1; ++i) text += line(kRight, "[1, 1]", "[1, 2]");
  const FileReport report = check_vector_file(write("fla_chunks.jsonl", text), {});
  ASSERT_THAT(report.failed, SizeIs(kFailuresInFull + 1));
  EXPECT_FALSE(report.failed[kFailuresInFull - 1].input.empty());
  EXPECT_TRUE(report.failed[kFailuresInFull].input.empty());
  EXPECT_EQ(report.failed[kFailuresInFull].id, "fla_1");
}

TEST_F(Conformance, OfManyCallsTheOneThatDiffersIsShown) {
  const std::string path = write("mamba_builder.jsonl", line(R"({"id": "m", "config":
{"mamba_cache_mode": "none", "block_size": 16, "num_spec": 0, "max_num_seqs": 4,
 "max_model_len": 64, "max_cudagraph_capture_size": null, "full_cudagraph": false,
 "parallel_drafting": false, "decode_context_parallel_size": 1},
"calls": [{"op": "build_for_cudagraph_capture", "common": {"query_start_loc": [0, 9],
 "seq_lens": [9], "num_reqs": 1, "num_actual_tokens": 9, "max_query_len": 9,
 "block_table": [[1]]}}, {"op": "build"}],
"output": {"init": {"decode_cudagraph_max_bs": 4, "reorder_batch_threshold": 1,
 "supports_update_block_table": true, "state_indices_tensor_d_shape": [4, 1]},
 "results": [{"metadata": {}}]}})"));
  const FileReport report = check_vector_file(path, {});
  ASSERT_THAT(report.failed, SizeIs(1));
  EXPECT_EQ(report.failed[0].difference.pointer, "/results/0");
  EXPECT_THAT(report.failed[0].difference.got, HasSubstr("error"));
  EXPECT_THAT(report.failed[0].input, HasSubstr(R"("call":{"common":)"));
}

}  // namespace
}  // namespace hybridscope::conformance_test
