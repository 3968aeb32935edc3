// Token counts that CUDA graphs are captured for, and the resolution of the graph mode at start-up
// (RUNNER 4.2, 4.3).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/base/result.h"
#include "core/metadata/cudagraph_mode.h"

namespace hybridscope {

struct CaptureSizesInput {
  std::int32_t max_num_seqs = 1;
  std::int32_t num_spec = 0;  // K
  std::int32_t max_num_batched_tokens = 1;
  std::optional<std::int32_t> max_cudagraph_capture_size{};                // user's value
  std::optional<std::span<const std::int32_t>> cudagraph_capture_sizes{};  // user's list
  bool interactivity = false;  // performance mode: every size up to 32
};

// The capture sizes before rounding, ascending without duplicates; the largest is the new
// max_cudagraph_capture_size. Empty: nothing fits. Errors: an empty user list, a size below 1.
Result<std::vector<std::int32_t>> make_cudagraph_capture_sizes(const CaptureSizesInput& input);

// Each size rounded up to a multiple of `multiple` = K + 1 and kept if not above the largest of
// `sizes`; [multiple] if none is left and it fits. Errors: none left, multiple < 1.
Result<std::vector<std::int32_t>> round_capture_sizes(std::span<const std::int32_t> sizes,
                                                      std::int32_t multiple);

struct CudagraphResolutionInput {
  CUDAGraphMode cudagraph_mode = CUDAGraphMode::none;
  AttentionCGSupport min_cg_support = AttentionCGSupport::always;  // over all builders
  bool attention_is_splitting_op = true;  // the model is compiled in pieces around attention
  std::int32_t num_spec = 0;
  std::span<const std::int32_t> capture_sizes{};  // of make_cudagraph_capture_sizes
  bool rounds_every_mode = false;  // V2: sizes become multiples of K + 1 without full graphs too
  bool has_mamba_layers = false;
  std::int32_t max_num_seqs = 1;
  std::optional<std::int32_t> num_blocks{};  // absent while profiling
};

struct CudagraphResolution {
  CUDAGraphMode cudagraph_mode = CUDAGraphMode::none;
  std::vector<std::int32_t> capture_sizes{};
  friend bool operator==(const CudagraphResolution&, const CudagraphResolution&) = default;
};

// The mode and sizes that the builders allow (resolve_cudagraph_mode_and_sizes). Errors: full
// graphs asked for with a builder that never supports them; more sequences than blocks with full
// graphs and mamba layers; sizes that cannot be rounded to K + 1.
Result<CudagraphResolution> resolve_cudagraph_mode_and_sizes(const CudagraphResolutionInput& input);

}  // namespace hybridscope
