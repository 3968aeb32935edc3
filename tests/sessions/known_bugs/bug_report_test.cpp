// Reports of known bugs to the maintainers of a release.
#include "sessions/known_bugs/bug_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>

namespace hybridscope::bug_report_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

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
}  // namespace hybridscope::bug_report_test
