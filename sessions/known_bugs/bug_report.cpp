#include "sessions/known_bugs/bug_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "sessions/known_bugs/bug_pages.h"
#include "sessions/scenario/release_defaults.h"
#include "sessions/scenario/scenario_writer.h"

namespace hybridscope {
namespace {

std::string_view runner_words(ModelRunner runner) {
  return runner == ModelRunner::v1 ? "runner V1" : "runner V2";
}

std::string_view runner_option(ModelRunner runner) {
  return runner == ModelRunner::v1 ? "v1" : "v2";
}

// "0.24.0 to 0.26.0, mended in 0.27.1"
std::string life_in_releases(const ReleaseSpan& releases) {
  std::string text = releases_text(releases);
  if (releases.first && !releases.is_open())
    text +=
        fmt::format(", mended in {}", release_names()[static_cast<std::size_t>(releases.last) + 1]);
  return text;
}

// Is the finding there that the scenario shows the bug by?
bool shows(const BugSide& side) {
  return std::ranges::any_of(side.findings.kept(),
                             [](const KeptFinding& kept) { return kept.expected; });
}

// Releases before 0.28.0 cache no prefixes of hybrid models unless they are told to.
bool needs_caching(const Scenario& scenario) {
  return !scenario.settings.enable_prefix_caching &&
         scenario.settings.mamba_cache_mode.value_or(MambaCacheMode::none) != MambaCacheMode::none;
}

// "shows it too"
std::string in_release_words(const BugReportInput& input) {
  if (!input.in_release.ok())
    return fmt::format("is refused: {}", input.in_release.error().message);
  return shows(input.in_release.value()) ? "shows it too" : "does not show it";
}

std::string heading(const BugReportInput& input) {
  const BugExhibit& exhibit = input.exhibit;
  std::string text = fmt::format("# {}\n\nIn vLLM {}, {}.\n", exhibit.title,
                                 release_name(input.release), runner_words(input.runner));
  text +=
      fmt::format("{}\nUsers see: {}\n\n", fmt::join(exhibit.mechanism, "\n"), exhibit.users_saw);
  const bool newest = exhibit.report && input.release == kNewestRelease;
  text += fmt::format("- Where: {}\n", newest ? exhibit.report->place : exhibit.function);
  if (exhibit.report) text += fmt::format("- When: {}\n", exhibit.report->when);
  text += fmt::format("- Releases: V1: {}; V2: {}\n", releases_text(exhibit.bug->v1_releases),
                      releases_text(exhibit.bug->v2_releases));
  return text + fmt::format("- Upstream: {}\n",
                            exhibit.upstream.empty()
                                ? "no issue or pull request that we know of"
                                : fmt::format("{}", fmt::join(exhibit.upstream, ", ")));
}

std::string scenario_part(const BugReportInput& input) {
  const std::string id(input.exhibit.bug->id);
  return fmt::format(
      "\n## The smallest scenario\n\nFor hybridscope, with this fault alone, as `{0}.json`:\n\n"
      "```json\n{1}```\n\n`hybridscope run {0}.json` finds:\n\n- {2}\n\n"
      "With everything that {3} does the scenario of the fault (`hybridscope bugs show {0} "
      "--scenario healthy`, run with `--engine vllm-{3} --runner {4}{5}`) {6}.\n",
      id, write_scenario(input.smallest), input.finding, release_name(input.release),
      runner_option(input.runner),
      needs_caching(input.exhibit.scenario) && !default_prefix_caching(input.release)
          ? " --enable-prefix-caching"
          : "",
      in_release_words(input));
}

std::string test_part(const BugReportInput& input) {
  const KnownBug& bug = *input.exhibit.bug;
  const std::string_view test = shipped_bug_test(bug.id);
  if (test.empty()) return "\n## A test\n\nNone is shipped for this fault.\n";
  std::string file(bug.id);
  std::ranges::replace(file, '-', '_');
  return fmt::format(
      "\n## A test that fails\n\nIt needs vLLM and pytest, no GPU:\n\n```sh\n"
      "hybridscope bugs show {0} --test > test_{1}.py\npython -m pytest test_{1}.py\n```\n\n{2}\n\n"
      "```python\n{3}```\n",
      bug.id, file, input.exhibit.report ? input.exhibit.report->tried : "It was not run.", test);
}

std::string not_tried_part(const BugReportInput& input) {
  std::string text = "\n## What was not tried\n\n";
  if (!input.exhibit.report)
    return text +
           "- Nothing was run with the package of this release; the fault is read from its "
           "sources.\n";
  for (const std::string& sentence : input.exhibit.report->not_tried)
    text += fmt::format("- {}\n", sentence);
  return text;
}

}  // namespace

std::optional<ModelRunner> runner_with(const BugExhibit& exhibit, Release release) {
  EngineSettings settings = exhibit.scenario.settings;
  settings.engine = EngineProfile::vllm(release);
  const ModelRunner usual = resolved_runner(settings);
  const ModelRunner other = usual == ModelRunner::v1 ? ModelRunner::v2 : ModelRunner::v1;
  for (const ModelRunner runner : {usual, other})
    if (exhibit.bug->releases(runner).has(release)) return runner;
  return std::nullopt;
}

std::string absence_words(const KnownBug& bug, Release release) {
  return fmt::format("{} is not in {}. Runner V1: {}. Runner V2: {}.", bug.id,
                     release_name(release), life_in_releases(bug.v1_releases),
                     life_in_releases(bug.v2_releases));
}

Result<BugSide> run_bug_in(const BugExhibit& exhibit, Release release, ModelRunner runner) {
  Scenario scenario = exhibit.scenario;
  scenario.settings.engine = EngineProfile::vllm(release);
  scenario.settings.runner = runner;
  if (needs_caching(scenario)) scenario.settings.enable_prefix_caching = true;
  // The release may get there in another step.
  scenario.expect.findings->resize(1);
  scenario.expect.findings->front().step.reset();
  return run_bug_side(std::move(scenario));
}

std::string bug_report(const BugReportInput& input) {
  return heading(input) + scenario_part(input) + test_part(input) + not_tried_part(input);
}

}  // namespace hybridscope
