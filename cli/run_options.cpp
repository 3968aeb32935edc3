#include "cli/run_command.h"

#include <fmt/core.h>
#include <fnmatch.h>
#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "cli/common_options.h"
#include "sessions/job/step_files.h"
#include "sessions/scenario/scenario_reader.h"

namespace hybridscope {
namespace {

const CLI::Validator kShard(
    [](std::string& text) {
      const auto shard = parse_shard(text);
      return shard.ok() ? std::string() : shard.error().message;
    },
    "", "shard");

namespace fs = std::filesystem;

std::string stem_of(const std::string& file) { return fs::path(file).stem().string(); }

SuiteEntry entry_of(const std::string& file) {
  auto scenario = read_scenario_file(file);
  if (!scenario.ok()) return {.file = file, .name = stem_of(file), .error = scenario.error()};
  return {.file = file, .name = scenario.value().name, .error = std::nullopt};
}

// A broken link is a scenario that cannot be read; a pipe, say, is not a scenario.
bool is_scenario_file(const fs::directory_entry& entry) {
  const fs::path path = entry.path();
  if (path.extension() != ".json" || path.filename().string().starts_with('.')) return false;
  std::error_code error;
  const fs::file_type type = entry.status(error).type();
  return type == fs::file_type::regular || type == fs::file_type::not_found;
}

Result<std::vector<std::string>> list_folder(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    if (is_scenario_file(*it)) files.push_back(it->path().string());
  if (error)
    return Error{ErrorKind::io, fmt::format("cannot list {}: {}", folder, error.message())};
  std::ranges::sort(files);
  return files;
}

std::string identity_of(const std::string& file) {
  std::error_code error;
  const fs::path path = fs::weakly_canonical(file, error);
  return error ? file : path.string();
}

}  // namespace

bool SuiteOptions::is_suite() const {
  if (paths.size() > 1 || shard || !filter.empty() || !failed_in.empty()) return true;
  std::error_code error;
  return paths.size() == 1 && std::filesystem::is_directory(paths.front(), error);
}

std::vector<SuiteEntry> find_scenarios(std::span<const std::string> paths) {
  std::vector<SuiteEntry> found;
  std::set<std::string> known;
  const auto add = [&](const std::string& file) {
    if (known.insert(identity_of(file)).second) found.push_back(entry_of(file));
  };
  for (const std::string& path : paths) {
    std::error_code error;
    if (!fs::is_directory(path, error)) {
      add(path);
      continue;
    }
    const auto files = list_folder(path);
    if (!files.ok())
      found.push_back({.file = path, .name = path, .error = files.error()});
    else
      for (const std::string& file : files.value()) add(file);
  }
  return found;
}

bool matches(const SuiteEntry& entry, const std::string& filter) {
  return filter.empty() || fnmatch(filter.c_str(), entry.name.c_str(), 0) == 0 ||
         fnmatch(filter.c_str(), stem_of(entry.file).c_str(), 0) == 0;
}

SuiteSelection select_scenarios(std::vector<SuiteEntry> found, const SuiteChoice& choice) {
  const auto& [filter, failed, shard] = choice;
  SuiteSelection selection;
  selection.found = std::move(found);
  for (const SuiteEntry& entry : selection.found) {
    if (!matches(entry, filter)) continue;
    if (failed && std::ranges::find(*failed, entry.name) == failed->end()) continue;
    ++selection.num_matching;
    if (!shard || shard_of(entry.name, shard->count) == shard->index)
      selection.runs.push_back(entry);
  }
  return selection;
}

namespace {

constexpr const char* kRunExamples =
    "Examples:\n"
    "  hybridscope run scenarios/align_boundary_by_decode.json\n"
    "  hybridscope run scenarios/align_boundary_by_accepted_drafts.json --explain 2\n"
    "  hybridscope run scenarios/async_worked_example.json --twin\n"
    "  hybridscope run --traffic trace.jsonl --model qwen3-next-80b-a3b --mode align \\\n"
    "      --kv-memory 60GiB --num-speculative-tokens 2 --json\n"
    "  hybridscope run scenarios/ --shard 1/2 --junit report.xml\n"
    "  hybridscope run scenarios/ --engine vllm-0.33.0 --expect-known-bugs\n"
    "  hybridscope run --traffic synthetic --model nemotron-h-8b --mode all --limit 100\n"
    "  hybridscope run scenarios/async_worked_example.json --record runs.db:before\n"
    "  hybridscope run scenarios/several_groups.json --state bytes --layers 4\n"
    "\n"
    "Exit codes: 0 no findings, 1 findings or unmet expectations, 2 usage, 3 invalid input,\n"
    "4 environment. Of several scenarios the worst counts.";

void add_suite_options(CLI::App& command, SuiteOptions& options) {
  command
      .add_option_function<std::string>(
          "--shard",
          [&options](const std::string& text) { options.shard = parse_shard(text).value(); },
          "run one of N parts of the scenarios, chosen by their names (also GTEST_TOTAL_SHARDS "
          "with GTEST_SHARD_INDEX)")
      ->check(kShard)
      ->type_name("I/N");
  command
      .add_option("--filter", options.filter,
                  "only scenarios whose name (or file name without .json) matches (* ? [a-z])")
      ->type_name("GLOB");
  command
      .add_option("--rerun-failed", options.failed_in,
                  "only scenarios that are \"not ok\" in this report of --tap")
      ->type_name("FILE.tap");
}

}  // namespace

void add_run_options(CLI::App& command, RunCommandOptions& options) {
  command.footer(kRunExamples);
  auto* scenario = command
                       .add_option_function<std::vector<std::string>>(
                           "scenario",
                           [&options](const std::vector<std::string>& paths) {
                             options.suite.paths = paths;
                             options.scenario = paths.front();
                           },
                           "scenario files (docs/scenario-format.md) and folders of them")
                       ->type_name("SCENARIO.json|DIR");
  add_suite_options(command, options.suite);
  command.add_option("--traffic", options.traffic, kTrafficHelp)
      ->type_name("FILE|synthetic")
      ->excludes(scenario);
  command
      .add_option("--model", options.model,
                  std::string("preset or config.json (traffic: ") + kDefaultTrafficModel + ")")
      ->type_name("NAME|FILE");
  command.add_option("--limit", options.limit, "take only the first N requests of the traffic")
      ->check(is_positive_number())
      ->type_name("N");
  add_traffic_options(command, options.traffic_options);
  command.add_option("--steps", options.steps, "stop after N steps")
      ->check(is_positive_number())
      ->type_name("N");
  auto* explain = command.add_option("--explain", options.explain, "explain one step in full")
                      ->check(is_positive_number())
                      ->type_name("STEP");
  add_check_option(command, options.check);
  auto* json = command.add_flag_callback(
      "--json", [&options] { options.output = RunOutput::json; },
      "one object {config, state, summary, findings}");
  auto* jsonl = command.add_flag_callback(
      "--jsonl", [&options] { options.output = RunOutput::jsonl; }, "one object per step");
  json->excludes(jsonl)->excludes(explain);
  jsonl->excludes(explain);
  add_step_file_options(command, options.files);
  add_break_options(command, options.breaks);
  add_state_options(command, options.state);
  command
      .add_flag("--twin", options.twin,
                "run the scenario twice, side by side: as written, and with the settings in its "
                "key \"twin\" (default: with async_scheduling flipped)")
      ->excludes(jsonl)
      ->excludes(explain)
      ->excludes("--record")
      ->excludes("--break");
  command.add_flag_callback(
      "--no-timings", [&options] { options.timings = false; },
      "leave out wall time and memory, so that two runs compare equal");
  command.add_option("--trace", options.files.trace, "write every decision as a trace for judge")
      ->type_name("FILE|-");
  command
      .add_option("--junit", options.junit,
                  "write a JUnit report: one testsuite per scenario, one testcase per rule")
      ->type_name("FILE|-");
  command.add_option("--tap", options.tap, "write a TAP report: one test point per scenario")
      ->type_name("FILE|-");
  add_known_findings_options(command, options.known);
  command.add_flag("--strict", options.strict, "warnings count as findings");
  command.add_flag("--table", options.table_of_traffic, "print one row per step for traffic too");
  command.add_flag("-q,--quiet", options.quiet, "print only what fails and the verdict");
  add_settings_options(command, options.settings);
}

CommandFiles files_of(const RunCommandOptions& options) {
  CommandFiles files = files_of(static_cast<const RunOptions&>(options));
  files.inputs.pop_back();  // one scenario: the command has the paths of a suite
  files.inputs.push_back({"the report of failures", options.suite.failed_in});
  for (const std::string& path : options.suite.paths)
    files.inputs.push_back({.what = "the scenario", .path = path, .of_folder = ".json"});
  files.outputs.insert(files.outputs.begin() + 1,  // behind --trace
                       {{"--junit", options.junit}, {"--tap", options.tap}});
  files.outputs.insert(files.outputs.begin(),
                       {document("--json", options.output == RunOutput::json),
                        document("--jsonl", options.output == RunOutput::jsonl)});
  return files;
}

std::FILE* text_stream_of(const RunCommandOptions& options) {
  return text_stream({{"--trace", options.files.trace},
                      {"--junit", options.junit},
                      {"--tap", options.tap},
                      {"--write-baseline", options.known.write_baseline}});
}

}  // namespace hybridscope
