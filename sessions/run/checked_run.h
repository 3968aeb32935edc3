// Runs a plan step by step under the checker. Combines engine, checker and the guard against runs
// that never end, for all callers that run a plan; they decide what to do with each step.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/base/result.h"
#include "core/check/progress_watch.h"
#include "core/check/state_mirror.h"
#include "core/check/step_checker.h"
#include "core/language/language_machine.h"
#include "core/language/language_values.h"
#include "sessions/run/runner.h"

namespace hybridscope {

struct HybridModel;

// One step and its findings; valid until the next step.
struct CheckedStep {
  const StepTrace& trace;
  std::span<const Finding> findings;
  std::span<const StateWrite> writes;  // to state, in order; empty unless log_writes()
};

// Why a run has no next step.
enum class EndReason : std::uint8_t {
  none,         // there is a next step
  finished,     // everything in the plan has happened
  no_progress,  // the requests will never finish (rule no_progress)
  step_limit,   // CheckedRunOptions::max_steps steps were run
};

struct CheckedRunOptions {
  // What is checked after each step. Absent: only progress, for callers that read decisions but no
  // states (the cache report of real traffic, writing a trace).
  std::optional<CheckScope> check = CheckScope::step;
  std::int64_t max_steps = std::numeric_limits<std::int64_t>::max();
  // Also keeps the states in bytes in this memory, and compares them with the symbolic states after
  // each step. May be null. Requires: every byte of it is poison; the run is checked.
  std::unique_ptr<StateBackend> state = nullptr;
  // Also runs this model on the engine's decisions, and compares its states and tokens with lone
  // runs. May be null. Requires: the run is checked.
  std::shared_ptr<const HybridModel> language = nullptr;
  NumericForm form = NumericForm::recurrent;  // of the language model's prompt rows
  // Of the language model: keeps what each step said, with the most probable tokens, and what it
  // compared (CheckedRun::speech).
  bool keeps_speech = false;
  MakeLanguageMachine make_machine = {};   // where the language model runs; null: on the host
  FoldedPrompts folded_prompts = nullptr;  // for Runner::create
};
// As many are kept with each token.
inline constexpr std::int32_t kNumLikelyTokens = 5;

class CheckedRun {
 public:
  // Starts before the first step. Error: what Runner, StepChecker or StateMirror refuses.
  static Result<CheckedRun> create(RunPlan plan, CheckedRunOptions options = {});
  CheckedRun(CheckedRun&&) noexcept;
  CheckedRun& operator=(CheckedRun&&) noexcept;
  ~CheckedRun();

  // An independent copy in the current state; both continue identically. Requires: no state in
  // bytes, no language model.
  CheckedRun clone() const;
  // Continues with another plan. Requires: it is equal for the steps that were run.
  void follow(std::shared_ptr<const RunPlan> plan) { runner_.follow(std::move(plan)); }

  EndReason end() const;
  bool has_ended() const { return end() != EndReason::none; }

  // Runs and checks the next step. Findings about bytes come after the others; after the plan's
  // last step all bytes are compared. Requires: !has_ended(). Errors: those of Runner::step; "step
  // N: " followed by an error of the state's memory or of the language model's machine. After an
  // error there is no next step.
  Result<CheckedStep> step();

  // From the next step on, steps come with their writes to state. Requires: the run is checked.
  void log_writes();

  const Engine& engine() const { return runner_.engine(); }
  const RunPlan& plan() const { return runner_.plan(); }
  std::int64_t num_steps() const { return num_steps_; }  // steps that were run
  // The content of blocks after the last step. Requires: the run is checked.
  const CheckState& state() const;

  bool has_language() const { return language_ != nullptr; }
  // What the language model said so far, and its vocabulary. Requires: there is one.
  std::vector<SpokenText> texts() const;
  std::int32_t vocab_size() const;
  bool keeps_speech() const { return options_.keeps_speech; }
  // What the last step said and compared; valid until the next step. Requires: it is kept.
  const StepSpeech& speech() const;

  // Null without state in bytes.
  StateBackend* state_backend() const { return options_.state.get(); }
  std::int64_t num_elements_verified() const {
    return mirror_ ? mirror_->num_elements_verified() : 0;
  }

 private:
  struct Language;  // the model's run, and its findings
  CheckedRun(Runner runner, std::optional<StepChecker> checker, CheckedRunOptions options);
  Result<std::span<const Finding>> check(const StepTrace& trace);

  CheckedRunOptions options_;
  Runner runner_;
  std::optional<StepChecker> checker_;
  std::optional<StateMirror> mirror_;   // with options_.state
  std::unique_ptr<Language> language_;  // with options_.language
  std::vector<Finding> findings_;       // of the last step, with options_.state or a language model
  ProgressWatch progress_;              // of an unchecked run; the checker has its own
  bool no_progress_ = false;
  std::int64_t num_steps_ = 0;
};

}  // namespace hybridscope
