// The language model's CUDA machine of a program that was built without CUDA: there is none.
#include "kernels/language/cuda_language_machine.h"

namespace hybridscope {

Result<std::unique_ptr<LanguageMachine>> CudaLanguageMachine::create(const LanguageMachineRequest&,
                                                                     std::int32_t) {
  return Error{ErrorKind::not_available,
               "this hybridscope was built without CUDA; --backend cpu needs none"};
}

}  // namespace hybridscope
