// The reference's chained vectors, judged: what is found, and which known bug explains it
// (docs/trace-format.md, "What the reference's own vectors show").
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "sessions/judge/pipeline_trace.h"
#include "tests/sessions/judge/judged_run.h"
#include "tests/support/golden.h"

namespace hybridscope::test::pipeline_trace_test {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::StartsWith;

std::map<std::string, std::vector<std::string>> pipeline_traces() {
  std::map<std::string, std::vector<std::string>> traces;
  std::int64_t number = 0;
  for_each_line("pipeline", [&](const std::string& line) {
    auto lines = pipeline_trace(line, "pipeline.jsonl", ++number).value();
    const std::string name = nlohmann::json::parse(lines[0])["name"];
    traces.emplace(name, std::move(lines));
  });
  return traces;
}

// Errors only, "slug REQUEST", the first of each.
std::map<std::string, std::string> first_findings(const Judgement& judgement) {
  std::map<std::string, std::string> first;
  for (const std::string& text : judgement.findings) {
    if (text.starts_with("chunk-off-grid") || text.starts_with("drafts-cut")) continue;
    const std::size_t step = text.find(" step ");
    const std::size_t name = text.find(' ', step + 6);
    first.try_emplace(text.substr(name + 1, text.find(':') - name - 1), text);
  }
  return first;
}

TEST(PipelineTrace, Pipe46ReadsTheStateOfSevenTokensWhereEightWereAccepted) {
  const Judgement judgement = judge(pipeline_traces().at("pipe_46"));
  EXPECT_EQ(judgement.error, "");
  EXPECT_THAT(judgement.findings, Contains("running-state-wrong step 13 r5: expected 8, seen 7"));
}

// Case and request -> known bug that explains its first finding.
const std::map<std::pair<std::string, std::string>, std::pair<int, std::string>> kExplained = {
    {{"pipe_1", "r3"}, {8, "running-state-wrong step 5"}},
    {{"pipe_15", "r1"}, {8, "running-state-wrong step 4"}},
    {{"pipe_15", "r2"}, {8, "running-state-wrong step 6"}},
    {{"pipe_22", "r3"}, {8, "running-state-wrong step 6"}},
    {{"pipe_24", "r3"}, {8, "running-state-wrong step 6"}},
    {{"pipe_28", "r3"}, {2, "hit-longer-than-group step 6"}},
    {{"pipe_31", "r1"}, {2, "hit-longer-than-group step 4"}},
    {{"pipe_37", "r4"}, {8, "running-state-wrong step 11"}},
    {{"pipe_42", "r3"}, {2, "hit-longer-than-group step 4"}},
    {{"pipe_42", "r5"}, {2, "hit-longer-than-group step 8"}},
    {{"pipe_44", "r2"}, {1, "label-mismatch step 3"}},
    {{"pipe_46", "r5"}, {48, "running-state-wrong step 13"}},
    {{"pipe_67", "r1"}, {8, "running-state-wrong step 4"}},
    {{"pipe_68", "r4"}, {8, "running-state-wrong step 8"}},
    {{"pipe_78", "r2"}, {8, "running-state-wrong step 3"}},
    {{"pipe_79", "r5"}, {8, "running-state-wrong step 15"}},
    {{"pipe_93", "r3"}, {8, "running-state-wrong step 7"}},
    {{"pipe_98", "r3"}, {8, "running-state-wrong step 6"}},
    {{"pipe_98", "r4"}, {8, "running-state-wrong step 6"}},
    {{"pipe_106", "r2"}, {8, "running-state-wrong step 4"}},
};

// Had the request a padded one-token prompt (drafts of -1) before this step?
bool was_padded(const std::vector<std::string>& lines, const std::string& request) {
  for (const std::string& line : lines) {
    const auto drafts = nlohmann::json::parse(line)
                            .value("scheduler_output", nlohmann::json::object())
                            .value("scheduled_spec_decode_tokens", nlohmann::json::object());
    if (drafts.contains(request) && drafts[request][0] == -1) return true;
  }
  return false;
}

TEST(PipelineTrace, EveryFindingInTheReferencesVectorsIsAKnownBug) {
  std::map<std::pair<std::string, std::string>, std::string> found;
  for (const auto& [name, lines] : pipeline_traces()) {
    const Judgement judgement = judge(lines);
    EXPECT_EQ(judgement.error, "") << name;
    for (const auto& [request, text] : first_findings(judgement)) found[{name, request}] = text;
  }
  for (const auto& [place, text] : found)
    EXPECT_TRUE(kExplained.contains(place)) << place.first << " " << place.second << ": " << text;
  for (const auto& [place, expected] : kExplained) {
    ASSERT_TRUE(found.contains(place)) << place.first << " " << place.second;
    EXPECT_THAT(found.at(place), StartsWith(expected.second)) << place.first;
  }
}

TEST(PipelineTrace, RequestsExplainedByKnownBug8HadAPaddedPrompt) {
  const auto traces = pipeline_traces();
  for (const auto& [place, expected] : kExplained) {
    if (expected.first != 8) continue;
    EXPECT_TRUE(was_padded(traces.at(place.first), place.second)) << place.first;
  }
}

TEST(PipelineTrace, AVectorWithoutAMemberIsNamedWithLineAndPlace) {
  const auto lines = pipeline_trace(R"({"id": "x", "config": {}})", "p.jsonl", 7);
  ASSERT_FALSE(lines.ok());
  EXPECT_THAT(lines.error().message, StartsWith("p.jsonl:7: "));
}

}  // namespace
}  // namespace hybridscope::test::pipeline_trace_test
