// Two numbers of a step that should be equal and are not, as a finding.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/check/check_context.h"

namespace hybridscope {

struct Mismatch {
  std::int64_t expected = 0;
  std::int64_t seen = 0;
  std::string_view detail{};
  std::int32_t row = -1;  // of the batch; its request is filled in
  std::int32_t group = -1;
};

void report(CheckContext& context, Rule rule, const Mismatch& mismatch);

// Reports metadata_inconsistent if the numbers differ; true: they are equal, as nearly always.
inline bool expect_equal(CheckContext& context, const Mismatch& mismatch) {
  if (mismatch.expected == mismatch.seen) [[likely]]
    return true;
  report(context, Rule::metadata_inconsistent, mismatch);
  return false;
}

}  // namespace hybridscope
