// The language model's CUDA machine of a program that was built without CUDA.
#include <utility>

#include "kernels/language/cuda_language_machine.h"

namespace hybridscope {

// Never constructed: create() always fails.
struct CudaLanguageMachine::Content {
  LanguageLayout layout;
};

Result<std::unique_ptr<CudaLanguageMachine>> CudaLanguageMachine::create(
    const LanguageMachineRequest&, std::int32_t) {
  return Error{ErrorKind::not_available,
               "this hybridscope was built without CUDA; --backend cpu needs none"};
}
CudaLanguageMachine::CudaLanguageMachine(std::unique_ptr<Content> content)
    : content_(std::move(content)) {}
CudaLanguageMachine::~CudaLanguageMachine() = default;
const LanguageLayout& CudaLanguageMachine::layout() const { return content_->layout; }
void CudaLanguageMachine::poison(std::span<const std::int32_t>) {}
void CudaLanguageMachine::zero(std::span<const std::int32_t>) {}
void CudaLanguageMachine::copy(std::span<const StateCopyOp>, bool) {}
void CudaLanguageMachine::copy_blocks(std::span<const BlockCopy>) {}
void CudaLanguageMachine::forward(const MachineForward&) {}
std::size_t CudaLanguageMachine::keep_state(const BlockElementRange&) { return 0; }
std::size_t CudaLanguageMachine::keep_logits(std::int32_t) { return 0; }
Status CudaLanguageMachine::finish() { return Ok{}; }
std::span<const float> CudaLanguageMachine::kept(std::size_t) const { return {}; }
std::int32_t CudaLanguageMachine::greedy(std::size_t) const { return 0; }
std::optional<std::size_t> CudaLanguageMachine::copy_decided(const DecidedCopies&) {
  return std::nullopt;
}
std::span<const StateCopyDecision> CudaLanguageMachine::decided(std::size_t) const { return {}; }
LanguageMachineDelays CudaLanguageMachine::delays() const { return {}; }

}  // namespace hybridscope
