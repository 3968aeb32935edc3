// Ids and sentinels. Arrays that mirror device memory hold plain std::int32_t.
#pragma once

#include <compare>
#include <cstdint>

namespace hybridscope {

// The null block: popped from the free queue when the pool is made, never given out, target of
// every padded row and of every column that has no block (semantics: block-pool).
inline constexpr std::int32_t kNullBlock = 0;

// The slot id of a padding token or row (vLLM v1/attention/backends/utils.py PAD_SLOT_ID). Not the
// null block.
inline constexpr std::int32_t kPadSlotId = -1;

// Dense number of a request in one engine, in order of arrival: 0, 1, 2, ...; -1 is "no request".
struct RequestId {
  std::int32_t value = -1;
  friend auto operator<=>(const RequestId&, const RequestId&) = default;
};

}  // namespace hybridscope
