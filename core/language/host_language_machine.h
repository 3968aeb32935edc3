// A language model in this machine's memory: work is done when it is given.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/language/language_machine.h"
#include "core/language/numeric_memory.h"

namespace hybridscope {

class HostLanguageMachine final : public LanguageMachine {
 public:
  // Errors: those of NumericMemory::create.
  static Result<std::unique_ptr<LanguageMachine>> create(const LanguageMachineRequest& request);

  const LanguageLayout& layout() const override { return memory_.layout(); }
  void poison(std::span<const std::int32_t> blocks) override;
  void zero(std::span<const std::int32_t> blocks) override;
  void copy(std::span<const StateCopyOp> copies, bool shifts_last_position_first) override;
  void copy_blocks(std::span<const BlockCopy> copies) override;
  void forward(const MachineForward& batch) override;
  std::size_t keep_state(const BlockElementRange& place) override;
  std::size_t keep_logits(std::int32_t token) override;
  Status finish() override;
  std::span<const float> kept(std::size_t number) const override;
  std::int32_t greedy(std::size_t number) const override;

 private:
  HostLanguageMachine(const HybridModel& model, NumericMemory memory);
  std::size_t keep(std::span<const float> values);

  const HybridModel& model_;
  NumericMemory memory_;
  ModelForward forward_;
  std::vector<float> logits_;           // of one token
  std::vector<float> values_;           // what the step keeps, one after the other
  std::vector<std::size_t> ends_ = {};  // [kept]
  bool finished_ = false;               // what is given next is the next step's
};

}  // namespace hybridscope
