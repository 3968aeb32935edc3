#include "cli/bugs_command.h"

#include <fmt/core.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/common_options.h"
#include "cli/lessons_command.h"
#include "cli/process.h"
#include "core/engine/policy_table.h"
#include "core/engine/releases.h"
#include "sessions/explain/explain_start_up.h"
#include "sessions/job/right_command.h"
#include "sessions/known_bugs/bug_report.h"
#include "sessions/known_bugs/bug_run.h"
#include "sessions/run/finding_list.h"
#include "sessions/scenario/scenario_reader.h"
#include "sessions/text/json_value.h"
#include "sessions/text/number_words.h"
#include "sessions/text/text_page.h"

namespace hybridscope {
namespace {

using Json = nlohmann::ordered_json;

Json life_json(const BugLife& life) {
  if (!life.occurs) return nullptr;
  return {{"appeared", life.appeared ? Json(date_text(*life.appeared)) : Json()},
          {"fixed", life.fixed ? Json(date_text(*life.fixed)) : Json()}};
}

// {id, number, part, title, upstream, function, policies, v1, v2, dates, users_saw, mechanism}.
Json bug_to_json(const BugExhibit& exhibit) {
  const KnownBug& bug = *exhibit.bug;
  Json policies = Json::object();
  for (const PolicyValue& value : bug.values())
    policies[std::string(policy_name(value))] = std::string(value_name(value));
  return {{"id", bug.id},
          {"number", bug.number > 0 ? Json(bug.number) : Json()},
          {"part", bug.part.empty() ? Json() : Json(bug.part)},
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

}  // namespace

int fail_bugs(std::string_view subcommand, const Error& error) {
  return report_error(fmt::format("bugs {}", subcommand), error, ErrorKind::not_found);
}

namespace {

struct BugsShowOptions {
  std::string name;
  bool json = false;
  bool markdown = false;
  std::string scenario;  // "faulty" or "healthy"
  bool report = false;
  bool test = false;
  std::string release;  // of the report; empty: the newest
};

void print_bug(const BugExhibit& exhibit, const BugRun& run) {
  const KnownBug& bug = *exhibit.bug;
  fmt::print("{}{}\n{}\n", bug.id, bug.number > 0 ? fmt::format(" (no. {})", bug_number(bug)) : "",
             wrapped_lines(exhibit.title + "."));
  fmt::print("where      {}\n", exhibit.function);
  for (const PolicyValue& value : bug.values())
    fmt::print("policy     {} = {}\n", policy_name(value), value_name(value));
  fmt::print("V1         {} ({})\nV2         {} ({})\n", releases_text(bug.v1_releases),
             life_text(bug.v1), releases_text(bug.v2_releases), life_text(bug.v2));
  if (!exhibit.upstream.empty()) fmt::print("upstream   {}\n", fmt::join(exhibit.upstream, ", "));
  fmt::print("\n");
  if (!exhibit.dates.empty()) fmt::print("{}\n", wrapped_lines(exhibit.dates));
  fmt::print("{}\n", wrapped_lines("Users saw: " + exhibit.users_saw));
  for (const std::string& sentence : exhibit.mechanism) fmt::print("{}", wrapped_lines(sentence));
  fmt::print("\nThe scenario under safe finds nothing; with the policy:\n");
  for (const KeptFinding& finding : run.faulty.findings.kept())
    fmt::print("  {}\n", printable(finding.text, 1000));
  fmt::print(
      "\nhybridscope bugs run {0} --explain\n"
      "hybridscope bugs show {0} --scenario faulty > {0}.json\n",
      bug.id);
}

int show_command(const BugsShowOptions& options) {
  const auto exhibit = shipped_bug(options.name);
  if (!exhibit.ok())
    return fail_bugs("show", name_right_command("bugs show", options.name, exhibit.error()));
  if (!options.scenario.empty()) {
    fmt::print("{}",
               write_scenario(options.scenario == "faulty" ? faulty_scenario(exhibit.value())
                                                           : healthy_scenario(exhibit.value())));
    return kExitFine;
  }
  if (options.report) return print_bug_report(exhibit.value(), options.release);
  if (options.test) return print_bug_test(exhibit.value());
  if (options.json) {
    print_json(bug_to_json(exhibit.value()));
    return kExitFine;
  }
  const auto run = run_bug(exhibit.value());
  if (!run.ok()) return fail_bugs("show", run.error());
  if (options.markdown)
    fmt::print("{}", bug_as_markdown(exhibit.value(), run.value()));
  else
    print_bug(exhibit.value(), run.value());
  return kExitFine;
}

struct BugsListOptions {
  bool json = false;
  bool markdown = false;
  std::string engine;
  std::string not_in;
  std::string runner;  // empty: either
};

// The runners that a list covers.
std::vector<ModelRunner> runners_of(const BugsListOptions& options) {
  if (options.runner == "v1") return {ModelRunner::v1};
  if (options.runner == "v2") return {ModelRunner::v2};
  return {ModelRunner::v1, ModelRunner::v2};
}

bool has(const std::vector<const KnownBug*>& bugs, const KnownBug& bug) {
  return std::ranges::find(bugs, &bug) != bugs.end();
}

// With this runner, does the first engine have the bug and the second not?
bool is_listed(const BugsListOptions& options, const KnownBug& bug, ModelRunner runner) {
  const auto engine = parse_engine_profile(options.engine);
  const auto other = parse_engine_profile(options.not_in);
  if (engine && !has(bugs_of(*engine, runner), bug)) return false;
  if (!engine && !bug.life(runner).occurs && !options.runner.empty()) return false;
  return !other || !has(bugs_of(*other, runner), bug);
}

// Likewise with any of the runners.
bool is_listed(const BugsListOptions& options, const KnownBug& bug) {
  return std::ranges::any_of(runners_of(options),
                             [&](ModelRunner runner) { return is_listed(options, bug, runner); });
}

// The runners with which engine `not_in` still has the bug.
std::vector<std::string_view> runners_left(const BugsListOptions& options, const KnownBug& bug) {
  std::vector<std::string_view> left;
  const auto other = parse_engine_profile(options.not_in);
  for (const ModelRunner runner : runners_of(options))
    if (other && has(bugs_of(*other, runner), bug)) left.push_back(runner_name(runner));
  return left;
}

std::string heading_of(const BugsListOptions& options, std::size_t count) {
  std::string text = counted(static_cast<std::int64_t>(count), "known bug");
  if (!options.engine.empty()) text += " in " + options.engine;
  if (!options.not_in.empty()) text += " and not in " + options.not_in;
  if (!options.runner.empty()) text += " with runner " + options.runner;
  return text;
}

std::string still_there_text(const BugsListOptions& options, const KnownBug& bug) {
  std::string text;
  for (const std::string_view runner : runners_left(options, bug))
    text += fmt::format("{} is still in {} with runner {}\n", bug.id, options.not_in, runner);
  return text;
}

void print_text(const BugsListOptions& options, const std::vector<BugExhibit>& exhibits) {
  fmt::print("{}\n", heading_of(options, exhibits.size()));
  if (exhibits.empty()) return;
  TextTable table({"no.", "<id", "<V1", "<V2", "<what goes wrong"});
  std::string still_there;
  for (const BugExhibit& exhibit : exhibits) {
    const KnownBug& bug = *exhibit.bug;
    table.add({bug_number(bug), std::string(bug.id), releases_text(bug.v1_releases),
               releases_text(bug.v2_releases), printable(exhibit.title, kBugTitleColumns)});
    still_there += still_there_text(options, bug);
  }
  fmt::print("{}\n{}hybridscope bugs show ID describes a bug, bugs run ID runs it.\n",
             table.format(), still_there);
}

// For a review comment; with all bugs, the page docs/known-bugs.md.
int print_markdown(const BugsListOptions& options, const std::vector<BugExhibit>& exhibits) {
  if (options.engine.empty() && options.not_in.empty() && options.runner.empty()) {
    const auto page = known_bugs_page();
    if (!page.ok()) return fail_bugs("list", page.error());
    fmt::print("{}", page.value());
    return kExitFine;
  }
  fmt::print("{}\n", heading_of(options, exhibits.size()));
  if (exhibits.empty()) return kExitFine;
  fmt::print("\n{}", bugs_as_markdown_table(exhibits));
  std::string still_there;
  for (const BugExhibit& exhibit : exhibits) still_there += still_there_text(options, *exhibit.bug);
  if (!still_there.empty()) fmt::print("\n{}", still_there);
  return kExitFine;
}

Json bugs_to_json(const BugsListOptions& options, const std::vector<BugExhibit>& exhibits) {
  Json json = Json::array();
  for (const BugExhibit& exhibit : exhibits) {
    json.push_back(bug_to_json(exhibit));
    if (!options.not_in.empty())
      json.back()["still_with_runner"] = runners_left(options, *exhibit.bug);
  }
  return json;
}

int list_command(const BugsListOptions& options) {
  std::vector<BugExhibit> exhibits;
  for (const KnownBug& bug : known_bug_table()) {
    if (!is_listed(options, bug)) continue;
    auto exhibit = shipped_bug(bug.id);
    if (!exhibit.ok()) return fail_bugs("list", exhibit.error());
    exhibits.push_back(std::move(exhibit).value());
  }
  if (options.markdown) return print_markdown(options, exhibits);
  if (options.json)
    print_json(bugs_to_json(options, exhibits));
  else
    print_text(options, exhibits);
  return kExitFine;
}

// "0.33.0" of "0.33.0" or "vllm-0.33.0".
CLI::Validator is_release() {
  return {[](std::string& text) {
            if (text.starts_with("vllm-")) text.erase(0, 5);
            const auto release = parse_release(text);
            if (release) {
              text = release_name(*release);
              return std::string();
            }
            return fmt::format("there is no release {} ({})", quoted_text(text),
                               fmt::join(release_names(), ", "));
          },
          ""};
}

Subcommand add_bugs_show(CLI::App& bugs) {
  const auto options = std::make_shared<BugsShowOptions>();
  CLI::App& app = *bugs.add_subcommand("show", "what a bug is, when it existed, and what it does");
  app.footer(
      "Examples:\n"
      "  hybridscope bugs show 48\n"
      "  hybridscope bugs show 48 --report > issue.md\n"
      "\n"
      "Exit codes: 0 fine, 2 usage or no such bug, 4 output that cannot be written.");
  app.add_option("bug", options->name, "id or number")->required()->type_name("ID");
  auto* json = app.add_flag("--json", options->json, "as one JSON object");
  auto* markdown =
      app.add_flag("--markdown", options->markdown, "for a review comment")->excludes(json);
  auto* scenario = app.add_option("--scenario", options->scenario,
                                  "only its scenario, as a file for run and gui")
                       ->check(CLI::IsMember({"faulty", "healthy"}))
                       ->type_name("faulty|healthy")
                       ->excludes(json)
                       ->excludes(markdown);
  auto* report = app.add_flag("--report", options->report,
                              "what the maintainers of a release that has it need to know")
                     ->excludes(json)
                     ->excludes(markdown)
                     ->excludes(scenario);
  app.add_option("--release", options->release, "of the report (default: the newest)")
      ->transform(is_release())
      ->type_name("RELEASE")
      ->needs(report);
  app.add_flag("--test", options->test, "only its test of vLLM, which fails where the bug is")
      ->excludes(json)
      ->excludes(markdown)
      ->excludes(scenario)
      ->excludes(report);
  return {&app, [options] { return show_command(*options); }};
}

Subcommand add_bugs_list(CLI::App& bugs) {
  const auto options = std::make_shared<BugsListOptions>();
  CLI::App& app = *bugs.add_subcommand("list", "every known bug, or what a release fixed");
  app.footer(
      "Examples:\n"
      "  hybridscope bugs list\n"
      "  hybridscope bugs list --engine vllm@2026-06-29 --not-in vllm@2026-08-18\n"
      "\n"
      "Exit codes: 0 fine, 2 usage, 4 output that cannot be written.");
  app.add_option("--engine", options->engine, "only those that this profile has")
      ->transform(is_engine_profile())
      ->type_name("PROFILE");
  app.add_option("--not-in", options->not_in, "only those that this profile does not have")
      ->transform(is_engine_profile())
      ->type_name("PROFILE");
  app.add_option("--runner", options->runner, "with this runner (default: either)")
      ->check(CLI::IsMember({"v1", "v2"}))
      ->type_name("v1|v2");
  auto* json = app.add_flag("--json", options->json, "as a JSON array");
  app.add_flag("--markdown", options->markdown,
               "as a table for a review comment; all of them: the page docs/known-bugs.md")
      ->excludes(json);
  return {&app, [options] { return list_command(*options); }};
}

}  // namespace

std::function<int()> add_bugs_command(CLI::App& bugs, const Backends& backends) {
  bugs.require_subcommand(0, 1);
  bugs.footer(
      "Examples:\n"
      "  hybridscope bugs\n"
      "  hybridscope bugs list --engine vllm@2026-06-29 --not-in vllm@2026-08-18\n"
      "  hybridscope bugs show 48\n"
      "  hybridscope bugs show 48 --report > issue.md\n"
      "  hybridscope bugs show 48 --test > test_48.py && python -m pytest test_48.py\n"
      "  hybridscope bugs run mid-block-chunk-poisons-slot --explain\n"
      "  hybridscope bugs run --all --junit bugs.xml\n"
      "\n"
      "Profiles: safe, reference, vllm@DATE. Exit codes: 0 fine, 1 a scenario does not do what "
      "its\n"
      "file says, 2 usage or no such bug, 4 a report that cannot be written.\n"
      "The catalogue: docs/known-bugs.md.");
  return run_given({add_bugs_list(bugs), add_bugs_show(bugs), add_bugs_run(bugs, backends)});
}

}  // namespace hybridscope
