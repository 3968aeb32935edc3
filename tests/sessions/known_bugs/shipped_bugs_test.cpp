// Every known bug that is part of the program: its scenario shows it, nothing without it does, and
// its report to the maintainers says so.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <utility>

#include "core/engine/scheduler_policies.h"
#include "core/engine/worker_policies.h"
#include "sessions/known_bugs/bug_exhibit.h"
#include "sessions/known_bugs/bug_report.h"
#include "sessions/known_bugs/bug_run.h"
#include "sessions/known_bugs/finding_cause.h"
#include "sessions/run/run_plan.h"
#include "sessions/scenario/scenario_reader.h"

namespace hybridscope::shipped_bugs_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

constexpr std::ptrdiff_t kMostLines = 15;

std::string read_source(const std::string& path) {
  std::ifstream file(std::string(HYBRIDSCOPE_SOURCE_DIR) + "/" + path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string found(const BugSide& side) {
  std::string text;
  for (const KeptFinding& finding : side.findings.kept())
    text += finding.text + (finding.expected ? "\n" : " (not expected)\n");
  for (const std::string& unmet : side.unmet) text += unmet + "\n";
  return text;
}

// A day on which the bug lived, with a runner that had it; nothing for one that was in no release.
std::optional<std::pair<EngineProfile, ModelRunner>> profile_with(const KnownBug& bug) {
  for (const ModelRunner runner : {ModelRunner::v1, ModelRunner::v2})
    for (const CalendarDate& date :
         {CalendarDate{2026, 8, 18}, CalendarDate{2026, 6, 29}, CalendarDate{2026, 3, 3},
          CalendarDate{2026, 2, 8}, CalendarDate{2025, 9, 1}})
      if (bug.life(runner).alive_on(date)) return std::pair(EngineProfile::vllm(date), runner);
  return std::nullopt;
}

class ShippedBug : public testing::TestWithParam<std::string> {
 protected:
  static BugExhibit exhibit() { return shipped_bug(GetParam()).value(); }
};

TEST_P(ShippedBug, ItsFirstFindingIsPutDownToIt) {
  const BugExhibit bug = exhibit();
  const auto run = run_bug_side(faulty_scenario(bug)).value();
  const auto plan = plan_scenario(faulty_scenario(bug), "scenario").value();
  if (run.findings.roots().empty()) {
    ASSERT_FALSE(run.findings.warnings().empty());
    EXPECT_THAT(find_cause(plan, run.findings.warnings()[0].chain.finding).words,
                HasSubstr(std::string(bug.bug->id)));
    return;
  }
  // Bug 52 pads a prompt as bug 8 does, which is found first, and then overwrites a token.
  const std::string id(bug.bug->number == 52 ? "padded-prompt-tail-folds-placeholders"
                                             : bug.bug->id);
  // Bugs 18 and 19 are one policy: 19 reads a wrong conv window first, and is found first.
  const std::size_t root = bug.bug->number == 18 ? 1 : 0;
  const std::string words = find_cause(plan, run.findings.roots()[root].finding).words;
  EXPECT_THAT(words, HasSubstr(id));
  EXPECT_THAT(words, Not(HasSubstr(" or known bug")));
}

// Bugs 12b and 12c are two faults of one sort: without padding a chunk of a prompt is still sorted
// before decode rows, and where only rows with drafts come first, a padded prompt still is.
TEST(RowOrderOfARelease, OneOfItsFaultsStaysWithoutTheOther) {
  const auto wrong_requests = [](std::string_view id, const PolicyValue& without) {
    Scenario scenario = shipped_bug(id).value().scenario;
    scenario.settings.engine = EngineProfile::vllm(Release::v0_33_0);
    scenario.settings.policies.set(without);
    std::vector<std::string> requests;
    const BugSide side = run_bug_side(scenario).value();
    for (const RequestDamage& damage : side.findings.by_request())
      requests.push_back(damage.request);
    return requests;
  };
  constexpr std::string_view kPadded = "padded-prompt-sorted-before-verify-rows";
  constexpr std::string_view kChunk = "full-chunk-sorted-before-decode-rows";
  EXPECT_THAT(wrong_requests(kChunk, OneTokenPrompt::as_is), testing::ElementsAre("T"));
  EXPECT_THAT(wrong_requests(kChunk, FullRowsFirst::of_drafts), testing::IsEmpty());
  // B is wrong by bug 8b.
  EXPECT_THAT(wrong_requests(kPadded, FullRowsFirst::of_drafts), testing::ElementsAre("A", "B"));
  EXPECT_THAT(wrong_requests(kPadded, OneTokenPrompt::as_is), testing::IsEmpty());
}

TEST_P(ShippedBug, ItsScenarioShowsItAndTheHealthyRunIsClean) {
  const auto run = run_bug(exhibit());
  ASSERT_TRUE(run.ok()) << run.error().message;
  EXPECT_TRUE(run.value().faulty.as_declared()) << found(run.value().faulty);
  EXPECT_TRUE(run.value().healthy.as_declared()) << found(run.value().healthy);
  EXPECT_EQ(run.value().healthy.findings.num_found(Severity::error), 0);
}

// Those that were in a release.
class ReleasedBug : public ShippedBug {};

TEST_P(ReleasedBug, AProfileOfADayOnWhichItLivedShowsItsRule) {
  const BugExhibit bug = exhibit();
  const auto profile = profile_with(*bug.bug);
  ASSERT_TRUE(profile);
  BugExhibit dated = bug;
  dated.scenario.settings.engine = profile->first;
  dated.scenario.settings.runner = profile->second;
  const auto run = run_bug(dated);  // the healthy side sets no policy
  ASSERT_TRUE(run.ok()) << run.error().message;
  const std::string& rule = bug.scenario.expect.findings->front().rule;
  EXPECT_TRUE(std::ranges::any_of(
      run.value().healthy.findings.kept(),
      [&](const auto& kept) { return rule_info(kept.finding.rule).slug == rule; }))
      << engine_profile_name(profile->first) << " finds no " << rule << "\n"
      << found(run.value().healthy);
}

// "scenario" is the last member of the file.
TEST_P(ShippedBug, ItsScenarioHasAtMost15Lines) {
  const std::string text = read_source("scenarios/bugs/" + GetParam() + ".json");
  const std::size_t begin = text.find("\"scenario\": {");
  ASSERT_NE(begin, std::string::npos);
  EXPECT_LE(std::count(text.begin() + static_cast<std::ptrdiff_t>(begin), text.end(), '\n') - 1,
            kMostLines);
}

TEST_P(ShippedBug, ItsFaultyScenarioIsAFileThatRunCanRead) {
  const Scenario scenario = faulty_scenario(exhibit());
  const std::string text = write_scenario(scenario);
  const auto read = parse_scenario({.text = text, .file = "x.json"});
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read.value(), scenario);
}

TEST_P(ShippedBug, ItsMarkdownHasWhatAReviewerNeeds) {
  const BugExhibit bug = exhibit();
  const std::string text = bug_as_markdown(bug, run_bug(bug).value(), 3);
  EXPECT_THAT(text, testing::StartsWith("### " + GetParam() + "\n"));
  EXPECT_THAT(text, HasSubstr(bug.function));
  EXPECT_THAT(text, HasSubstr("```json\n{"));
  EXPECT_THAT(text, HasSubstr("Without the policy: nothing in "));
}

std::vector<std::string> ids() {
  std::vector<std::string> all;
  for (const KnownBug& bug : known_bug_table()) all.emplace_back(bug.id);
  return all;
}

std::vector<std::string> released_ids() {
  std::vector<std::string> released;
  for (const KnownBug& bug : known_bug_table())
    if (profile_with(bug)) released.emplace_back(bug.id);
  return released;
}

std::string test_name(const testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::ranges::replace(name, '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Bugs, ShippedBug, testing::ValuesIn(ids()), test_name);
INSTANTIATE_TEST_SUITE_P(Bugs, ReleasedBug, testing::ValuesIn(released_ids()), test_name);

TEST(ShippedBugs, EveryFileHasARowAndEveryRowAFile) {
  std::set<std::string> files;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(HYBRIDSCOPE_SOURCE_DIR) + "/scenarios/bugs"))
    files.insert(entry.path().stem().string());
  const auto rows = ids();
  EXPECT_EQ(files, std::set<std::string>(rows.begin(), rows.end()));
}

TEST(ShippedBugs, EveryNumberOfTheNotesHasAnEntryOrAReason) {
  std::set<std::int32_t> numbers;
  for (const KnownBug& bug : known_bug_table()) numbers.insert(bug.number);
  for (const LeftOutBug& bug : left_out_bugs()) {
    EXPECT_EQ(numbers.contains(bug.number), !bug.part.empty()) << bug.number;
    if (bug.part.empty()) numbers.insert(bug.number);
    EXPECT_FALSE(bug.reason.empty());
  }
  numbers.erase(0);
  // There are no numbers 10, 16, 22 to 24, 29 to 31 and 45.
  std::set<std::int32_t> all;
  for (std::int32_t number = 1; number <= 59; ++number) all.insert(number);
  for (const std::int32_t number : {10, 16, 22, 23, 24, 29, 30, 31, 45}) all.erase(number);
  EXPECT_EQ(numbers, all);
}

TEST(ShippedBugs, ThePageIsMadeOfTheTable) {
  const auto page = known_bugs_page();
  ASSERT_TRUE(page.ok()) << page.error().message;
  const std::string shipped = read_source("docs/known-bugs.md");
  const std::size_t answers = shipped.find("\n## What a language model says\n");
  EXPECT_EQ(shipped.substr(0, answers), page.value())
      << "hybridscope bugs list --markdown > docs/known-bugs.md";
}

// A stale frame takes more off the count than there is: the next row has more drafts than tokens.
TEST(DatedProfiles, AResetOfAPaddedPromptInFlightEndsInFindingsNotInACrash) {
  for (const std::string_view engine : {"reference", "vllm@2026-06-29"}) {
    const std::string text = R"({"version": 1, "model": "tiny-mamba2", "settings": {
      "mamba_cache_mode": "align", "block_size": 4, "num_gpu_blocks_override": 40,
      "max_model_len": 96, "max_num_seqs": 2, "max_num_batched_tokens": 8, "engine": ")" +
                             std::string(engine) + R"(",
      "speculative_config": {"num_speculative_tokens": 3}},
      "requests": [{"id": "A", "prompt": 6, "max_tokens": 30},
                   {"id": "Z", "prompt": 1, "max_tokens": 4, "at_step": 2}],
      "script": [{"step": 3, "reset_prefix_cache": {"running": true}}]})";
    const auto scenario = parse_scenario({.text = text, .file = "s.json"});
    ASSERT_TRUE(scenario.ok()) << scenario.error().message;
    BugExhibit exhibit = shipped_bug("17").value();
    exhibit.scenario = scenario.value();
    const auto run = run_bug(exhibit);
    ASSERT_TRUE(run.ok()) << run.error().message;
    EXPECT_GT(run.value().healthy.findings.num_found(Severity::error), 0) << engine;
  }
}

TEST(ShippedBugs, AnUnknownOneIsNotFound) {
  const auto bug = shipped_bug("no-such-bug");
  ASSERT_FALSE(bug.ok());
  EXPECT_EQ(bug.error().kind, ErrorKind::not_found);
}

// Reports of known bugs to the maintainers of a release.

std::string report_of(const std::string& name, Release release) {
  const BugExhibit exhibit = shipped_bug(name).value();
  const ModelRunner runner = runner_with(exhibit, release).value();
  const Scenario smallest = faulty_scenario(exhibit);
  const Result<BugSide> in_release = run_bug_in(exhibit, release, runner);
  return bug_report({.exhibit = exhibit,
                     .release = release,
                     .runner = runner,
                     .smallest = smallest,
                     .finding = "FINDING",
                     .in_release = in_release});
}

TEST(BugReport, HasWhatMaintainersNeed) {
  const std::string report = report_of("48", Release::v0_33_0);
  EXPECT_THAT(report,
              StartsWith("# A request that is skipped for a step forgets how many tokens were "
                         "accepted\n\nIn vLLM 0.33.0, runner V1.\n"
                         "A running request that gets no tokens in a step leaves the persistent "
                         "batch.\n"));
  EXPECT_THAT(report, HasSubstr("\n- Where: v1/worker/gpu_input_batch.py:479, "
                                "InputBatch.add_request\n- When: Runner V1 with drafts, "));
  EXPECT_THAT(report, HasSubstr("\n- Upstream: no issue or pull request that we know of\n"));
  EXPECT_THAT(report, HasSubstr("\"policies\": {\"accepted_count_owner\": \"persistent_row\"}"));
  EXPECT_THAT(report, HasSubstr("finds:\n\n- FINDING\n"));
  EXPECT_THAT(report, HasSubstr("run with `--engine vllm-0.33.0 --runner v1`) shows it too.\n"));
  EXPECT_THAT(report, HasSubstr("\npython -m pytest "
                                "test_skipped_step_forgets_accepted_count.py\n"));
  EXPECT_THAT(report, HasSubstr("Fails with vllm 0.33.0 on a CPU (2026-11-25): the row of a "
                                "request that comes back after a step has the count 1 instead of "
                                "2."));
  EXPECT_THAT(report, HasSubstr("    assert batch.num_accepted_tokens_cpu[row] == 2\n```\n"));
  EXPECT_THAT(report, HasSubstr("\n## What was not tried\n\n- No model was run: "));
}

// Of an older release only the fault's function is known, and no package of it was run.
TEST(BugReport, OfAnOlderReleaseSaysThatNothingWasRun) {
  const std::string report = report_of("1", Release::v0_26_0);
  EXPECT_THAT(report, HasSubstr("\nIn vLLM 0.26.0, runner V1.\n"));
  EXPECT_THAT(report, HasSubstr("\n- Where: v1/core/sched/scheduler.py, "));
  EXPECT_THAT(report, HasSubstr("\nNone is shipped for this fault.\n"));
  EXPECT_THAT(report, HasSubstr("\n- Nothing was run with the package of this release; the fault "
                                "is read from its sources.\n"));
  EXPECT_THAT(report, AllOf(Not(HasSubstr("0.33.0")), Not(HasSubstr("- When:"))));
}

TEST(BugReport, SaysHowTheReleaseRunsTheScenario) {
  EXPECT_THAT(
      report_of("1", Release::v0_24_0),
      HasSubstr("run with `--engine vllm-0.24.0 --runner v1 --enable-prefix-caching`) shows "
                "it too.\n"));
  EXPECT_THAT(report_of("deferred-frees-preempt-for-ever", Release::v0_29_0),
              HasSubstr("run with `--engine vllm-0.29.0 --runner v2`) shows it too.\n"));
}

TEST(BugReport, AFaultThatIsMendedSaysInWhichRelease) {
  const BugExhibit split = shipped_bug("1").value();
  EXPECT_EQ(runner_with(split, Release::v0_33_0), std::nullopt);
  EXPECT_EQ(absence_words(*split.bug, Release::v0_33_0),
            "mid-block-chunk-poisons-slot is not in 0.33.0. Runner V1: 0.24.0 to 0.26.0, mended "
            "in 0.27.1. Runner V2: 0.25.1 to 0.26.0, mended in 0.27.1.");
  EXPECT_EQ(absence_words(*shipped_bug("32").value().bug, Release::v0_33_0),
            "stale-mamba-state-idx-after-reset is not in 0.33.0. Runner V1: no release. Runner V2: "
            "no release.");
}

// 0.33.0 runs V2 by default, which does not have no. 48, and 0.28.0 V1.
TEST(BugReport, TheRunnerIsOneThatHasTheBug) {
  EXPECT_EQ(runner_with(shipped_bug("48").value(), Release::v0_33_0), ModelRunner::v1);
  EXPECT_EQ(runner_with(shipped_bug("49").value(), Release::v0_33_0), ModelRunner::v2);
  EXPECT_EQ(runner_with(shipped_bug("49").value(), Release::v0_28_0), ModelRunner::v1);
  EXPECT_EQ(runner_with(shipped_bug("3").value(), Release::v0_27_1), ModelRunner::v2);
}

class ReportedBugs : public testing::TestWithParam<std::string> {};

TEST_P(ReportedBugs, HaveAReportAndATest) {
  const BugExhibit exhibit = shipped_bug(GetParam()).value();
  ASSERT_TRUE(exhibit.report);
  EXPECT_FALSE(exhibit.report->not_tried.empty());
  EXPECT_THAT(exhibit.report->tried, StartsWith("Fails with vllm 0.33.0 on a CPU ("));
  EXPECT_THAT(std::string(shipped_bug_test(GetParam())),
              AllOf(StartsWith("\"\"\"Known bug " + bug_number(*exhibit.bug) + ": "),
                    HasSubstr("\ndef test_")));
}

TEST_P(ReportedBugs, AreShownByTheirScenarioUnderEverythingThatTheReleaseDoes) {
  EXPECT_THAT(report_of(GetParam(), kNewestRelease), HasSubstr(") shows it too.\n"));
}

// By everything that each release does: the finding is there in the releases of its row, whichever
// runner.
TEST(BugReleases, EachBugIsShownByItsScenarioInTheReleasesOfItsRow) {
  std::int64_t num_shown = 0;
  for (const KnownBug& bug : known_bug_table()) {
    // With what 0.26.0 and later hold for frames in flight its requests do not fit the pool, and
    // before that its frees are not late enough.
    if (bug.id == "deferred-frees-preempt-for-ever") continue;
    // Users saw it with a KV connector; its scenario, without one, has drafts in mode all on V2,
    // which these releases do not support.
    if (bug.id == "stale-accepted-count-on-slot-reuse") continue;
    const BugExhibit exhibit = shipped_bug(bug.id).value();
    for (std::size_t index = 0; index < release_names().size(); ++index) {
      const auto release = static_cast<Release>(index);
      const auto runner = runner_with(exhibit, release);
      if (!runner) continue;
      const auto side = run_bug_in(exhibit, release, *runner);
      ASSERT_TRUE(side.ok()) << bug.id << ' ' << release_name(release) << side.error().message;
      EXPECT_TRUE(std::ranges::any_of(side.value().findings.kept(),
                                      [](const KeptFinding& kept) { return kept.expected; }))
          << bug.id << ' ' << release_name(release);
      ++num_shown;
    }
  }
  EXPECT_GE(num_shown, 100);
}

std::set<std::string> bugs_of_the_newest_release() {
  std::set<std::string> ids;
  for (const KnownBug& bug : known_bug_table())
    if (bug.v1_releases.is_open() || bug.v2_releases.is_open()) ids.emplace(bug.id);
  return ids;
}

INSTANTIATE_TEST_SUITE_P(Newest, ReportedBugs, testing::ValuesIn(bugs_of_the_newest_release()),
                         [](const auto& bug) {
                           std::string name = bug.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

TEST(BugTests, AreThoseOfTheNewestRelease) {
  std::set<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(std::string(HYBRIDSCOPE_SOURCE_DIR) +
                                                               "/integrations/vllm/bug_tests"))
    if (entry.path().extension() == ".py") files.insert(entry.path().stem().string());
  EXPECT_EQ(files, bugs_of_the_newest_release());
  EXPECT_EQ(shipped_bug_test("mid-block-chunk-poisons-slot"), "");
}

}  // namespace
}  // namespace hybridscope::shipped_bugs_test
