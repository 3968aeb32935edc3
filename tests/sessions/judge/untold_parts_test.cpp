// A trace that lacks a member gets the verdict that it has with it, or none: never an all-clear
// where the engine went wrong, and never a finding where it did not.
#include "sessions/judge/judged_trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <ostream>
#include <set>

#include "sessions/explain/finding_roots.h"
#include "sessions/judge/trace_cause.h"
#include "sessions/judge/trace_writer.h"
#include "sessions/known_bugs/bug_exhibit.h"
#include "sessions/run/checked_run.h"
#include "sessions/run/run_plan.h"
#include "sessions/text/input_file.h"
#include "tests/sessions/judge/judged_run.h"
#include "tests/support/property.h"

namespace hybridscope::test::untold_parts_test {
namespace {

using nlohmann::json;
using testing::AnyOf;
using testing::HasSubstr;
using testing::StartsWith;

using Lines = std::vector<json>;

Lines recorded(const std::string& file, const std::string& name) {
  LineSource source = LineSource::open(std::string(HYBRIDSCOPE_SOURCE_DIR) + "/tests/recordings/" +
                                       file + ".jsonl.zst")
                          .value();
  Lines lines;
  bool wanted = false;
  for (auto line = source.next(); line.value(); line = source.next()) {
    json read = json::parse(line.value()->text);
    if (read.contains("config")) wanted = read.at("name") == name;
    if (wanted) lines.push_back(std::move(read));
  }
  return lines;
}

// The faulty run of a known bug.
Lines faulty(const std::string& bug) {
  const Scenario scenario = faulty_scenario(shipped_bug(bug).value());
  CheckedRun run = CheckedRun::create(plan_scenario(scenario, "s.json").value()).value();
  TraceWriter writer(run.engine().config(), traced_requests_of(run.engine()));
  Lines lines = {json::parse(writer.header(bug))};
  while (!run.has_ended()) lines.push_back(json::parse(writer.step(run.step().value().trace)));
  return lines;
}

Judgement judge_as_told(const Lines& lines) {
  std::vector<std::string> text;
  for (const json& line : lines) text.push_back(line.dump());
  return judge(text);
}

// Where a member can be: an object of a line, or several.
using Place = std::function<void(json& line, const std::function<void(json&)>& visit)>;

void visit_each(json& line, const char* pointer, const std::function<void(json&)>& visit) {
  const json::json_pointer path(pointer);
  if (!line.contains(path)) return;
  json& found = line[path];
  if (found.is_array())
    for (json& element : found) visit(element);
  else if (found.is_object())
    visit(found);
}

void visit_values(json& line, const char* member, const std::function<void(json&)>& visit) {
  if (line.contains(member))
    for (json& element : line[member]) visit(element);
}

struct NamedPlace {
  std::string name;
  Place place;
};

NamedPlace at(const char* pointer) {
  return {pointer, [pointer](json& line, const std::function<void(json&)>& visit) {
            visit_each(line, pointer, visit);
          }};
}

std::vector<NamedPlace> places() {
  return {{"", [](json& line, const std::function<void(json&)>& visit) { visit(line); }},
          at("/config"),
          at("/config/kv_cache_groups"),
          at("/scheduler_output"),
          at("/scheduler_output/scheduled_new_reqs"),
          at("/scheduler_output/scheduled_cached_reqs"),
          at("/scheduler_output/kv_cache_block_copies"),
          at("/input_batch"),
          at("/block_hashes"),
          at("/block_hashes/lost"),
          at("/block_hashes/registered"),
          at("/block_hashes_after_output"),
          at("/block_hashes_after_output/lost"),
          at("/preprocess_copies"),
          at("/postprocess_copies"),
          at("/prefill_checkpoints"),
          at("/cudagraph"),
          at("/attn_metadata"),
          {"/attn_metadata/*", [](json& line, const std::function<void(json&)>& visit) {
             visit_values(line, "attn_metadata", visit);
           }}};
}

// What becomes of the verdict without a member, for each: "" where it stays.
std::vector<std::string> changed_verdicts(const Lines& lines) {
  const std::string verdict = judge_as_told(lines).verdict();
  std::vector<std::string> changed;
  for (const NamedPlace& place : places()) {
    std::set<std::string> members;
    for (json line : lines)
      place.place(line, [&](json& object) {
        for (const auto& [member, value] : object.items()) members.insert(member);
      });
    for (const std::string& member : members) {
      Lines without = lines;
      for (json& line : without) place.place(line, [&](json& object) { object.erase(member); });
      const std::string now = judge_as_told(without).verdict();
      if (now != verdict && now != "not judged" && now != "bad input")
        changed.push_back(place.name + "/" + member + ": " + verdict + " becomes " + now);
    }
  }
  return changed;
}

struct Trace {
  const char* name = "";
  std::function<Lines()> lines;
  const char* verdict = "";
};
void PrintTo(const Trace& trace, std::ostream* out) { *out << trace.name; }

class EachMember : public testing::TestWithParam<Trace> {};

TEST_P(EachMember, ThatIsMissingLeavesTheVerdictOrThereIsNone) {
  const Lines lines = GetParam().lines();
  EXPECT_EQ(judge_as_told(lines).verdict(), GetParam().verdict);
  EXPECT_THAT(changed_verdicts(lines), testing::IsEmpty());
}

Trace recording(const char* file, const char* name, const char* verdict) {
  return {name, [=] { return recorded(file, name); }, verdict};
}

Trace bug(const char* name) {
  return {name, [=] { return faulty(name); }, "findings"};
}

Trace scenario(const char* name) {
  return {name, [=] { return trace_of(name); }, "no findings"};
}

// The second half where HYBRIDSCOPE_TIMES asks for more.
std::vector<Trace> some_traces() {
  std::vector<Trace> traces = {recording("0.33.0", "n48_minimal", "findings"),
                               recording("0.33.0_v2", "v2_align_async", "no findings"),
                               recording("older_0.24.0", "n50_minimal", "findings"),
                               recording("0.33.0", "n49_found_c", "no findings"),
                               recording("older_0.33.0_states_inside", "s1_k1", "findings"),
                               recording("older_0.33.0_states_inside", "b57_v1", "no findings"),
                               bug("no-draft-step-reads-column-zero"),
                               bug("reset-discards-later-valid-frames"),
                               scenario("state_inside_a_prefill"),
                               scenario("prefix_cache_reset")};
  if (num_cases(1) == 1) return traces;
  const std::vector<Trace> more = {recording("0.33.0", "a_align_nodraft", "no findings"),
                                   recording("0.33.0", "n49_prompt17_4", "no findings"),
                                   recording("older_0.33.0_states_inside", "b57", "no findings"),
                                   bug("prompt-tail-keyed-after-it-moved-on"),
                                   bug("mid-block-chunk-poisons-slot"),
                                   bug("unreserved-state-spoils-running-block"),
                                   bug("eagle-margin-inflates-hybrid-hit"),
                                   scenario("multi_turn_with_drafts"),
                                   scenario("preemption_and_resume"),
                                   scenario("v2_slots")};
  traces.insert(traces.end(), more.begin(), more.end());
  return traces;
}

INSTANTIATE_TEST_SUITE_P(Of, EachMember, testing::ValuesIn(some_traces()), [](const auto& trace) {
  std::string name = trace.param.name;
  std::ranges::replace(name, '-', '_');
  return name;
});

// Its recorder did not know of states inside prefills; the release says where they were stored.
TEST(StatesInsidePrefills, FollowFromTheReleaseWhereTheTraceDoesNotTellThem) {
  const Judgement judged = judge_as_told(recorded("older_0.33.0_states_inside", "s1_k1"));
  EXPECT_THAT(judged.findings,
              testing::Contains("running-state-wrong step 3 A: expected 64, seen 48"));
}

// The bugs behind the first chain of findings.
std::vector<std::string> causes_of(const Lines& lines) {
  KeptTrace kept;
  kept.begin(lines[0].dump());
  for (std::size_t i = 1; i < lines.size(); ++i) kept.add(lines[i].dump());
  FindingRoots chains;
  JudgedTrace trace("t.jsonl", CheckScope::step);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const auto taken = trace.take(std::string_view(lines[i].dump()), 1).value();
    if (!taken.step) continue;
    for (const Finding& finding : taken.step->findings)
      if (rule_info(finding.rule).severity == Severity::error) chains.add(finding);
  }
  if (chains.roots().empty()) return {};
  std::vector<std::string> ids;
  const auto causes = TraceCauses().find(kept, std::span(chains.roots()).first(1));
  for (const KnownBug* bug : causes[0]) ids.emplace_back(bug->id);
  return ids;
}

TEST(StatesInsidePrefills, ThatFollowFromTheReleaseNameItsBug) {
  EXPECT_THAT(causes_of(recorded("older_0.33.0_states_inside", "s1_k1")),
              testing::ElementsAre("unreserved-state-spoils-running-block"));
}

// As vLLM's wheels for a CUDA version name themselves.
TEST(StatesInsidePrefills, FollowFromAReleaseWithALocalVersion) {
  Lines lines = recorded("older_0.33.0_states_inside", "s1_k1");
  lines[0]["engine"] = "vllm 0.33.0+cu130";
  EXPECT_THAT(judge_as_told(lines).findings,
              testing::Contains("running-state-wrong step 3 A: expected 64, seen 48"));
  EXPECT_THAT(causes_of(lines), testing::ElementsAre("unreserved-state-spoils-running-block"));
}

TEST(StatesInsidePrefills, OfAVersionThatIsNotKnownAreNotJudged) {
  Lines lines = recorded("older_0.33.0_states_inside", "s1_k1");
  for (const char* engine : {"vllm", "vllm 0.34.0", "vllm 0.33.1.dev7+g0123abc"}) {
    lines[0]["engine"] = engine;
    const Judgement judged = judge_as_told(lines);
    EXPECT_EQ(judged.verdict(), "not judged") << engine;
    EXPECT_THAT(judged.untold,
                HasSubstr("neither num_prefill_checkpoint_blocks nor what the metadata says"));
  }
}

// Its recorder told which columns have a hash, and not which of the states a retention interval had
// left without: 0.33.0 keeps those only where hits end.
TEST(CountedHashes, OfAVersionThatIsNotKnownGiveNoAllClear) {
  Lines lines = recorded("older_0.33.0", "b_align_k2");
  lines[0]["config"]["hits_inside_blocks"] = false;  // nor are there states inside prefills
  const Judgement released = judge_as_told(lines);
  lines[0]["engine"] = "vllm 0.34.0";
  const Judgement judged = judge_as_told(lines);
  EXPECT_THAT(judged.untold,
              HasSubstr("neither block_hashes nor config/prefix_cache_retention_interval is told"));
  EXPECT_EQ(judged.findings, released.findings);  // true whatever the interval is
  lines[0]["config"]["prefix_cache_retention_interval"] = nullptr;
  EXPECT_THAT(judge_as_told(lines).untold, testing::Not(HasSubstr("retention_interval")));
}

TEST(StatesInsidePrefills, AreNotComputedWhereTheMetadataShowsOthers) {
  Lines lines = recorded("older_0.33.0_states_inside", "s1_k1");
  lines[2]["attn_metadata"]["0"]["cu_chunk_seqlen_p"] = {0, 8, 24, 32};
  const Judgement judged = judge_as_told(lines);
  EXPECT_EQ(judged.verdict(), "not judged");
  EXPECT_THAT(judged.untold, StartsWith("step 2: prefill_checkpoints is not told"));
}

TEST(Untold, IsSaidWithTheStepThatLacksItFirst) {
  Lines lines = with_all_told(shared_tail());
  lines[2]["scheduler_output"].erase("finished_req_ids");
  EXPECT_EQ(judge_as_told(lines).untold, "step 2: scheduler_output/finished_req_ids is not told");
  lines[0]["config"].erase("runner");
  EXPECT_EQ(judge_as_told(lines).untold, "config/runner is not told");
}

// In step 14 the blocks 12 and 13 are copied for the cache, which keys the copies in their place.
TEST(Untold, LostHashesLeaveOpenWhetherACopiedBlockKeptItsHash) {
  Lines lines = recorded("older_0.33.0_states_inside", "b57_v1");
  EXPECT_EQ(judge_as_told(lines).verdict(), "no findings");
  for (json& line : lines)
    if (line.contains("block_hashes")) line["block_hashes"].erase("lost");
  const Judgement judged = judge_as_told(lines);
  EXPECT_EQ(judged.verdict(), "not judged");
  EXPECT_EQ(judged.untold,
            "step 14: block 15 got the hash of 112 tokens as a copy of block 12, and "
            "block_hashes/lost does not tell whether that kept its own");
}

// In step 1 the scheduler made room for no state inside the prefill.
TEST(Untold, ChunksOfStatesInsidePrefillsAreNotTakenFromTheScheduler) {
  Lines lines = recorded("0.33.0", "n49_found_c");
  for (json& line : lines)
    if (line.contains("attn_metadata")) line["attn_metadata"]["0"].erase("checkpoint_chunk_idx");
  const Judgement judged = judge_as_told(lines);
  EXPECT_EQ(judged.verdict(), "not judged");
  EXPECT_EQ(judged.untold, "step 1: attn_metadata/0/checkpoint_chunk_idx is not told");
}

TEST(Untold, IsNoEndMarkOfAFile) {
  Lines lines = recorded("0.33.0", "a_align_nodraft");
  lines.push_back({{"control", "end"}, {"step", lines.back().at("step")}});
  EXPECT_EQ(judge_as_told(lines).verdict(), "no findings");
}

TEST(Untold, HidesNoFindingThatIsTrueWithoutIt) {
  Lines lines = recorded("0.33.0", "n48_minimal");
  for (json& line : lines) line.erase("cudagraph");
  const Judgement judged = judge_as_told(lines);
  EXPECT_EQ(judged.verdict(), "findings");
}

}  // namespace
}  // namespace hybridscope::test::untold_parts_test
