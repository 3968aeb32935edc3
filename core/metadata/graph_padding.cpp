#include "core/metadata/graph_padding.h"

#include <algorithm>
#include <string>

namespace hybridscope {
namespace {

// Is there a full graph of `size` tokens for uniform decodes?
bool has_uniform_graph(const CudagraphDispatchConfig& config, std::int32_t size) {
  const std::int64_t query_len = std::int64_t{config.num_spec} + 1;
  return separate_routine(config.cudagraph_mode) && size >= query_len &&
         size <= query_len * config.max_num_seqs;
}

std::int32_t uniform_rows(const CudagraphDispatchConfig& config, std::int32_t size) {
  return std::min(size / (config.num_spec + 1), config.max_num_seqs);
}

Error indivisible(std::int32_t size, std::int32_t query_len) {
  return invalid_input("captured size " + std::to_string(size) +
                       " is no multiple of the decode query length " + std::to_string(query_len));
}

// Why a batch does not run in a full graph although other batches of this engine may.
CudagraphDispatchReason reason_for_piecewise(const CudagraphDispatchConfig& config,
                                             const CudagraphDispatchInput& input) {
  if (!has_full_cudagraphs(config.cudagraph_mode)) return CudagraphDispatchReason::piecewise_only;
  if (!input.uniform_decode) return CudagraphDispatchReason::not_uniform;
  return input.full_forbidden ? CudagraphDispatchReason::full_graph_forbidden
                              : CudagraphDispatchReason::full_graph_too_small;
}

}  // namespace

Result<CudagraphDispatch> dispatch_cudagraph(const CudagraphDispatchConfig& config,
                                             const CudagraphDispatchInput& input) {
  if (input.num_tokens < 0 || input.num_reqs < 0 || config.num_spec < 0)
    return invalid_input("dispatch of " + std::to_string(input.num_tokens) + " tokens in " +
                         std::to_string(input.num_reqs) + " rows");
  const auto eager = [&](CudagraphDispatchReason reason) {
    return CudagraphDispatch{CUDAGraphMode::none, input.num_tokens, input.num_reqs, reason};
  };
  if (config.cudagraph_mode == CUDAGraphMode::none || config.capture_sizes.empty())
    return eager(CudagraphDispatchReason::graphs_off);
  if (input.only_none) return eager(CudagraphDispatchReason::only_none_allowed);
  const auto sizes = config.capture_sizes;
  const auto padded = std::lower_bound(sizes.begin(), sizes.end(), input.num_tokens);
  if (padded == sizes.end()) return eager(CudagraphDispatchReason::above_largest_size);
  const std::int32_t size = *padded;

  if (input.uniform_decode && separate_routine(config.cudagraph_mode)) {
    if (size % (config.num_spec + 1) != 0) return indivisible(size, config.num_spec + 1);
    const std::int32_t rows = uniform_rows(config, size);
    // Rows with fewer than K + 1 tokens can need more rows than the graph has.
    if (!input.full_forbidden && has_uniform_graph(config, size) && rows >= input.num_reqs)
      return CudagraphDispatch{CUDAGraphMode::full, size, rows,
                               CudagraphDispatchReason::uniform_decode_graph};
  } else if (mixed_mode(config.cudagraph_mode) == CUDAGraphMode::full && !input.full_forbidden) {
    return CudagraphDispatch{CUDAGraphMode::full, size, std::min(size, config.max_num_seqs),
                             CudagraphDispatchReason::mixed_batch_graph};
  }
  if (mixed_mode(config.cudagraph_mode) == CUDAGraphMode::piecewise)
    return CudagraphDispatch{CUDAGraphMode::piecewise, size, input.num_reqs,
                             reason_for_piecewise(config, input)};
  return eager(CudagraphDispatchReason::no_graph_for_batch);
}

std::vector<CudagraphKey> cudagraph_keys(const CudagraphDispatchConfig& config) {
  std::vector<CudagraphKey> keys;
  const CUDAGraphMode others = mixed_mode(config.cudagraph_mode);
  for (const std::int32_t size : config.capture_sizes) {
    if (others == CUDAGraphMode::piecewise)
      keys.push_back({.mode = others, .num_tokens = size});
    else if (others == CUDAGraphMode::full)
      keys.push_back(
          {.mode = others, .num_tokens = size, .num_reqs = std::min(size, config.max_num_seqs)});
  }
  for (const std::int32_t size : config.capture_sizes)
    if (has_uniform_graph(config, size))
      keys.push_back({.mode = CUDAGraphMode::full,
                      .num_tokens = size,
                      .num_reqs = uniform_rows(config, size),
                      .uniform = true});
  return keys;
}

}  // namespace hybridscope
