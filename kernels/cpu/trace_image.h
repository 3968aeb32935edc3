// The bytes that a state of a block should hold, in the state's own order, and the first place
// where a block differs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/state/state_backend.h"
#include "kernels/state_view.h"

namespace hybridscope {

// Replaces `image` by one block of the state. Requires: a content of the state's kind that has a
// fingerprint for each conv position.
void make_trace_image(const StateView& state, const BlockContent& content,
                      std::span<const Fingerprint> conv_fingerprints,
                      std::vector<std::byte>& image);

struct ElementDifference {
  std::int64_t element = 0;  // as in StateMismatch
  std::uint64_t expected = 0;
  std::uint64_t seen = 0;
};

std::optional<ElementDifference> first_difference(const StateView& state, const std::byte* block,
                                                  std::span<const std::byte> image);

}  // namespace hybridscope
