#include "cli/commands.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/common_options.h"
#include "cli/explain_cache_report.h"
#include "cli/process.h"
#include "sessions/cache_report/changed_plan.h"
#include "sessions/job/plan_job.h"
#include "sessions/job/right_command.h"
#include "sessions/run/checked_run.h"
#include "sessions/run/drive.h"
#include "sessions/text/json_value.h"
#include "sessions/text/shown_text.h"
#include "sessions/traffic/traffic.h"

namespace hybridscope {
namespace {

constexpr std::int64_t kTopOfTraffic = 20;
// With more rows than this, changes are tried only for --request, not for each row of a table.
constexpr std::int64_t kMostRowsToTry = 20'000;
constexpr std::int64_t kMostRowsOfTries = 2'000'000;

constexpr const char* kExplainCacheExamples =
    "Examples:\n"
    "  hybridscope explain-cache scenarios/shared_prefix_align.json\n"
    "  hybridscope explain-cache scenarios/shared_prefix_align.json --request C\n"
    "  hybridscope explain-cache scenarios/shared_prefix_align.json --block-size 4\n"
    "  hybridscope explain-cache scenarios/shared_prefix_align.json --engine vllm --request C\n"
    "  hybridscope explain-cache --traffic trace.jsonl --kv-memory 60GiB --top 10\n"
    "  hybridscope explain-cache --traffic synthetic --limit 100 --jsonl\n"
    "  hybridscope explain-cache --traffic synthetic --kv-memory 4GiB --request c5.t2 \\\n"
    "      --sweep max_num_seqs=16,32 --sweep num_speculative_tokens=0..2\n"
    "\n"
    "Tokens that a request shares with an earlier one but computed again are counted by reason:\n"
    "last token, block granularity, eagle drop, not yet computed, state missing, evicted, caching\n"
    "off. \"Would help\" names a change that made the hit longer when the run was repeated with "
    "it.\n"
    "More: docs/traffic.md\n"
    "Exit codes: 0 fine, 2 usage, 3 invalid input, 4 environment.";

// The run and what to show.
class ExplainedRun {
 public:
  ExplainedRun(const ExplainCacheOptions& options, CheckedRun run)
      : options_(options),
        run_(std::move(run)),
        names_(make_names(run_.engine())),
        cache_(run_.engine().config(), planned_requests(run_.plan(), names_.request)) {}
  ExplainedRun(const ExplainedRun&) = delete;  // names refer to this object
  ExplainedRun& operator=(const ExplainedRun&) = delete;

  int run();

 private:
  Status step_to_the_end();
  std::vector<ExplainedLookup> shown_lookups() const;
  void try_changes(std::vector<ExplainedLookup>& lookups) const;
  Status try_settings(std::vector<ExplainedLookup>& lookups) const;
  void print(const CacheReportView& view) const;

  const ExplainCacheOptions& options_;
  CheckedRun run_;  // without checks, because only decisions are read
  Names names_;
  CacheReport cache_;
  std::int64_t num_rows_ = 0;
};

Status ExplainedRun::step_to_the_end() {
  Progress progress;
  const auto add = [&](const CheckedStep& step) {
    num_rows_ += static_cast<std::int64_t>(step.trace.scheduled.size());
    cache_.add(step.trace);
    if (run_.plan().requests.size() >= 1000)
      progress.show([&] {
        return fmt::format("step {}, {} of {} requests looked up", step.trace.step,
                           cache_.lookups().size(), run_.plan().requests.size());
      });
    if (run_.end() == EndReason::no_progress)
      report_note(fmt::format("the run stopped in step {}: it cannot progress", step.trace.step));
  };
  const auto driven = drive(run_, add, was_interrupted);
  if (!driven.ok()) return driven.error();
  progress.clear();
  return Ok{};
}

std::vector<ExplainedLookup> ExplainedRun::shown_lookups() const {
  std::vector<ExplainedLookup> shown;
  for (const LookupReport& report : cache_.lookups())
    if (options_.request.empty() || names_.request(report.request) == options_.request)
      shown.push_back({.report = report});
  const bool all = options_.output != RunOutput::table || !options_.request.empty() ||
                   options_.run.traffic.empty();
  const std::int64_t top = options_.top > 0 ? options_.top : all ? 0 : kTopOfTraffic;
  if (top == 0) return shown;
  std::stable_sort(shown.begin(), shown.end(), [](const auto& a, const auto& b) {
    return a.report.num_lost_tokens() > b.report.num_lost_tokens();
  });
  if (static_cast<std::size_t>(top) < shown.size()) shown.resize(static_cast<std::size_t>(top));
  return shown;
}

void ExplainedRun::try_changes(std::vector<ExplainedLookup>& lookups) const {
  if (options_.request.empty() && num_rows_ > kMostRowsToTry) return;
  ChangeSearch search(run_.plan(), kMostRowsOfTries);
  for (ExplainedLookup& lookup : lookups) {
    if (was_interrupted() || search.exhausted()) return;
    const RequestId other = lookup.report.common.request;
    const LookupOfPlan of_plan{.report = lookup.report,
                               .request = names_.request(lookup.report.request),
                               .other = other.value < 0 ? "" : names_.request(other)};
    lookup.changes = search.find(of_plan);
    lookup.coarser = search.coarser_units(of_plan);
    lookup.tried = true;
    lookup.all_tried = !search.exhausted();
  }
}

Status ExplainedRun::try_settings(std::vector<ExplainedLookup>& lookups) const {
  if (options_.sweeps.empty()) return Ok{};
  auto axes = parse_sweeps(options_.sweeps);
  if (!axes.ok()) return axes.error();
  const auto tries =
      SettingTries::run(run_.plan(), axes.value(), [] { return !was_interrupted(); });
  if (!tries.ok()) return tries.error();
  std::size_t num_tried = 0;
  for (const SettingTry& one : tries.value().tries()) {
    num_tried += one.refused.empty() ? 1 : 0;
    if (!one.refused.empty())
      report_note(fmt::format("{} was not tried: {}", one.name, one.refused));
  }
  if (!tries.value().complete()) report_note("not every setting was tried: interrupted");
  if (num_tried == 0) return Ok{};
  for (ExplainedLookup& lookup : lookups)
    if (lookup.report.admission == Admission::new_request)
      lookup.settings = tries.value().that_help(names_.request(lookup.report.request));
  return Ok{};
}

void ExplainedRun::print(const CacheReportView& view) const {
  if (options_.output == RunOutput::json) return print_json(cache_report_to_json(view));
  if (options_.output == RunOutput::jsonl) {
    for (const ExplainedLookup& lookup : view.lookups)
      print_json(lookup_to_json(lookup, view), kOneLine);
    nlohmann::ordered_json totals = cache_report_to_json({view.plan, view.cache, view.names});
    totals.erase("lookups");
    return print_json(totals, kOneLine);
  }
  fmt::print("{}", format_cache_heading(view));
  if (!options_.request.empty()) {
    fmt::print("{}", format_cache_sentences(view));
    return;
  }
  fmt::print("{}", format_cache_table(view));
  if (view.lookups.size() < view.cache.lookups().size())
    fmt::print("the {} lookups that lost most, of {}\n", view.lookups.size(),
               view.cache.lookups().size());
  fmt::print("\n{}{}", format_helpful_settings(view), format_cache_totals(view));
}

int ExplainedRun::run() {
  if (!options_.request.empty() && find_planned(run_.plan(), options_.request) < 0) {
    std::vector<std::string_view> known;
    for (const ArrivingRequest& arriving : run_.plan().requests)
      known.push_back(arriving.request.name);
    return report_usage("explain-cache", fmt::format("--request: there is no request {}{}",
                                                     quoted_text(options_.request),
                                                     nearest_key_hint(options_.request, known)));
  }
  if (Status stepped = step_to_the_end(); !stepped.ok())
    return report_error("explain-cache", stepped.error());
  CacheReportView view{.plan = run_.plan(), .cache = cache_, .names = names_};
  view.lookups = shown_lookups();
  try_changes(view.lookups);
  if (Status tried = try_settings(view.lookups); !tried.ok())
    return report_error("explain-cache", tried.error());
  if (was_interrupted()) report_message("explain-cache", "interrupted");
  if (!options_.request.empty() && view.lookups.empty())
    report_note(fmt::format("{} was never admitted", options_.request));
  print(view);
  return was_interrupted() ? kExitInterrupted : kExitFine;
}

}  // namespace

void add_explain_cache_options(CLI::App& command, ExplainCacheOptions& options) {
  command.footer(kExplainCacheExamples);
  RunOptions& run = options.run;
  auto* scenario =
      command.add_option("scenario", run.scenario, "scenario file (docs/scenario-format.md)")
          ->type_name("SCENARIO.json");
  auto* traffic = command.add_option("--traffic", run.traffic, kTrafficHelp)
                      ->type_name("FILE|synthetic")
                      ->excludes(scenario);
  command
      .add_option("--model", run.model,
                  std::string("preset or config.json (traffic: ") + kDefaultTrafficModel + ")")
      ->type_name("NAME|FILE");
  command.add_option("--limit", run.limit, "take only the first N requests of the traffic")
      ->check(is_positive_number())
      ->type_name("N")
      ->needs(traffic);
  add_traffic_options(command, run.traffic_options);
  command.add_option("--request", options.request, "explain one request in full sentences")
      ->type_name("NAME");
  command
      .add_option("--top", options.top,
                  "the N lookups that lost most tokens (traffic as a table: 20)")
      ->check(is_positive_number())
      ->type_name("N");
  command
      .add_option("--sweep", options.sweeps,
                  "also run it with each of these values of a setting, and say which would have "
                  "kept more and what that costs the whole run (docs/plan.md, Sweeps); may be "
                  "repeated")
      ->type_name("NAME=VALUE,...")
      ->allow_extra_args(false);
  auto* json = command.add_flag_callback(
      "--json", [&options] { options.output = RunOutput::json; },
      "one object {smallest_cacheable_prefix, totals, lookups, ...}");
  command
      .add_flag_callback(
          "--jsonl", [&options] { options.output = RunOutput::jsonl; },
          "one object per lookup, then one with the totals")
      ->excludes(json);
  add_settings_options(command, run.settings);
}

int explain_cache_command(const ExplainCacheOptions& options) {
  if (const auto axes = parse_sweeps(options.sweeps); !axes.ok())
    return report_usage("explain-cache", axes.error().message);
  if (options.run.scenario.empty() && options.run.traffic.empty())
    return report_usage("explain-cache",
                        "give a scenario file or --traffic (hybridscope explain-cache --help)");
  if (const Status settings =
          check_given_settings(options.run.settings, options.run.scenario, options.run.model);
      !settings.ok())
    return report_usage("explain-cache", one_line(settings.error().message, 1000));
  auto plan = make_run_plan(options.run);
  if (!plan.ok())
    return report_error(
        "explain-cache",
        options.run.traffic.empty()
            ? name_right_command("explain-cache", options.run.scenario, plan.error())
            : name_right_command("--traffic", options.run.traffic, plan.error()));
  auto run = CheckedRun::create(std::move(plan).value(), {.check = std::nullopt});
  if (!run.ok()) return report_error("explain-cache", run.error());
  for (const std::string& note : run.value().plan().notes) report_note(note);
  ask_for_interrupts();
  return ExplainedRun(options, std::move(run).value()).run();
}

}  // namespace hybridscope
