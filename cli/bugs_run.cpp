#include "cli/bugs_command.h"

#include <fmt/core.h>
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/common_options.h"
#include "cli/process.h"
#include "cli/test_reports.h"
#include "core/check/finding.h"
#include "core/engine/releases.h"
#include "sessions/job/right_command.h"
#include "sessions/job/state_option.h"
#include "sessions/job/step_files.h"
#include "sessions/job/version.h"
#include "sessions/known_bugs/bug_report.h"
#include "sessions/known_bugs/bug_run.h"
#include "sessions/run/finding_list.h"
#include "sessions/shrink/shrink_scenario.h"
#include "sessions/text/number_words.h"
#include "sessions/text/text_page.h"
#include "sessions/weights/load_model.h"

namespace hybridscope {
namespace {

// The smaller of the bug's scenario and what is left of it after shrinking, and what it finds.
struct Smallest {
  Scenario scenario = {};
  std::string finding = {};
};

// The rule that the scenario shows the bug by.
std::optional<Rule> shown_rule(const BugExhibit& exhibit) {
  for (const RuleInfo& info : rule_table())
    if (info.slug == exhibit.scenario.expect.findings->front().rule) return info.rule;
  return std::nullopt;
}

std::string first_finding(const BugSide& side, std::optional<Rule> rule) {
  for (const KeptFinding& kept : side.findings.kept())
    if (!rule || kept.finding.rule == *rule) return kept.text;
  return {};
}

// Error: the engine refuses the scenario.
Result<Smallest> smallest_scenario(const BugExhibit& exhibit) {
  const std::optional<Rule> rule = shown_rule(exhibit);
  const Scenario faulty = faulty_scenario(exhibit);
  auto shrunk = shrink_scenario(faulty, {.rule = rule});
  if (shrunk.ok() && shrunk.value().size_after < shrunk.value().size_before)
    return Smallest{std::move(shrunk.value().scenario), std::move(shrunk.value().text)};
  const auto side = run_bug_side(faulty);
  if (!side.ok()) return side.error();
  return Smallest{faulty, first_finding(side.value(), rule)};
}

}  // namespace

int print_bug_report(const BugExhibit& exhibit, const std::string& release_text) {
  const Release release = release_text.empty() ? kNewestRelease : *parse_release(release_text);
  const std::optional<ModelRunner> runner = runner_with(exhibit, release);
  if (!runner) {
    fmt::print("{}\n", absence_words(*exhibit.bug, release));
    return kExitFine;
  }
  const auto smallest = smallest_scenario(exhibit);
  if (!smallest.ok()) return fail_bugs("show", smallest.error());
  const auto in_release = run_bug_in(exhibit, release, *runner);
  fmt::print("{}", bug_report({.exhibit = exhibit,
                               .release = release,
                               .runner = *runner,
                               .smallest = smallest.value().scenario,
                               .finding = smallest.value().finding,
                               .in_release = in_release}));
  return kExitFine;
}

int print_bug_test(const BugExhibit& exhibit) {
  const std::string_view test = shipped_bug_test(exhibit.bug->id);
  if (test.empty())
    return report_usage("bugs show", fmt::format("--test: {} has none; bugs of the newest release "
                                                 "do (hybridscope bugs list --engine vllm)",
                                                 exhibit.bug->id));
  fmt::print("{}", test);
  return kExitFine;
}

namespace {

using Json = nlohmann::ordered_json;

struct BugsRunOptions {
  std::vector<std::string> names;
  bool json = false;
  bool all = false;
  bool explain = false;
  std::string junit;
  StateOption state;  // the language model that runs on both sides
  bool markdown = false;
};

struct RanBug {
  BugExhibit exhibit;
  BugRun run;
  std::optional<SpokenBug> spoken;
};

// What differs from the bug's file, for JUnit and for the text output.
TestedUnit tested_side(const BugExhibit& exhibit, const BugSide& side, std::string_view which) {
  TestedUnit unit{.name = fmt::format("{} {}", exhibit.bug->id, which),
                  .file = fmt::format("scenarios/bugs/{}.json", exhibit.bug->id),
                  .result = side.as_declared() ? "ok" : "unmet",
                  .steps = side.summary.steps,
                  .findings = side.findings.num_found(Severity::error),
                  .properties = {{"version", kVersion}},
                  .command = fmt::format("hybridscope bugs run {}", exhibit.bug->id)};
  add_problems(side.findings,
               {.strict = true,
                .line = [](std::size_t) { return std::int64_t{0}; },
                .command = [&](std::int64_t) { return unit.command; }},
               unit);
  for (const std::string& unmet : side.unmet)
    unit.problems.push_back({.type = "expect", .text = "expectation not met: " + unmet});
  return unit;
}

Json side_json(const BugSide& side) {
  Json findings = Json::array();
  for (const KeptFinding* finding : side.findings.shown()) findings.push_back(*finding->json);
  return {{"as_declared", side.as_declared()},
          {"steps", side.summary.steps},
          {"num_findings", side.findings.num_found(Severity::error)},
          {"unmet", side.unmet},
          {"roots", side.findings.roots_json()},
          {"findings", findings}};
}

Json runs_to_json(const std::vector<RanBug>& bugs) {
  Json json = Json::array();
  for (const auto& [exhibit, run, spoken] : bugs) {
    json.push_back({{"id", exhibit.bug->id},
                    {"as_declared", run.as_declared()},
                    {"faulty", side_json(run.faulty)},
                    {"healthy", side_json(run.healthy)}});
    if (spoken) json.back()["answers"] = spoken_bug_json(*spoken);
  }
  return json;
}

std::string found_words(const BugSide& side) {
  std::string words = counted(side.findings.num_found(Severity::error), "finding");
  if (const std::int64_t warnings = side.findings.num_found(Severity::warning); warnings > 0)
    words += " and " + counted(warnings, "warning");
  return words;
}

void print_side(std::FILE* out, const BugSide& side, std::string_view which) {
  fmt::print(out, "{:<8} {} in {}: {}\n", which, found_words(side),
             counted(side.summary.steps, "step"),
             side.as_declared() ? "as declared" : "not as declared");
  fmt::print(out, "{}", indented(side.findings.format_roots()));
  for (const KeptFinding& finding : side.findings.kept())
    if (!finding.expected) fmt::print(out, "  not expected: {}\n", printable(finding.text, 1000));
  if (const std::string note = side.findings.fresh_arrays_note(); !note.empty())
    fmt::print(out, "  {}\n", note);
  for (const std::string& unmet : side.unmet) fmt::print(out, "  {}\n", unmet);
}

void print_explanation(std::FILE* out, const BugSide& faulty) {
  if (!faulty.explanation.empty())
    fmt::print(out, "\nThe first wrong step, {}:\n\n{}", faulty.first_step, faulty.explanation);
}

void print_run(std::FILE* out, const RanBug& bug) {
  fmt::print(out, "{}: {}\n", bug.exhibit.bug->id, printable(bug.exhibit.title, kBugTitleColumns));
  print_side(out, bug.run.faulty, "faulty");
  print_side(out, bug.run.healthy, "healthy");
  if (bug.spoken) fmt::print(out, "{}", format_spoken_bug(*bug.spoken));
}

void print_markdown(const std::vector<RanBug>& bugs) {
  std::vector<std::pair<std::string, SpokenBug>> spoken;
  for (const RanBug& bug : bugs) spoken.emplace_back(bug.exhibit.bug->id, *bug.spoken);
  fmt::print("{}", spoken_bugs_section(spoken));
}

void print_table(std::FILE* out, const std::vector<RanBug>& bugs) {
  TextTable table({"<result", "findings", "warnings", "steps", "healthy", "<id"});
  std::size_t wrong = 0;
  for (const auto& [exhibit, run, spoken] : bugs) {
    wrong += run.as_declared() ? 0 : 1;
    table.add({run.as_declared() ? "ok" : "differs",
               std::to_string(run.faulty.findings.num_found(Severity::error)),
               std::to_string(run.faulty.findings.num_found(Severity::warning)),
               std::to_string(run.faulty.summary.steps),
               std::to_string(run.healthy.findings.num_found(Severity::error)),
               std::string(exhibit.bug->id)});
  }
  fmt::print(out, "{}\n", table.format());
  for (const RanBug& bug : bugs)
    if (!bug.run.as_declared()) print_run(out, bug);
  fmt::print(out, "{}: {}\n", counted(static_cast<std::int64_t>(bugs.size()), "known bug"),
             wrong == 0 ? "all are found, and nothing without them"
                        : fmt::format("{} not as declared", wrong));
}

void print_text(std::FILE* out, const BugsRunOptions& options, const std::vector<RanBug>& bugs) {
  if (bugs.size() == 1 || options.explain) {
    for (const RanBug& bug : bugs) {
      print_run(out, bug);
      if (options.explain) print_explanation(out, bug.run.faulty);
      if (bugs.size() > 1) fmt::print(out, "\n");
    }
    if (bugs.size() == 1) {
      if (!options.explain)
        fmt::print(out, "next: hybridscope bugs run {} --explain\n", bugs[0].exhibit.bug->id);
      return;
    }
  }
  print_table(out, bugs);
}

// The shipped model where none is named.
Result<LanguageModel> load_bug_model(StateOption state, const Backends& backends) {
  if (state.is_numeric() && state.weights.empty()) {
    auto folder = find_shipped_model();
    if (!folder.ok()) return folder.error();
    state.weights = std::move(folder).value();
  }
  return load_language(state, backends);
}

Status check_options(const BugsRunOptions& options) {
  if (options.markdown && !options.state.is_numeric())
    return invalid_input("--markdown is for --state numeric");
  StateOption state = options.state;
  if (state.is_numeric() && state.weights.empty()) state.weights = kShippedModel;
  return check_language_option(state);
}

int run_bugs_command(const BugsRunOptions& options, const Backends& backends) {
  if (const Status fit = check_options(options); !fit.ok())
    return report_usage("bugs run", fit.error().message);
  const OutputTarget junit{"--junit", options.junit};
  if (const Status apart =
          check_files({.inputs = {{"of the language model", options.state.weights}},
                       .outputs = {document("--json", options.json), junit}});
      !apart.ok())
    return report_usage("bugs run", apart.error().message);
  std::vector<std::string> names = options.names;
  if (options.all)
    for (const KnownBug& bug : known_bug_table()) names.emplace_back(bug.id);
  if (names.empty()) {
    return report_usage("bugs run", "name a bug (bugs list has them), or --all");
  }
  const auto language = load_bug_model(options.state, backends);
  if (!language.ok()) return fail_bugs("run", language.error());
  std::vector<RanBug> bugs;
  std::vector<TestedUnit> units;
  for (const std::string& name : names) {
    auto exhibit = shipped_bug(name);
    if (!exhibit.ok())
      return fail_bugs("run", name_right_command("bugs run", name, exhibit.error()));
    auto run = run_bug(exhibit.value(), language.value());
    if (!run.ok()) return fail_bugs("run", run.error());
    units.push_back(tested_side(exhibit.value(), run.value().faulty, "faulty"));
    units.push_back(tested_side(exhibit.value(), run.value().healthy, "healthy"));
    std::optional<SpokenBug> spoken;
    if (language.value().model != nullptr) spoken = spoken_bug(run.value());
    bugs.push_back({std::move(exhibit).value(), std::move(run).value(), std::move(spoken)});
  }
  if (options.json)
    print_json(runs_to_json(bugs));
  else if (options.markdown)
    print_markdown(bugs);
  else
    print_text(text_stream({junit}), options, bugs);
  const bool declared =
      std::ranges::all_of(bugs, [](const RanBug& bug) { return bug.run.as_declared(); });
  const int published = publish_tests(units, {.command = "bugs", .junit = options.junit});
  return std::max<int>(declared ? kExitFine : kExitFindings, published);
}

}  // namespace

Subcommand add_bugs_run(CLI::App& bugs, const Backends& backends) {
  const auto options = std::make_shared<BugsRunOptions>();
  CLI::App& app = *bugs.add_subcommand(
      "run",
      "run a bug with and without its fault, and compare both runs with what its file expects");
  app.footer(
      "Examples:\n"
      "  hybridscope bugs run 48 --explain\n"
      "  hybridscope bugs run --all --junit bugs.xml\n"
      "  hybridscope bugs run 7 --state numeric --backend cuda\n"
      "\n"
      "With --state numeric the answers of both runs are compared; without --weights it is the\n"
      "model of scenarios/models/jargon-gdn that runs.\n"
      "Exit codes: 0 fine, 1 a scenario does not do what its file says, 2 usage or no such bug,\n"
      "3 weights that cannot be read, 4 environment: no such GPU, a report that cannot be "
      "written.");
  auto* names = app.add_option("bugs", options->names, "ids or numbers")->type_name("ID");
  app.add_flag("--all", options->all, "every one")->excludes(names);
  auto* explain =
      app.add_flag("--explain", options->explain, "explain the first wrong step of each in full");
  auto* json = app.add_flag("--json", options->json, "as a JSON array")->excludes(explain);
  add_language_options(app, options->state);
  app.add_flag("--markdown", options->markdown, "the answers as a table")
      ->excludes(json)
      ->excludes(explain);
  app.add_option("--junit", options->junit, "write a JUnit report: two testsuites per bug")
      ->type_name("FILE|-");
  return {&app, [options, &backends] { return run_bugs_command(*options, backends); }};
}

}  // namespace hybridscope
