// Holds each step of a run against what must hold, whoever ran it: the rules, the symbolic states,
// and where asked for states in bytes, hashes of the engine's memory, and a language model.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/check/check_context.h"
#include "core/check/finding.h"
#include "core/check/state_hash_check.h"
#include "core/check/state_mirror.h"
#include "core/check/state_write.h"
#include "core/check/step_checker.h"
#include "core/engine/engine_config.h"
#include "core/language/language_machine.h"
#include "core/language/language_run.h"
#include "core/language/language_values.h"
#include "core/trace/step_trace.h"

namespace hybridscope {

// Makes the checker's configuration from an engine's.

CheckConfig make_check_config(const EngineConfig& config);

// What a judge makes of one step, whoever ran it: our engine, or one whose trace is read.

struct StepSpeech;

// One step and its findings; valid until the next step.
struct CheckedStep {
  const StepTrace& trace;
  std::span<const Finding> findings;
  std::span<const StateWrite> writes;  // to state, in order; empty unless they are logged
  // What a language model said and compared. Null: none runs, or it is not kept.
  const StepSpeech* speech = nullptr;
};

// A language model that runs on decisions, with how it was asked for.

struct HybridModel;

struct LanguageModel {
  std::string folder = {};  // of its weights
  NumericForm form = NumericForm::recurrent;
  std::shared_ptr<const HybridModel> model = nullptr;  // null: none runs
  MakeLanguageMachine make_machine = {};               // where it runs; null: on the host
};

// How many of the most probable tokens are kept with each token that a language model chooses.
inline constexpr std::int32_t kNumLikelyTokens = 5;

struct StepJudgeOptions {
  // Keeps the states in bytes in this memory too, and compares them with the symbolic states
  // after each step. May be null. Requires: every byte of it is poison.
  std::unique_ptr<StateBackend> state = nullptr;
  // Runs on the engine's decisions too, and its states and tokens are compared with lone runs.
  LanguageModel language = {};
  // The engine is ours: the language model chooses the tokens. Otherwise it takes those of the
  // trace, each as one of its own.
  bool has_own_engine = true;
  std::int32_t max_num_tokens = 0;  // of a step, padding included; 0: not known
  bool keeps_speech = false;        // CheckedStep::speech
};

// What a step is held against besides its trace.
struct ToldOfStep {
  const TokenContentOf& token_of;          // the engine's tokens
  std::span<const ToldGroup> states = {};  // hashes of the engine's memory; empty: none told
  bool is_last = false;                    // then all bytes are compared
};

class StepJudge {
 public:
  // Errors: those of StepChecker, StateMirror and language.make_machine.
  static Result<StepJudge> create(const CheckConfig& config, StepJudgeOptions options = {});
  StepJudge(StepJudge&&) noexcept;
  StepJudge& operator=(StepJudge&&) noexcept;
  ~StepJudge();

  // An independent copy in the current state. Requires: no state in bytes, no language model.
  StepJudge clone() const;

  // The next step. Findings about bytes, memory and numbers come after the others; valid until the
  // next call. Error: the state's memory or the language model's machine; no step can follow.
  Result<CheckedStep> judge(const StepTrace& trace, CheckScope scope, const ToldOfStep& told);

  // From the next step on, steps come with their writes to state.
  void log_writes() { checker_.log_writes(); }
  // The content of blocks after the last step.
  const CheckState& state() const { return checker_.state(); }

  bool has_language() const { return language_ != nullptr; }
  // What the language model said so far. Requires: there is one.
  std::vector<SpokenText> texts() const;
  StateBackend* state_backend() const { return options_.state.get(); }  // null: no state in bytes
  std::int64_t num_elements_verified() const {
    return mirror_ ? mirror_->num_elements_verified() : 0;
  }
  // Steps that told hashes of the engine's memory.
  std::int64_t num_memory_steps() const { return num_memory_steps_; }

 private:
  struct Language;
  StepJudge(StepChecker checker, StepJudgeOptions options);
  Status begin_language(const CheckConfig& config);
  Status add_language_findings(const StepTrace& trace, const TokenContentOf& token_of);

  StepJudgeOptions options_;
  StepChecker checker_;
  std::optional<StateMirror> mirror_;         // with options_.state
  std::optional<StateHashCheck> hash_check_;  // from the first step on that tells states
  std::unique_ptr<Language> language_;        // with options_.language
  std::vector<Finding> findings_;             // of the step, where more than rules are checked
  std::int64_t num_memory_steps_ = 0;
};

}  // namespace hybridscope
