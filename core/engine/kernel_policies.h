// Policies on how the kernels of recurrent layers run: a step names them to whoever executes it
// (KernelVariants of core/trace/step_trace.h, set by core/engine/batch_metadata.cpp).
#pragma once

#include <cstdint>

#include "core/base/policy_set.h"

namespace hybridscope {

// Is the token order of a mixed GDN batch a stable partition? (known bug 37)
enum class GdnTokenPartition : std::uint8_t {
  stable,
  unstable,  // the first two tokens of the first row of several are swapped
};
template <>
struct PolicyOf<GdnTokenPartition> : PolicyAt<GdnTokenPartition::stable, 47> {};

// Are the gates of a mixed GDN batch gathered like the tokens? (known bug 15)
enum class GdnGates : std::uint8_t { gathered, in_batch_order };
template <>
struct PolicyOf<GdnGates> : PolicyAt<GdnGates::gathered, 48> {};

// By how much does a verify row shift its conv window? (known bug 47)
enum class ConvRoll : std::uint8_t {
  row_length,
  window_length,  // as if it had 1 + K tokens
};
template <>
struct PolicyOf<ConvRoll> : PolicyAt<ConvRoll::row_length, 49> {};

// Mode all: which conv windows at block boundaries does a prompt row store? (known bug 58)
enum class ConvBoundaries : std::uint8_t {
  by_position,
  by_piece,  // boundary j with piece j + 1 of 8 tokens, if the row has one; tokens missing in front
             // are those of the row in front
};
template <>
struct PolicyOf<ConvBoundaries> : PolicyAt<ConvBoundaries::by_position, 50> {};

// How far apart are the gates of a verify row's tokens in KDA kernels? (known bug 59)
enum class KdaGateStride : std::uint8_t {
  heads_and_channels,
  heads,  // as if there were one gate a head
};
template <>
struct PolicyOf<KdaGateStride> : PolicyAt<KdaGateStride::heads_and_channels, 51> {};

// Which rows do state kernels skip? (known bug 35)
enum class NullRows : std::uint8_t {
  skipped,  // those of the null block, and those of the pad id
  run,      // those of the pad id only
};
template <>
struct PolicyOf<NullRows> : PolicyAt<NullRows::skipped, 52> {};

// In which order are the positions of a conv window moved within one block? (known bug 4)
enum class SameBlockShift : std::uint8_t {
  memmove,
  last_position_first,  // the worst order of lanes that do not wait for each other
};
template <>
struct PolicyOf<SameBlockShift> : PolicyAt<SameBlockShift::memmove, 53> {};

}  // namespace hybridscope
