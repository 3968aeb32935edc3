#include "gui/model/speech.h"

#include <algorithm>

namespace hybridscope {

std::span<const StepSpeech> Speech::up_to(std::int64_t step) const {
  const auto behind = std::ranges::upper_bound(steps_, step, {}, &StepSpeech::step);
  return {steps_.begin(), behind};
}

const StepSpeech* Speech::at(std::int64_t step) const {
  const auto known = up_to(step);
  return known.empty() || known.back().step != step ? nullptr : &known.back();
}

std::vector<SpokenText> Speech::texts_at(std::int64_t step) {
  const auto known = up_to(step);
  if (known.size() < num_told_) {
    texts_ = {};
    num_told_ = 0;
  }
  for (; num_told_ < known.size(); ++num_told_) texts_.add(known[num_told_].words);
  return texts_.sampled();
}

}  // namespace hybridscope
