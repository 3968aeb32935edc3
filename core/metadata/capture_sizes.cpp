#include "core/metadata/capture_sizes.h"

#include <algorithm>
#include <string>

#include "core/base/math.h"

namespace hybridscope {
namespace {

// Step and first size of the default list: 8, 16, .., 248, then 256, 272, ..
constexpr std::int32_t kFineStep = 8;
constexpr std::int32_t kCoarseStart = 256;
constexpr std::int32_t kCoarseStep = 16;
constexpr std::int32_t kDefaultLimit = 512;
constexpr std::int32_t kInteractiveLimit = 32;

void sort_unique(std::vector<std::int32_t>& sizes) {
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
}

std::vector<std::int32_t> default_sizes(const CaptureSizesInput& input, std::int32_t max) {
  std::vector<std::int32_t> sizes;
  if (input.interactivity)
    for (std::int32_t size = 1; size <= std::min(max, kInteractiveLimit); ++size)
      sizes.push_back(size);
  else
    for (const std::int32_t size : {1, 2, 4})
      if (size <= max) sizes.push_back(size);
  for (std::int32_t size = kFineStep; size <= max && size < kCoarseStart; size += kFineStep)
    sizes.push_back(size);
  for (std::int32_t size = kCoarseStart; size <= max; size += kCoarseStep) sizes.push_back(size);
  if (input.max_num_batched_tokens <= max) sizes.push_back(input.max_num_batched_tokens);
  sort_unique(sizes);
  return sizes;
}

Result<std::vector<std::int32_t>> user_sizes(std::span<const std::int32_t> list,
                                             std::int32_t max_num_batched_tokens) {
  if (list.empty()) return invalid_input("cudagraph_capture_sizes is empty");
  std::vector<std::int32_t> sizes;
  for (const std::int32_t size : list) {
    if (size < 1) return invalid_input("capture size " + std::to_string(size) + " is below 1");
    if (size <= max_num_batched_tokens) sizes.push_back(size);
  }
  sort_unique(sizes);
  return sizes;
}

// Steps 1 to 3: what is left of the mode under the weakest builder.
Result<CUDAGraphMode> resolve_mode(const CudagraphResolutionInput& input) {
  CUDAGraphMode mode = input.cudagraph_mode;
  const AttentionCGSupport support = input.min_cg_support;
  const CUDAGraphMode without_full =
      input.attention_is_splitting_op ? CUDAGraphMode::piecewise : CUDAGraphMode::none;
  if (mixed_mode(mode) == CUDAGraphMode::full && support < AttentionCGSupport::always) {
    if (support == AttentionCGSupport::never)
      return invalid_input("full CUDA graphs with a metadata builder that never supports them");
    mode = input.attention_is_splitting_op ? CUDAGraphMode::full_and_piecewise
                                           : CUDAGraphMode::full_decode_only;
  }
  if (has_full_cudagraphs(mode) && support == AttentionCGSupport::never) mode = without_full;
  if (has_full_cudagraphs(mode) && input.num_spec > 0 &&
      support < AttentionCGSupport::uniform_batch)
    mode = without_full;
  return mode;
}

}  // namespace

Result<std::vector<std::int32_t>> make_cudagraph_capture_sizes(const CaptureSizesInput& input) {
  if (input.max_num_seqs < 1 || input.num_spec < 0 || input.max_num_batched_tokens < 1 ||
      input.max_cudagraph_capture_size.value_or(1) < 1)
    return invalid_input("capture sizes of " + std::to_string(input.max_num_seqs) + " sequences, " +
                         std::to_string(input.num_spec) + " speculative tokens, " +
                         std::to_string(input.max_num_batched_tokens) + " batched tokens");
  if (input.cudagraph_capture_sizes)
    return user_sizes(*input.cudagraph_capture_sizes, input.max_num_batched_tokens);
  const std::int64_t tokens = std::int64_t{2} * input.max_num_seqs * (input.num_spec + 1);
  const auto by_default = static_cast<std::int32_t>(std::min(tokens, std::int64_t{kDefaultLimit}));
  const std::int32_t max =
      std::min(input.max_cudagraph_capture_size.value_or(by_default), input.max_num_batched_tokens);
  return default_sizes(input, max);
}

Result<std::vector<std::int32_t>> round_capture_sizes(std::span<const std::int32_t> sizes,
                                                      std::int32_t multiple) {
  if (multiple < 1) return invalid_input("multiple is " + std::to_string(multiple));
  const std::int32_t max = sizes.empty() ? 0 : *std::max_element(sizes.begin(), sizes.end());
  std::vector<std::int32_t> rounded;
  for (const std::int32_t size : sizes)
    if (round_up(size, multiple) <= max) rounded.push_back(round_up(size, multiple));
  if (rounded.empty() && multiple <= max) rounded.push_back(multiple);
  if (rounded.empty())
    return invalid_input("no capture size up to " + std::to_string(max) + " is a multiple of " +
                         std::to_string(multiple));
  sort_unique(rounded);
  return rounded;
}

Result<CudagraphResolution> resolve_cudagraph_mode_and_sizes(
    const CudagraphResolutionInput& input) {
  const auto mode = resolve_mode(input);
  if (!mode) return mode.error();
  CudagraphResolution result{.cudagraph_mode = mode.value()};
  result.capture_sizes.assign(input.capture_sizes.begin(), input.capture_sizes.end());
  const bool full = has_full_cudagraphs(mode.value());
  const bool rounds = full || (input.rounds_every_mode && mode.value() != CUDAGraphMode::none);
  if (rounds && input.num_spec > 0) {
    auto rounded = round_capture_sizes(input.capture_sizes, input.num_spec + 1);
    if (!rounded) return rounded.error();
    result.capture_sizes = std::move(rounded).value();
  }
  if (full && input.has_mamba_layers && input.num_blocks && input.max_num_seqs > *input.num_blocks)
    return invalid_input("full CUDA graphs of up to " + std::to_string(input.max_num_seqs) +
                         " sequences with " + std::to_string(*input.num_blocks) + " mamba blocks");
  return result;
}

}  // namespace hybridscope
