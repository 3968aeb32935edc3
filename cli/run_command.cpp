#include "cli/run_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/exit_codes.h"
#include "cli/interrupt.h"
#include "cli/run_report.h"
#include "cli/step_json.h"
#include "cli/step_table.h"
#include "cli/twin_command.h"
#include "core/trace/block_table_mirror.h"
#include "sessions/check_setup.h"
#include "sessions/expectation_check.h"
#include "sessions/explain_finding.h"
#include "sessions/explain_step.h"
#include "sessions/judge/trace_writer.h"
#include "sessions/record/session_plan.h"
#include "sessions/runner.h"

namespace hybridscope {
namespace {

// VmHWM: the high-water mark of this program, unlike ru_maxrss, which survives exec.
std::int64_t peak_memory_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmHWM:")) return std::stoll(line.substr(6)) * 1024;
  return 0;
}

int fail(const Error& error) {
  fmt::print(stderr, "hybridscope run: {}\n", error.message);
  return error.kind == ErrorKind::device || error.kind == ErrorKind::not_available
             ? kExitEnvironment
             : kExitInput;
}

// One run: the loop, and what it collects for the outputs.
class RunSession {
 public:
  RunSession(const RunOptions& options, Runner runner, StepChecker checker)
      : options_(options),
        runner_(std::move(runner)),
        checker_(std::move(checker)),
        names_(make_names(runner_.engine().config().kv_cache_config,
                          [this](RequestId id) { return runner_.engine().name_of(id); })),
        summary_(runner_.engine().config()),
        expectation_(runner_.plan().expect),
        tables_(static_cast<std::int32_t>(runner_.engine().config().kv_cache_config.groups.size()),
                runner_.engine().config().kv_cache_config.num_blocks),
        writer_(runner_.engine().config(),
                {.name = [this](RequestId id) { return runner_.engine().name_of(id); },
                 .token = [this](RequestId id,
                                 std::int32_t p) { return runner_.engine().token(id, p); },
                 .max_tokens = [this](RequestId id) { return runner_.engine().max_tokens(id); }}),
        start_(std::chrono::steady_clock::now()) {
    names_.mamba_cache_mode = runner_.engine().config().mamba_cache_mode;
    if (options.trace.empty()) return;
    traced_.emplace(options.trace, std::ios::binary);
    *traced_ << writer_.header(runner_.plan().name) << '\n';
  }
  RunSession(const RunSession&) = delete;
  RunSession& operator=(const RunSession&) = delete;

  // --record. Error: what the file or the name does not allow.
  Status begin_recording();
  const RunPlan& plan() const { return runner_.plan(); }
  int run();

 private:
  Status step();
  void take_findings(std::span<const Finding> findings);
  void show_step(const StepTrace& trace, std::span<const Finding> findings);
  void explain(const StepTrace& trace, std::span<const Finding> findings);
  void show_progress();
  bool stop() const;
  int finish();
  Status finish_recording(const std::optional<Error>& refused);
  void print_report();
  std::string why_stopped() const;
  bool shows_table() const {
    return options_.output == RunOutput::table && !options_.quiet &&
           (!options_.scenario.empty() || options_.table_of_traffic);
  }

  const RunOptions& options_;
  Runner runner_;
  StepChecker checker_;
  Names names_;
  SummaryBuilder summary_;
  ExpectationCheck expectation_;
  BlockTableMirror tables_;  // for --explain
  std::vector<StepRow> rows_;
  RunReport report_;
  bool cannot_progress_ = false;
  bool explained_ = false;
  TraceWriter writer_;
  std::optional<std::ofstream> traced_;        // --trace
  std::unique_ptr<RecordedSession> recorded_;  // --record
  std::optional<Error> record_failure_;        // recording stopped the run
  std::chrono::steady_clock::time_point start_;
  std::chrono::steady_clock::time_point last_progress_ = start_;
};

Status RunSession::begin_recording() {
  if (options_.record.place.empty()) return Ok{};
  const RunPlan& plan = runner_.plan();
  SessionHeader header;
  header.kind = SessionKind::run;
  header.source = options_.scenario.empty() ? options_.traffic : options_.scenario;
  header.model = plan.setup.layout.model.name;
  header.engine = profile_name(plan.setup.config.policies);
  header.plan = write_session_plan(plan);
  header.config = plan.setup.config;
  auto begun = RecordedSession::begin(options_.record, parse_session_place(options_.record.place),
                                      std::move(header), names_);
  if (!begun.ok()) return begun.error();
  recorded_ = std::move(begun).value();
  if (recorded_->level() == RecordLevel::full) checker_.log_writes();
  return Ok{};
}

// Status of the session from how the run ended.
Status RunSession::finish_recording(const std::optional<Error>& refused) {
  if (!recorded_) return Ok{};
  if (refused) return recorded_->finish(SessionStatus::failed, refused->message);
  if (was_interrupted()) return recorded_->finish(SessionStatus::interrupted, why_stopped());
  if (runner_.done()) return recorded_->finish(SessionStatus::complete, "");
  return recorded_->finish(SessionStatus::stopped, why_stopped());
}

void RunSession::take_findings(std::span<const Finding> findings) {
  for (const Finding& finding : findings) {
    cannot_progress_ = cannot_progress_ || finding.rule == Rule::no_progress;
    report_.findings.add(finding, expectation_.expects(finding, names_), names_);
  }
}

void RunSession::explain(const StepTrace& trace, std::span<const Finding> findings) {
  for (const CacheEvent& event : trace.cache_events) tables_.apply(event);
  if (trace.step == options_.explain) {
    explained_ = true;
    fmt::print("{}", explain_step({.trace = trace,
                                   .config = runner_.engine().config(),
                                   .names = names_,
                                   .scheduler_tables = tables_,
                                   .findings = findings}));
  }
  for (const CacheEvent& event : trace.commit_events) tables_.apply(event);
}

void RunSession::show_step(const StepTrace& trace, std::span<const Finding> findings) {
  if (options_.explain > 0) {
    explain(trace, findings);
  } else if (options_.output == RunOutput::jsonl) {
    fmt::print("{}\n", step_to_json(trace, names_, findings).dump());
  } else if (shows_table()) {
    rows_.push_back(describe_step(trace, names_, findings));
  }
}

// On stderr, only where somebody watches.
void RunSession::show_progress() {
  if (runner_.engine().num_requests() < 1000 && summary_.summary().steps < 1000) return;
  if (options_.quiet || isatty(STDERR_FILENO) == 0) return;
  const auto now = std::chrono::steady_clock::now();
  if (now - last_progress_ < std::chrono::milliseconds(200)) return;
  last_progress_ = now;
  fmt::print(stderr, "\rstep {}, {} of {} requests finished, {} findings ",
             summary_.summary().steps, summary_.summary().requests_finished,
             runner_.plan().requests.size(), report_.findings.num_found(Severity::error));
  std::fflush(stderr);
}

Status RunSession::step() {
  const auto trace = runner_.step();
  if (!trace.ok()) return trace.error();
  const std::span<const Finding> findings = checker_.check(*trace.value(), options_.check);
  summary_.add(*trace.value());
  if (traced_) *traced_ << writer_.step(*trace.value()) << '\n';
  if (recorded_)
    if (Status added = recorded_->add(*trace.value(), findings, checker_.writes()); !added.ok())
      record_failure_ = added.error();
  take_findings(findings);
  show_step(*trace.value(), findings);
  show_progress();
  return Ok{};
}

bool RunSession::stop() const {
  if (was_interrupted() || cannot_progress_ || record_failure_) return true;
  if (options_.steps > 0 && summary_.summary().steps >= options_.steps) return true;
  return options_.explain > 0 && explained_;
}

int RunSession::run() {
  std::optional<Error> refused;
  while (!runner_.done() && !stop() && !refused)
    if (Status stepped = step(); !stepped.ok()) refused = stepped.error();
  if (last_progress_ != start_) fmt::print(stderr, "\r\033[K");
  if (Status recorded = finish_recording(refused); !recorded.ok())
    record_failure_ = recorded.error();
  if (refused) report_.stopped = refused->message;
  const int code = finish();
  if (record_failure_) {
    fmt::print(stderr, "hybridscope run: {}\n", record_failure_->message);
    return record_exit_code(*record_failure_);
  }
  return refused ? fail(*refused) : code;
}

std::string RunSession::why_stopped() const {
  if (!report_.stopped.empty() || runner_.done()) return report_.stopped;
  if (was_interrupted()) return fmt::format("interrupted after {} steps", summary_.summary().steps);
  if (record_failure_) return "it could not be recorded";
  if (cannot_progress_) return "it cannot progress";
  return fmt::format("stopped after {} steps, as asked; expectations were not checked",
                     summary_.summary().steps);
}

int RunSession::finish() {
  report_.summary = summary_.summary();
  report_.stopped = why_stopped();
  if (runner_.done() || cannot_progress_) report_.unmet = expectation_.unmet(report_.summary);
  if (options_.timings) {
    report_.wall_seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    report_.peak_rss_bytes = peak_memory_bytes();
  }
  if (options_.explain == 0) print_report();
  if (!options_.junit.empty())
    if (Status written = write_junit(options_.junit, runner_.plan(), report_, options_.strict);
        !written.ok()) {
      fmt::print(stderr, "hybridscope run: {}\n", written.error().message);
      return kExitEnvironment;
    }
  if (traced_ && !traced_->flush()) {
    fmt::print(stderr, "hybridscope run: cannot write {}\n", options_.trace);
    return kExitEnvironment;
  }
  if (was_interrupted()) return kExitInterrupted;
  if (options_.explain > 0 && !explained_) {
    fmt::print(stderr, "hybridscope run: there is no step {}: the run has {} steps\n",
               options_.explain, report_.summary.steps);
    return kExitUsage;
  }
  const bool warned = options_.strict && report_.findings.num_unexpected(Severity::warning) > 0;
  return report_.findings.num_unexpected(Severity::error) > 0 || warned || !report_.unmet.empty()
             ? kExitFindings
             : kExitFine;
}

void RunSession::print_report() {
  if (options_.output == RunOutput::json) {
    fmt::print("{}\n", report_to_json(runner_.plan(), report_).dump(2));
  } else if (options_.output == RunOutput::jsonl) {
    fmt::print("{}\n", report_to_json(runner_.plan(), report_).dump());
  } else {
    if (shows_table()) fmt::print("{}\n", format_step_table(rows_));
    for (const KeptFinding* kept : report_.findings.shown()) fmt::print("{}\n", kept->text);
    fmt::print("{}", format_summary(runner_.plan(), report_));
  }
}

void print_heading(const RunOptions& options, const RunPlan& plan) {
  for (const std::string& note : plan.notes) fmt::print(stderr, "note: {}\n", note);
  if (options.output != RunOutput::table || options.quiet || options.explain > 0) return;
  const EngineConfig& config = plan.setup.config;
  fmt::print("{}: {}, mode {}, block_size {}, K={}, {} blocks in {} groups\n", plan.name,
             plan.setup.layout.model.name, mamba_cache_mode_name(config.mamba_cache_mode),
             config.block_size, config.num_speculative_tokens, config.kv_cache_config.num_blocks,
             config.kv_cache_config.groups.size());
  if (!plan.teaches.empty()) fmt::print("{}\n", wrap_words(plan.teaches, 100));
  fmt::print("\n");
}

}  // namespace

int run_command(const RunOptions& options) {
  if (options.scenario.empty() == options.traffic.empty()) {
    fmt::print(stderr,
               "hybridscope run: give a scenario file or --traffic, not {} "
               "(hybridscope run --help)\n",
               options.scenario.empty() ? "nothing" : "both");
    return kExitUsage;
  }
  if (options.twin) return twin_command(options);
  auto plan = make_run_plan(options);
  if (!plan.ok()) return fail(plan.error());
  auto runner = Runner::create(std::move(plan).value());
  if (!runner.ok()) return fail(runner.error());
  auto checker = StepChecker::create(make_check_config(runner.value().engine().config()));
  if (!checker.ok()) return fail(checker.error());
  RunSession session(options, std::move(runner).value(), std::move(checker).value());
  if (Status begun = session.begin_recording(); !begun.ok()) {
    fmt::print(stderr, "hybridscope run: {}\n", begun.error().message);
    return record_exit_code(begun.error());
  }
  print_heading(options, session.plan());
  ask_for_interrupts();
  return session.run();
}

}  // namespace hybridscope
