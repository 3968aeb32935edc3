// What the memory of another engine held, as hashes of its recurrent state blocks
// (docs/trace-format.md, States). Equal bytes have equal hashes; what else they are made of does
// not matter here.
#pragma once

#include <cstdint>
#include <vector>

namespace hybridscope {

// Larger than any told hash.
inline constexpr std::uint64_t kUnknownHash = UINT64_MAX;
inline constexpr std::int64_t kMostHash = (std::int64_t{1} << 48) - 1;

// At one time of a step. Empty where the layers have no such state.
struct ToldHashes {
  std::vector<std::uint64_t> temporal;  // [blocks]
  std::vector<std::uint64_t> conv;      // [blocks, num_positions]
};

// One mamba group's hashes of a step.
struct ToldGroup {
  std::int32_t group = -1;
  std::int32_t num_positions = 0;       // of a conv window; 1: one hash for the whole window
  std::vector<std::int32_t> block_ids;  // [blocks] others than blocks of the pool are ignored
  ToldHashes before_forward;            // after the pre-copies
  ToldHashes after_forward;             // before the post-copies
};

}  // namespace hybridscope
