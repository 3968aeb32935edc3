#include "core/language/logits_verdict.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/numeric/logits.h"

namespace hybridscope {
namespace {

// How much logits of a whole model may differ in form chunked.
double tolerance_of(std::span<const float> logits) {
  double largest = 1;
  for (const float logit : logits)
    largest = std::max(largest, std::abs(static_cast<double>(logit)));
  return 1e-4 * largest;
}

}  // namespace

bool logits_agree(std::span<const float> logits, std::span<const float> twin_logits,
                  NumericForm form) {
  if (form == NumericForm::recurrent)
    return std::memcmp(logits.data(), twin_logits.data(), logits.size_bytes()) == 0;
  const double tolerance = tolerance_of(twin_logits);
  for (std::size_t i = 0; i < logits.size(); ++i)
    if (!(std::abs(static_cast<double>(logits[i]) - static_cast<double>(twin_logits[i])) <=
          tolerance))
      return false;
  return true;
}

bool is_near_tie(std::span<const float> twin_logits) {
  return logit_margin(twin_logits) <= 2 * tolerance_of(twin_logits);
}

}  // namespace hybridscope
