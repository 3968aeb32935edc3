#include "cli/run_command.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/process.h"
#include "cli/step_table.h"
#include "cli/test_reports.h"
#include "core/trace/block_table_mirror.h"
#include "sessions/explain/explain_finding.h"
#include "sessions/explain/explain_step.h"
#include "sessions/job/reported_run.h"
#include "sessions/job/right_command.h"
#include "sessions/job/session_json.h"
#include "sessions/job/step_files.h"
#include "sessions/text/shown_text.h"

namespace hybridscope {
namespace {

// VmHWM: the high-water mark of this program, unlike ru_maxrss, which survives exec.
std::int64_t peak_memory_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmHWM:")) return std::stoll(line.substr(6)) * 1024;
  return 0;
}

enum class FailedAt : std::uint8_t { input, files };

// Reports a run that could not start, because of its input or of a file of its steps.
int fail(const RunCommandOptions& options, const Error& error, FailedAt failed = FailedAt::input) {
  const bool by_files = failed == FailedAt::files;
  const int code =
      by_files ? report_error("run", error, ErrorKind::invalid_input) : report_error("run", error);
  const std::filesystem::path path = options.scenario;
  const std::vector<TestedUnit> units = {
      broken_run(options, {.file = options.scenario,
                           .name = path.empty() ? options.traffic : path.stem().string(),
                           .outcome = outcome_of(error),
                           .message = error.message,
                           .by_recording = by_files && !options.files.record.place.empty()})};
  write_baseline(options.known, "nothing ran");
  return std::max(code, publish_tests(units, publish_options("run", options)));
}

// One run: the loop, and what it collects for the outputs.
class RunSession {
 public:
  RunSession(const RunCommandOptions& options, ReportedRun& run, BreakConditions breakpoints)
      : options_(options),
        run_(run),
        breakpoints_(std::move(breakpoints)),
        tables_(static_cast<std::int32_t>(run.engine().config().kv_cache_config.groups.size()),
                run.engine().config().kv_cache_config.num_blocks),
        progress_(options.quiet) {}

  // Errors: those of StepFiles::begin.
  Status begin_files();
  int run();

 private:
  void show_step(const StepTrace& trace, std::span<const Finding> findings);
  void explain(const StepTrace& trace, std::span<const Finding> findings);
  void show_progress();
  bool stop() const;
  std::string break_words() const;
  std::string why_incomplete(const std::optional<Error>& refused) const;
  int finish(const std::optional<Error>& refused);
  int publish(const std::optional<Error>& refused) const;
  void print_report();
  void print_causes() const;
  bool shows_table() const {
    return options_.output == RunOutput::table && !options_.quiet &&
           (!options_.scenario.empty() || options_.table_of_traffic);
  }

  const RunCommandOptions& options_;
  ReportedRun& run_;
  BreakConditions breakpoints_;  // --break
  BlockTableMirror tables_;      // for --explain
  std::vector<StepRow> rows_;
  RunReport report_;
  bool explained_ = false;
  StepFiles files_;
  std::optional<Error> write_failure_;  // one of the files stopped the run
  Progress progress_;
};

Status RunSession::begin_files() {
  auto files = begin_run_files(options_, run_);
  if (!files.ok()) return files.error();
  files_ = std::move(files).value();
  return Ok{};
}

void RunSession::explain(const StepTrace& trace, std::span<const Finding> findings) {
  for (const CacheEvent& event : trace.cache_events) tables_.apply(event);
  if (trace.step == options_.explain) {
    explained_ = true;
    fmt::print(
        text_stream_of(options_), "{}",
        explain_step(
            {.trace = trace,
             .config = run_.engine().config(),
             .names = run_.names(),
             .scheduler_tables = tables_,
             .findings = findings,
             .own_count = [&](RequestId request) { return run_.own_count(trace.step, request); },
             .chain_words = run_.chain_words()}));
  }
  for (const CacheEvent& event : trace.commit_events) tables_.apply(event);
}

void RunSession::show_step(const StepTrace& trace, std::span<const Finding> findings) {
  if (options_.explain > 0) {
    explain(trace, findings);
  } else if (options_.output == RunOutput::jsonl) {
    print_json(step_to_json(trace, run_.names(), findings), kOneLine);
  } else if (shows_table()) {
    rows_.push_back(describe_step(trace, run_.names(), findings));
  }
}

void RunSession::show_progress() {
  const RunSummary& summary = run_.summary();
  if (run_.engine().num_requests() < 1000 && summary.steps < 1000) return;
  progress_.show([&] { return run_.progress_words(); });
}

bool RunSession::stop() const {
  if (was_interrupted() || breakpoints_.stopped()) return true;
  return options_.explain > 0 && explained_;
}

std::string RunSession::break_words() const {
  if (!breakpoints_.stopped()) return {};
  const BreakStop& stop = *breakpoints_.stopped();
  return fmt::format("stopped at step {} by --break '{}'{}{}", stop.step, stop.expression,
                     stop.words.empty() ? "" : ": ", stop.words);
}

int RunSession::run() {
  SinkOf shown([this](const CheckedStep& step) { show_step(step.trace, step.findings); });
  SinkOf breaks(
      [this](const CheckedStep& step) {
        breakpoints_.look_at({step.trace, step.findings, step.writes}, run_.names().request);
      },
      breakpoints_.reads_writes());
  SinkOf progress([this](const CheckedStep&) { show_progress(); });
  StepSink* const sinks[] = {&files_, &shown, &breaks, &progress};
  std::optional<Error> refused;
  const auto driven = run_.drive(sinks, [this] { return stop(); });
  if (!driven.ok()) (driven.refused_by == &files_ ? write_failure_ : refused) = driven.error();
  if (!refused)
    if (Status digested = run_.digest_state(); !digested.ok()) refused = digested.error();
  progress_.clear();
  const EarlyEnd end{.interrupted = was_interrupted(),
                     .refused = refused ? refused->message : std::string(),
                     .broken = break_words(),
                     .unwritten = write_failure_.has_value(),
                     .timings = options_.timings};
  if (Status ended = files_.finish(steps_end(run_, end)); !ended.ok() && !write_failure_)
    write_failure_ = ended.error();
  report_ = run_.finish(end);
  const int code = finish(refused);
  if (write_failure_) return report_error("run", *write_failure_, ErrorKind::invalid_input);
  return refused ? report_error("run", *refused) : code;
}

int RunSession::publish(const std::optional<Error>& refused) const {
  const RunOutcome outcome = refused             ? outcome_of(*refused)
                             : was_interrupted() ? RunOutcome::interrupted
                                                 : outcome_of(report_, options_.strict);
  std::vector<TestedUnit> units = {
      tested_run(options_, options_.scenario, run_.plan(), report_, outcome)};
  if (write_failure_)
    break_off(units.front(), write_failure_->message);
  else if (refused || was_interrupted())
    break_off(units.front(), report_.stopped);
  return publish_tests(units, publish_options("run", options_));
}

// Why not all findings of the run are known, empty: they are.
std::string RunSession::why_incomplete(const std::optional<Error>& refused) const {
  if (was_interrupted()) return "the run was interrupted";
  if (refused) return "the run could not go on";
  if (write_failure_) return "its session or trace could not be written";
  return run_.has_ended() ? std::string() : "the run did not come to its end";
}

int RunSession::finish(const std::optional<Error>& refused) {
  if (options_.timings) report_.peak_rss_bytes = peak_memory_bytes();
  if (options_.explain == 0)
    print_report();
  else if (explained_)
    print_causes();
  if (!breakpoints_.stopped())
    fmt::print(stderr, "{}", breakpoints_.describe());
  else if (run_.finished())
    fmt::print(stderr, "{}, the run's last one\n", break_words());
  const int published = publish(refused);
  const int kept = write_baseline(options_.known, why_incomplete(refused));
  if (published != kExitFine) return published;
  if (was_interrupted()) return kExitInterrupted;
  if (run_.has_ended() && !options_.quiet) note_unseen(options_.known, {run_.plan().name});
  if (kept != kExitFine) return kept;
  if (options_.explain > 0 && !explained_) {
    return report_usage("run", fmt::format("there is no step {}: the run has {} steps",
                                           options_.explain, report_.summary.steps));
  }
  return outcome_exit_code(outcome_of(report_, options_.strict));
}

// Under an explained step: the known bug behind its findings, and a command that goes on.
void RunSession::print_causes() const {
  const FindingList& findings = report_.findings;
  const std::int64_t first = findings.first_step();
  if (first == 0) return;
  std::FILE* const out = text_stream_of(options_);
  fmt::print(out, "\n{}", findings.format_causes());
  if (first < options_.explain)
    fmt::print(out, "next: {}\n", run_words(options_, options_.scenario, first));
}

void RunSession::print_report() {
  if (options_.output == RunOutput::json) {
    print_json(report_to_json(run_.plan(), report_));
  } else if (options_.output == RunOutput::jsonl) {
    print_json(report_to_json(run_.plan(), report_), kOneLine);
  } else {
    std::FILE* const out = text_stream_of(options_);
    if (shows_table()) fmt::print(out, "{}\n", format_step_table(rows_));
    if (!options_.quiet) fmt::print(out, "{}", report_.findings.format_roots());
    fmt::print(out, "{}", format_summary(run_.plan(), report_));
    if (const std::int64_t first = report_.findings.first_step(); first > 0 && !options_.quiet)
      fmt::print(out, "next: {}\n", run_words(options_, options_.scenario, first));
  }
}

void print_heading(const RunCommandOptions& options, const RunPlan& plan) {
  if (!options.quiet)
    for (const std::string& note : plan.notes) report_note(note);
  if (options.output != RunOutput::table || options.quiet || options.explain > 0) return;
  const EngineConfig& config = plan.setup.config;
  std::FILE* const out = text_stream_of(options);
  fmt::print(out, "{}: {}, mode {}, block_size {}, K={}, {} blocks in {} groups\n",
             one_line(plan.name), plan.setup.layout.model.name,
             mamba_cache_mode_name(config.mamba_cache_mode), config.block_size,
             config.num_speculative_tokens, config.kv_cache_config.num_blocks,
             config.kv_cache_config.groups.size());
  if (!plan.teaches.empty()) fmt::print(out, "{}\n", wrap_words(one_line(plan.teaches, 2000), 100));
  fmt::print(out, "\n");
}

// Can the run be made with the settings? In a suite each scenario says so for itself.
Status check_settings(const RunCommandOptions& options) {
  if (!options.suite.is_suite())
    return check_given_settings(options.settings, options.scenario, options.model);
  const auto allowed = options.settings.apply({});
  return allowed.ok() ? Ok{} : Status(allowed.error());
}

}  // namespace

int run_command(const RunCommandOptions& given, const Backends& backends) {
  RunCommandOptions options = given;
  if (options.quiet) options.files.record.tell = {};
  if (options.breaks.asks_for_help()) {
    fmt::print("{}", break_help());
    return kExitFine;
  }
  if (options.scenario.empty() && options.traffic.empty())
    return report_usage("run", "give a scenario file or --traffic (hybridscope run --help)");
  if (const Status settings = check_settings(options); !settings.ok())
    return report_usage("run", settings.error().message);
  if (const Status apart = check_files(files_of(options)); !apart.ok())
    return report_usage("run", apart.error().message);
  auto breakpoints = BreakConditions::make(options.breaks);
  if (!breakpoints.ok()) {
    report_lines("run", breakpoints.error().message);  // lines that point into the expression
    return kExitUsage;
  }
  if (options.suite.is_suite() && !breakpoints.value().empty())
    return report_usage("run", "--break is for one run, not for a suite of scenarios");
  if (Status state = check_state_option(options.state); !state.ok())
    return report_usage("run", state.error().message);
  if (options.twin && options.state.in_bytes())
    return report_usage("run",
                        "--twin keeps no state in bytes: leave out --state bytes and --backend "
                        "cuda, or let a model speak with --weights");
  if (const auto option = file_of_one_run(options.files); options.twin && !option.empty())
    return report_usage("run", fmt::format("{} is for one run, not for --twin", option));
  if (Status loaded = load_baselines(options.known); !loaded.ok())
    return report_error("run", loaded.error());
  if (options.suite.is_suite()) return suite_command(options, backends);
  if (options.twin) return twin_command(options, backends);
  ask_for_interrupts();  // a scenario that comes through a pipe has a report too
  auto plan = make_run_plan(options);
  if (!plan.ok())
    return fail(options, options.traffic.empty()
                             ? name_right_command("run", options.scenario, plan.error())
                             : name_right_command("--traffic", options.traffic, plan.error()));
  auto run = ReportedRun::create(std::move(plan).value(), options, backends);
  if (!run.ok()) return fail(options, run.error());
  RunSession session(options, *run.value(), std::move(breakpoints).value());
  if (Status begun = session.begin_files(); !begun.ok())
    return fail(options, begun.error(), FailedAt::files);
  print_heading(options, run.value()->plan());
  return session.run();
}

}  // namespace hybridscope
