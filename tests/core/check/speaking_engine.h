// An engine, its checker, and a language model that runs on what they are given.
#pragma once

#include <memory>
#include <random>

#include "core/check/step_checker.h"
#include "core/language/language_run.h"
#include "tests/core/check/planted.h"
#include "tests/support/small_engine.h"
#include "tests/support/small_language_model.h"

namespace hybridscope::test {

class SpeakingEngine {
 public:
  // `make_machine`: where the model runs; null: on the host.
  explicit SpeakingEngine(const SmallEngine& small, HybridModel model = small_language_model(),
                          const MakeLanguageMachine& make_machine = {},
                          NumericForm form = NumericForm::recurrent);

  Engine& engine() { return engine_; }
  const StepChecker& checker() const { return checker_; }
  LanguageRun& language() { return *language_; }
  bool has_steps() const { return engine_.num_unfinished() > 0 || engine_.has_frame_in_flight(); }

  // Of a trace of the engine, which may have been changed. Valid until the next call.
  const LanguageStep& follow(const StepTrace& trace);

 private:
  std::unique_ptr<const HybridModel> model_;
  Engine engine_;
  StepChecker checker_;
  std::unique_ptr<LanguageRun> language_;
};

// A language model on an engine's decisions with random changes in them.

class MutatedLanguageRun {
 public:
  // Draws the engine, whose kinds of layers and cache modes differ, and the changes.
  // `make_machine`: where the model runs; null: on the host.
  explicit MutatedLanguageRun(std::mt19937_64& random, const MakeLanguageMachine& make_machine = {},
                              NumericForm form = NumericForm::recurrent);

  // Steps until every request has finished, or the test has failed; returns how many changes were
  // planted.
  int run();
  LanguageRun& language() { return speaking_.language(); }

 private:
  int plant(StepTrace& trace);

  std::mt19937_64& random_;
  SpeakingEngine speaking_;
  OwnedArrays arrays_;
};

}  // namespace hybridscope::test
