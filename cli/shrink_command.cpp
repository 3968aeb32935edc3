#include "cli/commands.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "cli/common_options.h"
#include "cli/process.h"
#include "core/check/finding.h"
#include "core/check/step_checker.h"
#include "sessions/job/right_command.h"
#include "sessions/job/run_options.h"
#include "sessions/job/step_files.h"
#include "sessions/record/step_record.h"
#include "sessions/scenario/scenario_reader.h"
#include "sessions/shrink/shrink_scenario.h"
#include "sessions/shrink/shrink_trace.h"
#include "sessions/text/input_file.h"
#include "sessions/text/json_value.h"
#include "sessions/text/number_words.h"
#include "sessions/text/output_file.h"
#include "sessions/text/shown_text.h"
#include "sessions/text/text_page.h"

namespace hybridscope {
namespace {

using Json = nlohmann::ordered_json;

// One number of the result: what it was and what it is.
struct ShrinkChange {
  std::string_view key;   // JSON
  std::string_view what;  // for people
  std::int64_t before = 0;
  std::int64_t after = 0;
};

enum class ShrinkInput : std::uint8_t { scenario, trace };

struct ShrinkReport {
  ShrinkInput input = ShrinkInput::scenario;
  Rule rule = Rule::running_state_wrong;
  std::int64_t violation_step = 0;
  std::string text;  // the finding in words
  CauseWords cause;  // of a scenario's finding
  std::vector<ShrinkChange> changes;
  std::int64_t num_runs = 0;
  std::int64_t max_runs = 0;
  ShrinkEnd end = ShrinkEnd::smallest;
  CheckScope check = CheckScope::step;
  std::string file;     // of the result, "-": standard output
  std::string content;  // of that file
};

std::string_view end_name(ShrinkEnd end) {
  switch (end) {
    case ShrinkEnd::smallest: return "smallest";
    case ShrinkEnd::run_limit: return "run_limit";
    case ShrinkEnd::interrupted: return "interrupted";
  }
  return "";
}

std::string end_words(const ShrinkReport& report) {
  const std::string attempts = counted(report.num_runs, "attempt");
  switch (report.end) {
    case ShrinkEnd::smallest: return fmt::format("{}; nothing more can go", attempts);
    case ShrinkEnd::run_limit:
      return fmt::format("{}, the limit (--runs {}): more might go", attempts, report.max_runs);
    case ShrinkEnd::interrupted:
      return fmt::format("interrupted after {}: more might go", attempts);
  }
  return attempts;
}

std::string reproduce_words(const ShrinkReport& report) {
  return fmt::format("hybridscope {} {}{}", report.input == ShrinkInput::scenario ? "run" : "judge",
                     shell_word(report.file),
                     report.check == CheckScope::all ? " --check all" : "");
}

struct ShrinkCommandOptions {
  std::string input;
  std::string rule;    // empty: that of the first error
  std::string output;  // empty: from the input's name
  SettingsOptions settings;
  CheckScope check = CheckScope::step;
  std::int64_t max_runs = kDefaultShrinkRuns;
  bool json = false;
  bool quiet = false;
};

bool is_scenario(const std::string& path) { return path.ends_with(".json"); }

// "big.json" -> "big.shrunk.json" in the working folder.
std::string default_output(const std::string& input) {
  std::string name = input == "-" ? "trace.jsonl" : std::filesystem::path(input).filename();
  if (name.ends_with(".zst")) name.resize(name.size() - 4);
  const std::filesystem::path path = name;
  const std::string extension = is_scenario(input) ? ".json" : ".jsonl";
  return path.stem().string() + ".shrunk" + extension;
}

std::string result_file(const ShrinkCommandOptions& options) {
  return options.output.empty() ? default_output(options.input) : options.output;
}

// Error: no rule has this name.
Result<std::optional<Rule>> read_rule(const std::string& slug) {
  if (slug.empty()) return std::optional<Rule>();
  std::vector<std::string_view> known;
  for (const RuleInfo& info : rule_table()) {
    if (info.slug == slug) return std::optional<Rule>(info.rule);
    known.push_back(info.slug);
  }
  return invalid_input(fmt::format("no rule is called {}{} (known: {})", quoted_text(slug),
                                   nearest_key_hint(slug, known), fmt::join(known, ", ")));
}

std::vector<ShrinkChange> scenario_changes(const Scenario& before, const ShrunkScenario& shrunk) {
  const ScenarioSize& a = shrunk.size_before;
  const ScenarioSize& b = shrunk.size_after;
  const ScenarioTokens tokens_a = count_tokens(before);
  const ScenarioTokens tokens_b = count_tokens(shrunk.scenario);
  return {{"requests", "requests", a.requests, b.requests},
          {"steps", "steps", a.steps, b.steps},
          {"violation_step", "step of the finding", a.violation_step, b.violation_step},
          {"script", "things in the script", a.script_things, b.script_things},
          {"draws", "draws by the seed", a.draws, b.draws},
          {"settings", "settings", a.settings, b.settings},
          {"shared_prompts", "shared prompts", a.shared_prompts, b.shared_prompts},
          {"prompt_tokens", "prompt tokens", tokens_a.prompt, tokens_b.prompt},
          {"output_tokens", "output tokens", tokens_a.output, tokens_b.output}};
}

// What was kept besides the rule.
std::string cause_line(const CauseWords& cause) {
  const std::string sentence = cause.sentence();
  return (sentence.empty() ? "no known bug and no policy is behind it; its rule was kept"
                           : sentence) +
         "\n";
}

ShrinkOptions shrink_options(const ShrinkCommandOptions& options, std::optional<Rule> rule,
                             Progress& progress) {
  return {.rule = rule,
          .scope = options.check,
          .max_runs = options.max_runs,
          .go_on = [&progress](const ShrinkProgress& at) {
            progress.show([&] {
              return at.size.requests == 0 ? fmt::format("attempt {}", at.num_runs)
                                           : fmt::format("attempt {}: {}, {}", at.num_runs,
                                                         counted(at.size.requests, "request"),
                                                         counted(at.size.steps, "step"));
            });
            return !was_interrupted();
          }};
}

Result<ShrinkReport> shrink_scenario_file(const ShrinkCommandOptions& options,
                                          const ShrinkOptions& shrink) {
  auto scenario = read_scenario_file(options.input);
  if (!scenario.ok()) return scenario.error();
  auto settings = options.settings.apply(scenario.value().settings);
  if (!settings.ok()) return settings.error();
  scenario.value().settings = std::move(settings).value();
  auto shrunk = shrink_scenario(scenario.value(), shrink);
  if (!shrunk.ok()) return shrunk.error();
  const ShrunkScenario& result = shrunk.value();
  return ShrinkReport{
      .input = ShrinkInput::scenario,
      .rule = result.rule,
      .violation_step = result.violation_step,
      .text = result.text,
      .cause = {.cause = result.cause.words, .not_known = result.cause.not_searched},
      .changes = scenario_changes(scenario.value(), result),
      .num_runs = result.num_runs,
      .max_runs = options.max_runs,
      .end = result.end,
      .check = options.check,
      .file = result_file(options),
      .content = write_scenario(result.scenario)};
}

Result<ShrinkReport> shrink_trace_file(const ShrinkCommandOptions& options,
                                       const ShrinkOptions& shrink) {
  auto source = LineSource::open(options.input, was_interrupted);
  if (!source.ok()) return source.error();
  auto shrunk = shrink_trace(source.value(), options.input, shrink);
  if (!shrunk.ok()) return shrunk.error();
  const ShrunkTrace& result = shrunk.value();
  std::string content;
  for (const std::string& line : result.lines) content += line + "\n";
  const TraceSize& a = result.size_before;
  const TraceSize& b = result.size_after;
  return ShrinkReport{
      .input = ShrinkInput::trace,
      .rule = result.rule,
      .violation_step = result.violation_step,
      .text = result.text,
      .cause = {},
      .changes = {{"lines", "lines up to the finding", a.lines, b.lines},
                  {"requests", "requests", a.requests, b.requests},
                  {"request_steps", "request-steps", a.request_steps, b.request_steps}},
      .num_runs = result.num_runs,
      .max_runs = options.max_runs,
      .end = result.end,
      .check = options.check,
      .file = result_file(options),
      .content = std::move(content)};
}

// The finding, one line per number that is not 0 before and after, how it ended; with a file also
// the commands that reproduce the finding.
std::string format_shrink_report(const ShrinkReport& report) {
  std::string text = printable(report.text, 2000) + "\n";
  if (report.input == ShrinkInput::scenario) text += cause_line(report.cause);
  for (const ShrinkChange& change : report.changes)
    if (change.before != 0 || change.after != 0)
      text += fmt::format("{:>24}  {} -> {}\n", change.what, grouped_number(change.before),
                          grouped_number(change.after));
  text += end_words(report) + "\n";
  if (report.file == "-") return text;
  const std::string reproduce = reproduce_words(report);
  return text + fmt::format("written:   {}\nreproduce: {}\n           {} --explain {}\n",
                            report.file, reproduce, reproduce, report.violation_step);
}

// {rule, step, text, file, end, attempts, before, after, reproduce}, of a scenario also cause (or
// null) and scenario.
Json shrink_report_to_json(const ShrinkReport& report) {
  Json before = Json::object();
  Json after = Json::object();
  for (const ShrinkChange& change : report.changes) {
    before[std::string(change.key)] = change.before;
    after[std::string(change.key)] = change.after;
  }
  Json json = {{"rule", rule_info(report.rule).slug},
               {"step", report.violation_step},
               {"text", report.text},
               {"file", report.file},
               {"end", end_name(report.end)},
               {"attempts", report.num_runs},
               {"before", std::move(before)},
               {"after", std::move(after)},
               {"reproduce", reproduce_words(report)}};
  if (report.input == ShrinkInput::scenario) {
    const auto or_null = [](const std::string& words) {
      return words.empty() ? Json() : Json(words);
    };
    json["cause"] = or_null(report.cause.cause);
    json["cause_not_known"] = or_null(report.cause.not_known);
    json["scenario"] = Json::parse(report.content);
  }
  return json;
}

// "Nothing to shrink" is a result, not an input error.
int fail(const ShrinkCommandOptions& options, const Error& error) {
  if (was_interrupted()) {
    report_message("shrink", fmt::format("{}: interrupted, nothing was shrunk", options.input));
    return kExitInterrupted;
  }
  if (error.kind != ErrorKind::not_found)
    return report_error("shrink", name_right_command("shrink", options.input, error));
  report_message(
      "shrink", fmt::format("{}: {}, so there is nothing to shrink{}", options.input, error.message,
                            options.rule.empty() ? " (--rule SLUG shrinks for a warning)" : ""));
  return kExitFindings;
}

int shrink_command(const ShrinkCommandOptions& options) {
  const auto rule = read_rule(options.rule);
  if (!rule.ok()) return report_usage("shrink", rule.error().message);
  const bool scenario = is_scenario(options.input);
  if (!scenario && !options.settings.words().empty())
    return report_usage(
        "shrink", "a trace has its settings in its header: " + options.settings.words().front() +
                      " is for scenarios (SCENARIO.json)");
  if (const Status settings =
          check_given_settings(options.settings, scenario ? options.input : std::string());
      !settings.ok())
    return report_usage("shrink", settings.error().message);
  const std::string file = result_file(options);
  if (const Status apart =
          check_files({.inputs = {{scenario ? "the scenario" : "the trace", options.input}},
                       .outputs = {document("--json", options.json), {"--output", file}}});
      !apart.ok())
    return report_usage("shrink", apart.error().message);
  ask_for_interrupts();
  Progress progress(options.quiet);
  const ShrinkOptions shrink = shrink_options(options, rule.value(), progress);
  const auto report =
      scenario ? shrink_scenario_file(options, shrink) : shrink_trace_file(options, shrink);
  progress.clear();
  if (!report.ok()) return fail(options, report.error());
  if (Status written = write_output_file(file, report.value().content); !written.ok())
    return report_error("shrink", written.error());
  if (options.json)
    print_json(shrink_report_to_json(report.value()));
  else if (!options.quiet)
    fmt::print(file == "-" ? stderr : stdout, "{}", format_shrink_report(report.value()));
  return report.value().end == ShrinkEnd::interrupted ? kExitInterrupted : kExitFine;
}

}  // namespace

std::function<int()> add_shrink_command(CLI::App& shrink) {
  const auto options = std::make_shared<ShrinkCommandOptions>();
  shrink.footer(
      "Examples:\n"
      "  hybridscope shrink big.json --engine reference\n"
      "  hybridscope shrink big.json --rule label-mismatch -o small.json\n"
      "  hybridscope shrink trace.jsonl.zst -o small.jsonl\n"
      "  hybridscope shrink big.json -o - | hybridscope run /dev/stdin\n"
      "\n"
      "Ctrl-C stops it and keeps the smallest so far. How it works: docs/debug.md.\n"
      "Exit codes: 0 the result is written, 1 there is no such finding, 2 usage, 3 unreadable or\n"
      "invalid input, 4 environment.");
  shrink.add_option("input", options->input, "a scenario (.json), else a trace as judge reads it")
      ->required()
      ->type_name("SCENARIO.json|TRACE.jsonl|-");
  shrink
      .add_option("--rule", options->rule,
                  "the rule that the result must break too (default: that of the first error)")
      ->type_name("SLUG");
  shrink
      .add_option("-o,--output", options->output,
                  "the result (default: NAME.shrunk.json or .jsonl here), - for standard output")
      ->type_name("FILE|-");
  shrink.add_option("--runs", options->max_runs, "the most attempts to make")
      ->check(CLI::Range(std::int64_t{1}, kMostShrinkRuns, "1 to 1000000000"))
      ->capture_default_str()
      ->type_name("N");
  add_check_option(shrink, options->check);
  shrink.add_flag("--json", options->json, "one object {rule, before, after, reproduce, ...}");
  shrink.add_flag("-q,--quiet", options->quiet, "write the result and print nothing");
  add_settings_options(shrink, options->settings);
  return [options] { return shrink_command(*options); };
}

}  // namespace hybridscope
