// An engine, its checker, and a language model that runs on what they are given.
#pragma once

#include <memory>

#include "core/check/step_checker.h"
#include "core/language/language_run.h"
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

}  // namespace hybridscope::test
