#include "sessions/conformance/vector_kernels.h"

#include <stdexcept>

#include "sessions/conformance/counted_kernel.h"

namespace hybridscope {
void expect_launched(const Status& status) {
  if (status) return;
  const Error& error = status.error();
  if (error.kind == ErrorKind::device || error.kind == ErrorKind::not_available)
    throw VectorKernelError(error);
  throw std::runtime_error(error.message);
}

VectorKernels counted(VectorKernels kernels, std::int64_t& num_launches) {
  count_calls(kernels.execute_copies, num_launches);
  count_calls(kernels.fused_postprocess, num_launches);
  count_calls(kernels.fused_postprocess_align, num_launches);
  count_calls(kernels.advance_and_precopy, num_launches);
  count_calls(kernels.gather_block_table, num_launches);
  kernels.numeric = counted(std::move(kernels.numeric), num_launches);
  return kernels;
}

}  // namespace hybridscope
