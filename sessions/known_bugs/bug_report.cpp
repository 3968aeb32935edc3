#include "sessions/known_bugs/bug_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "core/engine/policy_table.h"
#include "sessions/explain/explain_start_up.h"
#include "sessions/scenario/engine_setup.h"
#include "sessions/scenario/scenario_reader.h"
#include "sessions/text/number_words.h"

namespace hybridscope {
namespace {

std::string_view runner_words(ModelRunner runner) {
  return runner == ModelRunner::v1 ? "runner V1" : "runner V2";
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
      runner_name(input.runner),
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

namespace {

constexpr std::size_t kFindingsShown = 3;

// Text of a table cell.
std::string cell(std::string text) {
  for (std::size_t i = 0; (i = text.find('|', i)) != std::string::npos; i += 2)
    text.insert(i, "\\");
  return text;
}

std::string findings_text(const BugSide& side) {
  std::string text;
  std::size_t shown = 0;
  for (const KeptFinding& finding : side.findings.kept()) {
    if (shown++ < kFindingsShown) text += fmt::format("- `{}`\n", finding.text);
  }
  if (shown > kFindingsShown) text += fmt::format("- and {} more\n", shown - kFindingsShown);
  return text;
}

constexpr std::string_view kTableHead =
    "| no. | id | what goes wrong | V1 | V2 |\n|---|---|---|---|---|\n";

std::string row_text(const BugExhibit& exhibit, std::string_view name) {
  const KnownBug& bug = *exhibit.bug;
  return fmt::format("| {} | {} | {} | {} | {} |\n", bug_number(bug), name, cell(exhibit.title),
                     releases_text(bug.v1_releases), releases_text(bug.v2_releases));
}

constexpr std::string_view kOpening =
    R"(# Known bugs

Made by `hybridscope bugs list --markdown` from `sessions/scenario/known_bug_table.cpp` and `scenarios/bugs`; a test compares this page with both.

Each row is a fault that a serving engine had or has, as a value of a policy that switches it on, with a scenario that shows it and, without the policy, finds nothing.
Its file says how it comes about, in which function, and what users saw; `hybridscope bugs show ID` adds the policy, the days and what the scenario finds (`--markdown` for a comment, `--report` for the maintainers of a release).
`hybridscope bugs run ID` runs the scenario with and without it, `hybridscope run SCENARIO.json --engine vllm-0.26.0` any scenario with what that release does, its faults among it.
The columns name the releases of vLLM that have the fault, by runner: first and last, or "from 0.24.0 on" if the newest, 0.33.0, still has it. 0.24.0 has no mode align on V2, 0.32.0 and later have no mode all.
Days are vLLM's too: "until" names the first day without the fault, and a fault whose day of appearance is unknown counts as always present. A profile of a day (`vllm@2026-06-29`) is profile safe with the faults of that day and nothing else of it.
Where two faults share a policy value, a profile of a day that has one of them shows both: no. 6 as long as no. 50 is open, no. 8 as long as no. 8b is.
What users saw is, of a fault that nobody reported, what they would see.

)";

}  // namespace

std::string life_text(const BugLife& life) {
  if (!life.occurs) return "-";
  if (life.appeared && life.fixed)
    return fmt::format("{} to {}", date_text(*life.appeared), date_text(*life.fixed));
  if (life.appeared) return "since " + date_text(*life.appeared);
  return life.fixed ? "until " + date_text(*life.fixed) : "open";
}

std::string releases_text(const ReleaseSpan& releases) {
  if (!releases.first) return "no release";
  const std::string_view first = release_name(*releases.first);
  if (releases.is_open()) return fmt::format("from {} on", first);
  if (*releases.first == releases.last) return std::string(first);
  return fmt::format("{} to {}", first, release_name(releases.last));
}

std::string policies_text(const KnownBug& bug) {
  std::vector<std::string> texts;
  for (const PolicyValue& value : bug.values())
    texts.push_back(fmt::format("`{}` = `{}`", policy_name(value), value_name(value)));
  return fmt::format("{}", fmt::join(texts, " and "));
}

std::string bug_as_markdown(const BugExhibit& exhibit, const BugRun& run, int level) {
  const KnownBug& bug = *exhibit.bug;
  std::string text = fmt::format(
      "{} {}\n\n{}.\n\n", std::string(static_cast<std::size_t>(level), '#'), bug.id, exhibit.title);
  text +=
      fmt::format("- Where: {}\n- Policy: {}\n- Releases: V1: {}; V2: {}\n- Days: V1: {}; V2: {}\n",
                  exhibit.function, policies_text(bug), releases_text(bug.v1_releases),
                  releases_text(bug.v2_releases), life_text(bug.v1), life_text(bug.v2));
  if (!exhibit.upstream.empty())
    text += fmt::format("- Upstream: {}\n", fmt::join(exhibit.upstream, ", "));
  if (!exhibit.dates.empty()) text += fmt::format("- Dates: {}\n", exhibit.dates);
  text += fmt::format("- Users saw: {}\n\n{}\n\n", exhibit.users_saw,
                      fmt::join(exhibit.mechanism, "\n"));
  text +=
      fmt::format("```json\n{}```\n\nFound, in {}:\n\n{}\n", write_scenario(run.faulty.scenario),
                  counted(run.faulty.summary.steps, "step"), findings_text(run.faulty));
  text += fmt::format("Without the policy: {} in {}.\n",
                      run.healthy.findings.num_found(Severity::error) == 0
                          ? "nothing"
                          : counted(run.healthy.findings.num_found(Severity::error), "finding"),
                      counted(run.healthy.summary.steps, "step"));
  return text;
}

std::string bugs_as_markdown_table(std::span<const BugExhibit> exhibits) {
  std::string table(kTableHead);
  for (const BugExhibit& exhibit : exhibits)
    table += row_text(exhibit, fmt::format("`{}`", exhibit.bug->id));
  return table;
}

Result<std::string> known_bugs_page() {
  std::string page = fmt::format("{}{}", kOpening, kTableHead);
  for (const KnownBug& bug : known_bug_table()) {
    const auto exhibit = shipped_bug(bug.id);
    if (!exhibit.ok()) return exhibit.error();
    page += row_text(exhibit.value(), fmt::format("[{0}](../scenarios/bugs/{0}.json)", bug.id));
  }
  page +=
      "\n## Left out\n\nNumbers without an entry, or with one that covers only a part, and "
      "why:\n\n";
  for (const LeftOutBug& bug : left_out_bugs())
    page += fmt::format("- {} {}{}: {}\n", bug.number, bug.id,
                        bug.part.empty() ? "" : fmt::format(", {}", bug.part), bug.reason);
  return page;
}

}  // namespace hybridscope
