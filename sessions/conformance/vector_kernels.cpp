#include "sessions/conformance/vector_kernels.h"

#include <stdexcept>

namespace hybridscope {
namespace {

template <class Out, class... In>
void count(std::function<Out(In...)>& kernel, std::int64_t& num_launches) {
  if (kernel == nullptr) return;
  kernel = [&num_launches, run = std::move(kernel)](In... in) {
    ++num_launches;
    return run(std::forward<In>(in)...);
  };
}

}  // namespace

void expect_launched(const Status& status) {
  if (status) return;
  const Error& error = status.error();
  if (error.kind == ErrorKind::device || error.kind == ErrorKind::not_available)
    throw VectorKernelError(error);
  throw std::runtime_error(error.message);
}

VectorKernels counted(VectorKernels kernels, std::int64_t& num_launches) {
  count(kernels.execute_copies, num_launches);
  count(kernels.fused_postprocess, num_launches);
  count(kernels.fused_postprocess_align, num_launches);
  count(kernels.advance_and_precopy, num_launches);
  count(kernels.gather_block_table, num_launches);
  return kernels;
}

}  // namespace hybridscope
