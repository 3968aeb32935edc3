#include "cli/plan_command.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <string>
#include <utility>

#include "cli/common_options.h"
#include "sessions/job/plan_job.h"
#include "sessions/text/number_words.h"
#include "sessions/traffic/load_traffic.h"

namespace hybridscope {
namespace {

constexpr std::int32_t kMostTokens = 1 << 24;

constexpr const char* kPlanExamples =
    "Examples:\n"
    "  hybridscope plan --model qwen3-next-80b-a3b --kv-memory 40GiB\n"
    "  hybridscope plan --model qwen3-next-80b-a3b --kv-memory 40GiB --prompt 8000 --output 500 "
    "\\\n"
    "      --shared 6000\n"
    "  hybridscope plan --model Qwen/Qwen3.8-27B --gpu b200 --engine vllm-0.28.0 \\\n"
    "      --gpu-memory 178GiB --weights-memory 52GiB --num-speculative-tokens 3\n"
    "  hybridscope plan --from-serve 'vllm serve Qwen/Qwen3-Next-80B-A3B-Instruct -tp 4 "
    "--max-num-seqs 1024' \\\n"
    "      --kv-memory 30GiB --prompt 8000 --output 500\n"
    "  docker logs vllm 2>&1 | hybridscope plan --from-log -\n"
    "  hybridscope plan --traffic trace.jsonl --kv-memory 60GiB --html plan.html\n"
    "  hybridscope plan --traffic trace.jsonl --model nemotron-h-8b --kv-memory 40GiB \\\n"
    "      --sweep mamba_cache_mode=align,all,none --sweep max_num_seqs=64..512\n"
    "  hybridscope plan --traffic synthetic --sweep num_speculative_tokens=0..3 \\\n"
    "      --prefer hits,steps --engine vllm-0.33.0\n"
    "  hybridscope plan --traffic trace.jsonl --sweep prefix_cache_retention_interval=none,0,2x\n"
    "  hybridscope plan --traffic trace.jsonl --step-time '8ms + 25us*prefill + 60us*decode' \\\n"
    "      --prefer throughput,first_token\n"
    "  hybridscope plan --traffic trace.jsonl --sweep max_num_seqs=64..512 --from-serve \\\n"
    "      'vllm serve Qwen/Qwen3-Next-80B-A3B-Instruct -tp 4 --max-num-seqs 1024'\n"
    "  hybridscope plan --traffic trace.jsonl --shard 1/4 --out part1.jsonl\n"
    "  hybridscope plan --merge part1.jsonl part2.jsonl part3.jsonl part4.jsonl\n"
    "  hybridscope plan fit run.jsonl --out step_time.txt\n"
    "\n"
    "Without traffic it answers whether the release starts, what its log says, and what runs. "
    "With\n"
    "traffic each combination is run to its end with the exact cache and scheduler of the engine. "
    "Latency is not "
    "predicted:\n"
    "times follow from --step-time, which is yours. With --out, Ctrl-C stops it and the same\n"
    "command goes on. More: docs/plan.md\n"
    "Exit codes: 0 fine, 1 the release does not start, 2 usage, an unknown model, settings that it "
    "does not allow, 3 invalid\n"
    "input, 4 environment.";

void add_size_options(CLI::App& command, PlanCommandOptions& options, CLI::Option* traffic) {
  constexpr const char* kGroup = "Sizes, without traffic";
  command.add_option("--prompt", options.prompt, "prompt tokens of a request")
      ->check(CLI::Range(1, kMostTokens))
      ->type_name("N")
      ->excludes(traffic)
      ->group(kGroup);
  command.add_option("--output", options.output, "tokens that it generates (default: 1)")
      ->check(CLI::Range(1, kMostTokens))
      ->type_name("N")
      ->excludes(traffic)
      ->group(kGroup);
  command.add_option("--shared", options.shared, "tokens that all prompts begin with (default: 0)")
      ->check(CLI::Range(0, kMostTokens))
      ->type_name("N")
      ->excludes(traffic)
      ->group(kGroup);
  command
      .add_option("--draft-model", options.draft_model,
                  "the config.json of a draft model (eagle3, DFlash), whose layers cache, too")
      ->type_name("NAME|FILE")
      ->excludes(traffic)
      ->group(kGroup);
}

// What is run, and how much of it. Returns --budget.
CLI::Option* add_sweep_options(CLI::App& command, PlanCommandOptions& options) {
  command
      .add_option("--sweep", options.sweeps,
                  "values of one setting to try; may be repeated: all combinations are. Also "
                  "ranges (0..3, 64..512), 2x (twice the block size). Default: the model's cache "
                  "modes and max_num_seqs=64..512")
      ->type_name("NAME=VALUE,...")
      ->allow_extra_args(false);
  command
      .add_option("--prefer", options.prefer,
                  "goals, such as hits,concurrency: the front and the recommendation follow from "
                  "them (docs/plan.md lists them)")
      ->capture_default_str()
      ->type_name("GOAL,...");
  command
      .add_option(
          "--step-time", options.step_time,
          "how long a step takes, an assumption from which times follow: a sum such as "
          "20ms + 30us*prefill + 30us*decode + 0.0002us*copied_bytes, a file of plan fit, or "
          "\"constants\" for --step-cost. Also runs half and twice as long steps (default: "
          "no times)")
      ->type_name("SUM|FILE");
  auto* budget =
      command
          .add_option(
              "--budget", options.budget,
              fmt::format("run at most N combinations, chosen by a search (default: all, up to "
                          "{})",
                          grouped_number(kDefaultBudget)))
          ->check(is_positive_number())
          ->type_name("N");
  command.add_option("-j,--jobs", options.jobs, "runs in parallel (default: one per core)")
      ->check(CLI::Range(1, 1024, "1 to 1024"))
      ->type_name("N");
  return budget;
}

// What becomes of the results.
void add_plan_result_options(CLI::App& command, PlanCommandOptions& options, CLI::Option* traffic,
                             CLI::Option* budget) {
  command
      .add_option("--top", options.top,
                  fmt::format("rows of the table (default: {})", kDefaultRows))
      ->check(is_positive_number())
      ->type_name("N");
  command
      .add_option("-o,--out", options.out,
                  "keep each result in this file as it comes; the same command goes on with it")
      ->type_name("FILE");
  auto* page = command
                   .add_option("--html", options.html,
                               "write one page for a browser, without network: the front, memory "
                               "and hits over time, all figures (\"-\": standard output)")
                   ->type_name("FILE");
  auto* shard = command
                    .add_option("--shard", options.shard,
                                "the combinations of one of N parts, by their names")
                    ->type_name("I/N")
                    ->excludes(budget);
  auto* merge = command
                    .add_option("--merge", options.merge,
                                "run nothing: report the results of these files together")
                    ->type_name("FILE")
                    ->excludes(traffic)
                    ->excludes(shard);
  command.add_flag("--list", options.list, "print the combinations; run nothing")
      ->excludes(merge)
      ->excludes(page);
  command.add_flag(
      "--json", options.json,
      "one object: the sizes, {plan, goals, recommended, front, reasons, results}, or with "
      "--list {combinations}");
  command.add_flag("-q,--quiet", options.quiet, "no progress");
}

}  // namespace

void add_plan_options(CLI::App& command, PlanCommandOptions& options) {
  command.footer(kPlanExamples);
  command
      .add_option("--model", options.model,
                  std::string("preset or config.json (with traffic: ") + kDefaultTrafficModel + ")")
      ->type_name("NAME|FILE");
  auto* serve =
      command
          .add_option(
              "--from-serve", options.from_serve,
              "start from this command: vllm serve, docker run, YAML of compose or Kubernetes "
              "(@FILE, -: standard input); options given besides it replace its flags")
          ->type_name("COMMAND");
  command
      .add_option("--from-log", options.from_log,
                  "start from a start-up log of vLLM (\"-\": standard input): its figures beside "
                  "those of a plan, then as with --from-serve")
      ->excludes(serve)
      ->type_name("FILE");
  auto* traffic =
      command.add_option("--traffic", options.traffic, kTrafficHelp)->type_name("FILE|synthetic");
  add_size_options(command, options, traffic);
  command.add_option("--limit", options.limit, "take only the first N requests of the traffic")
      ->check(is_positive_number())
      ->type_name("N")
      ->needs(traffic);
  add_traffic_options(command, options.traffic_options);
  CLI::Option* const budget = add_sweep_options(command, options);
  add_plan_result_options(command, options, traffic, budget);
  add_settings_options(command, options.settings);
}

CommandFiles files_of(const PlanCommandOptions& options) {
  CommandFiles files = files_of(static_cast<const PlanJobOptions&>(options));
  files.outputs.insert(files.outputs.begin(),
                       {document("--json", options.json), {"--html", options.html}});
  for (const std::string& file : options.merge)
    files.inputs.push_back({.what = "a file to merge", .path = file, .use = FileUse::results});
  return files;
}

std::string_view option_not_for_merge(const PlanCommandOptions& options) {
  const std::pair<bool, std::string_view> all[] = {
      {!options.sweeps.empty(), "--sweep"},
      {!options.step_time.empty(), "--step-time"},
      {!options.model.empty(), "--model"},
      {!options.from_serve.empty(), "--from-serve"},
      {!options.from_log.empty(), "--from-log"},
      {options.budget > 0, "--budget"},
      {options.prompt > 0, "--prompt"},
      {options.output > 0, "--output"},
      {options.shared > 0, "--shared"},
      {!options.draft_model.empty(), "--draft-model"},
      {options.limit > 0, "--limit"},
      {!options.settings.words().empty(), "a setting"}};
  for (const auto& [given, name] : all)
    if (given) return name;
  return {};
}

std::string_view option_for_traffic(const PlanCommandOptions& options) {
  const std::pair<bool, std::string_view> all[] = {
      {!options.sweeps.empty(), "--sweep"}, {!options.step_time.empty(), "--step-time"},
      {!options.out.empty(), "--out"},      {!options.html.empty(), "--html"},
      {!options.shard.empty(), "--shard"},  {options.list, "--list"},
      {options.budget > 0, "--budget"},     {options.prefer != kDefaultGoals, "--prefer"}};
  for (const auto& [given, name] : all)
    if (given) return name;
  return {};
}

}  // namespace hybridscope
