// A language model on an engine's decisions with random changes in them.
#pragma once

#include <memory>
#include <random>

#include "core/language/language_run.h"
#include "tests/core/check/planted.h"

namespace hybridscope::test {

class MutatedLanguageRun {
 public:
  // Draws the engine, whose kinds of layers and cache modes differ, and the changes.
  // `make_machine`: where the model runs; null: on the host.
  explicit MutatedLanguageRun(std::mt19937_64& random, const MakeLanguageMachine& make_machine = {},
                              NumericForm form = NumericForm::recurrent);

  // Steps until every request has finished, or the test has failed; returns how many changes were
  // planted.
  int run();
  LanguageRun& language() { return *language_; }

 private:
  int plant(StepTrace& trace);

  std::mt19937_64& random_;
  HybridModel model_;
  Engine engine_;
  StepChecker checker_;
  OwnedArrays arrays_;
  std::unique_ptr<LanguageRun> language_;
};

}  // namespace hybridscope::test
