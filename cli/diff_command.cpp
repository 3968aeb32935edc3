#include "cli/diff_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "cli/diff_files.h"
#include "cli/exit_codes.h"
#include "cli/interrupt.h"
#include "cli/report_error.h"
#include "sessions/job/diff_comparison.h"
#include "sessions/job/diff_report.h"
#include "sessions/job/output_targets.h"
#include "sessions/job/version.h"
#include "sessions/report/diff_page.h"
#include "sessions/scenario/engine_profile.h"
#include "sessions/text/html_text.h"
#include "storage/session_file.h"

namespace hybridscope {

namespace {

// CLI11 writes "[sessions(0x)]".
class UsageFormatter : public CLI::Formatter {
 public:
  std::string make_option_usage(const CLI::Option*) const override { return "[A B]"; }
};

constexpr const char* kDiffExamples =
    "Examples:\n"
    "  hybridscope diff runs.db:before runs.db:after\n"
    "  hybridscope diff monday.db tuesday.db\n"
    "  hybridscope diff main.db:run branch.db:run --ignore blocks --ignore metadata --json\n"
    "  hybridscope diff --scenario scenarios/prompt_as_long_as_a_verify_window.json \\\n"
    "      --engine safe --engine reference\n"
    "  hybridscope diff --scenario scenarios/v2_slots.json --b runner=v1 --ignore layout\n"
    "  hybridscope diff --scenario scenarios/shared_prefix_align.json --b mode=none\n"
    "  hybridscope diff runs.db:before runs.db:after --html difference.html\n"
    "\n"
    "Steps are matched by number, requests by name. Never compared: request ids, simulated and\n"
    "wall time, hosts, file names. Rules for --ignore: a section (commands, schedule, blocks,\n"
    "rows, layout, graph, copies, metadata, commits, findings, state, counts), a list (lookups,\n"
    "block_events, ...), a field (rows.num_draft_count), request:NAME, step:5, step:1-10.\n"
    "Exit codes: 0 no difference, 1 differences, 2 usage, 3 invalid input, 4 environment.";

Status check_diff_page(const DiffCommandOptions& options) {
  CommandFiles files{.inputs = {{"the scenario", options.scenario}},
                     .outputs = {document("--json", options.json), {"--html", options.html}}};
  for (const std::string& session : options.sessions)
    files.inputs.push_back(session_input(session));
  return check_files(files);
}

Status write_diff_page(const DiffReport& report, OutputFile& page) {
  auto json = diff_to_json(report);
  json["program"] = fmt::format("hybridscope {}", kVersion);
  if (Status written = page.write(fill_diff_page(script_safe_json(json))); !written.ok())
    return written;
  return page.finish();
}

}  // namespace

void add_diff_options(CLI::App& command, DiffCommandOptions& options) {
  command.footer(kDiffExamples);
  command.formatter(std::make_shared<UsageFormatter>());
  auto* sessions =
      command
          .add_option("sessions", options.sessions,
                      "two recorded sessions (run --record), or two files, whose sessions are "
                      "paired by name")
          ->type_name("FILE.db[:NAME]")
          ->expected(0, 2);
  auto* scenario = command.add_option("--scenario", options.scenario,
                                      "run this scenario twice and compare the runs");
  scenario->type_name("SCENARIO.json")->excludes(sessions);
  command.add_option("--engine", options.engines, "profile of A, then of B (safe, vllm@DATE, ...)")
      ->transform([](std::string name) { return canonical_profile_name(std::move(name)); })
      ->type_name("PROFILE")
      ->allow_extra_args(false)
      ->needs(scenario);
  for (const bool is_a : {true, false})
    command
        .add_option(is_a ? "--a" : "--b", is_a ? options.settings_a : options.settings_b,
                    std::string("a setting of ") + (is_a ? "A" : "B") +
                        " alone: runner=v1, mode=none, policies/aligned_split=...")
        ->type_name("KEY=VALUE")
        ->allow_extra_args(false)
        ->needs(scenario);
  command.add_option("--ignore", options.ignore, "leave something out (repeatable; rules below)")
      ->type_name("RULE")
      ->allow_extra_args(false);
  command
      .add_option_function<std::string>(
          "--level",
          [&options](const std::string& level) { options.level = *record_level_of(level); },
          "with --scenario, how much of the runs is compared: counts, blocks, full (default)")
      ->check(CLI::IsMember({"counts", "blocks", "full"}))
      ->needs(scenario)
      ->type_name("LEVEL");
  command.add_option("--limit", options.limit, "show at most N steps, or requests (default 100)")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1000000}, "1 to 1000000"))
      ->type_name("N");
  command.add_flag("--all", options.all,
                   "show the fields of all listed steps, not only of the first");
  command.add_flag("--first", options.first, "stop at the first divergence");
  command.add_flag("--requests", options.requests,
                   "compare what each request got in total, not step by step");
  command.add_flag("--json", options.json,
                   "one object {a, b, comparable, first_divergence, summary, differences}");
  command
      .add_option("--html", options.html,
                  "the comparison as one page that opens offline, - for standard output")
      ->type_name("FILE|-");
}

int diff_command(const DiffCommandOptions& options) {
  if (const Status apart = check_diff_page(options); !apart.ok())
    return report_usage("diff", apart.error().message);
  ask_for_interrupts();
  // What cannot be opened is reported by the comparison.
  if (const auto files = compares_files(options); files.ok() && files.value())
    return diff_files_command(options);
  auto page = open_output(options.html);
  if (!page.ok()) return report_error("diff", page.error());
  int code = kExitFine;
  const auto failure = compare_sides(
      options,
      [&](const DiffReport& report) {
        if (page.value())
          if (const Status written = write_diff_page(report, *page.value()); !written.ok()) {
            code = report_error("diff", written.error());
            return;
          }
        if (options.json)
          fmt::print("{}\n", diff_to_json(report).dump(2, ' ', false,
                                                       nlohmann::json::error_handler_t::replace));
        else
          fmt::print(text_stream({{"--html", options.html}}), "{}", format_diff(report));
        code = report.differs() ? kExitFindings : kExitFine;
      },
      {.stopped = was_interrupted});
  if (!failure) return code;
  if (failure->by_usage) return report_usage("diff", failure->error.message);
  const int by_kind = report_error("diff", failure->error);
  return was_interrupted() ? static_cast<int>(kExitInterrupted) : by_kind;
}

}  // namespace hybridscope
