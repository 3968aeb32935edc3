// The language model that options ask for, and the machine that it runs on: the same for every
// command that runs one.
#pragma once

#include "core/base/result.h"
#include "sessions/job/backends.h"
#include "sessions/job/state_option.h"
#include "sessions/run/language_model.h"

namespace hybridscope {

// Makes machines on the device that is asked for; a machine whose blocks do not fit in the free
// memory is not made. Null: on the host, whose free memory is not known. Error: the device cannot
// be used.
Result<MakeLanguageMachine> language_machine(const StateOption& option, const Backends& backends);

// Without a model if none is asked for. Errors: those of load_model, and of language_machine.
Result<LanguageModel> load_language(const StateOption& option, const Backends& backends);

}  // namespace hybridscope
