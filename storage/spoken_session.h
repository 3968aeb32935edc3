// What a language model said in a recorded session.
#pragma once

#include <optional>

#include "core/base/result.h"
#include "sessions/explain/explain_names.h"
#include "sessions/run/spoken_words.h"
#include "storage/session_reader.h"

namespace hybridscope {

// Its texts, as far as the scheduler took their tokens; empty: no language model ran, or the
// session keeps none of its words. Errors: those of SessionReader::speech.
Result<std::optional<SpokenWords>> spoken_session(SessionReader& reader, const Names& names);

}  // namespace hybridscope
