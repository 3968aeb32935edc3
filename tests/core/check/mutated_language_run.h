// A language model on an engine's decisions with random changes in them.
#pragma once

#include <random>

#include "tests/core/check/planted.h"
#include "tests/core/check/speaking_engine.h"

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
  LanguageRun& language() { return speaking_.language(); }

 private:
  int plant(StepTrace& trace);

  std::mt19937_64& random_;
  SpeakingEngine speaking_;
  OwnedArrays arrays_;
};

}  // namespace hybridscope::test
