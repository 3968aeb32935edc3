#include "cli/plan_command.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "cli/exit_codes.h"
#include "cli/interrupt.h"
#include "cli/output_targets.h"
#include "cli/plan_clock.h"
#include "cli/plan_job.h"
#include "cli/plan_report.h"
#include "cli/plan_sizes.h"
#include "cli/positive_number.h"
#include "cli/progress.h"
#include "cli/report_error.h"
#include "cli/traffic_options.h"
#include "sessions/plan/plan_file.h"
#include "sessions/plan/plan_page.h"
#include "sessions/plan/plan_story.h"
#include "sessions/text/number_words.h"

namespace hybridscope {
namespace {

constexpr std::int32_t kMostTokens = 1 << 24;

constexpr const char* kPlanExamples =
    "Examples:\n"
    "  hybridscope plan --model qwen3-next-80b-a3b --kv-memory 40GiB\n"
    "  hybridscope plan --model qwen3-next-80b-a3b --kv-memory 40GiB --prompt 8000 --output 500 "
    "\\\n"
    "      --shared 6000\n"
    "  hybridscope plan --model path/to/config.json --gpu-memory 80GiB --weights-memory 52GiB \\\n"
    "      --engine vllm-0.33.0 --startup-log\n"
    "  hybridscope plan --from-serve 'vllm serve Qwen/Qwen3-Next-80B-A3B-Instruct -tp 4 "
    "--max-num-seqs 1024' \\\n"
    "      --kv-memory 30GiB --prompt 8000 --output 500\n"
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
    "\n"
    "Without traffic it answers what the model and its settings hold. With traffic each "
    "combination\n"
    "is run to its end with the exact cache and scheduler of the engine. Latency is not "
    "predicted:\n"
    "times follow from --step-time, which is yours. With --out, Ctrl-C stops it and the same\n"
    "command goes on. More: docs/plan.md\n"
    "Exit codes: 0 fine, 2 usage, an unknown model, settings that it does not allow, 3 invalid\n"
    "input, 4 environment.";

// Where the page goes, made before the runs so that a wrong place is reported at once; empty: none
// is asked for.
using PageFile = std::optional<OutputFile>;

Result<PageFile> open_page(const PlanCommandOptions& options) {
  const OutputTarget html{"--html", options.html};
  if (Status one = check_one_document({{"--json", options.json ? "-" : ""}, html}); !one.ok())
    return one.error();
  if (Status apart = check_not_read(html, "the traffic", options.traffic); !apart.ok())
    return apart.error();
  if (Status apart = check_not_read({"--out", options.out}, "the traffic", options.traffic);
      !apart.ok())
    return apart.error();
  if (Status apart = check_not_read(html, "the result file", options.out); !apart.ok())
    return apart.error();
  for (const std::string& file : options.merge)
    if (Status apart = check_not_read(html, "a file to merge", file); !apart.ok())
      return apart.error();
  return open_output(options.html);
}

Status write_page(const PlanView& view, OutputFile& page) {
  if (Status written = page.write(plan_as_html({.header = view.header,
                                                .sweep = view.sweep,
                                                .results = view.results,
                                                .goals = view.goals,
                                                .choice = view.choice,
                                                .num_requests = view.num_requests,
                                                .more_reasons = view.choice.has_recommendation()
                                                                    ? sensitivity_lines(view)
                                                                    : std::vector<std::string>()}));
      !written.ok())
    return written;
  return page.finish();
}

// `job`: that was run, for the line that it started from; null: none.
int report(const PlanCommandOptions& options, const PlanStory& story, PageFile& page,
           const PlanJob* job = nullptr) {
  const PlanView view = story.view();
  if (page)
    if (const Status written = write_page(view, *page); !written.ok())
      return report_error("plan", written.error());
  std::optional<WantedSettings> wanted;
  if (job != nullptr && job->line && view.choice.has_recommendation())
    wanted = wanted_settings(*job, view.results[view.choice.recommended()].name);
  if (options.json) {
    nlohmann::ordered_json json = plan_to_json(view);
    if (wanted) add_serve_line(*job->line, wanted->settings, wanted->layout, json);
    fmt::print("{}\n", json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
    return kExitFine;
  }
  std::FILE* const out = text_stream({{"--html", options.html}});
  fmt::print(out, "{}", format_plan(view, options.top > 0 ? options.top : kDefaultRows));
  if (wanted) fmt::print(out, "{}", serve_line_text(*job->line, wanted->settings, wanted->layout));
  return kExitFine;
}

int list(const PlanJob& job, bool as_json) {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (std::int64_t index = 0; index < job.sweep.size(); ++index) {
    const PlanCase of = job.sweep.at(index);
    if (job.options.selects && !job.options.selects(of.name)) continue;
    if (as_json)
      all.push_back(of.name);
    else
      fmt::print("{}\n", of.name);
  }
  if (as_json) fmt::print("{}\n", nlohmann::ordered_json{{"combinations", std::move(all)}}.dump(2));
  return kExitFine;
}

int merge(const PlanCommandOptions& options, PageFile& page) {
  auto merged = merge_plans(options.merge);
  if (!merged.ok()) return report_error("plan", merged.error());
  const PlanContents& contents = merged.value();
  const auto sweep = sweep_of(contents.header);
  if (!sweep.ok()) return report_error("plan", sweep.error());
  const auto goals = goals_of(options.prefer, !contents.header.step_time.empty());
  if (!goals.ok()) return report_usage("plan", goals.error().message);
  if (!options.out.empty()) {
    auto file = PlanFile::open(options.out, contents.header);
    if (!file.ok()) return report_error("plan", file.error());
    for (const auto& [name, result] : contents.results)
      if (!file.value().contents().results.contains(name))
        if (Status added = file.value().add(result); !added.ok())
          return report_error("plan", added.error());
  }
  return report(options, PlanStory(contents, sweep.value(), goals.value()), page);
}

Result<bool> run_and_keep(PlanJob& job, PlanContents& contents) {
  auto outcome = run_plan(job.sweep, *job.traffic, contents.results, job.options);
  if (!outcome.ok()) return outcome.error();
  for (PlanResult& result : outcome.value().results) {
    std::string name = result.name;
    contents.results[std::move(name)] = std::move(result);
  }
  return !outcome.value().interrupted;
}

// Runs what is missing, also under other step times. False: interrupted.
Result<bool> run_missing(PlanJob& job, PlanContents& contents, PlanClock& clock) {
  const std::optional<StepTime> step_time = job.options.run.step_time;
  std::size_t passes_left = step_time ? kOtherStepTimes.size() : 0;
  clock = PlanClock({.suffix = {}, .later = passes_left});
  auto finished = run_and_keep(job, contents);
  for (const OtherStepTime& other : kOtherStepTimes) {
    if (!step_time || !finished.ok() || !finished.value()) break;
    job.options.run.step_time = step_time->times(other.factor);
    job.options.run.name_suffix = other.suffix;
    clock = PlanClock({.suffix = other.suffix, .later = --passes_left});
    finished = run_and_keep(job, contents);
  }
  return finished;
}

int run(const PlanCommandOptions& options, PageFile& page) {
  auto made = make_plan_job(options);
  if (!made.ok()) {
    const bool usage = made.error().kind == ErrorKind::invalid_input;
    return usage ? report_usage("plan", made.error().message) : report_error("plan", made.error());
  }
  PlanJob& job = made.value();
  if (!job.note.empty()) report_note(job.note);
  note_not_read({.line = job.line, .model = {}, .settings = {}});
  if (options.list) return list(job, options.json);
  std::optional<PlanFile> file;
  if (!options.out.empty()) {
    auto opened = PlanFile::open(options.out, job.header);
    if (!opened.ok()) return report_error("plan", opened.error());
    file = std::move(opened).value();
    job.options.take = [&file](const PlanResult& result) { return file->add(result); };
  }
  PlanContents contents{.header = job.header, .results = {}};
  if (file) contents.results = file->contents().results;
  ask_for_interrupts();
  Progress progress(options.quiet);
  PlanClock clock({});
  job.options.progress = [&](const PlanProgress& at) {
    progress.show([&] { return clock.text(at); });
  };
  const auto finished = run_missing(job, contents, clock);
  progress.clear();
  if (!finished.ok()) return report_error("plan", finished.error());
  if (!finished.value())
    report_message("plan", options.out.empty()
                               ? "interrupted; with --out FILE the same command would go on"
                               : "interrupted; the same command goes on");
  const int code = report(options,
                          PlanStory(contents, job.sweep, job.options.goals,
                                    std::ssize(job.traffic->traffic().requests)),
                          page, &job);
  return finished.value() ? code : kExitInterrupted;
}

}  // namespace

namespace {

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
      .add_flag("--startup-log", options.startup_log,
                "also the lines about sizes that the release logs when it starts")
      ->excludes(traffic)
      ->group(kGroup);
}

}  // namespace

void add_plan_options(CLI::App& command, PlanCommandOptions& options) {
  command.footer(kPlanExamples);
  command
      .add_option("--model", options.model,
                  std::string("preset or config.json (with traffic: ") + kDefaultTrafficModel + ")")
      ->type_name("NAME|FILE");
  command
      .add_option(
          "--from-serve", options.from_serve,
          "start from this line of `vllm serve`; options given besides it replace its flags")
      ->type_name("LINE");
  auto* traffic =
      command.add_option("--traffic", options.traffic, kTrafficHelp)->type_name("FILE|synthetic");
  add_size_options(command, options, traffic);
  command.add_option("--limit", options.limit, "take only the first N requests of the traffic")
      ->check(is_positive_number())
      ->type_name("N")
      ->needs(traffic);
  add_traffic_options(command, options.traffic_options);
  command
      .add_option("--sweep", options.sweeps,
                  "values of one setting to try; may be repeated: all combinations are. Also "
                  "\"none\" (not set), ranges (0..3, 64..512), 2x (twice the block size). Default: "
                  "the model's cache modes and max_num_seqs=64..512")
      ->type_name("NAME=VALUE,...")
      ->allow_extra_args(false);
  command
      .add_option("--prefer", options.prefer,
                  "goals, such as hits,concurrency: the front and the recommendation follow from "
                  "them (docs/plan.md lists them)")
      ->capture_default_str()
      ->type_name("GOAL,...");
  command
      .add_option("--step-time", options.step_time,
                  "how long a step takes, an assumption from which times follow: a sum such as "
                  "20ms + 30us*prefill + 30us*decode + 0.0002us*copied_bytes, or \"constants\" "
                  "for --step-cost. Also runs half and twice as long steps (default: no times)")
      ->type_name("SUM");
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
  options.settings.add_to(command);
}

namespace {

// An option that was given and means nothing for result files; empty: none.
std::string_view option_not_for_merge(const PlanCommandOptions& options) {
  const std::pair<bool, std::string_view> all[] = {
      {!options.sweeps.empty(), "--sweep"}, {!options.step_time.empty(), "--step-time"},
      {!options.model.empty(), "--model"},  {!options.from_serve.empty(), "--from-serve"},
      {options.budget > 0, "--budget"},     {options.prompt > 0, "--prompt"},
      {options.limit > 0, "--limit"},       {!options.settings.words().empty(), "a setting"}};
  for (const auto& [given, name] : all)
    if (given) return name;
  return {};
}

// An option that was given and means nothing without traffic; empty: none.
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

}  // namespace

int plan_command(const PlanCommandOptions& options) {
  if (options.merge.empty() && options.traffic.empty()) {
    const std::string_view lonely = option_for_traffic(options);
    return lonely.empty() ? plan_sizes(options)
                          : report_usage("plan", fmt::format("{} needs --traffic", lonely));
  }
  if (!options.merge.empty())
    if (const std::string_view idle = option_not_for_merge(options); !idle.empty())
      return report_usage("plan", fmt::format("{} does not go with --merge", idle));
  auto page = open_page(options);
  if (!page.ok())
    return page.error().kind == ErrorKind::invalid_input
               ? report_usage("plan", page.error().message)
               : report_error("plan", page.error());
  return options.merge.empty() ? run(options, page.value()) : merge(options, page.value());
}

}  // namespace hybridscope
