// State in host memory. The reference for what the CUDA backend does, and fast enough for every
// shipped scenario: elements are copied in runs, and one by one only where that cannot be avoided.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/state/state_backend.h"
#include "kernels/cpu/forward_cpu.h"
#include "kernels/cpu/state_copy_cpu.h"
#include "kernels/memory_map.h"

namespace hybridscope {

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

}  // namespace hybridscope
