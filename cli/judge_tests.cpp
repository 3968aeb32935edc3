#include "cli/judge_tests.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/run_tests.h"
#include "cli/run_words.h"
#include "cli/version.h"

namespace hybridscope {
namespace {

// A command that judges the trace again; step 0: without telling about a step.
std::string judge_words(const JudgeOptions& options, const TraceReport& trace, std::int64_t step) {
  std::string words = "hybridscope judge " + shell_word(options.input);
  if (options.from_pipeline) words += " --from pipeline";
  if (!trace.name.empty()) words += " --filter " + shell_word(trace.name);
  if (options.check == CheckScope::all) words += " --check all";
  if (!options.engine.empty()) words += " --engine " + options.engine;
  if (options.strict) words += " --strict";
  if (step > 0) words += fmt::format(" --explain {}", step);
  return options.input == "-" ? words + " <TRACE.jsonl" : words;
}

TestedUnit tested_trace(const JudgeOptions& options, const TraceReport& trace) {
  TestedUnit unit{.name = trace.name.empty() ? fmt::format("line {}", trace.line) : trace.name,
                  .file = options.input == "-" ? std::string() : options.input,
                  .steps = trace.steps,
                  .findings = trace.findings.num_found(Severity::error),
                  .properties = {{"version", kVersion}, {"engine", trace.engine}},
                  .command = judge_words(options, trace, 0)};
  if (!options.engine.empty()) unit.properties.push_back({"profile", options.engine});
  add_problems(trace.findings,
               {.strict = options.strict,
                .line = [&](std::size_t kept) { return trace.finding_lines[kept]; },
                .command = [&](std::int64_t step) { return judge_words(options, trace, step); }},
               unit);
  if (trace.first_difference)
    unit.problems.push_back(
        {.type = "difference",
         .text = fmt::format("first difference from profile {}: {}", options.engine,
                             format_difference(*trace.first_difference)),
         .line = trace.line});
  bool failed = false;
  for (const Problem& problem : unit.problems)
    failed = failed || problem.severity == Severity::error;
  unit.result = outcome_name(failed ? RunOutcome::findings : RunOutcome::fine);
  return unit;
}

}  // namespace

std::vector<TestedUnit> tested_traces(const JudgeOptions& options, const JudgeReport& report) {
  std::vector<TestedUnit> units;
  for (const TraceReport& trace : report.traces) units.push_back(tested_trace(options, trace));
  if (!units.empty() && report.stopped.empty()) return units;
  TestedUnit unit{.name = report.input,
                  .file = options.input == "-" ? std::string() : options.input,
                  .result = std::string(outcome_name(RunOutcome::invalid)),
                  .properties = {{"version", kVersion}},
                  .command = judge_words(options, {}, 0)};
  break_off(unit, report.stopped.empty() ? report.input + ": no trace was judged" : report.stopped);
  units.push_back(std::move(unit));
  return units;
}

}  // namespace hybridscope
