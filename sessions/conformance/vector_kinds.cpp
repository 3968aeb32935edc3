#include "sessions/conformance/vector_kinds.h"

#include <array>

#include "sessions/conformance/recompute.h"

namespace hybridscope {
namespace {

constexpr auto kVectorKinds = std::to_array<VectorKind>({
    {"state_shapes", "shapes of the state tensors of a layer", "layout method tag", "input", "",
     &recompute_state_shapes},
    {"state_dtypes", "dtypes and copy functions of the state tensors", "method", "input", "",
     &recompute_state_dtypes},
    {"block_sizes", "scheduler and hash block size",
     "block_size enable_prefix_caching hash_block_size decode_context_parallel_size kv_connector",
     "input", "groups", &recompute_block_sizes},
});

}  // namespace

std::span<const VectorKind> vector_kinds() { return kVectorKinds; }

}  // namespace hybridscope
