#include "cli/run_options.h"

#include <CLI/CLI.hpp>

#include <utility>

#include "cli/common_options.h"
#include "sessions/job/output_targets.h"

namespace hybridscope {
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
  command
      .add_option_function<std::string>(
          "--check",
          [&options](const std::string& scope) { options.check = *check_scope_of(scope); },
          "step: what a step wrote or registered (default); all: every registered block too")
      ->check(CLI::IsMember({"step", "all"}))
      ->type_name("step|all");
  auto* json = command.add_flag_callback(
      "--json", [&options] { options.output = RunOutput::json; },
      "one object {config, state, summary, findings}");
  auto* jsonl = command.add_flag_callback(
      "--jsonl", [&options] { options.output = RunOutput::jsonl; }, "one object per step");
  json->excludes(jsonl)->excludes(explain);
  jsonl->excludes(explain);
  add_record_options(command, options.record);
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
  command.add_option("--trace", options.trace, "write every decision as a trace for judge")
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
  return text_stream({{"--trace", options.trace},
                      {"--junit", options.junit},
                      {"--tap", options.tap},
                      {"--write-baseline", options.known.write_baseline}});
}

}  // namespace hybridscope
