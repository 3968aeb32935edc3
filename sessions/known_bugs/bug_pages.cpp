#include "sessions/known_bugs/bug_pages.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "core/engine/policy_table.h"
#include "sessions/known_bugs/bug_exhibit.h"
#include "sessions/scenario/scenario_writer.h"
#include "sessions/text/number_words.h"

namespace hybridscope {
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

Each entry is a fault that a serving engine had or has, as a value of a policy that switches it on, with a scenario that shows it and, without the policy, finds nothing.
`hybridscope bugs run ID` runs both, `hybridscope run SCENARIO.json --engine vllm-0.26.0` any scenario with what that release does, its faults among it.
`hybridscope bugs show ID --report` writes what the maintainers of a release need to know of it.
The columns name the releases of vLLM that have the fault, by runner: first and last, or "from 0.24.0 on" if the newest, 0.33.0, still has it. 0.24.0 has no mode align on V2, 0.32.0 and later have no mode all.
Days are vLLM's too: "until" names the first day without the fault, and a fault whose day of appearance is unknown counts as always present. A profile of a day (`vllm@2026-06-29`) is profile safe with the faults of that day and nothing else of it.
Where two faults share a policy value, a profile of a day that has one of them shows both: no. 6 as long as no. 50 is open, no. 8 as long as no. 8b is.
"Users saw" of entries without a report is what users would see.

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
  std::string table = fmt::format("{}{}", kOpening, kTableHead);
  std::string entries;
  for (const KnownBug& bug : known_bug_table()) {
    const auto exhibit = shipped_bug(bug.id);
    if (!exhibit.ok()) return exhibit.error();
    const auto run = run_bug(exhibit.value());
    if (!run.ok()) return run.error();
    table += row_text(exhibit.value(), fmt::format("[{0}](#{0})", bug.id));
    entries += '\n' + bug_as_markdown(exhibit.value(), run.value());
  }
  std::string left_out =
      "\n## Left out\n\nNumbers without an entry, or with one that covers only a part, and "
      "why:\n\n";
  for (const LeftOutBug& bug : left_out_bugs())
    left_out += fmt::format("- {} {}{}: {}\n", bug.number, bug.id,
                            bug.part.empty() ? "" : fmt::format(", {}", bug.part), bug.reason);
  return table + entries + left_out;
}

}  // namespace hybridscope
