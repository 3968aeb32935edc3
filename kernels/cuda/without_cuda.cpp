// The CUDA backend of a program that was built without CUDA.
#include "kernels/cuda/array_copies_cuda.h"
#include "kernels/cuda/block_table_gather_cuda.h"
#include "kernels/cuda/copy_list_cuda.h"
#include "kernels/cuda/cuda_state_backend.h"
#include "kernels/cuda/describe_cuda.h"
#include "kernels/cuda/fused_align_host.h"
#include "kernels/cuda/state_hash_cuda.h"

namespace hybridscope {
namespace {

Error without_cuda() {
  return {ErrorKind::not_available,
          "this hybridscope was built without CUDA; --backend cpu needs none"};
}

}  // namespace

Result<CudaDescription> describe_cuda() { return without_cuda(); }
Status expect_cuda_device(std::int32_t) { return without_cuda(); }
Result<std::int64_t> free_cuda_bytes(std::int32_t) { return without_cuda(); }

Status execute_copies_cuda(std::span<const StateCopy>, HostStateBytes, std::int32_t,
                           const LaunchOrder&) {
  return without_cuda();
}
Status fused_postprocess_cuda(const HostStates&, const PostprocessV1Inputs&,
                              std::span<std::int32_t>, std::int32_t) {
  return without_cuda();
}
Status fused_postprocess_align_cuda(const HostStates&, const PostprocessV2Inputs&,
                                    std::span<std::int32_t>, std::int32_t) {
  return without_cuda();
}
Status advance_and_precopy_cuda(const HostStates&, const AlignAdvanceInputs&,
                                std::span<const std::int32_t>, AlignSlots&, std::int32_t) {
  return without_cuda();
}

Result<std::vector<std::int32_t>> gather_block_table_cuda(const BlockTableGatherInput&,
                                                          std::int32_t, const LaunchOrder&) {
  return without_cuda();
}

// Never constructed: create() always fails.
struct ArrayCopiesCuda::Impl {};

Result<ArrayCopiesCuda> ArrayCopiesCuda::create(std::int32_t) { return without_cuda(); }
ArrayCopiesCuda::ArrayCopiesCuda(ArrayCopiesCuda&&) noexcept = default;
ArrayCopiesCuda& ArrayCopiesCuda::operator=(ArrayCopiesCuda&&) noexcept = default;
ArrayCopiesCuda::~ArrayCopiesCuda() = default;
Result<std::shared_ptr<const CopiedArrays>> ArrayCopiesCuda::launch(std::span<const ArrayCopy>,
                                                                    std::int64_t, CUstream_st*) {
  return without_cuda();
}

// Never constructed: create() always fails.
struct StateHashCuda::Impl {};

Result<StateHashCuda> StateHashCuda::create(const HashedStates&) { return without_cuda(); }
StateHashCuda::StateHashCuda(StateHashCuda&&) noexcept = default;
StateHashCuda& StateHashCuda::operator=(StateHashCuda&&) noexcept = default;
StateHashCuda::~StateHashCuda() = default;
Status StateHashCuda::hash(const std::int32_t*, std::int64_t, std::uint64_t*, CUstream_st*) const {
  return without_cuda();
}

Result<std::unique_ptr<StateBackend>> CudaStateBackend::create(CudaBackendOptions) {
  return without_cuda();
}

}  // namespace hybridscope
