// A checked run with the totals over its steps, and its result as text and JSON; prints nothing.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sessions/explain/explain_names.h"
#include "sessions/job/run_options.h"
#include "sessions/job/state_option.h"
#include "sessions/job/step_files.h"
#include "sessions/run/checked_run.h"
#include "sessions/run/drive.h"
#include "sessions/run/finding_list.h"
#include "sessions/run/run_plan.h"
#include "sessions/run/run_summary.h"
#include "sessions/run/spoken_words.h"
#include "sessions/run/step_judge.h"

namespace hybridscope {

// The result of a run, as text and JSON.

struct RunReport {
  RunSummary summary;
  FindingList findings;
  std::optional<StateInBytes> state;          // absent: symbolic only
  std::optional<SpeechInfo> language;         // absent: no language model ran
  std::optional<SpokenWords> texts;           // absent: no language model ran
  std::vector<std::string> unmet;             // expectations of the scenario that were not met
  std::vector<ExcusedFindings> excused = {};  // known bugs first, then the baseline
  std::optional<Starvation> starvation;       // absent: nobody starved
  std::string stopped;                        // why the run ended early, empty: it is complete
  std::optional<double> wall_seconds;         // absent: --no-timings
  std::optional<std::int64_t> peak_rss_bytes;
};

// The last lines of the default output.
std::string format_summary(const RunPlan& plan, const RunReport& report);

// {config, state, summary, roots, findings}.
nlohmann::ordered_json report_to_json(const RunPlan& plan, const RunReport& report);

// How a run ended, in one word.

// The worst last.
enum class RunOutcome : std::uint8_t {
  fine,
  skipped,  // the release of --engine refuses it
  stopped,  // after --steps, as asked
  unmet,    // expectations
  findings,
  invalid,  // input
  environment,
  internal_error,
  interrupted,
  not_run,
};

// "ok", "findings", ...
std::string_view outcome_name(RunOutcome outcome);
// The outcome of a run that went to its end or was stopped. `strict`: warnings count as findings.
RunOutcome outcome_of(const RunReport& report, bool strict);

struct CauseSearchOptions;

// Why a run ends early.
struct EarlyEnd {
  bool interrupted = false;
  std::string refused = {};  // what the engine refused, empty: nothing
  std::string broken = {};   // what it stopped at, empty: at nothing
  bool unwritten = false;    // its session or trace could not be written
  bool timings = true;
};

class ReportedRun final : private StepSink {
 public:
  // Checks the plan and keeps its state as the options say. Errors: those of make_state_bytes and
  // of CheckedRun.
  static Result<std::unique_ptr<ReportedRun>> create(RunPlan plan, const RunOptions& options,
                                                     const Backends& backends);
  ReportedRun(const ReportedRun&) = delete;  // the names refer to the engine of this object
  ReportedRun& operator=(const ReportedRun&) = delete;

  bool has_ended() const { return run_.has_ended(); }
  // Everything in the plan has happened.
  bool finished() const { return run_.end() == EndReason::finished; }
  // Were as many steps run as the options ask for?
  bool is_at_its_limit() const { return max_steps_ > 0 && summary().steps >= max_steps_; }
  // drive() of the run up to its limit: the totals first, then the sinks.
  Driven drive(std::span<StepSink* const> sinks, const StopAsked& stop = {});
  // After the last step: digests the bytes. Error: the device is lost.
  Status digest_state();
  // What it was; the steps so far count when it has not ended.
  RunReport finish(const EarlyEnd& end);
  // One line, empty when it is finished.
  std::string why_stopped(const EarlyEnd& end) const;

  CheckScope scope() const { return scope_; }
  // The language model that runs; empty: none.
  const std::optional<SpeechInfo>& language() const { return report_.language; }
  const Engine& engine() const { return run_.engine(); }
  const RunPlan& plan() const { return run_.plan(); }
  const Names& names() const { return names_; }
  const RunSummary& summary() const { return summary_.summary(); }
  // The accepted count that the request had of its own before the step.
  std::optional<OwnCount> own_count(std::int64_t step, RequestId request) const {
    return report_.findings.own_counts().before(step, request);
  }
  // Where the findings of the last step that had any stand (FindingList::last_chain_words).
  std::vector<std::string> chain_words() const { return report_.findings.last_chain_words(); }
  std::int64_t num_errors() const { return report_.findings.num_found(Severity::error); }
  // "step 12, 3 of 8 requests finished, 0 findings".
  std::string progress_words() const;

 private:
  Result<Going> take(const CheckedStep& step) override;

  struct Kept {
    std::optional<StateInBytes> state;
    std::optional<SpeechInfo> language;
    KnownFindingsOption known;
    LanguageModel model;
  };
  bool expects(const Finding& finding);
  void find_causes();
  void excuse_known_bugs(const CauseSearchOptions& options);
  void excuse(const std::string& source, std::int64_t findings);

  ReportedRun(CheckedRun run, const RunOptions& options, Kept kept);

  CheckedRun run_;
  CheckScope scope_;
  std::int64_t max_steps_;  // 0: to the end
  Names names_;
  SummaryBuilder summary_;
  StarvationWatch starvation_;
  ExpectationCheck expectation_;
  KnownFindingsOption known_;
  std::int64_t num_in_baseline_ = 0;
  RunReport report_;
  LanguageModel language_;  // that runs, for the causes of what only it shows
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// The files that a run of our engine writes step by step (step_files.h).

// As the options ask for; `run` must outlive them. Errors: those of StepFiles::begin.
Result<StepFiles> begin_run_files(const RunOptions& options, const ReportedRun& run);

// How the run ended, for its files.
StepsEnd steps_end(const ReportedRun& run, const EarlyEnd& end);

}  // namespace hybridscope
