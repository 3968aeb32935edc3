#include "sessions/matrix/matrix_html.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sessions/palette/palette.h"
#include "tests/sessions/matrix/small_matrix.h"

namespace hybridscope::test::matrix_html_test {
namespace {

using ::testing::HasSubstr;
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
}  // namespace hybridscope::test::matrix_html_test
