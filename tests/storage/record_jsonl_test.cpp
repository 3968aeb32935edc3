#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "storage/record_jsonl.h"
#include "tests/storage/record_lines.h"
#include "tests/storage/recorded_run.h"
#include "tests/support/property.h"

namespace hybridscope::test::record_jsonl_test {
namespace {

std::vector<std::string> shipped_scenario_files() {
  std::vector<std::string> files;
  const std::string folder = std::string(HYBRIDSCOPE_SOURCE_DIR) + "/scenarios";
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".json") files.push_back(entry.path().filename().string());
  std::ranges::sort(files);
  return files;
}

class RecordJsonl : public ::testing::TestWithParam<RecordLevel> {};

TEST_P(RecordJsonl, WhatWasWrittenIsReadBackEqual) {
  const std::vector<std::string> files = shipped_scenario_files();
  ASSERT_GE(files.size(), 25u);
  for (const std::string& file : files) {
    SCOPED_TRACE(file);
    const ExportedRun run = export_run(file, GetParam());
    ASSERT_FALSE(run.records.empty());
    std::string error;
    EXPECT_EQ(read_lines(run.lines, error), run.records);
    EXPECT_EQ(error, "");
  }
}

INSTANTIATE_TEST_SUITE_P(Levels, RecordJsonl,
                         ::testing::Values(RecordLevel::counts, RecordLevel::blocks,
                                           RecordLevel::full),
                         [](const auto& level) {
                           return std::string(record_level_name(level.param));
                         });

TEST(RecordJsonlHeader, IsWhatTheSessionWas) {
  const ExportedRun run = export_run("v2_slots.json", RecordLevel::full);
  RecordJsonlReader reader("in.jsonl");
  const SessionHeader read = reader.read_header(run.lines.front(), 1).value();
  EXPECT_EQ(read.name, "exported");
  EXPECT_EQ(read.kind, SessionKind::run);
  EXPECT_EQ(read.level, RecordLevel::full);
  EXPECT_EQ(read.source, "v2_slots.json");
  EXPECT_EQ(read.model, run.header.model);
  EXPECT_EQ(read.engine, "safe");
  EXPECT_EQ(read.plan, run.header.plan);
  EXPECT_EQ(read.parent_name, "parent");
  EXPECT_EQ(read.forked_at, 3);
  EXPECT_EQ(read.config.runner, ModelRunner::v2);
}

TEST(RecordJsonlEnd, SaysHowTheRunEnded) {
  const ExportedRun run = export_run("plain_decode.json", RecordLevel::counts);
  RecordJsonlReader reader("in.jsonl");
  StepRecord record;
  ASSERT_TRUE(reader.read_header(run.lines.front(), 1).ok());
  for (std::size_t i = 1; i + 1 < run.lines.size(); ++i) {
    EXPECT_TRUE(reader.read_step(run.lines[i], 2, record).value());
    EXPECT_FALSE(reader.end());
  }
  EXPECT_FALSE(reader.read_step(run.lines.back(), 9, record).value());
  EXPECT_EQ(reader.end(), (SessionEnd{.status = SessionStatus::stopped,
                                      .reason = "asked to",
                                      .note = "line 1\nline 2",
                                      .bookmarks = {{2, "here"}},
                                      .num_steps = 5}));
}

TEST(RecordJsonlStep, NamesARequestWhereItFirstOccurs) {
  const ExportedRun run = export_run("shared_prefix_align.json", RecordLevel::blocks);
  std::vector<std::string> names;
  for (std::size_t i = 1; i + 1 < run.lines.size(); ++i) {
    const auto line = nlohmann::json::parse(run.lines[i]);
    if (!line.contains("names")) continue;
    for (const auto& name : line["names"]) names.push_back(name[1]);
  }
  EXPECT_THAT(names, ::testing::ElementsAre("A", "B", "C"));
}

// Damaged lines: an error that says where, never a record that cannot be.

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr const char* kScenario = "align_boundary_by_accepted_drafts.json";

// The error of reading the run with line `number` (from 1) changed.
std::string error_of(std::size_t number, const std::function<void(json&)>& change) {
  ExportedRun run = export_run(kScenario, RecordLevel::full);
  json line = json::parse(run.lines.at(number - 1));
  change(line);
  run.lines[number - 1] = line.dump();
  std::string error;
  read_lines(run.lines, error);
  return error;
}

TEST(RecordJsonlErrors, AreSaidWithLineAndPointer) {
  EXPECT_EQ(error_of(3, [](json& line) { line["rows"][0][2] = "six"; }),
            "in.jsonl:3: /rows/0/2: num_computed_tokens: \"six\", expected an integer from "
            "-2147483648 to 2147483647");
  EXPECT_EQ(error_of(3, [](json& line) { line["rows"][0][3] = 9; }),
            "in.jsonl:3: /rows/0/3: row_class: 9, expected an integer from 0 to 3");
  EXPECT_EQ(error_of(3, [](json& line) { line["rows"][0][1] = 7; }),
            "in.jsonl:3: /rows/0/1: request: 7, expected an integer from -1 to 0");
  EXPECT_THAT(error_of(3, [](json& line) { line["rows"][0].erase(0); }),
              StartsWith("in.jsonl:3: /rows/0"));
  EXPECT_EQ(error_of(2, [](json& line) { line["commands"] = 5; }),
            "in.jsonl:2: /commands: 5, expected an array");
  EXPECT_EQ(error_of(2, [](json& line) { line.erase("digests"); }),
            "in.jsonl:2: /digests/0: commands: missing");
}

TEST(RecordJsonlErrors, NumbersThatPointNowhere) {
  EXPECT_EQ(error_of(3, [](json& line) { line["rows"][0][0] = 4; }),
            "in.jsonl:3: /rows/0/0: 4 is not the scheduled entry of this request");
  EXPECT_EQ(error_of(3, [](json& line) { line["post_copies"][0][0] = 1; }),
            "in.jsonl:3: /post_copies/0: decision 1 of 1");
  EXPECT_THAT(error_of(2, [](json& line) { line["worker_changes"][0][2] = 1 << 30; }),
              HasSubstr("no place in a block table"));
  EXPECT_THAT(error_of(2, [](json& line) { line["cache_events"][0][4] = 16; }),
              HasSubstr("block 16: the model has 2 groups and 16 blocks"));
}

TEST(RecordJsonlErrors, WhatCouldNotBeReadAgain) {
  EXPECT_EQ(error_of(3, [](json& line) { line["rows"].push_back(line["rows"][0]); }),
            "in.jsonl:3: /rows/1/0: 0 has a row before this one");
  EXPECT_EQ(error_of(3, [](json& line) { line["groups"].erase(1); }),
            "in.jsonl:3: /groups: 1 groups, expected 2");
  EXPECT_EQ(error_of(2, [](json& line) { line["names"][0][0] = 60000000; }),
            "in.jsonl:2: /names/0/0: 60000000 is not a number of a request, 0 are named before");
  EXPECT_EQ(error_of(2, [](json& line) { line["names"][0][1] = std::string(4097, 'a'); }),
            "in.jsonl:2: /names/0/1: a name of 4097 bytes, expected at most 4096");
  EXPECT_EQ(error_of(5,
                     [](json& line) {
                       line["bookmarks"] = json::array({json::array({"x", 1})});
                     }),
            "in.jsonl:5: /bookmarks/0: an array of 2, expected [step, note]");
  EXPECT_EQ(error_of(5,
                     [](json& line) {
                       line["bookmarks"] = json::array({json::array({9, "x"})});
                     }),
            "in.jsonl:5: /bookmarks/0/0: no step 9 came before");
}

TEST(RecordJsonlErrors, AMemberOfAnotherTypeIsSaidWhateverItIs) {
  EXPECT_EQ(error_of(5, [](json& line) { line["bookmarks"] = 5; }),
            "in.jsonl:5: /bookmarks: 5, expected an array");
  EXPECT_EQ(error_of(2, [](json& line) { line["names"] = "A"; }),
            "in.jsonl:2: /names: \"A\", expected an array");
  EXPECT_EQ(error_of(1, [](json& line) { line["kind"] = 5; }),
            "in.jsonl:1: /kind: expected one of \"run\", \"judge\", found 5");
  const std::vector<json> values = {
      nullptr, true, -3, 1e99, "", "zz", json::array({1}), json::object({{"a", 1}})};
  const ExportedRun run = export_run(kScenario, RecordLevel::full);
  for (std::size_t i = 0; i < run.lines.size(); ++i) {
    const json whole = json::parse(run.lines[i]);
    for (const auto& [key, member] : whole.items())
      for (const json& value : values) {
        const std::string error =
            error_of(i + 1, [&, name = key](json& line) { line[name] = value; });
        if (value.type() == member.type() || (value.is_number() && member.is_number())) continue;
        EXPECT_THAT(error, StartsWith("in.jsonl:" + std::to_string(i + 1) + ": "))
            << key << " = " << value;
      }
  }
}

TEST(RecordJsonlErrors, StepsGoUp) {
  EXPECT_EQ(error_of(3, [](json& line) { line["step"] = 1; }),
            "in.jsonl:3: /step: 1, expected a number above 1");
  EXPECT_EQ(error_of(3, [](json& line) { line.erase("step"); }),
            "in.jsonl:3: /step: missing, expected a number above 1");
}

TEST(RecordJsonlErrors, TheHeaderIsOne) {
  EXPECT_THAT(error_of(1, [](json& line) { line.erase("hybridscope_session"); }),
              StartsWith("in.jsonl:1: /: no header of a session"));
  EXPECT_EQ(error_of(1, [](json& line) { line["hybridscope_session"] = 2; }),
            "in.jsonl:1: /hybridscope_session: version 2, this program reads 1");
  EXPECT_EQ(error_of(1, [](json& line) { line["columns"]["rows"][0] = "x"; }),
            "in.jsonl:1: /columns: other columns than version 1 has");
  EXPECT_THAT(error_of(1, [](json& line) { line["plan"] = "{}"; }), StartsWith("in.jsonl:1: plan"));
}

TEST(RecordJsonlErrors, TheEndCountsTheSteps) {
  EXPECT_EQ(error_of(5, [](json& line) { line["num_steps"] = 4; }),
            "in.jsonl:5: /num_steps: 4, but 3 steps came before");
  ExportedRun run = export_run(kScenario, RecordLevel::counts);
  run.lines.push_back(run.lines[1]);
  std::string error;
  read_lines(run.lines, error);
  EXPECT_EQ(error, "in.jsonl:6: a line behind the last one of the session");
}

// A number of the line becomes another value.
void change_a_value(json& value) {
  if (value.is_structured() && !value.empty()) {
    auto place = value.begin();
    std::advance(place, draw(0, static_cast<std::int32_t>(value.size()) - 1));
    return change_a_value(*place);
  }
  const std::vector<json> values = {
      -1, 0, 1, 7, 1000000, 2147483648LL, -5000000000LL, 1e99, nullptr, true, "zz", json::array()};
  value = values[static_cast<std::size_t>(draw(0, static_cast<std::int32_t>(values.size()) - 1))];
}

TEST(RecordJsonlErrors, ChangedValuesAndBytesAreReadOrRefused) {
  const std::vector<ExportedRun> runs = {export_run(kScenario, RecordLevel::full),
                                         export_run("v2_slots.json", RecordLevel::full)};
  int refused = 0;
  check_property(800, [&] {
    std::vector<std::string> lines = runs[static_cast<std::size_t>(draw(0, 1))].lines;
    std::string& line =
        lines[static_cast<std::size_t>(draw(1, static_cast<std::int32_t>(lines.size()) - 1))];
    if (one_in(2)) {
      json changed = json::parse(line);
      change_a_value(changed);
      line = changed.dump();
    } else {
      line[static_cast<std::size_t>(draw(0, static_cast<std::int32_t>(line.size()) - 1))] =
          static_cast<char>(draw(0, 255));
    }
    std::string error;
    read_lines(lines, error);
    refused += error.empty() ? 0 : 1;
    RC_ASSERT(error.empty() || error.starts_with("in.jsonl:"));
  });
  EXPECT_GT(refused, 300);
}

}  // namespace
}  // namespace hybridscope::test::record_jsonl_test
