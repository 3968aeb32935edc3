#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "sessions/matrix/matrix_file.h"
#include "sessions/matrix/matrix_summary.h"
#include "sessions/palette/palette.h"
#include "tests/sessions/matrix/small_matrix.h"
#include "tests/support/temporary_folder.h"

namespace hybridscope::test::matrix_file_test {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

const MatrixHeader kHeader{.engine = "vllm@2026-06-29",
                           .policies = "no_draft_step=column_zero",
                           .seed = 18'000'000'000'000'000'001U,
                           .scenarios_per_cell = 12,
                           .in_bytes = true,
                           .filter = "mode=align",
                           .program = "hybridscope 1.2.3",
                           .shard = "2/7"};

CellResult a_result(const std::string& cell) {
  CellResult result{.cell = cell_called(cell),
                    .verdict = CellVerdict::has_findings,
                    .num_scenarios = 12,
                    .num_failing = 3,
                    .num_in_bytes = 2,
                    .num_steps = 240,
                    .num_request_steps = 500};
  result.events[2] = {.times = 8, .scenarios = 4};
  result.missing = {MatrixEvent::hit};
  result.findings = {{{Rule::running_state_wrong, "conv history"}, 3, 1}};
  result.faults = {{"a+b", 2, 5, 3, {Rule::label_mismatch, ""}}};
  result.unexplained = {{{Rule::label_mismatch, ""}, 1, 7}};
  return result;
}

const MatrixFault kFault{.cause = "a+b",
                         .kind = {Rule::label_mismatch, "x"},
                         .text = "label-mismatch: \"step\" 3",
                         .cell = "align/mtp1/on/SD/v1/sync/none/none/dense/block/none",
                         .index = 5,
                         .num_requests = 1,
                         .num_steps = 4,
                         .file = "faults/a+b.json"};

TEST(MatrixFile, KeepsWhatWasAddedBeforeSomethingCouldNotBeWritten) {
  const TemporaryFolder folder;
  const CellResult cell = a_result("align/mtp1/on/SD/v1/sync/none/none/dense/block/none");
  MatrixFault unwritable = kFault;
  unwritable.file = "nowhere/c.json";
  auto file = MatrixFile::open(folder / "new/m", kHeader);
  ASSERT_TRUE(file.ok()) << file.error().message;
  ASSERT_TRUE(file.value().add(cell).ok());
  ASSERT_TRUE(file.value().add(kFault, "{}").ok());
  const std::string before = folder.read("new/m/matrix.jsonl");
  EXPECT_EQ(file.value().add(unwritable, "{}").error().kind, ErrorKind::not_available);
  EXPECT_THAT(file.value().add(cell).error().message, HasSubstr("nowhere/c.json"));
  EXPECT_EQ(folder.read("new/m/matrix.jsonl"), before);
  EXPECT_EQ(folder.read("new/m/faults/a+b.json"), "{}");
}

TEST(MatrixFile, WithoutAnyResultLeavesNoFolder) {
  const TemporaryFolder folder;
  MatrixFault unwritable = kFault;
  unwritable.file = "nowhere/c.json";
  auto file = MatrixFile::open(folder / "new/m", kHeader);
  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_FALSE(file.value().add(unwritable, "{}").ok());
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(MatrixFile, GivesBackWhatWasAdded) {
  const TemporaryFolder folder;
  const CellResult cell = a_result("align/mtp1/on/SD/v1/sync/none/none/dense/block/none");
  {
    auto file = MatrixFile::open(folder / "m", kHeader);
    ASSERT_TRUE(file.ok()) << file.error().message;
    ASSERT_TRUE(file.value().add(cell).ok());
    ASSERT_TRUE(file.value().add(kFault, "{}").ok());
  }
  const auto contents = read_matrix(folder / "m");
  ASSERT_TRUE(contents.ok()) << contents.error().message;
  EXPECT_EQ(contents.value().header, kHeader);
  EXPECT_EQ(contents.value().cells.at("align/mtp1/on/SD/v1/sync/none/none/dense/block/none"), cell);
  EXPECT_EQ(contents.value().faults.at("a+b"), kFault);
  EXPECT_EQ(folder.read("m/faults/a+b.json"), "{}");
}

TEST(MatrixFile, ALineThatWasNotFinishedIsLeftOut) {
  const TemporaryFolder folder;
  {
    auto file = MatrixFile::open(folder.path(), kHeader);
    ASSERT_TRUE(
        file.value().add(a_result("align/mtp1/on/SD/v1/sync/none/none/dense/block/none")).ok());
  }
  const std::string whole = folder.read("matrix.jsonl");
  folder.write("matrix.jsonl", whole + R"({"cell":"align/mtp2/on/S)");
  auto again = MatrixFile::open(folder.path(), kHeader);
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_THAT(again.value().contents().cells, SizeIs(1));
  EXPECT_EQ(folder.read("matrix.jsonl"), whole);
}

TEST(MatrixFile, AHeaderThatWasNotFinishedIsWrittenAgain) {
  const TemporaryFolder folder;
  ASSERT_TRUE(MatrixFile::open(folder.path(), kHeader).ok());
  const std::string header = folder.read("matrix.jsonl");
  for (const std::string& torn :
       {std::string(), header.substr(0, 20), header.substr(0, header.size() - 1)}) {
    folder.write("matrix.jsonl", torn);
    const auto again = MatrixFile::open(folder.path(), kHeader);
    ASSERT_TRUE(again.ok()) << again.error().message;
    EXPECT_EQ(folder.read("matrix.jsonl"), header);
  }
  folder.write("matrix.jsonl", "notes of mine");
  EXPECT_EQ(MatrixFile::open(folder.path(), kHeader).error().kind, ErrorKind::corrupt);
  EXPECT_EQ(folder.read("matrix.jsonl"), "notes of mine");
}

TEST(MatrixFile, AnotherMatrixInTheFolderIsLeftAlone) {
  const TemporaryFolder folder;
  ASSERT_TRUE(MatrixFile::open(folder.path(), kHeader).ok());
  MatrixHeader other = kHeader;
  other.engine = "safe";
  EXPECT_THAT(MatrixFile::open(folder.path(), other).error().message,
              HasSubstr("has a matrix of another engine: vllm@2026-06-29, not safe (give another "
                        "--out)"));
  other = kHeader;
  other.scenarios_per_cell = 13;
  EXPECT_THAT(MatrixFile::open(folder.path(), other).error().message,
              HasSubstr("another scenarios a cell: 12, not 13"));
}

TEST(MatrixFile, WhatCannotBeReadTellsItsPlace) {
  const TemporaryFolder folder;
  EXPECT_EQ(read_matrix(folder / "none").error().kind, ErrorKind::not_found);
  ASSERT_TRUE(MatrixFile::open(folder.path(), kHeader).ok());
  const std::string header = folder.read("matrix.jsonl");
  folder.write("matrix.jsonl", header + R"({"cell":"align/mtp9","result":"safe"})" + "\n");
  EXPECT_THAT(read_matrix(folder.path()).error().message,
              HasSubstr("matrix.jsonl:2: /cell: \"align/mtp9\" is not a cell"));
  folder.write("matrix.jsonl", header + "{\"cell\": \n");
  EXPECT_THAT(read_matrix(folder.path()).error().message, HasSubstr("matrix.jsonl:2:"));
  folder.write("matrix.jsonl", "");
  EXPECT_EQ(read_matrix(folder.path()).error().kind, ErrorKind::corrupt);
}

TEST(MatrixFile, IsWrittenByOneAtATime) {
  const TemporaryFolder folder;
  {
    const auto first = MatrixFile::open(folder.path(), kHeader);
    ASSERT_TRUE(first.ok());
    const auto second = MatrixFile::open(folder.path(), kHeader);
    EXPECT_EQ(second.error().kind, ErrorKind::not_available);
    EXPECT_THAT(second.error().message, HasSubstr("another hybridscope does"));
  }
  EXPECT_TRUE(MatrixFile::open(folder.path(), kHeader).ok());
}

using ::testing::Not;

std::string page(const MatrixContents& contents) {
  return matrix_as_html(contents, cells_with({"mode=align"}),
                        {.title_of = [](const std::string&) { return std::string("a <title>"); },
                         .path_of = [](const std::string& file) { return "../50% #1/" + file; }});
}

TEST(MatrixHtml, HasAMarkForEveryCellAndWhatItFound) {
  MatrixContents contents;
  contents.header.engine = "vllm@2026-06-29";
  const std::string cell = "align/mtp1/on/SD/v1/sync/none/budget/dense/block/none";
  contents.cells[cell] = {.cell = cell_called(cell),
                          .verdict = CellVerdict::has_findings,
                          .num_scenarios = 12,
                          .num_failing = 3,
                          .faults = {{.cause = "some-bug", .scenarios = 2}}};
  contents.faults["some-bug"] = {.cause = "some-bug", .num_requests = 1, .file = "faults/x.json"};
  const std::string html = page(contents);
  EXPECT_THAT(html, HasSubstr("<a href=\"../50%25%20%231/faults/x.json\">1 request, 0 steps</a>"));
  EXPECT_THAT(html, HasSubstr("Which combinations are safe: vllm@2026-06-29"));
  EXPECT_THAT(
      html,
      HasSubstr(
          "<td class=\"findings\" title=\"align/mtp1/on/SD/v1/sync/none/budget/dense/block/none: "
          "findings\n3 of 12 scenarios with errors\nsome-bug: 2\">1</td>"));
  EXPECT_THAT(html, HasSubstr("some-bug<br><span class=\"aside\">a &lt;title&gt;</span>"));
  EXPECT_THAT(html, HasSubstr("not run"));
  EXPECT_THAT(html, HasSubstr("pipeline parallelism"));
}

TEST(MatrixHtml, ColoursAreThoseOfThePalette) {
  const std::string html = page({});
  EXPECT_THAT(html, HasSubstr(page_palette_css()));
  EXPECT_THAT(html, HasSubstr(".findings{background:var(--error);color:var(--card)"));
  const std::string own =
      html.substr(html.find("main{"), html.find("</style>") - html.find("main{"));
  EXPECT_THAT(own, Not(HasSubstr("#")));
}

TEST(MatrixHtml, AWideTableScrollsAlone) {
  const std::string html = page({});
  EXPECT_THAT(html, HasSubstr(".scroll { overflow-x: auto; }"));
  EXPECT_THAT(html, HasSubstr("<div class=\"scroll\"><table class=\"cells\">"));
}

// One file that loads and runs nothing.
TEST(MatrixHtml, IsAPageOfTheKitWithoutAScript) {
  const std::string html = page({});
  EXPECT_THAT(html, testing::StartsWith("<!DOCTYPE html>\n<html lang=\"en\">\n"));
  EXPECT_THAT(html, HasSubstr("content=\"default-src 'none'; style-src 'unsafe-inline'\""));
  EXPECT_THAT(html, Not(HasSubstr("<script")));
}

TEST(MatrixHtml, ForeignTextIsNoMarkup) {
  MatrixContents contents;
  contents.header.engine = "<script>alert(1)</script>";
  EXPECT_THAT(page(contents), Not(HasSubstr("<script>")));
}

}  // namespace

}  // namespace hybridscope::test::matrix_file_test
