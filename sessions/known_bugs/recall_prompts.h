// Prompts that ask for something, in place of a scenario's tokens without meaning: so that a wrong
// state becomes a wrong answer of a model that was trained on them
// (scenarios/models/jargon-gdn/README.md).
#pragma once

#include <cstdint>
#include <string>

#include "sessions/scenario/scenario.h"

namespace hybridscope {

// `length` bytes: pairs of a letter and a digit, then the question for the last pair's digit, as in
// "#k7b3q0?q="; shorter than 5, what fits of it. Drawn by `key`: the same key and length give the
// same text.
std::string recall_text(std::uint64_t key, std::int32_t length);

// The scenario with such texts, of equal lengths: what prompts share they still share.
Scenario with_recall_prompts(Scenario scenario);

}  // namespace hybridscope
