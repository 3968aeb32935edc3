#include "sessions/shrink/shrink_trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "core/engine/policy_table.h"
#include "sessions/judge/pipeline_trace.h"
#include "sessions/shrink/traced_requests.h"
#include "tests/sessions/judge/judged_run.h"
#include "tests/support/golden.h"

namespace hybridscope::shrink_trace_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Trace = std::vector<nlohmann::json>;

Trace pages_trace(const std::string& scenario) {
  return test::trace_of(scenario,
                        [](EngineConfig& config) { config.policies = reference_policies(); });
}

LineSource source_of(const std::string& text) {
  auto at = std::make_shared<std::size_t>(0);
  return LineSource("t.jsonl", [text, at](std::span<char> room) -> Result<std::size_t> {
    const std::size_t count = std::min(room.size(), text.size() - *at);
    std::copy_n(text.begin() + static_cast<std::ptrdiff_t>(*at), count, room.begin());
    *at += count;
    return count;
  });
}

std::string text_of(const Trace& lines) {
  std::string text;
  for (const nlohmann::json& line : lines) text += line.dump() + "\n";
  return text;
}

Result<ShrunkTrace> try_shrink(const std::string& text, const ShrinkOptions& options = {}) {
  LineSource source = source_of(text);
  return shrink_trace(source, "t.jsonl", options);
}

ShrunkTrace shrink(const Trace& lines, const ShrinkOptions& options = {}) {
  return try_shrink(text_of(lines), options).value();
}

std::vector<std::string> requests_of(const std::vector<std::string>& lines) {
  std::vector<std::string> names;
  for (const std::string& line : lines)
    for (const std::string& name : traced_requests(nlohmann::ordered_json::parse(line)))
      if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  return names;
}

// Five requests; C is skipped in step 4 and reads the wrong state in step 5. A trace has the wrong
// accepted count in C's own row, so no other request is needed; in step 4 no request is left.
TEST(ShrinkTrace, OnlyTheRequestThatIsWrongIsLeft) {
  const ShrunkTrace shrunk = shrink(pages_trace("skipped_for_a_step"));
  EXPECT_EQ(shrunk.rule, Rule::running_state_wrong);
  EXPECT_EQ(shrunk.violation_step, 5);
  EXPECT_EQ(shrunk.line, 6);  // the header is line 1
  EXPECT_EQ(shrunk.size_before, (TraceSize{.lines = 6, .requests = 5, .request_steps = 18}));
  EXPECT_EQ(shrunk.size_after, (TraceSize{.lines = 5, .requests = 1, .request_steps = 4}));
  EXPECT_THAT(requests_of(shrunk.lines), ElementsAre("C"));
  EXPECT_THAT(shrunk.text, HasSubstr("step 5 C row 0"));
}

TEST(ShrinkTrace, TheResultHasTheSameFinding) {
  const ShrunkTrace shrunk = shrink(pages_trace("skipped_for_a_step"));
  const test::Judgement judged = test::judge(shrunk.lines);
  EXPECT_EQ(judged.error, "");
  ASSERT_FALSE(judged.findings.empty());
  EXPECT_THAT(judged.findings.front(), HasSubstr("running-state-wrong step 5 C"));
}

TEST(ShrinkTrace, AgainItStaysAsItIs) {
  const ShrunkTrace shrunk = shrink(pages_trace("skipped_for_a_step"));
  std::string text;
  for (const std::string& line : shrunk.lines) text += line + "\n";
  EXPECT_EQ(try_shrink(text).value().lines, shrunk.lines);
}

// B's hit goes beyond what A wrote; without A nothing at all would be there, which is another
// fault.
TEST(ShrinkTrace, WhoWroteWhatIsReadStays) {
  const ShrunkTrace shrunk = shrink(pages_trace("multi_turn_with_drafts"));
  EXPECT_EQ(shrunk.rule, Rule::hit_longer_than_group);
  EXPECT_THAT(requests_of(shrunk.lines), ElementsAre("A", "B"));
}

TEST(ShrinkTrace, LinesThatWereNotChangedStayLetterForLetter) {
  Trace lines = pages_trace("multi_turn_with_drafts");
  const std::string text = text_of(lines);
  const ShrunkTrace shrunk = try_shrink(text).value();
  std::string front;
  for (const std::string& line : shrunk.lines) front += line + "\n";
  EXPECT_EQ(front, text.substr(0, front.size()));
}

TEST(ShrinkTrace, OfSeveralTracesTheOneWithTheFindingIsKept) {
  Trace lines = test::trace_of("plain_decode");
  const auto before = static_cast<std::int64_t>(lines.size());
  for (const nlohmann::json& line : pages_trace("skipped_for_a_step")) lines.push_back(line);
  const ShrunkTrace shrunk = shrink(lines);
  EXPECT_EQ(shrunk.line, before + 6);
  EXPECT_EQ(shrunk.size_before.lines, 6);
  EXPECT_THAT(shrunk.lines.front(), HasSubstr("hybridscope_trace"));
}

TEST(ShrinkTrace, WithoutAFindingThereIsNothingToShrink) {
  const auto none = try_shrink(text_of(test::trace_of("plain_decode")));
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().kind, ErrorKind::not_found);
  const auto other =
      try_shrink(text_of(pages_trace("skipped_for_a_step")), {.rule = Rule::no_progress});
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.error().message, "no finding no-progress");
}

TEST(ShrinkTrace, WhatIsWrongBeforeTheFindingIsNamedWithItsLine) {
  const auto broken = try_shrink("{\"step\": 1}\n");
  ASSERT_FALSE(broken.ok());
  EXPECT_THAT(broken.error().message, HasSubstr("t.jsonl:1: "));
  const auto empty = try_shrink("");
  ASSERT_FALSE(empty.ok());
  EXPECT_EQ(empty.error().message, "t.jsonl: no trace in it, expected a header line");
}

TEST(ShrinkTrace, WhatIsWrongBehindTheFindingIsNotRead) {
  const std::string text = text_of(pages_trace("skipped_for_a_step"));
  EXPECT_TRUE(try_shrink(text + "no JSON\n").ok());
}

TEST(ShrinkTrace, TheLimitOfRunsLeavesTheSmallestSoFar) {
  const ShrunkTrace shrunk = shrink(pages_trace("skipped_for_a_step"), {.max_runs = 2});
  EXPECT_EQ(shrunk.end, ShrinkEnd::run_limit);
  EXPECT_EQ(shrunk.num_runs, 2);
  EXPECT_LE(shrunk.size_after.requests, shrunk.size_before.requests);
  EXPECT_EQ(test::judge(shrunk.lines).error, "");
}

// The 17 cases of docs/trace-format.md that have an error. What is left has that very finding.
TEST(ShrinkTrace, TheReferencesOwnTracesKeepTheirFaults) {
  int shrunk_traces = 0;
  std::int64_t requests_before = 0;
  std::int64_t requests_after = 0;
  test::for_each_line("pipeline", [&](const std::string& line) {
    const auto lines = pipeline_trace(line, "pipeline.jsonl", 1).value();
    std::string text;
    for (const std::string& traced : lines) text += traced + "\n";
    const auto shrunk = try_shrink(text);
    if (!shrunk.ok()) {
      EXPECT_EQ(shrunk.error().kind, ErrorKind::not_found) << shrunk.error().message;
      return;
    }
    ++shrunk_traces;
    requests_before += shrunk.value().size_before.requests;
    requests_after += shrunk.value().size_after.requests;
    const test::Judgement judged = test::judge(shrunk.value().lines);
    EXPECT_EQ(judged.error, "");
    EXPECT_FALSE(judged.findings.empty());
  });
  EXPECT_EQ(shrunk_traces, 17);
  EXPECT_EQ(requests_before, 71);
  EXPECT_EQ(requests_after, 22);
}

}  // namespace
}  // namespace hybridscope::shrink_trace_test
