// A language model of three layers (attention, GatedDeltaNet, short convolution) with keyed random
// weights, for tests of what runs models.
#pragma once

#include <cstdint>

#include "core/numeric/hybrid_model.h"

namespace hybridscope::test {

inline constexpr std::int32_t kSmallVocabulary = 50;

HybridModel small_language_model();

}  // namespace hybridscope::test
