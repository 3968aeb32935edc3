// A language model that runs on decisions, with how it was asked for.
#pragma once

#include <memory>
#include <string>

#include "core/language/language_machine.h"
#include "core/language/language_values.h"

namespace hybridscope {

struct HybridModel;

struct LanguageModel {
  std::string folder = {};  // of its weights
  NumericForm form = NumericForm::recurrent;
  std::shared_ptr<const HybridModel> model = nullptr;  // null: none runs
  MakeLanguageMachine make_machine = {};               // where it runs; null: on the host
};

}  // namespace hybridscope
