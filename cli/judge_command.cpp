#include "cli/commands.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/common_options.h"
#include "cli/process.h"
#include "cli/test_reports.h"
#include "sessions/job/judge_session.h"
#include "sessions/job/right_command.h"
#include "sessions/job/run_options.h"
#include "sessions/job/state_option.h"
#include "sessions/job/step_files.h"
#include "sessions/job/version.h"
#include "sessions/judge/engine_comparison.h"
#include "sessions/text/shown_text.h"

namespace hybridscope {

namespace {

// A command that judges the trace again; step 0: without --explain.
std::string judge_words(const JudgeCommandOptions& options, const TraceReport& trace,
                        std::int64_t step) {
  std::string words = "hybridscope judge " + shell_word(options.input);
  if (options.from_pipeline) words += " --from pipeline";
  if (!trace.name.empty()) words += " --filter " + shell_word(trace.name);
  if (options.check == CheckScope::all) words += " --check all";
  if (!options.engine.empty()) words += " --engine " + options.engine;
  if (options.strict) words += " --strict";
  for (const std::string& word : options.state.words()) words += " " + shell_word(word);
  if (step > 0) words += fmt::format(" --explain {}", step);
  return options.input == "-" ? words + " <TRACE.jsonl" : words;
}

TestedUnit tested_trace(const JudgeCommandOptions& options, const TraceReport& trace) {
  TestedUnit unit{.name = trace.name.empty() ? fmt::format("line {}", trace.line) : trace.name,
                  .file = options.input == "-" ? std::string() : options.input,
                  .steps = trace.steps,
                  .findings = trace.findings.num_found(Severity::error),
                  .in_memory = trace.memory_steps > 0,
                  .in_numbers = options.language.model != nullptr,
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
  if (trace.is_not_judged() && !failed) {
    unit.result = outcome_name(RunOutcome::invalid);
    break_off(unit, "not judged: " + trace.untold);
  }
  return unit;
}

using Clock = std::chrono::steady_clock;

std::string progress_text(const JudgeReport& report) {
  return fmt::format("{:.0f} MB, trace {}, {} findings", static_cast<double>(report.bytes) / 1e6,
                     report.traces.size(), report.num_found(Severity::error));
}

// Standard input is read as it comes in any case.
Result<TraceInput> open_source(const JudgeCommandOptions& options) {
  if (!options.follow || options.input == "-")
    return TraceInput::open(options.input, was_interrupted);
  return TraceInput::follow(options.input, was_interrupted, report_note);
}

// Where its text goes (text_stream).
std::FILE* text_stream_of(const JudgeCommandOptions& options) {
  return text_stream({{"--junit", options.junit}, {"--tap", options.tap}});
}

void print_report(const JudgeCommandOptions& options, const JudgeReport& report) {
  if (options.json) return print_json(judge_report_to_json(report));
  std::FILE* const out = text_stream_of(options);
  for (const TraceReport& trace : report.traces)
    if (!options.quiet && (!trace.findings.kept().empty() || trace.first_difference))
      fmt::print(out, "{}", format_trace(trace, report.engine, !options.follow));
  fmt::print(out, "{}", format_judge_summary(report));
  if (options.quiet) return;
  for (const TraceReport& trace : report.traces)
    if (const std::int64_t first = trace.findings.first_step(); first > 0 && options.explain == 0) {
      fmt::print(out, "next: {}\n", judge_words(options, trace, first));
      return;
    }
}

// Prints findings as they come (--follow), and the step of --explain.
class JudgePrinter final : public StepSink {
 public:
  // Both must outlive it.
  JudgePrinter(const JudgeCommandOptions& options, JudgeSession& session)
      : options_(options), session_(session) {}

  Result<Going> take(const CheckedStep& step) override {
    if (options_.follow && !options_.quiet) print_new_findings();
    if (step.trace.step == options_.explain) {
      explained_ = true;
      fmt::print(text_stream_of(options_), "{}", session_.explain(step));
    }
    return Going::on;
  }
  bool has_explained() const { return explained_; }

 private:
  // Prints the findings that came last; after the first ones of a rule the others are only counted.
  void print_new_findings() {
    const std::vector<TraceReport>& traces = session_.report().traces;
    if (traces.size() != num_traces_) num_printed_ = 0;
    num_traces_ = traces.size();
    const auto& kept = traces.back().findings.kept();
    if (num_printed_ == kept.size()) return;
    std::FILE* const out = text_stream_of(options_);
    for (; num_printed_ < kept.size(); ++num_printed_)
      fmt::print(out, "{}\n", kept[num_printed_].text);
    std::fflush(out);
  }

  const JudgeCommandOptions& options_;
  JudgeSession& session_;
  std::size_t num_traces_ = 0;
  std::size_t num_printed_ = 0;  // kept findings of the last trace
  bool explained_ = false;
};

void finish(const Status& judged, JudgeSession& session) {
  if (!judged.ok()) return session.finish(SessionStatus::failed, judged.error().message);
  if (was_interrupted()) return session.finish(SessionStatus::interrupted, "interrupted");
  session.finish(SessionStatus::complete, "");
}

int exit_code(const JudgeCommandOptions& options, const JudgeReport& report, const Status& judged) {
  if (report.interrupted) return kExitInterrupted;
  if (!judged.ok() && error_exit_code(judged.error()) == kExitEnvironment) return kExitEnvironment;
  if (!report.stopped.empty()) return kExitInput;
  if (report.traces.empty() && options.filter.empty()) {
    report_message("judge",
                   fmt::format("{}: no trace in it, expected a header line", report.input));
    return kExitInput;
  }
  if (report.traces.empty()) {
    return report_usage("judge", fmt::format("{}: no trace has a name that contains \"{}\"",
                                             report.input, options.filter));
  }
  const bool warned = options.strict && report.num_found(Severity::warning) > 0;
  const bool found = report.num_found(Severity::error) > 0 || report.num_differing() > 0;
  if (found || warned) return kExitFindings;
  return report.num_not_judged() > 0 ? kExitInput : kExitFine;
}

// Judged traces as tested units, one per trace; one more, named after the input, when judging was
// cut short or found no trace.
std::vector<TestedUnit> tested_traces(const JudgeCommandOptions& options,
                                      const JudgeReport& report) {
  std::vector<TestedUnit> units;
  for (const TraceReport& trace : report.traces) units.push_back(tested_trace(options, trace));
  if (!units.empty() && report.stopped.empty()) return units;
  TestedUnit unit{.name = report.input,
                  .file = options.input == "-" ? std::string() : options.input,
                  .result = std::string(outcome_name(report.interrupted ? RunOutcome::interrupted
                                                                        : RunOutcome::invalid)),
                  .properties = {{"version", kVersion}},
                  .command = judge_words(options, {}, 0)};
  break_off(unit, report.stopped.empty() ? report.input + ": no trace was judged" : report.stopped);
  units.push_back(std::move(unit));
  return units;
}

// What it reads and writes.
CommandFiles files_of(const JudgeCommandOptions& options) {
  CommandFiles files = files_of(static_cast<const JudgeOptions&>(options));
  files.inputs.push_back({"of the language model", options.state.weights});
  files.outputs.insert(files.outputs.begin(), {document("--json", options.json),
                                               document("--convert", options.convert),
                                               {"--junit", options.junit},
                                               {"--tap", options.tap}});
  return files;
}

}  // namespace

void add_judge_options(CLI::App& command, JudgeCommandOptions& options) {
  command.footer(
      "Examples:\n"
      "  hybridscope judge trace.jsonl\n"
      "  zcat trace.jsonl.gz | hybridscope judge - --json\n"
      "  hybridscope judge tests/golden/pipeline.jsonl.zst --from pipeline --filter pipe_46 "
      "--explain 13\n"
      "  hybridscope judge trace.jsonl --engine reference --junit report.xml\n"
      "  hybridscope judge trace.jsonl --record runs.db:nightly\n"
      "  hybridscope judge --follow trace.jsonl\n"
      "  hybridscope judge trace.jsonl --weights scenarios/models/jargon-gdn --backend cuda\n"
      "\n"
      "The format is described in docs/trace-format.md; integrations/vllm writes it.\n"
      "Exit codes: 0 every read and write is right, 1 findings of severity error (--strict:\n"
      "warnings too) or with --engine a difference, 2 usage or no trace selected, 3 unreadable\n"
      "or invalid input, a stream that ended early, or no findings in a trace that does not tell\n"
      "all that a verdict needs (\"not judged\", with what is missing), 4 environment.\n"
      "Ctrl-C ends --follow with the summary.");
  command
      .add_option("trace", options.input,
                  "a trace, - for standard input; with --follow also unix:PATH")
      ->required()
      ->type_name("TRACE.jsonl|-");
  auto* from = command.add_option_function<std::string>(
      "--from", [&options](const std::string& kind) { options.from_pipeline = kind == "pipeline"; },
      "what the input is: trace, or pipeline for the reference's chained vectors (default "
      "trace)");
  from->check(CLI::IsMember({"trace", "pipeline"}))->type_name("KIND");
  auto* follow = command.add_flag(
      "--follow", options.follow,
      "go on as the file grows, or connect to a socket (unix:PATH), and print findings as they "
      "come");
  follow->excludes(from);
  auto* convert = command
                      .add_flag("--convert", options.convert,
                                "with --from pipeline: print the traces instead of judging them")
                      ->needs(from);
  command.add_option("--filter", options.filter, "only traces whose name contains this")
      ->type_name("NAME");
  auto* explain = command.add_option("--explain", options.explain, "explain this step in full")
                      ->type_name("STEP")
                      ->check(CLI::Range(std::int64_t{1}, INT64_MAX, "a step from 1 on"));
  command
      .add_option_function<std::string>(
          "--check",
          [&options](const std::string& scope) { options.check = *check_scope_of(scope); },
          "after each step check what it wrote, or every registered block (default step)")
      ->check(CLI::IsMember({"step", "all"}))
      ->type_name("SCOPE");
  command
      .add_option("--engine", options.engine,
                  "also compare with what our engine decides under this profile, and show the "
                  "first difference")
      ->transform(is_engine_profile())
      ->type_name("PROFILE");
  add_language_options(command, options.state);
  auto* json = command.add_flag("--json", options.json, "one object {config, summary, traces}");
  explain->excludes(json);
  convert->excludes(json);
  follow->excludes(json);
  command.add_flag_callback(
      "--no-timings", [&options] { options.timings = false; },
      "leave out times, so that two runs compare equal");
  command
      .add_option("--junit", options.junit,
                  "write a JUnit report: one testsuite per trace, one testcase per rule")
      ->type_name("FILE|-");
  command.add_option("--tap", options.tap, "write a TAP report: one test point per trace")
      ->type_name("FILE|-");
  command.add_flag("--strict", options.strict, "warnings count as findings");
  command.add_flag("-q,--quiet", options.quiet, "print the summary only");
  add_step_file_options(command, options.files);
  convert->excludes(command.get_option("--record"));
}

int judge_command(JudgeCommandOptions options, const Backends& backends) {
  if (const Status apart = check_files(files_of(options)); !apart.ok())
    return report_usage("judge", apart.error().message);
  if (options.convert && !options.from_pipeline) {
    return report_usage("judge", "--convert needs --from pipeline, not --from trace");
  }
  if (const Status fit = check_language_option(options.state); !fit.ok())
    return report_usage("judge", fit.error().message);
  auto language = load_language(options.state, backends);
  if (!language.ok()) return report_error("judge", language.error());
  options.language = std::move(language).value();
  if (options.convert)
    options.converted = [](const std::string& line) { fmt::print("{}\n", line); };
  auto source = open_source(options);
  if (!source.ok()) {
    return report_error("judge", name_right_command("judge", options.input, source.error()));
  }
  const Clock::time_point start = Clock::now();
  JudgeSession session(options, report_note);
  JudgePrinter printer(options, session);
  session.add(printer);
  ask_for_interrupts();
  Progress progress(options.quiet);
  Status judged = judge_lines(options, source.value(), session, [&] {
    progress.show([&] { return progress_text(session.report()); });
    return !was_interrupted();
  });
  progress.clear();
  JudgeReport& report = session.report();
  if (!judged.ok() && report.traces.empty())
    judged = name_right_command("judge", options.input, judged.error());
  // A signal is how --follow ends, with a report as at the end of a file, if there was a trace.
  report.interrupted =
      judged.ok() && was_interrupted() && (!options.follow || report.traces.empty());
  finish(judged, session);
  if (const auto& failure = session.file_failure())
    return report_error("judge", *failure, ErrorKind::invalid_input);
  if (!judged.ok() || report.interrupted) {
    report.stopped = report.interrupted ? "interrupted" : judged.error().message;
    report_message("judge", report.stopped);
  }
  if (options.convert)
    return report.stopped.empty() ? kExitFine : exit_code(options, report, judged);
  if (options.timings)
    report.wall_seconds = std::chrono::duration<double>(Clock::now() - start).count();
  print_report(options, report);
  const int published =
      publish_tests(tested_traces(options, report), publish_options("judge", options));
  if (published != kExitFine) return published;
  if (options.explain > 0 && report.stopped.empty() && !printer.has_explained()) {
    return report_usage("judge", fmt::format("no trace has a step {}", options.explain));
  }
  return exit_code(options, report, judged);
}

}  // namespace hybridscope
