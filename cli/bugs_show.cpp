#include "cli/bugs_show.h"

#include <CLI/CLI.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>
#include <string>

#include "cli/exit_codes.h"
#include "cli/lesson_text.h"
#include "cli/text_table.h"
#include "sessions/known_bugs/bug_pages.h"
#include "sessions/known_bugs/bug_run.h"
#include "sessions/scenario/scenario_writer.h"

namespace hybridscope {
namespace {

struct BugsShowOptions {
  std::string name;
  bool json = false;
  bool markdown = false;
  std::string scenario;  // "faulty" or "healthy"
};

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

int show_command(const BugsShowOptions& options) {
  const auto exhibit = shipped_bug(options.name);
  if (!exhibit.ok()) return fail_bugs("show", exhibit.error());
  if (!options.scenario.empty()) {
    fmt::print("{}",
               write_scenario(options.scenario == "faulty" ? faulty_scenario(exhibit.value())
                                                           : healthy_scenario(exhibit.value())));
    return kExitFine;
  }
  if (options.json) {
    print_bugs_json(bug_to_json(exhibit.value()));
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

}  // namespace

BugsSubcommand add_bugs_show(CLI::App& bugs) {
  const auto options = std::make_shared<BugsShowOptions>();
  CLI::App& app = *bugs.add_subcommand("show", "what one is, when it lived, and what it does");
  app.add_option("bug", options->name, "id or number")->required()->type_name("ID");
  auto* json = app.add_flag("--json", options->json, "as one JSON object");
  app.add_flag("--markdown", options->markdown, "for a review comment")->excludes(json);
  app.add_option("--scenario", options->scenario, "only its scenario, as a file for run and gui")
      ->check(CLI::IsMember({"faulty", "healthy"}))
      ->type_name("faulty|healthy");
  return {&app, [options] { return show_command(*options); }};
}

}  // namespace hybridscope
