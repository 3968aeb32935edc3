// Contents are written in order, but kernels write many at once: a list is cut before a content
// that names the same kind of state of the same block again.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/state/state_backend.h"

namespace hybridscope {

struct ContentRun {
  std::int32_t first = 0;
  std::int32_t count = 0;
  friend bool operator==(const ContentRun&, const ContentRun&) = default;
};

// Requires: blocks inside num_blocks.
std::vector<ContentRun> split_contents(std::span<const BlockContent> contents,
                                       std::int32_t num_blocks);

}  // namespace hybridscope
