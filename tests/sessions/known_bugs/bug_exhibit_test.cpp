// Files of known bugs.
#include "sessions/known_bugs/bug_exhibit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "core/engine/aligned_split_policies.h"
#include "core/model/checkpoint_layers.h"

namespace hybridscope::bug_exhibit_test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

constexpr std::string_view kFile = "mid-block-chunk-poisons-slot.json";

json sample() {
  return {{"title", "T"},
          {"upstream", {"vLLM #1"}},
          {"function", "f.py, f"},
          {"users_saw", "U."},
          {"mechanism", {"One.", "Two.", "Three."}},
          {"scenario",
           {{"version", 1},
            {"model", "tiny-mamba2"},
            {"settings", {{"mamba_cache_mode", "align"}, {"block_size", 8}}},
            {"requests", json::array({{{"id", "A"}, {"prompt", 6}}})},
            {"expect", {{"findings", json::array({{{"rule", "label-mismatch"}}})}}}}}};
}

std::string error_of(const json& bug, std::string_view file = kFile) {
  const std::string text = bug.dump();
  const auto parsed = parse_bug({.text = text, .file = file});
  return parsed.ok() ? "" : parsed.error().message;
}

TEST(BugExhibits, HaveWordsAndTheRowOfTheirName) {
  const std::string text = sample().dump();
  const auto bug = parse_bug({.text = text, .file = kFile});
  ASSERT_TRUE(bug.ok()) << bug.error().message;
  EXPECT_EQ(bug.value().bug->number, 1);
  EXPECT_EQ(bug.value().title, "T");
  EXPECT_THAT(bug.value().upstream, testing::ElementsAre("vLLM #1"));
  EXPECT_THAT(bug.value().mechanism, testing::ElementsAre("One.", "Two.", "Three."));
}

TEST(BugExhibits, TheFaultyScenarioSetsThePolicyAndTheHealthyOneExpectsNothing) {
  const std::string text = sample().dump();
  const auto bug = parse_bug({.text = text, .file = kFile}).value();
  PolicyOverrides expected;
  expected.set(AlignedSplit::until_last_cache_position);
  EXPECT_EQ(faulty_scenario(bug).settings.policies, expected);
  EXPECT_EQ(faulty_scenario(bug).expect.findings->size(), 1U);
  EXPECT_EQ(healthy_scenario(bug).settings.policies, PolicyOverrides{});
  EXPECT_TRUE(healthy_scenario(bug).expect.findings->empty());
}

TEST(BugExhibits, AFileOfNoRowIsRefused) {
  EXPECT_THAT(error_of(sample(), "mid-block-chunk-poisons-slots.json"),
              HasSubstr("mid-block-chunk-poisons-slots.json: there is no known bug "
                        "\"mid-block-chunk-poisons-slots\", did you mean "
                        "\"mid-block-chunk-poisons-slot\"?"));
}

TEST(BugExhibits, AMechanismHasThreeSentences) {
  json bug = sample();
  bug["mechanism"] = {"One.", "Two."};
  EXPECT_EQ(error_of(bug),
            "mid-block-chunk-poisons-slot.json: /mechanism: 2 sentences (expected 3)");
}

TEST(BugExhibits, OnlyABugOfTheNewestReleaseHasAReport) {
  json bug = sample();
  bug["report"] = {{"place", "P"}, {"when", "W"}, {"tried", "T"}, {"not_tried", {"N."}}};
  EXPECT_EQ(error_of(bug),
            "mid-block-chunk-poisons-slot.json: /report: the newest release, 0.33.0, does not have "
            "the bug");
  const std::string text = bug.dump();
  const auto parsed = parse_bug({.text = text, .file = "skipped-step-forgets-accepted-count.json"});
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  EXPECT_EQ(parsed.value().report->place, "P");
  EXPECT_THAT(parsed.value().report->not_tried, testing::ElementsAre("N."));
  bug["report"].erase("when");
  EXPECT_THAT(error_of(bug, "skipped-step-forgets-accepted-count.json"),
              HasSubstr("/report: key \"when\" is missing"));
}

TEST(BugExhibits, AScenarioThatExpectsNothingIsRefused) {
  json bug = sample();
  bug["scenario"]["expect"] = {{"findings", "none"}};
  EXPECT_THAT(error_of(bug), HasSubstr("/scenario/expect: expects no finding"));
  bug["scenario"].erase("expect");
  EXPECT_THAT(error_of(bug), HasSubstr("/scenario/expect: expects no finding"));
}

TEST(BugExhibits, AScenarioThatSetsAProfileOrTheBugsPolicyIsRefused) {
  json bug = sample();
  bug["scenario"]["settings"]["engine"] = "reference";
  const auto refused = HasSubstr("/scenario/settings: sets a profile or a policy of the bug");
  EXPECT_THAT(error_of(bug), refused);
  bug = sample();
  bug["scenario"]["settings"]["policies"] = {{"aligned_split", "stops_on_grid"}};
  EXPECT_THAT(error_of(bug), refused);
}

TEST(BugExhibits, AScenarioMaySwitchOnWhatTheBugNeeds) {
  json bug = sample();
  bug["scenario"]["settings"]["policies"] = {{"checkpoint_layers", "mamba2"}};
  const auto parsed = parse_bug({.text = bug.dump(), .file = kFile}).value();
  PolicyOverrides expected;
  expected.set(CheckpointLayers::mamba2);
  EXPECT_EQ(healthy_scenario(parsed).settings.policies, expected);
  expected.set(AlignedSplit::until_last_cache_position);
  EXPECT_EQ(faulty_scenario(parsed).settings.policies, expected);
}

TEST(BugExhibits, WhatIsWrongIsNamedWithItsPlace) {
  json bug = sample();
  bug["titel"] = "T";
  EXPECT_THAT(error_of(bug), HasSubstr("unknown key \"titel\", did you mean \"title\"?"));
  bug = sample();
  bug.erase("users_saw");
  EXPECT_THAT(error_of(bug), HasSubstr("users_saw"));
  bug = sample();
  bug["scenario"]["requests"][0]["prompt"] = 0;
  EXPECT_THAT(error_of(bug), HasSubstr("/scenario/requests/0/prompt"));
}

}  // namespace
}  // namespace hybridscope::bug_exhibit_test
