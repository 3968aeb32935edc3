// The 'trace' state model: elements from which the content of a state can be read back
// (semantics: trace-element). One body for the host and for kernels.
#pragma once

#include <cstdint>

#include "core/base/fingerprint.h"
#include "core/base/host_device.h"
#include "core/state/state_ops.h"

namespace hybridscope {

// Element `i` of a state, or of one conv position along dim, whose content is `fingerprint`, as an
// unsigned number of elem_size bytes (2, 4): the first 8 bytes are the fingerprint itself, little
// endian, the others mix(fingerprint, i) cut to the element. Poison is the kPoison pattern
// throughout; a position before the first token is zero.
HS_HOST_DEVICE constexpr std::uint64_t trace_element(Fingerprint fingerprint, std::int64_t i,
                                                     std::int32_t elem_size) {
  const int bits = 8 * elem_size;
  const std::uint64_t mask = (std::uint64_t{1} << bits) - 1;
  if (fingerprint == kPoison || fingerprint == kBeforeFirstToken) return fingerprint & mask;
  if (i * elem_size < 8) return (fingerprint >> (bits * i)) & mask;
  return mix(fingerprint, static_cast<std::uint64_t>(i)) & mask;
}

}  // namespace hybridscope
