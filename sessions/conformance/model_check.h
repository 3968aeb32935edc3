// Vectors of whole models: weights in a folder beside the file, prompts, and what the model makes
// of them (numerics: tolerances and verdicts).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "sessions/conformance/compare.h"

namespace hybridscope {

// Runs the model of `folder`/CONFIG.FOLDER in form recurrent. `config.what`: logits (of a prompt
// in one piece and in the pieces of `split`, which must not differ in a bit), state (of every
// recurrent layer after the prompt), greedy (the tokens it goes on with), missing_tokens (logits
// behind recurrent states that miss the prompt's last tokens). Returns the first place that
// differs. Throws JsonFault, also where the weights cannot be loaded.
std::optional<VectorDifference> check_model_vector(const nlohmann::json& vector,
                                                   const std::string& folder);

}  // namespace hybridscope
