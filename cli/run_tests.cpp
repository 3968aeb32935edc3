#include "cli/test_reports.h"

#include <fmt/core.h>
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "cli/process.h"
#include "sessions/explain/explain_start_up.h"
#include "sessions/job/version.h"
#include "sessions/text/number_words.h"
#include "sessions/text/output_file.h"
#include "sessions/text/shown_text.h"

namespace hybridscope {
namespace {

std::vector<std::string> traffic_words(const TrafficOptions& options) {
  std::vector<std::string> words;
  const auto add = [&](const char* option, std::string value) {
    words.emplace_back(option);
    words.push_back(std::move(value));
  };
  if (!options.format.empty()) add("--traffic-format", options.format);
  if (options.load.users > 0) add("--users", std::to_string(options.load.users));
  if (options.load.think_us) add("--think-time", format_millionths(*options.load.think_us));
  if (options.load.rate > 0) add("--request-rate", format_millionths(options.load.rate));
  return words;
}

}  // namespace

std::string run_words(const RunOptions& options, std::string_view file, std::int64_t explain) {
  std::string words = "hybridscope run";
  const auto add = [&](std::string_view word) { words += " " + shell_word(word); };
  if (!file.empty()) {
    add(file);
  } else {
    add("--traffic");
    add(options.traffic);
    for (const std::string& word : traffic_words(options.traffic_options)) add(word);
    if (options.limit > 0) words += fmt::format(" --limit {}", options.limit);
  }
  if (!options.model.empty()) {
    add("--model");
    add(options.model);
  }
  for (const std::string& word : options.settings.words()) add(word);
  if (options.check == CheckScope::all) words += " --check all";
  for (const std::string& word : options.state.words()) add(word);
  if (options.strict) words += " --strict";
  if (options.steps > 0) words += fmt::format(" --steps {}", options.steps);
  if (explain > 0) words += fmt::format(" --explain {}", explain);
  return words;
}

namespace {

// The offset after spaces and `token`, or npos if something else follows.
std::size_t skip(std::string_view text, std::size_t at, std::string_view token) {
  at = text.find_first_not_of(" \t\r\n", at);
  if (at == std::string_view::npos || !text.substr(at).starts_with(token))
    return std::string_view::npos;
  return at + token.size();
}

std::vector<Property> properties_of(const RunPlan& plan) {
  const EngineConfig& config = plan.setup.config;
  return {{"version", kVersion},
          {"model", plan.setup.layout.model.name},
          {"profile", profile_name(plan.settings)},
          {"mamba_cache_mode", std::string(mamba_cache_mode_name(config.mamba_cache_mode))},
          {"runner", std::string(runner_name(config.runner))},
          {"seed", std::to_string(config.seed)}};
}

// N of a message "FILE:N:...", else 0.
std::int64_t line_in_message(std::string_view message, std::string_view file) {
  if (file.empty() || !message.starts_with(file)) return 0;
  message.remove_prefix(file.size());
  std::int64_t line = 0;
  if (message.starts_with(':'))
    std::from_chars(message.data() + 1, message.data() + message.size(), line);
  return line;
}

}  // namespace

ScenarioLines::ScenarioLines(const std::string& path) {
  if (path.empty()) return;
  std::ifstream in(path, std::ios::binary);
  text_.assign(std::istreambuf_iterator<char>(in), {});
}

std::int64_t ScenarioLines::of_request(std::string_view name) const {
  if (text_.empty()) return 0;
  const std::string value = '"' + std::string(name) + '"';
  constexpr std::string_view kKey = "\"id\"";
  for (std::size_t at = text_.find(kKey); at != std::string::npos; at = text_.find(kKey, at + 1)) {
    const std::size_t colon = skip(text_, at + kKey.size(), ":");
    if (colon == std::string_view::npos || skip(text_, colon, value) == std::string_view::npos)
      continue;
    return 1 + std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(at), '\n');
  }
  return 1;
}

int outcome_exit_code(RunOutcome outcome) {
  switch (outcome) {
    case RunOutcome::fine:
    case RunOutcome::skipped:
    case RunOutcome::stopped:
    case RunOutcome::not_run: return kExitFine;
    case RunOutcome::unmet:
    case RunOutcome::findings: return kExitFindings;
    case RunOutcome::invalid: return kExitInput;
    case RunOutcome::environment: return kExitEnvironment;
    case RunOutcome::internal_error: return kExitInternal;
    case RunOutcome::interrupted: return kExitInterrupted;
  }
  return kExitInternal;
}

RunOutcome outcome_of(const Error& error) {
  if (was_interrupted()) return RunOutcome::interrupted;
  return error_exit_code(error) == kExitEnvironment ? RunOutcome::environment : RunOutcome::invalid;
}

void add_problems(const FindingList& findings, const ProblemWords& words, TestedUnit& unit) {
  const auto severity_of = [&](Rule rule) {
    return words.strict ? Severity::error : rule_info(rule).severity;
  };
  std::vector<std::int64_t> added(rule_table().size());
  for (std::size_t i = 0; i < findings.kept().size(); ++i) {
    const KeptFinding& kept = findings.kept()[i];
    if (kept.expected) continue;
    const Rule rule = kept.finding.rule;
    ++added[static_cast<std::size_t>(rule)];
    if (kept.line.empty()) continue;
    unit.problems.push_back({.severity = severity_of(rule),
                             .type = std::string(rule_info(rule).slug),
                             .text = findings.text_with_root(kept),
                             .line = words.line(i),
                             .command = words.command(findings.root_step(kept))});
  }
  for (const RuleInfo& rule : rule_table()) {
    const std::int64_t more =
        findings.count(rule.rule).unexpected - added[static_cast<std::size_t>(rule.rule)];
    if (more > 0)
      unit.left_out.push_back(
          {.severity = severity_of(rule.rule), .type = std::string(rule.slug), .count = more});
  }
}

TestedUnit tested_run(const RunOptions& options, const std::string& file, const RunPlan& plan,
                      const RunReport& report, RunOutcome outcome) {
  TestedUnit unit{.name = plan.name,
                  .file = file,
                  .result = std::string(outcome_name(outcome)),
                  .steps = report.summary.steps,
                  .findings = report.findings.num_found(Severity::error),
                  .in_bytes = report.state.has_value(),
                  .in_numbers = report.texts.has_value(),
                  .seconds = report.wall_seconds,
                  .properties = properties_of(plan),
                  .command = run_words(options, file)};
  const ScenarioLines lines(report.findings.kept().empty() ? std::string() : file);
  add_problems(
      report.findings,
      {.strict = options.strict,
       .line =
           [&](std::size_t kept) {
             const auto& request = report.findings.kept()[kept].json->at("request");
             return lines.of_request(request.is_string() ? request.get<std::string>() : "");
           },
       .command = [&](std::int64_t step) { return run_words(options, file, step); }},
      unit);
  for (const ExcusedFindings& excused : report.excused)
    unit.properties.push_back({excused.source, counted(excused.findings, "finding")});
  for (const std::string& unmet : report.unmet)
    unit.problems.push_back(
        {.type = "expect", .text = "expectation not met: " + unmet, .line = file.empty() ? 0 : 1});
  return unit;
}

void break_off(TestedUnit& unit, const std::string& message) {
  unit.broken = message;
  const std::int64_t line = line_in_message(message, unit.file);
  unit.problems.push_back({.type = "run", .text = message, .line = line});
}

TestedUnit broken_run(const RunOptions& options, const BrokenRun& broken) {
  TestedUnit unit{.name = broken.name,
                  .file = broken.file,
                  .result = std::string(outcome_name(broken.outcome)),
                  .properties = {{"version", kVersion}},
                  .command = run_words(options, broken.file)};
  if (broken.by_recording) unit.command += " --record " + shell_word(options.files.record.place);
  break_off(unit, broken.message);
  return unit;
}

void note_unseen(const KnownFindingsOption& option, const std::vector<std::string>& complete_runs) {
  if (option.known == nullptr) return;
  std::int64_t unseen = 0;
  for (const std::string& run : complete_runs) unseen += option.known->num_unseen(run);
  if (unseen > 0)
    report_note(fmt::format("{} of {} did not occur; --write-baseline writes the file anew",
                            counted(unseen, "finding"), option.baseline));
}

int write_baseline(const KnownFindingsOption& option, const std::string& incomplete) {
  if (option.collected == nullptr) return kExitFine;
  std::string why = incomplete;
  if (const std::int64_t steps = option.collected->num_steps();
      why.empty() && steps > kMostBaselineSteps)
    why = fmt::format("its findings are in {} steps in all, and a baseline has at most {}",
                      grouped_number(steps), grouped_number(kMostBaselineSteps));
  if (!why.empty()) {
    report_message("run", fmt::format("{} is not written: {}", option.write_baseline, why));
    return kExitUsage;
  }
  const Status written = write_output_file(option.write_baseline, option.collected->text());
  if (written.ok()) return kExitFine;
  report_message("run", written.error().message);
  return kExitEnvironment;
}

}  // namespace hybridscope
