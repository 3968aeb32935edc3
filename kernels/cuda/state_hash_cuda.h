// Hashes of the states that blocks hold in the memory of a CUDA device.
#pragma once

#include <cstdint>
#include <memory>

#include "core/base/result.h"
#include "kernels/state_hash.h"

struct CUstream_st;

namespace hybridscope {

// The states of a group, prepared for launches, on the device that holds them.
class StateHashCuda {
 public:
  // Loads the kernel and puts the views on the device. Errors: those of check_hashed; no usable
  // device; states that are not in a device's memory; the device's.
  static Result<StateHashCuda> create(const HashedStates& states);
  StateHashCuda(StateHashCuda&&) noexcept;
  StateHashCuda& operator=(StateHashCuda&&) noexcept;
  ~StateHashCuda();

  // Writes sums [count, num_sums(states)] on the stream, as hash_states does; waits for nothing and
  // allocates nothing, and makes the states' device the current one. `blocks` [count] and `sums`
  // are in the device's memory. Errors: a negative count; the device's.
  Status hash(const std::int32_t* blocks, std::int64_t count, std::uint64_t* sums,
              CUstream_st* stream) const;

 private:
  struct Impl;
  explicit StateHashCuda(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace hybridscope
