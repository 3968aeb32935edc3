// Token counts that CUDA graphs are captured for, and the resolution of the graph mode at start-up
// (semantics: resolve-cudagraph-mode, capture-sizes).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/base/result.h"
#include "core/metadata/cudagraph_mode.h"

namespace hybridscope {

enum class CaptureList : std::uint8_t;  // builder_policies.h

// A change that start-up makes to the requested settings, in the order of the rules.
enum class CudagraphCorrectionKind : std::uint8_t {
  sizes_above_batched_tokens,  // listed sizes above max_num_batched_tokens are dropped
  largest_size_lowered,        // max_cudagraph_capture_size is the last size of the list
  not_compiled_piecewise,      // O0 does not compile piecewise: NONE
  full_needs_always,           // FULL for all batches needs a level of ALWAYS
  never_supported,             // a builder that supports no full graph at all
  drafts_need_uniform_batch,   // K > 0: decode batches have K + 1 tokens per row
  sizes_rounded,               // to multiples of K + 1
};

struct CudagraphCorrection {
  CudagraphCorrectionKind kind = CudagraphCorrectionKind::sizes_rounded;
  // Corrections of the mode.
  CUDAGraphMode from = CUDAGraphMode::none;
  CUDAGraphMode to = CUDAGraphMode::none;
  AttentionCGSupport min_cg_support = AttentionCGSupport::always;
  // Corrections of the sizes.
  std::int32_t limit = 0;              // max_num_batched_tokens, or K + 1
  std::vector<std::int32_t> before{};  // tokens, ascending
  std::vector<std::int32_t> after{};
  friend bool operator==(const CudagraphCorrection&, const CudagraphCorrection&) = default;
};

struct CaptureSizesInput {
  std::int32_t max_num_seqs = 1;
  std::int32_t num_spec = 0;  // K
  std::int32_t max_num_batched_tokens = 1;
  std::optional<std::int32_t> max_cudagraph_capture_size{};                // user's value
  std::optional<std::span<const std::int32_t>> cudagraph_capture_sizes{};  // user's list
  bool interactivity = false;  // performance mode: every size up to 32
  CaptureList list{};          // where neither of the two is given: round_token_counts
};

struct CaptureSizes {
  std::vector<std::int32_t> sizes{};  // ascending, without duplicates; empty: nothing fits
  std::vector<CudagraphCorrection> corrections{};
  friend bool operator==(const CaptureSizes&, const CaptureSizes&) = default;
};

// The capture sizes before rounding; the largest is the new max_cudagraph_capture_size
// (VllmConfig._set_cudagraph_sizes). Errors: an empty user list; a capture size, max_num_seqs or
// max_num_batched_tokens below 1; a negative K; a user's list and largest size that disagree.
Result<CaptureSizes> make_cudagraph_capture_sizes(const CaptureSizesInput& input);

// Each size rounded up to a multiple of `multiple` = K + 1 and kept if not above the largest of
// `sizes`; [multiple] if none is left and it fits. Errors: none left, multiple < 1.
Result<std::vector<std::int32_t>> round_capture_sizes(std::span<const std::int32_t> sizes,
                                                      std::int32_t multiple);

// When are sizes rounded to K + 1? (semantics: capture-sizes)
enum class SpecRounding : std::uint8_t {
  with_full_graphs,  // V1: where decode batches run in full graphs
  always,            // V2
  never,             // V2 from 0.25.0: each graph of uniform decodes is rounded by itself
};

struct CudagraphResolutionInput {
  CUDAGraphMode cudagraph_mode = CUDAGraphMode::none;
  AttentionCGSupport min_cg_support = AttentionCGSupport::always;  // over all builders
  bool attention_is_splitting_op = true;  // the model is compiled in pieces around attention
  std::int32_t num_spec = 0;
  SpecRounding spec_rounding = SpecRounding::with_full_graphs;
  std::span<const std::int32_t> capture_sizes{};  // of make_cudagraph_capture_sizes
  bool has_mamba_layers = false;
  std::int32_t max_num_seqs = 1;
  std::optional<std::int32_t> num_blocks{};  // absent while profiling
};

struct CudagraphResolution {
  CUDAGraphMode cudagraph_mode = CUDAGraphMode::none;
  std::vector<std::int32_t> capture_sizes{};
  std::vector<CudagraphCorrection> corrections{};
  friend bool operator==(const CudagraphResolution&, const CudagraphResolution&) = default;
};

// The mode and sizes that the builders allow (resolve_cudagraph_mode_and_sizes). Errors: full
// graphs asked for with a builder that never supports them; more sequences than blocks with full
// graphs and mamba layers; graphs without a size; sizes that cannot be rounded to K + 1.
Result<CudagraphResolution> resolve_cudagraph_mode_and_sizes(const CudagraphResolutionInput& input);

}  // namespace hybridscope
