// Runs of elements in host memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/fingerprint.h"
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

}  // namespace hybridscope
