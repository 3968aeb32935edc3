#include "cli/bugs_command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/environment.h"
#include "cli/exit_codes.h"
#include "cli/lesson_text.h"
#include "cli/publish_tests.h"
#include "cli/report_error.h"
#include "cli/run_tests.h"
#include "cli/settings_options.h"
#include "cli/text_table.h"
#include "cli/version.h"
#include "sessions/known_bugs/bug_exhibit.h"
#include "sessions/known_bugs/bug_pages.h"
#include "sessions/known_bugs/bug_run.h"
#include "sessions/scenario_writer.h"

namespace hybridscope {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kTitleColumns = 84;

struct BugsOptions {
  bool json = false;
  bool markdown = false;
  std::string engine;              // list
  std::string not_in;              // list
  std::string runner;              // list; empty: either
  std::string scenario;            // show: "faulty" or "healthy"
  std::vector<std::string> names;  // show, run
  bool all = false;                // run
  bool explain = false;            // run
  std::string junit;               // run
};

void print_json(const Json& json) {
  fmt::print("{}\n", json.dump(2, ' ', false, Json::error_handler_t::replace));
}

// A name that there is not is a mistake of the command line.
int fail(std::string_view command, const Error& error) {
  const int code = report_error(fmt::format("bugs {}", command), error);
  return error.kind == ErrorKind::not_found ? static_cast<int>(kExitUsage) : code;
}

Json life_json(const BugLife& life) {
  if (!life.occurs) return nullptr;
  return {{"appeared", life.appeared ? Json(date_text(*life.appeared)) : Json()},
          {"fixed", life.fixed ? Json(date_text(*life.fixed)) : Json()}};
}

Json bug_json(const BugExhibit& exhibit) {
  const KnownBug& bug = *exhibit.bug;
  Json policies = Json::object();
  for (const PolicyChoice& choice : bug.choices())
    policies[std::string(choice.policy)] = std::string(choice.value);
  return {{"id", bug.id},
          {"number", bug.number > 0 ? Json(bug.number) : Json()},
          {"title", exhibit.title},
          {"upstream", exhibit.upstream},
          {"function", exhibit.function},
          {"policies", policies},
          {"v1", life_json(bug.v1)},
          {"v2", life_json(bug.v2)},
          {"dates", exhibit.dates},
          {"users_saw", exhibit.users_saw},
          {"mechanism", exhibit.mechanism}};
}

// --- list

// Which runners a list looks at.
std::vector<ModelRunner> runners_of(const BugsOptions& options) {
  if (options.runner == "v1") return {ModelRunner::v1};
  if (options.runner == "v2") return {ModelRunner::v2};
  return {ModelRunner::v1, ModelRunner::v2};
}

bool has(const std::vector<const KnownBug*>& bugs, const KnownBug& bug) {
  return std::ranges::find(bugs, &bug) != bugs.end();
}

// With this runner the first engine has it and the second does not.
bool is_listed(const BugsOptions& options, const KnownBug& bug, ModelRunner runner) {
  const auto engine = parse_engine_profile(options.engine);
  const auto other = parse_engine_profile(options.not_in);
  if (engine && !has(bugs_of(*engine, runner), bug)) return false;
  if (!engine && !bug.life(runner).occurs && !options.runner.empty()) return false;
  return !other || !has(bugs_of(*other, runner), bug);
}

// With one of the runners.
bool is_listed(const BugsOptions& options, const KnownBug& bug) {
  return std::ranges::any_of(runners_of(options),
                             [&](ModelRunner runner) { return is_listed(options, bug, runner); });
}

// Runners with which a bug that is gone from the second engine is still there.
std::vector<std::string_view> runners_left(const BugsOptions& options, const KnownBug& bug) {
  std::vector<std::string_view> left;
  const auto other = parse_engine_profile(options.not_in);
  for (const ModelRunner runner : runners_of(options))
    if (other && has(bugs_of(*other, runner), bug))
      left.push_back(runner == ModelRunner::v1 ? "v1" : "v2");
  return left;
}

std::string heading_of(const BugsOptions& options, std::size_t count) {
  std::string text = counted(static_cast<std::int64_t>(count), "known bug");
  if (!options.engine.empty()) text += " in " + options.engine;
  if (!options.not_in.empty()) text += " and not in " + options.not_in;
  if (!options.runner.empty()) text += " with runner " + options.runner;
  return text;
}

int list_command(const BugsOptions& options) {
  if (options.markdown) {
    const auto page = known_bugs_page();
    if (!page.ok()) return fail("list", page.error());
    fmt::print("{}", page.value());
    return kExitFine;
  }
  TextTable table({"no.", "<id", "<V1", "<V2", "<what goes wrong"});
  Json json = Json::array();
  std::string still_there;
  for (const KnownBug& bug : known_bug_table()) {
    if (!is_listed(options, bug)) continue;
    const auto exhibit = shipped_bug(bug.id);
    if (!exhibit.ok()) return fail("list", exhibit.error());
    table.add({bug.number > 0 ? std::to_string(bug.number) : "", std::string(bug.id),
               life_text(bug.v1), life_text(bug.v2),
               printable(exhibit.value().title, kTitleColumns)});
    json.push_back(bug_json(exhibit.value()));
    if (options.not_in.empty()) continue;
    const auto left = runners_left(options, bug);
    json.back()["still_with_runner"] = left;
    for (const std::string_view runner : left)
      still_there +=
          fmt::format("{} is still in {} with runner {}\n", bug.id, options.not_in, runner);
  }
  if (options.json) {
    print_json(json);
    return kExitFine;
  }
  fmt::print("{}\n", heading_of(options, json.size()));
  if (!table.empty())
    fmt::print("{}\n{}hybridscope bugs show ID tells of one, bugs run ID runs it.\n",
               table.format(), still_there);
  return kExitFine;
}

// --- show

void print_bug(const BugExhibit& exhibit, const BugRun& run) {
  const KnownBug& bug = *exhibit.bug;
  fmt::print("{}{}\n{}\n", bug.id, bug.number > 0 ? fmt::format(" (no. {})", bug.number) : "",
             wrapped_text(exhibit.title + "."));
  fmt::print("where      {}\n", exhibit.function);
  for (const PolicyChoice& choice : bug.choices())
    fmt::print("policy     {} = {}\n", choice.policy, choice.value);
  fmt::print("V1         {}\nV2         {}\n", life_text(bug.v1), life_text(bug.v2));
  if (!exhibit.upstream.empty()) fmt::print("upstream   {}\n", fmt::join(exhibit.upstream, ", "));
  fmt::print("\n");
  if (!exhibit.dates.empty()) fmt::print("{}\n", wrapped_text(exhibit.dates));
  fmt::print("{}\n", wrapped_text("Users saw: " + exhibit.users_saw));
  for (const std::string& sentence : exhibit.mechanism) fmt::print("{}", wrapped_text(sentence));
  fmt::print("\nThe scenario under safe finds nothing; with the policy:\n");
  for (const KeptFinding& finding : run.faulty.findings.kept())
    fmt::print("  {}\n", printable(finding.text, 1000));
  fmt::print(
      "\nhybridscope bugs run {0} --explain\n"
      "hybridscope bugs show {0} --scenario faulty > {0}.json\n",
      bug.id);
}

int show_command(const BugsOptions& options) {
  const auto exhibit = shipped_bug(options.names.front());
  if (!exhibit.ok()) return fail("show", exhibit.error());
  if (!options.scenario.empty()) {
    fmt::print("{}",
               write_scenario(options.scenario == "faulty" ? faulty_scenario(exhibit.value())
                                                           : healthy_scenario(exhibit.value())));
    return kExitFine;
  }
  if (options.json) {
    print_json(bug_json(exhibit.value()));
    return kExitFine;
  }
  const auto run = run_bug(exhibit.value());
  if (!run.ok()) return fail("show", run.error());
  if (options.markdown)
    fmt::print("{}", bug_as_markdown(exhibit.value(), run.value()));
  else
    print_bug(exhibit.value(), run.value());
  return kExitFine;
}

// --- run

struct RanBug {
  BugExhibit exhibit;
  BugRun run;
};

// What is not as declared, for JUnit and for people.
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
  for (const KeptFinding* finding : side.findings.shown()) findings.push_back(finding->json);
  return {{"as_declared", side.as_declared()},
          {"steps", side.summary.steps},
          {"num_findings", side.findings.num_found(Severity::error)},
          {"unmet", side.unmet},
          {"findings", findings}};
}

std::string found_words(const BugSide& side) {
  std::string words = counted(side.findings.num_found(Severity::error), "finding");
  if (const std::int64_t warnings = side.findings.num_found(Severity::warning); warnings > 0)
    words += " and " + counted(warnings, "warning");
  return words;
}

void print_side(const BugSide& side, std::string_view which) {
  fmt::print("{:<8} {} in {}: {}\n", which, found_words(side), counted(side.summary.steps, "step"),
             side.as_declared() ? "as declared" : "not as declared");
  for (const KeptFinding& finding : side.findings.kept())
    fmt::print("  {}{}\n", printable(finding.text, 1000),
               finding.expected ? "" : " (not expected)");
  for (const std::string& unmet : side.unmet) fmt::print("  {}\n", unmet);
}

void print_run(const RanBug& bug, bool explain) {
  fmt::print("{}: {}\n", bug.exhibit.bug->id, printable(bug.exhibit.title, kTitleColumns));
  print_side(bug.run.faulty, "faulty");
  print_side(bug.run.healthy, "healthy");
  if (explain && !bug.run.faulty.explanation.empty())
    fmt::print("\nThe first wrong step, {}:\n\n{}", bug.run.faulty.first_step,
               bug.run.faulty.explanation);
}

void print_table(const std::vector<RanBug>& bugs) {
  TextTable table({"<result", "findings", "warnings", "steps", "healthy", "<id"});
  std::size_t wrong = 0;
  for (const auto& [exhibit, run] : bugs) {
    wrong += run.as_declared() ? 0 : 1;
    table.add({run.as_declared() ? "ok" : "differs",
               std::to_string(run.faulty.findings.num_found(Severity::error)),
               std::to_string(run.faulty.findings.num_found(Severity::warning)),
               std::to_string(run.faulty.summary.steps),
               std::to_string(run.healthy.findings.num_found(Severity::error)),
               std::string(exhibit.bug->id)});
  }
  fmt::print("{}\n", table.format());
  for (const RanBug& bug : bugs)
    if (!bug.run.as_declared()) print_run(bug, false);
  fmt::print("{}: {}\n", counted(static_cast<std::int64_t>(bugs.size()), "known bug"),
             wrong == 0 ? "all are found, and nothing without them"
                        : fmt::format("{} not as declared", wrong));
}

int run_bugs_command(const BugsOptions& options) {
  std::vector<std::string> names = options.names;
  if (options.all)
    for (const KnownBug& bug : known_bug_table()) names.emplace_back(bug.id);
  if (names.empty()) {
    fmt::print(stderr, "hybridscope bugs run: name a bug (bugs list has them), or --all\n");
    return kExitUsage;
  }
  std::vector<RanBug> bugs;
  std::vector<TestedUnit> units;
  for (const std::string& name : names) {
    auto exhibit = shipped_bug(name);
    if (!exhibit.ok()) return fail("run", exhibit.error());
    auto run = run_bug(exhibit.value());
    if (!run.ok()) return fail("run", run.error());
    units.push_back(tested_side(exhibit.value(), run.value().faulty, "faulty"));
    units.push_back(tested_side(exhibit.value(), run.value().healthy, "healthy"));
    bugs.push_back({std::move(exhibit).value(), std::move(run).value()});
  }
  if (options.json) {
    Json json = Json::array();
    for (const auto& [exhibit, run] : bugs)
      json.push_back({{"id", exhibit.bug->id},
                      {"as_declared", run.as_declared()},
                      {"faulty", side_json(run.faulty)},
                      {"healthy", side_json(run.healthy)}});
    print_json(json);
  } else if (bugs.size() == 1) {
    print_run(bugs.front(), options.explain);
  } else {
    print_table(bugs);
  }
  const bool declared =
      std::ranges::all_of(bugs, [](const RanBug& bug) { return bug.run.as_declared(); });
  const int published = publish_tests(units, {.command = "bugs", .junit = options.junit});
  return std::max<int>(declared ? kExitFine : kExitFindings, published);
}

// --- options

using Command = int (*)(const BugsOptions&);

struct Subcommand {
  CLI::App* app = nullptr;
  Command run = nullptr;
};

Subcommand add_list(CLI::App& bugs, BugsOptions& options) {
  CLI::App& app = *bugs.add_subcommand("list", "every known bug, or what a release fixed");
  app.add_option("--engine", options.engine, "only those that this profile has")
      ->check(is_engine_profile())
      ->type_name("PROFILE");
  app.add_option("--not-in", options.not_in, "only those that this profile does not have")
      ->check(is_engine_profile())
      ->type_name("PROFILE");
  app.add_option("--runner", options.runner, "with this runner (default: either)")
      ->check(CLI::IsMember({"v1", "v2"}))
      ->type_name("v1|v2");
  auto* json = app.add_flag("--json", options.json, "as a JSON array");
  auto* markdown =
      app.add_flag("--markdown", options.markdown, "all of them as the page docs/known-bugs.md")
          ->excludes(json);
  for (const char* option : {"--engine", "--not-in", "--runner"})
    markdown->excludes(app.get_option(option));
  return {&app, list_command};
}

Subcommand add_show(CLI::App& bugs, BugsOptions& options) {
  CLI::App& app = *bugs.add_subcommand("show", "what one is, when it lived, and what it does");
  app.add_option("bug", options.names, "id or number")->required()->expected(1)->type_name("ID");
  auto* json = app.add_flag("--json", options.json, "as one JSON object");
  app.add_flag("--markdown", options.markdown, "for a review comment")->excludes(json);
  app.add_option("--scenario", options.scenario, "only its scenario, as a file for run and gui")
      ->check(CLI::IsMember({"faulty", "healthy"}))
      ->type_name("faulty|healthy");
  return {&app, show_command};
}

Subcommand add_run(CLI::App& bugs, BugsOptions& options) {
  CLI::App& app =
      *bugs.add_subcommand("run", "run it and its healthy twin, and hold both against the file");
  auto* names = app.add_option("bugs", options.names, "ids or numbers")->type_name("ID");
  app.add_flag("--all", options.all, "every one")->excludes(names);
  app.add_flag("--explain", options.explain, "tell everything about the first wrong step");
  app.add_flag("--json", options.json, "as a JSON array");
  app.add_option("--junit", options.junit, "write a JUnit report: two testsuites a bug")
      ->type_name("FILE|-");
  return {&app, run_bugs_command};
}

}  // namespace

std::function<int()> add_bugs_command(CLI::App& bugs) {
  bugs.require_subcommand(0, 1);
  bugs.footer(
      "Examples:\n"
      "  hybridscope bugs\n"
      "  hybridscope bugs list --engine vllm@2026-06-29 --not-in vllm@2026-08-18\n"
      "  hybridscope bugs show 48\n"
      "  hybridscope bugs run mid-block-chunk-poisons-slot --explain\n"
      "  hybridscope bugs run --all --junit bugs.xml\n"
      "\n"
      "Profiles: safe, pages, vllm@DATE. Exit codes: 0 fine, 1 a scenario does not do what its\n"
      "file says, 2 usage or no such bug, 4 a report that cannot be written.\n"
      "The catalogue: docs/known-bugs.md.");
  const auto options = std::make_shared<BugsOptions>();
  const std::vector<Subcommand> subcommands = {add_list(bugs, *options), add_show(bugs, *options),
                                               add_run(bugs, *options)};
  return [options, subcommands] {
    for (const Subcommand& subcommand : subcommands)
      if (subcommand.app->parsed()) return subcommand.run(*options);
    return list_command(*options);
  };
}

}  // namespace hybridscope
