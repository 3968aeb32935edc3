// One write to the state of a block, as the checker executed it: the log that answers "who wrote
// this" and that sessions keep.
#pragma once

#include <cstdint>

#include "core/base/fingerprint.h"
#include "core/check/finding.h"

namespace hybridscope {

struct StateWrite {
  WriteEvent event{};
  std::int32_t group = -1;
  ContentKind content = ContentKind::none;
  std::int32_t column = -1;  // of the request's block table
  std::int32_t block = 0;
  // temporal: the state. attention: the prefix that ends at the last slot. conv: the token at
  // position W - 2 of the window, the last one that a row reads if no draft was accepted.
  Fingerprint fingerprint = 0;
  friend bool operator==(const StateWrite&, const StateWrite&) = default;
};

// One content of a block; event.kind never: nothing was written since the block was allocated.
struct HeldContent {
  WriteEvent event;
  Fingerprint fingerprint = 0;  // as in StateWrite
  friend bool operator==(const HeldContent&, const HeldContent&) = default;
};

}  // namespace hybridscope
