// A language model on the host and on a CUDA device at once: every call goes to both, and after
// each step everything that was kept, and all states of all blocks, are compared: bit for bit in
// form recurrent, and in form chunked within 1e-4 of the largest. A difference fails the test.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/language/language_machine.h"
#include "kernels/language/cuda_language_machine.h"

namespace hybridscope::test {

class PairedMachine final : public LanguageMachine {
 public:
  static Result<std::unique_ptr<LanguageMachine>> create(const LanguageMachineRequest& request);
  // Two on the device, whose bits are compared whatever the form.
  static Result<std::unique_ptr<LanguageMachine>> create_both_on_device(
      const LanguageMachineRequest& request);
  // Host and device, and counts the launches of copies that the device decided.
  static MakeLanguageMachine counting(std::int64_t& num_decided);

  const LanguageLayout& layout() const override { return host_->layout(); }
  void poison(std::span<const std::int32_t> blocks) override;
  void zero(std::span<const std::int32_t> blocks) override;
  void copy(std::span<const StateCopyOp> copies, bool shifts_last_position_first) override;
  std::optional<std::size_t> copy_decided(const DecidedCopies& decided) override;
  std::span<const StateCopyDecision> decided(std::size_t number) const override {
    return decided_[number];
  }
  void copy_blocks(std::span<const BlockCopy> copies) override;
  void forward(const MachineForward& batch) override;
  std::size_t keep_state(const BlockElementRange& place) override;
  std::size_t keep_logits(std::int32_t token) override;
  Status finish() override;
  std::span<const float> kept(std::size_t number) const override { return kept_[number].values; }
  std::int32_t greedy(std::size_t number) const override { return kept_[number].greedy; }

 private:
  PairedMachine(std::unique_ptr<LanguageMachine> host, std::unique_ptr<LanguageMachine> device,
                NumericForm form);
  void expect_same(std::span<const float> host, std::span<const float> device,
                   const std::string& what) const;
  void expect_same_greedy(std::size_t number) const;
  void compare_memory();

  std::unique_ptr<LanguageMachine> host_;
  std::unique_ptr<LanguageMachine> device_;
  NumericForm form_;  // recurrent: bits are compared
  bool both_on_device_ = false;
  std::vector<bool> is_logits_;  // [kept] of the step
  struct Kept {
    std::vector<float> values;
    std::int32_t greedy = 0;
  };
  std::vector<Kept> kept_;
  std::vector<std::vector<StateCopyDecision>> decided_;
  std::size_t num_decided_ = 0;            // of the step
  std::int64_t* count_decided_ = nullptr;  // null: nobody counts
};

}  // namespace hybridscope::test
