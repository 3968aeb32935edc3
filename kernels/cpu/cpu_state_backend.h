// State in host memory. The reference for what the CUDA backend does, and fast enough for every
// shipped scenario: elements are copied in runs, and one by one only where that cannot be avoided.
// Also rows of a layer kernel, and how much memory is left.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/state/state_backend.h"
#include "core/state/state_ops.h"
#include "kernels/cpu/state_copy_cpu.h"
#include "kernels/memory_map.h"

namespace hybridscope {

// Rows of a layer kernel on host memory, one after the other. What is equal in all layers (the
// elements of a token, of a state that layers agree on) is made once and copied.

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

class CpuStateBackend final : public StateBackend {
 public:
  // All bytes begin as poison, padding included. Errors: more bytes than this machine has left
  // (not_available, with both numbers), and what make_memory_map refuses.
  static Result<std::unique_ptr<CpuStateBackend>> create(StateMemory memory);

  const StateMemory& memory() const override { return memory_; }
  Status run(const StateOps& ops) override;
  Result<std::vector<StateMismatch>> verify(const BlockContents& contents) override;
  Result<std::vector<std::uint64_t>> digests(std::span<const std::int32_t> blocks) override;
  StateDelays delays() const override { return {}; }

  // [num_buffers, num_blocks, page_size_bytes], padding included.
  std::span<const std::byte> bytes() const;
  std::span<std::byte> bytes();

 private:
  CpuStateBackend(StateMemory memory, std::unique_ptr<std::byte[]> bytes, MemoryMap map);

  // All states of the block, in every layer.
  void poison(std::int32_t block);
  // One call with (content's index, state index, state, image) for each state of each content.
  template <class Use>
  void for_each_image(const BlockContents& contents, const Use& use);

  StateMemory memory_;
  std::unique_ptr<std::byte[]> bytes_;
  MemoryMap map_;
  ForwardCpu forward_;
  PlanCopiesCpu copies_;
  std::vector<std::byte> image_;
};

// How much memory this machine still has for a process.

// Bytes; Linux: the smaller of what is available without swapping and what the control group
// leaves. -1: not known.
std::int64_t available_memory_bytes();

}  // namespace hybridscope
