// Rows of a layer kernel on host memory, one after the other. What is equal in all layers (the
// elements of a token, of a state that layers agree on) is made once and copied.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/state/state_ops.h"
#include "kernels/memory_map.h"

namespace hybridscope {

class ForwardCpu {
 public:
  // Carries out one row of `ops` on the memory. Requires: expect_valid(map, ops).
  void run(const MemoryMap& map, const StateOps& ops, const ForwardRow& row);

 private:
  void fold_layers(const MemoryMap& map, const StateOps& ops, const ForwardRow& row,
                   std::int32_t kind);
  void write_temporal(const MemoryMap& map, const StateOps& ops, const ForwardRow& row,
                      std::int32_t kind);
  void make_token_rows(const StateView& state, const StateOps& ops, const ForwardRow& row,
                       std::int32_t conv_kernel);
  void write_conv(const StateView& state, const StateOps& ops, const ForwardRow& row,
                  std::int32_t conv_kernel);

  std::vector<Fingerprint> folded_;    // [layers, num_writes]
  std::vector<std::byte> token_rows_;  // [token positions of all writes, dim] elements
  std::vector<std::byte> prior_rows_;  // [W - 1, dim] elements
};

}  // namespace hybridscope
