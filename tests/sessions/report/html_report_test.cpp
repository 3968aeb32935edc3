// What a report's file holds; report_test.py looks at it in a browser.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "sessions/known_bugs/bug_exhibit.h"
#include "sessions/palette/palette.h"
#include "sessions/record/step_recorder.h"
#include "sessions/record/value_names.h"
#include "sessions/report/html_report.h"
#include "sessions/report/report_cells.h"
#include "sessions/report/report_steps.h"
#include "sessions/scenario/scenario_reader.h"

namespace hybridscope::html_report_test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

std::unique_ptr<StepSource> run_of(const std::string& file, RecordLevel level) {
  const std::string path = std::string(HYBRIDSCOPE_SOURCE_DIR) + "/scenarios/" + file;
  const Scenario scenario = read_scenario_file(path).value();
  return LiveSource::create(plan_scenario(scenario, file).value(), level, file).value();
}

json data_of(const std::string& html) {
  const std::string_view begin = "id=\"report-data\">";
  const std::size_t from = html.find(begin) + begin.size();
  return json::parse(html.substr(from, html.find("</script>", from) - from));
}

// So many steps in which nothing happens.
class IdleSource final : public StepSource {
 public:
  explicit IdleSource(std::int64_t num_steps) : num_steps_(num_steps) {}
  std::string title() const override { return "idle.db:long"; }
  const EngineConfig& config() const override { return config_; }
  RecordLevel level() const override { return RecordLevel::counts; }
  std::string request_name(RequestId) const override { return "A"; }
  Result<const StepStamp*> next() override {
    if (stamp_.step == num_steps_) return nullptr;
    record_.trace.step = ++stamp_.step;
    return &stamp_;
  }
  Result<const StepRecord*> record() override { return &record_; }
  StepCounts& counts() { return stamp_.counts; }

 private:
  std::int64_t num_steps_;
  EngineConfig config_;
  StepStamp stamp_;
  StepRecord record_;
};

// The window's theme light and theme dark.
TEST(HtmlReport, ItsColoursAreThoseOfThePalette) {
  const auto source = run_of("plain_decode.json", RecordLevel::blocks);
  const std::string html = write_html_report(*source, {.name = "colours"}).value().html;
  EXPECT_THAT(html, HasSubstr(palette_css(PaletteKind::light)));
  EXPECT_THAT(html, HasSubstr(palette_css(PaletteKind::dark)));
  EXPECT_THAT(html, HasSubstr(".running { background: var(--running);"));
  EXPECT_THAT(html, HasSubstr(".shared { background: var(--shared);"));
}

TEST(HtmlReport, NamesEveryKindOfCacheEvent) {
  const auto source = run_of("align_boundary_by_accepted_drafts.json", RecordLevel::blocks);
  const std::string html = write_html_report(*source, {.name = "boundary"}).value().html;
  const std::size_t from = html.find("const EVENTS = [");
  ASSERT_NE(from, std::string::npos);
  const std::string names = html.substr(from, html.find("];", from) - from);
  EXPECT_EQ(std::ranges::count(names, '"'), 2 * num_codes<CacheEventKind>());
}

TEST(HtmlReport, HoldsEveryStepOfARun) {
  const auto source = run_of("align_boundary_by_accepted_drafts.json", RecordLevel::blocks);
  const HtmlReport report = write_html_report(*source, {.name = "boundary"}).value();
  EXPECT_EQ(report.num_steps, 3);
  EXPECT_EQ(report.left_out, "");
  const json data = data_of(report.html);
  EXPECT_EQ(data["meta"]["name"], "boundary");
  EXPECT_EQ(data["meta"]["mode"], "align");
  EXPECT_EQ(data["requests"], json::parse(R"([[0, "A"]])"));
  EXPECT_EQ(data["steps"].size(), 3);
}

// A decodes for 40 steps and takes one of the 8 tokens; P's first block has 8.
TEST(HtmlReport, NotesRequestsThatStarve) {
  const Scenario scenario = parse_scenario({.text = R"({
    "version": 1, "name": "starved", "teaches": "t", "model": "tiny-mamba2",
    "settings": {"mamba_cache_mode": "align", "block_size": 8, "num_gpu_blocks_override": 32,
                 "max_model_len": 64, "max_num_batched_tokens": 8, "async_scheduling": false},
    "requests": [
      {"id": "A", "prompt": 7, "max_tokens": 41}, {"id": "P", "prompt": 20, "max_tokens": 2}]})",
                                            .file = "starved"})
                                .value();
  const auto source =
      LiveSource::create(plan_scenario(scenario, "starved").value(), RecordLevel::full, "starved")
          .value();
  EXPECT_EQ(data_of(write_html_report(*source, {}).value().html)["meta"]["notes"],
            json::parse(R"(["P got no token in 41 steps (1 to 41): what was left of )"
                        R"(max_num_batched_tokens 8, at most 7 tokens, reached no end of a )"
                        R"(block of 8"])"));
}

TEST(HtmlReport, NotesThatStatesCameFromFreshArraysUnlessAModelRan) {
  const auto notes = [](const HtmlReportOptions& options) {
    const auto source =
        LiveSource::create(
            plan_scenario(faulty_scenario(shipped_bug("5").value()), "bug 5").value(),
            RecordLevel::blocks, "bug 5")
            .value();
    return data_of(write_html_report(*source, options).value().html)["meta"]["notes"];
  };
  EXPECT_THAT(notes({}).at(0).get<std::string>(),
              testing::StartsWith("from step 1 on states were computed from the arrays of each"));
  EXPECT_EQ(notes({.language = SpeechInfo()}), json::array());
}

// In step 3 the copies of two groups go before everything else.
TEST(HtmlReport, HoldsCopiesOfWholeBlocks) {
  const auto source = run_of("../tests/gui/data/hits_inside_blocks.json", RecordLevel::blocks);
  const json data = data_of(write_html_report(*source, {.name = "inside"}).value().html);
  const json& copies = data["steps"][2]["bc"];
  ASSERT_EQ(copies.size(), 2u);
  const auto first = json(std::vector<json>(copies[0].begin(), copies[0].begin() + 4));
  EXPECT_EQ(first, json::parse("[0, 1, 6, 8]"));  // A, group 1, block 6 to 8
  EXPECT_EQ(copies[0][4].size(), 5u);             // a template and 6, 8, 6, 20
  EXPECT_FALSE(data["steps"][0].contains("bc"));
}

TEST(HtmlReport, LoadsNothingFromElsewhere) {
  const auto source = run_of("plain_decode.json", RecordLevel::full);
  const std::string html = write_html_report(*source, {}).value().html;
  for (const char* load : {"http:", "https:", "src=", "@import", "url(", "fetch(", "XMLHttp"})
    EXPECT_THAT(html, Not(HasSubstr(load)));
  EXPECT_THAT(html, HasSubstr("default-src 'none'"));
}

TEST(HtmlReport, WithoutARangeLongRunsShowTheirFirstSteps) {
  IdleSource source(2001);
  const HtmlReport report = write_html_report(source, {}).value();
  EXPECT_EQ(report.num_steps, 200);
  EXPECT_EQ(report.num_all_steps, 2001);
  EXPECT_EQ(report.left_out, "steps 1 to 200 are shown: 200 of 2,001 steps (1 to 2,001)");
  IdleSource shorter(2000);
  EXPECT_EQ(write_html_report(shorter, {}).value().num_steps, 2000);
}

TEST(HtmlReport, ARangeBeginsWithTheTablesOfTheStepsBefore) {
  const auto whole = run_of("plain_decode.json", RecordLevel::blocks);
  const json all = data_of(write_html_report(*whole, {}).value().html);
  EXPECT_EQ(all["start"], json::array());
  const auto source = run_of("plain_decode.json", RecordLevel::blocks);
  const HtmlReport report = write_html_report(*source, {.first_step = 2, .last_step = 3}).value();
  const json data = data_of(report.html);
  EXPECT_EQ(data["steps"].size(), 2);
  EXPECT_EQ(data["steps"][0]["n"], 2);
  EXPECT_THAT(report.left_out, HasSubstr("steps 2 to 3 are shown: 2 of 5 steps (1 to 5)"));
  EXPECT_EQ(data["start"].empty(), false);
}

// A is gone when the range begins, the label of its block is still there.
TEST(HtmlReport, ARangeNamesWhoOnlyLeftLabelsBehind) {
  const Scenario scenario = parse_scenario({.text = R"({
      "version": 1, "name": "two", "teaches": "t", "model": "tiny-mamba2",
      "settings": {"mamba_cache_mode": "align", "block_size": 8, "num_gpu_blocks_override": 32,
                   "max_model_len": 64, "async_scheduling": false},
      "requests": [{"id": "Ada", "prompt": 16, "max_tokens": 1},
                   {"id": "Bob", "prompt": 16, "max_tokens": 3, "at_step": 3}]})",
                                            .file = "test.json"})
                                .value();
  const auto source =
      LiveSource::create(plan_scenario(scenario, "test.json").value(), RecordLevel::blocks, "two")
          .value();
  const HtmlReport report = write_html_report(*source, {.first_step = 4, .last_step = 5}).value();
  EXPECT_EQ(data_of(report.html)["requests"], json::parse(R"([[0, "Ada"], [1, "Bob"]])"));
}

TEST(HtmlReport, TotalsAreWiderThanTheCountsOfAStep) {
  IdleSource source(3);
  source.counts().num_prompt_tokens = 1'500'000'000;
  EXPECT_EQ(
      data_of(write_html_report(source, {}).value().html)["meta"]["totals"]["num_prompt_tokens"],
      4'500'000'000);
}

TEST(HtmlReport, ARangeWithoutAStepIsAnError) {
  IdleSource source(5);
  const auto report = write_html_report(source, {.first_step = 7, .last_step = 9});
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().message,
            "idle.db:long: there is no step from 7 to 9, the recorded ones are 1 to 5");
}

TEST(BlockOps, ColumnsInARowAreOneOperation) {
  using enum CacheEventKind;
  const auto set = [](std::int32_t column, std::int32_t block) {
    return CacheEvent{
        .kind = column_set, .group = 1, .request = {4}, .column = column, .block = block};
  };
  const std::vector<CacheEvent> events = {
      set(0, 7),
      set(1, 8),
      set(2, 9),
      set(5, 0),
      set(6, 0),
      {.kind = registered, .group = 1, .request = {4}, .block = 7, .num_tokens = 16},
      {.kind = table_dropped, .group = 1, .request = {4}},
      {.kind = evicted, .request = {}, .block = 7}};
  EXPECT_EQ(block_ops(events), json::parse("[1,4,1,0,3,7, 0,4,1,5,2,0,0, 3,7,4,1,16, 2,4,1, 4,7]"));
}

TEST(BlockOps, AStateIsWhatItsOperationsLeaveBehind) {
  using enum CacheEventKind;
  BlockState state;
  state.apply(std::vector<CacheEvent>{
      {.kind = column_set, .group = 0, .request = {1}, .column = 1, .block = 6},
      {.kind = column_set, .group = 0, .request = {2}, .column = 0, .block = 3},
      {.kind = registered, .group = 0, .request = {1}, .block = 6, .num_tokens = 32},
      {.kind = registered, .group = 0, .request = {1}, .block = 5, .num_tokens = 16},
      {.kind = table_dropped, .group = 0, .request = {2}},
      {.kind = evicted, .request = {}, .block = 5}});
  EXPECT_EQ(state.scheduler_ops(), json::parse("[0,1,0,0,2,0,6, 3,6,1,0,32]").get<json>());
}

TEST(ReportTexts, SentencesThatDifferInNumbersShareOneTemplate) {
  ReportTexts texts;
  EXPECT_EQ(texts.add("c + q = 6 + 2 = 8"), json({0, 6, 2, 8}));
  EXPECT_EQ(texts.add("c + q = 7 + 10 = 17"), json({0, 7, 10, 17}));
  EXPECT_EQ(texts.templates(), json::parse(R"([["c + q = ", " + ", " = ", ""]])"));
}

TEST(ReportTexts, DigitsThatPrintingWouldChangeStayText) {
  ReportTexts texts;
  EXPECT_EQ(texts.add("0.05 r007 1234567890123456789"), json({0, 0}));
  EXPECT_EQ(texts.templates(), json::parse(R"([["", ".05 r007 1234567890123456789"]])"));
}

TEST(ReportTexts, AnEmptySentenceIsATemplateToo) {
  ReportTexts texts;
  EXPECT_EQ(texts.add(""), json::array({0}));
  EXPECT_EQ(texts.templates(), json::parse(R"([[""]])"));
}

TEST(ReportTexts, ForgettingTemplatesGivesTheirNumbersOutAgain) {
  ReportTexts texts;
  texts.add("one");
  texts.add("two");
  texts.truncate(1);
  EXPECT_EQ(texts.add("three"), json::array({1}));
  EXPECT_EQ(texts.templates(), json::parse(R"([["one"], ["three"]])"));
}

}  // namespace

}  // namespace hybridscope::html_report_test
