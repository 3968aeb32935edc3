#include "core/metadata/capture_sizes.h"

#include <algorithm>
#include <string>
#include <utility>

#include "core/base/math.h"
#include "core/metadata/builder_policies.h"

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

// 1, 2, 4, then every 8th up to 256 and every 16th behind.
std::vector<std::int32_t> round_counts(std::int32_t max) {
  std::vector<std::int32_t> counts;
  for (const std::int32_t count : {1, 2, 4})
    if (count <= max) counts.push_back(count);
  for (std::int32_t count = kFineStep; count <= max && count < kCoarseStart; count += kFineStep)
    counts.push_back(count);
  for (std::int32_t count = kCoarseStart; count <= max; count += kCoarseStep)
    counts.push_back(count);
  return counts;
}

// The sizes of whole decode batches that the default list gets (policy capture_list). They are
// measured by the largest size before max_num_batched_tokens lowers it.
std::vector<std::int32_t> decode_sizes(const CaptureSizesInput& input, std::int32_t max) {
  if (input.list == CaptureList::round_token_counts || input.max_cudagraph_capture_size) return {};
  const std::int32_t query_len = input.num_spec + 1;
  std::vector<std::int32_t> rows;
  if (query_len > 1) {
    const std::int32_t most_rows = std::min(input.max_num_seqs, kDefaultLimit);
    rows = round_counts(most_rows);
    rows.push_back(most_rows);
  } else if (input.list == CaptureList::full_batch_too) {
    rows = {input.max_num_seqs};
  }
  std::vector<std::int32_t> sizes;
  for (const std::int32_t count : rows)
    if (const std::int64_t size = std::int64_t{count} * query_len;
        size <= std::min(max, input.max_num_batched_tokens))
      sizes.push_back(static_cast<std::int32_t>(size));
  return sizes;
}

std::vector<std::int32_t> default_sizes(const CaptureSizesInput& input, std::int32_t max) {
  const std::int32_t most = std::min(max, input.max_num_batched_tokens);
  std::vector<std::int32_t> sizes = round_counts(most);
  if (input.interactivity)
    for (std::int32_t size = 1; size <= std::min(most, kInteractiveLimit); ++size)
      sizes.push_back(size);
  if (input.max_num_batched_tokens <= most) sizes.push_back(input.max_num_batched_tokens);
  const std::vector<std::int32_t> decodes = decode_sizes(input, max);
  sizes.insert(sizes.end(), decodes.begin(), decodes.end());
  sort_unique(sizes);
  return sizes;
}

Error contradiction(std::int32_t max, const std::vector<std::int32_t>& sizes) {
  return invalid_input("max_cudagraph_capture_size is " + std::to_string(max) +
                       " but the largest of cudagraph_capture_sizes is " +
                       std::to_string(sizes.empty() ? 0 : sizes.back()) +
                       " (expected equal values, or only one of the two)");
}

Result<CaptureSizes> user_sizes(const CaptureSizesInput& input) {
  std::vector<std::int32_t> listed(input.cudagraph_capture_sizes->begin(),
                                   input.cudagraph_capture_sizes->end());
  if (listed.empty()) return invalid_input("cudagraph_capture_sizes is empty");
  sort_unique(listed);
  if (listed.front() < 1)
    return invalid_input("capture size " + std::to_string(listed.front()) + " is below 1");
  CaptureSizes result;
  for (const std::int32_t size : listed)
    if (size <= input.max_num_batched_tokens) result.sizes.push_back(size);
  if (input.max_cudagraph_capture_size &&
      (result.sizes.empty() || *input.max_cudagraph_capture_size != result.sizes.back()))
    return contradiction(*input.max_cudagraph_capture_size, result.sizes);
  if (result.sizes.size() < listed.size())
    result.corrections.push_back({.kind = CudagraphCorrectionKind::sizes_above_batched_tokens,
                                  .limit = input.max_num_batched_tokens,
                                  .before = listed,
                                  .after = result.sizes});
  return result;
}

CaptureSizes sizes_up_to(const CaptureSizesInput& input, std::int32_t asked) {
  CaptureSizes result{.sizes = default_sizes(input, asked)};
  if (input.max_cudagraph_capture_size && asked != result.sizes.back())
    result.corrections.push_back({.kind = CudagraphCorrectionKind::largest_size_lowered,
                                  .limit = input.max_num_batched_tokens,
                                  .before = {asked},
                                  .after = {result.sizes.back()}});
  return result;
}

// Steps 1 to 3: what is left of the mode under the weakest builder.
class ModeResolution {
 public:
  explicit ModeResolution(const CudagraphResolutionInput& input)
      : input_(input), mode_(input.cudagraph_mode) {}

  Result<CUDAGraphMode> resolve() {
    const AttentionCGSupport support = input_.min_cg_support;
    const bool pieces = input_.attention_is_splitting_op;
    if (has_piecewise_cudagraphs(mode_) && !pieces)
      correct(CudagraphCorrectionKind::not_compiled_piecewise, CUDAGraphMode::none);
    if (mixed_mode(mode_) == CUDAGraphMode::full && support < AttentionCGSupport::always) {
      if (support == AttentionCGSupport::never)
        return invalid_input("full CUDA graphs with a metadata builder that never supports them");
      correct(CudagraphCorrectionKind::full_needs_always,
              pieces ? CUDAGraphMode::full_and_piecewise : CUDAGraphMode::full_decode_only);
    }
    const CUDAGraphMode without_full = pieces ? CUDAGraphMode::piecewise : CUDAGraphMode::none;
    if (has_full_cudagraphs(mode_) && support == AttentionCGSupport::never)
      correct(CudagraphCorrectionKind::never_supported, without_full);
    if (has_full_cudagraphs(mode_) && input_.num_spec > 0 &&
        support < AttentionCGSupport::uniform_batch)
      correct(CudagraphCorrectionKind::drafts_need_uniform_batch, without_full);
    return mode_;
  }

  std::vector<CudagraphCorrection> take_corrections() { return std::move(corrections_); }

 private:
  void correct(CudagraphCorrectionKind kind, CUDAGraphMode to) {
    corrections_.push_back(
        {.kind = kind, .from = mode_, .to = to, .min_cg_support = input_.min_cg_support});
    mode_ = to;
  }

  const CudagraphResolutionInput& input_;
  CUDAGraphMode mode_;
  std::vector<CudagraphCorrection> corrections_;
};

bool rounds(const CudagraphResolutionInput& input, CUDAGraphMode mode) {
  if (input.num_spec == 0 || mode == CUDAGraphMode::none) return false;
  return input.spec_rounding == SpecRounding::with_full_graphs
             ? has_full_cudagraphs(mode)
             : input.spec_rounding == SpecRounding::always;
}

}  // namespace

Result<CaptureSizes> make_cudagraph_capture_sizes(const CaptureSizesInput& input) {
  if (input.max_num_seqs < 1 || input.num_spec < 0 || input.max_num_batched_tokens < 1 ||
      input.max_cudagraph_capture_size.value_or(1) < 1)
    return invalid_input("capture sizes of " + std::to_string(input.max_num_seqs) + " sequences, " +
                         std::to_string(input.num_spec) + " speculative tokens, " +
                         std::to_string(input.max_num_batched_tokens) + " batched tokens");
  if (input.cudagraph_capture_sizes) return user_sizes(input);
  const std::int64_t tokens = std::int64_t{2} * input.max_num_seqs * (input.num_spec + 1);
  const auto by_default = static_cast<std::int32_t>(std::min(tokens, std::int64_t{kDefaultLimit}));
  return sizes_up_to(input, input.max_cudagraph_capture_size.value_or(by_default));
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
  ModeResolution resolution(input);
  const auto mode = resolution.resolve();
  if (!mode) return mode.error();
  CudagraphResolution result{.cudagraph_mode = mode.value(),
                             .corrections = resolution.take_corrections()};
  result.capture_sizes.assign(input.capture_sizes.begin(), input.capture_sizes.end());
  if (mode.value() == CUDAGraphMode::none) return result;
  if (result.capture_sizes.empty())
    return invalid_input("no capture size is left for the CUDA graphs");
  if (rounds(input, mode.value())) {
    auto rounded = round_capture_sizes(input.capture_sizes, input.num_spec + 1);
    if (!rounded) return rounded.error();
    result.capture_sizes = std::move(rounded).value();
    if (!std::ranges::equal(result.capture_sizes, input.capture_sizes))
      result.corrections.push_back(
          {.kind = CudagraphCorrectionKind::sizes_rounded,
           .limit = input.num_spec + 1,
           .before = {input.capture_sizes.begin(), input.capture_sizes.end()},
           .after = result.capture_sizes});
  }
  if (has_full_cudagraphs(mode.value()) && input.has_mamba_layers && input.num_blocks &&
      input.max_num_seqs > *input.num_blocks)
    return invalid_input("max_num_seqs is " + std::to_string(input.max_num_seqs) + ", above the " +
                         std::to_string(*input.num_blocks) +
                         " blocks that hold the states of full CUDA graphs (expected at most " +
                         std::to_string(*input.num_blocks) + ", or graphs without FULL)");
  return result;
}

}  // namespace hybridscope
