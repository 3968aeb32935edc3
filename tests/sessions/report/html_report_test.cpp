// What a report's file holds; report_test.py looks at it in a browser.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "sessions/known_bugs/bug_exhibit.h"
#include "sessions/palette/palette.h"
#include "sessions/record/step_recorder.h"
#include "sessions/report/html_report.h"
#include "sessions/report/value_changes.h"
#include "sessions/scenario/scenario_reader.h"

namespace hybridscope::html_report_test {
namespace {

using nlohmann::json;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

std::unique_ptr<StepSource> run_of(const std::string& file, RecordLevel level) {
  const std::string path = std::string(HYBRIDSCOPE_SOURCE_DIR) + "/scenarios/" + file;
  const Scenario scenario = read_scenario_file(path).value();
  return LiveSource::create(plan_scenario(scenario, file).value(), level, file).value();
}

HtmlReportOptions titled(std::string name) {
  HtmlReportOptions options;
  options.header.name = std::move(name);
  return options;
}

json data_of(const std::string& html) {
  const std::string_view begin = "id=\"report-data\">";
  const std::size_t from = html.find(begin) + begin.size();
  return json::parse(html.substr(from, html.find("</script>", from) - from));
}

// As textOf() of report_data.js.
std::string text_of(const json& value, const json& templates, const json& words) {
  std::string text;
  std::size_t argument = 1;
  for (const char c : templates[value[0].get<std::size_t>()].get<std::string>()) {
    if (c != '\0') {
      text += c;
      continue;
    }
    const auto number = value[argument++].get<std::int64_t>();
    text += number >= 0 ? std::to_string(number)
                        : words[static_cast<std::size_t>(-1 - number)].get<std::string>();
  }
  return text;
}
std::string text_of(const json& value, const SharedTexts& texts) {
  return text_of(value, texts.templates(), texts.words());
}

// As apply() of report_data.js.
void put(json& value, const json& changed) {
  for (const auto& [key, change] : changed.items()) {
    if (change.is_null())
      value.erase(key);
    else if (change.is_object())
      put(value[key], change);
    else
      value[key] = change;
  }
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
  const std::string html = write_html_report(*source, titled("colours")).value().html;
  EXPECT_THAT(html, HasSubstr(palette_css(PaletteKind::light)));
  EXPECT_THAT(html, HasSubstr(palette_css(PaletteKind::dark)));
  EXPECT_THAT(html, HasSubstr(".running { background: var(--running);"));
  EXPECT_THAT(html, HasSubstr(".shared { background: var(--shared);"));
}

TEST(HtmlReport, HoldsEveryStepOfARun) {
  const auto source = run_of("align_boundary_by_accepted_drafts.json", RecordLevel::blocks);
  const HtmlReport report = write_html_report(*source, titled("boundary")).value();
  EXPECT_EQ(report.num_steps, 3);
  EXPECT_EQ(report.left_out, "");
  const json data = data_of(report.html);
  EXPECT_EQ(data["run"]["title"], "boundary");
  EXPECT_EQ(data["run"]["facts"][0], json::parse(R"(["mode", "align"])"));
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
  EXPECT_EQ(data_of(write_html_report(*source, {}).value().html)["run"]["notes"],
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
    return data_of(write_html_report(*source, options).value().html)["run"]["notes"];
  };
  EXPECT_THAT(notes({}).at(0).get<std::string>(),
              testing::StartsWith("from step 1 on states were computed from the arrays of each"));
  HtmlReportOptions with_model;
  with_model.header.language = SpeechInfo();
  EXPECT_EQ(notes(with_model), json::array());
}

// In step 3 the copies of two groups go before everything else.
TEST(HtmlReport, HoldsCopiesOfWholeBlocks) {
  const auto source = run_of("../tests/gui/data/hits_inside_blocks.json", RecordLevel::blocks);
  const json data = data_of(write_html_report(*source, titled("inside")).value().html);
  json step;
  std::vector<std::vector<std::string>> copies;
  for (const json& changed : data["steps"]) {
    put(step, changed);
    copies.emplace_back();
    for (const json& line : step["copies"])
      copies.back().push_back(text_of(line, data["templates"], data["words"]));
  }
  EXPECT_THAT(copies[0], Not(Contains(HasSubstr("Block copies"))));
  EXPECT_THAT(copies[2], Contains(HasSubstr("group 1 (gdn_attention), block 6 -> 8: A writes on")));
  EXPECT_EQ(std::ranges::count_if(
                copies[2], [](const std::string& line) { return line.find(" -> ") != line.npos; }),
            2);
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
  const auto source = run_of("plain_decode.json", RecordLevel::blocks);
  const HtmlReport report = write_html_report(*source, {.first_step = 2, .last_step = 3}).value();
  const json data = data_of(report.html);
  ASSERT_EQ(data["steps"].size(), 2);
  EXPECT_EQ(data["steps"][0]["n"], 2);
  EXPECT_THAT(report.left_out, HasSubstr("steps 2 to 3 are shown: 2 of 5 steps (1 to 5)"));
  json expected;
  put(expected, all["steps"][0]);
  put(expected, all["steps"][1]);
  const auto tables = [](const json& page, const json& step) {
    json texts = step["tables"];
    for (json& group : texts)
      for (json& table : group)
        for (json& cell : table) cell = text_of(cell, page["templates"], page["words"]);
    return texts;
  };
  EXPECT_EQ(tables(data, data["steps"][0]), tables(all, expected));
}

TEST(HtmlReport, TotalsAreWiderThanTheCountsOfAStep) {
  IdleSource source(3);
  source.counts().num_prompt_tokens = 1'500'000'000;
  const json facts = data_of(write_html_report(source, {}).value().html)["run"]["facts"];
  EXPECT_EQ(std::ranges::count(facts, json({"prompt tokens", "4,500,000,000"})), 1);
}

TEST(HtmlReport, ARangeWithoutAStepIsAnError) {
  IdleSource source(5);
  const auto report = write_html_report(source, {.first_step = 7, .last_step = 9});
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().message,
            "idle.db:long: there is no step from 7 to 9, the recorded ones are 1 to 5");
}

TEST(SharedTexts, TextsThatDifferInNumbersShareOneTemplate) {
  SharedTexts texts;
  EXPECT_EQ(texts.add("c + q = 6 + 2 = 8"), json({0, 6, 2, 8}));
  EXPECT_EQ(texts.add("c + q = 7 + 10 = 17"), json({0, 7, 10, 17}));
  EXPECT_EQ(texts.templates(), json({std::string("c + q = \0 + \0 = \0", 17)}));
}

TEST(SharedTexts, TextsThatDifferInWordsWithDigitsToo) {
  SharedTexts texts;
  EXPECT_EQ(texts.add("cmpl-7f3a runs"), json({0, -1}));
  EXPECT_EQ(texts.add("cmpl-05 runs"), json({0, -2}));
  EXPECT_EQ(texts.add("cmpl-7f3a runs"), json({0, -1}));
  EXPECT_EQ(texts.words(), json({"7f3a", "05"}));
}

TEST(SharedTexts, GiveBackEveryText) {
  SharedTexts texts;
  for (const std::string& text :
       {std::string(), std::string("none"), std::string("0.05 r007 1234567890123456789"),
        std::string("12"), std::string("a\0b 3", 5), std::string("×2 ▾7/8")})
    EXPECT_EQ(text_of(texts.add(text), texts), text);
}

TEST(Changes, AreWhatAStepHasOtherwise) {
  SharedTexts texts;
  const json before = json::parse(R"({"n": 1, "rows": [{"a": 1, "b": 2}, {"a": 3, "b": 4}, {}]})");
  const json now = json::parse(R"({"n": 1, "rows": [{"a": 1, "b": 5}, {"b": 4}], "more": [7]})");
  const json changed = changes(before, now, texts);
  EXPECT_EQ(changed, json::parse(R"({"rows": {"0": {"b": 5}, "1": {"a": null}, "2": null},
                                     "more": {"0": 7}})"));
  json value;
  put(value, changes({}, before, texts));
  put(value, changed);
  json whole;
  put(whole, changes({}, now, texts));
  EXPECT_EQ(value, whole);
}

}  // namespace

}  // namespace hybridscope::html_report_test
