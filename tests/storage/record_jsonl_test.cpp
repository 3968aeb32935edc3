#include "storage/record_jsonl.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/storage/exported_run.h"

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

}  // namespace
}  // namespace hybridscope::test::record_jsonl_test
