#include "cli/run_command.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "cli/process.h"
#include "cli/test_reports.h"
#include "sessions/job/session_json.h"
#include "sessions/job/step_files.h"
#include "sessions/text/number_words.h"
#include "sessions/text/shown_text.h"
#include "storage/open_database.h"
#include "storage/session_file.h"

namespace hybridscope {
namespace {

constexpr std::size_t kMaxNamesShown = 20;

// The first option that only works with a single run; "" if there is none.
std::string excluded_option(const RunCommandOptions& options) {
  if (!options.traffic.empty()) return "--traffic";
  if (options.explain > 0) return "--explain";
  if (const auto option = file_of_one_run(options.files); !option.empty())
    return std::string(option);
  if (options.twin) return "--twin";
  if (!parse_session_place(options.files.record.place).name.empty()) return "--record with a name";
  return {};
}

std::string nothing_selected(const SuiteOptions& options, const SuiteSelection& selection) {
  if (selection.found.empty()) {
    std::string paths;
    for (const std::string& path : options.paths)
      paths += (paths.empty() ? "" : ", ") + one_line(path);
    return fmt::format("nothing to run: no .json file in {}", paths);
  }
  std::string names;
  for (std::size_t i = 0; i < selection.found.size() && i < kMaxNamesShown; ++i)
    names += "\n  " + one_line(selection.found[i].name);
  if (selection.found.size() > kMaxNamesShown)
    names += fmt::format("\n  and {} more", selection.found.size() - kMaxNamesShown);
  if (!options.failed_in.empty())
    return fmt::format("nothing to run: none of what failed in {} is here; there are{}",
                       one_line(options.failed_in), names);
  return fmt::format("nothing to run: no scenario has a name that matches \"{}\"; there are{}",
                     one_line(options.filter), names);
}

// Bazel assumes that a test which does not touch this file cannot be sharded.
void tell_that_shards_work() {
  for (const char* name : {"TEST_SHARD_STATUS_FILE", "GTEST_SHARD_STATUS_FILE"})
    if (const std::string path = environment_variable(name); !path.empty())
      std::ofstream(path, std::ios::app).flush();
}

// What is printed while the suite runs, and at its end.
class SuitePrinter {
 public:
  explicit SuitePrinter(const RunCommandOptions& options)
      : options_(options), text_(text_stream_of(options)) {}

  void heading(const SuiteReport& report, std::size_t num_runs) const {
    if (options_.output != RunOutput::table || options_.quiet) return;
    fmt::print(text_, "{}", format_suite_heading(report, num_runs));
    if (num_runs > 0) fmt::print(text_, "{}", format_suite_columns(options_.timings));
  }
  void result(const SuiteResult& result) const {
    if (options_.output == RunOutput::jsonl)
      print_json(suite_result_to_json(result), kOneLine);
    else if (options_.output == RunOutput::table &&
             (!options_.quiet || outcome_exit_code(result.outcome) != kExitFine ||
              result.outcome == RunOutcome::not_run))
      fmt::print(text_, "{}", format_suite_line(result, options_.timings));
    if (options_.output != RunOutput::table && !result.unit.broken.empty())
      report_message("run", result.unit.broken);
    std::fflush(stdout);
  }
  void end(const SuiteReport& report) const {
    if (options_.output == RunOutput::table) {
      fmt::print(text_, "{}{}", options_.quiet ? "" : "\n", format_suite_summary(report));
      return;
    }
    nlohmann::ordered_json json = suite_to_json(report);
    if (options_.output == RunOutput::jsonl) json.erase("scenarios");  // already printed
    print_json(json, options_.output == RunOutput::json ? 2 : kOneLine);
  }

 private:
  const RunCommandOptions& options_;
  std::FILE* text_;
};

// A line of --jsonl.
void print_step(const SuiteEntry& entry, const CheckedStep& step, const Names& names) {
  nlohmann::ordered_json json = {{"scenario", entry.name}};
  json.update(step_to_json(step.trace, names, step.findings));
  print_json(json, kOneLine);
}

// Recording is impossible: reported once, not for each scenario.
int fail_to_record(const RunCommandOptions& options, const Error& error) {
  const int code = report_error("run", error, ErrorKind::invalid_input);
  TestedUnit unit{.name = "--record " + options.files.record.place,
                  .result = std::string(outcome_name(outcome_of(error)))};
  break_off(unit, error.message);
  write_baseline(options.known, "no scenario ran");
  return std::max(code,
                  publish_tests(std::vector<TestedUnit>{unit}, publish_options("run", options)));
}

Status check_record_file(const RecordOption& record) {
  if (record.place.empty()) return Ok{};
  const std::string path = parse_session_place(record.place).file;
  const auto found = look_at_file(path, FileAccess::create);
  if (!found.ok()) return found.error();
  if (found.value() == FoundFile::nothing) return Ok{};  // made with its first session
  const auto file = SessionFile::open(path, FileAccess::create);
  return file.ok() ? Status(Ok{}) : file.error();
}

// Names of the scenarios that ran to their end.
std::vector<std::string> complete_runs(const SuiteReport& report) {
  std::vector<std::string> names;
  for (const SuiteResult& result : report.results)
    if (result.ended) names.push_back(result.unit.name);
  return names;
}

// Why the findings of the suite are not known, empty: they are. A release has none in a scenario
// that it refuses.
std::string why_incomplete(const SuiteReport& report) {
  const auto num_ended = std::ranges::count_if(report.results, [](const SuiteResult& result) {
    return result.ended || result.outcome == RunOutcome::skipped;
  });
  const auto num_results = std::ssize(report.results);
  if (num_ended == num_results) return {};
  return fmt::format("{} of {} did not run to {} end", num_results - num_ended,
                     counted(num_results, "scenario"),
                     num_results - num_ended == 1 ? "its" : "their");
}

// The option with which a suite runs only a part of its scenarios; empty: it runs all.
std::string part_option(const SuiteOptions& suite, const std::optional<Shard>& shard) {
  if (!suite.filter.empty()) return "--filter";
  if (!suite.failed_in.empty()) return "--rerun-failed";
  return shard && shard->count > 1 ? "a shard (--shard, or test shards in the environment)" : "";
}

int run_suite(const RunCommandOptions& options, const Backends& backends,
              const SuiteSelection& selection, SuiteReport report) {
  const auto start = std::chrono::steady_clock::now();
  const SuitePrinter printer(options);
  printer.heading(report, selection.runs.size());
  SuiteRun run(options, backends, selection.runs.size());
  if (options.output == RunOutput::jsonl) run.on_step(print_step);
  for (const SuiteEntry& entry : selection.runs) {
    report.results.push_back(run.run(entry));
    printer.result(report.results.back());
  }
  if (options.timings)
    report.wall_seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  printer.end(report);
  if (!options.quiet) note_unseen(options.known, complete_runs(report));
  std::vector<TestedUnit> units;
  units.reserve(report.results.size());
  for (SuiteResult& result : report.results) units.push_back(std::move(result.unit));
  const int published = publish_tests(units, publish_options("run", options));
  const int kept = write_baseline(options.known, why_incomplete(report));
  return std::max({report.exit_code(), published, kept});
}

}  // namespace

int suite_command(const RunCommandOptions& options, const Backends& backends) {
  const SuiteOptions& suite = options.suite;
  if (suite.paths.empty())
    return report_usage("run",
                        "--shard, --filter and --rerun-failed need scenario files or a folder");
  if (const std::string option = excluded_option(options); !option.empty())
    return report_usage("run",
                        option +
                            " is for one scenario; here are several, or a folder, --shard or "
                            "--filter");
  auto shard = suite.shard ? Result<std::optional<Shard>>(suite.shard)
                           : shard_of_environment(environment_variable);
  if (!shard.ok()) return report_usage("run", shard.error().message);
  if (const std::string part = part_option(suite, shard.value());
      !part.empty() && !options.known.write_baseline.empty())
    return report_usage("run", fmt::format("--write-baseline needs a run of all scenarios: with {} "
                                           "the findings of the others would be lost",
                                           part));
  tell_that_shards_work();
  std::optional<std::vector<std::string>> failed;
  if (!suite.failed_in.empty()) {
    auto names = failed_in_tap(suite.failed_in);
    if (!names.ok()) return report_error("run", names.error());
    failed = std::move(names).value();
  }
  ask_for_interrupts();  // a scenario that comes through a pipe is read here
  const SuiteSelection selection =
      select_scenarios(find_scenarios(suite.paths),
                       {.filter = suite.filter, .failed = failed, .shard = shard.value()});
  if (failed && failed->empty()) {
    report_message("run", fmt::format("nothing failed in {}", suite.failed_in));
    return kExitFine;
  }
  if (selection.num_matching == 0) {
    report_lines("run", nothing_selected(suite, selection));
    return kExitUsage;
  }
  if (!selection.runs.empty())
    if (const Status recordable = check_record_file(options.files.record); !recordable.ok())
      return fail_to_record(options, recordable.error());
  return run_suite(options, backends, selection,
                   {.paths = suite.paths,
                    .filter = suite.filter,
                    .shard = shard.value(),
                    .num_found = selection.found.size(),
                    .num_matching = selection.num_matching,
                    .results = {},
                    .wall_seconds = {}});
}

}  // namespace hybridscope
