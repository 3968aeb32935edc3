// Runs of elements in host memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/base/fingerprint.h"
#include "core/state/state_backend.h"
#include "kernels/state_view.h"

namespace hybridscope {

// The pattern of kPoison; `num_bytes` is even.
void fill_poison(std::byte* to, std::int64_t num_bytes);

// Elements [0, count) of a content, contiguous (trace_element).
void store_trace_elements(std::byte* to, std::int64_t count, std::int32_t elem_size,
                          Fingerprint fingerprint);

// All channels of a conv position, from and to dense elements [dim].
void load_position(const StateView& state, const std::byte* block, std::int64_t position,
                   std::byte* to);
void store_position(const StateView& state, std::byte* block, std::int64_t position,
                    const std::byte* from);

// The bytes that a state of a block should hold, in the state's own order, and the first place
// where a block differs.

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
