// Do logits of a run agree with the lone run's (numerics: tolerances and verdicts)?
#pragma once

#include <span>

#include "core/language/language_values.h"

namespace hybridscope {

// Form recurrent: in every bit. Form chunked: within 1e-4 of the largest of the lone run's.
bool logits_agree(std::span<const float> logits, std::span<const float> twin_logits,
                  NumericForm form);

// Form chunked: may rounding choose another token, because the lone run's margin is small?
bool is_near_tie(std::span<const float> twin_logits);

}  // namespace hybridscope
