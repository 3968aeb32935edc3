#include "tests/sessions/live/stamp_list.h"

namespace hybridscope::test {

StampList::StampList(const std::vector<DigestedStep>& steps, std::int32_t digest_version)
    : digest_version_(digest_version) {
  for (const DigestedStep& step : steps)
    stamps_.push_back({.step = step.step, .digests = step.digests, .counts = {}});
}

Result<const StepStamp*> StampList::next() {
  if (next_ == stamps_.size()) return nullptr;
  return &stamps_[next_++];
}

Result<const StepRecord*> StampList::record() { return invalid_input("stamps only"); }

}  // namespace hybridscope::test
