// A language model in the memory of a CUDA device: the same bits as HostLanguageMachine after the
// same calls; in form chunked within its tolerances, and the same bits after the same calls here.
// In a build without CUDA, create() returns an error.
//
// A step is sent in one piece when it ends, launched on one stream and waited for once, behind all
// of it. Full CUDA graphs of decode steps are captured when their size first comes, and replayed.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "core/language/language_machine.h"

namespace hybridscope {

class CudaLanguageMachine final : public LanguageMachine {
 public:
  // Copies the weights and takes the memory of all blocks. Errors: not_available when built without
  // CUDA, without such a device, or with too little memory free on it; what make_language_layout
  // refuses.
  static Result<std::unique_ptr<LanguageMachine>> create(const LanguageMachineRequest& request,
                                                         std::int32_t device = 0);
  ~CudaLanguageMachine() override;

  const LanguageLayout& layout() const override;
  void poison(std::span<const std::int32_t> blocks) override;
  void zero(std::span<const std::int32_t> blocks) override;
  void copy(std::span<const StateCopyOp> copies, bool shifts_last_position_first) override;
  std::optional<std::size_t> copy_decided(const DecidedCopies& decided) override;
  void copy_blocks(std::span<const BlockCopy> copies) override;
  void forward(const MachineForward& batch) override;
  std::size_t keep_state(const BlockElementRange& place) override;
  std::size_t keep_logits(std::int32_t token) override;
  // Error besides the device's: invalid_input for a size that no kernel takes.
  Status finish() override;
  std::span<const float> kept(std::size_t number) const override;
  std::int32_t greedy(std::size_t number) const override;
  std::span<const StateCopyDecision> decided(std::size_t number) const override;
  LanguageMachineDelays delays() const override;

 private:
  struct Content;
  explicit CudaLanguageMachine(std::unique_ptr<Content> content);
  std::unique_ptr<Content> content_;
};

}  // namespace hybridscope
