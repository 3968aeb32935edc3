#include "core/metadata/graph_padding.h"

#include <algorithm>
#include <array>
#include <string>

#include "core/base/math.h"
#include "core/metadata/builder_policies.h"

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
                       " is not a multiple of the decode query length " +
                       std::to_string(query_len));
}

// Why a batch does not run in a full graph although other batches of this engine may.
CudagraphDispatchReason reason_for_piecewise(const CudagraphDispatchConfig& config,
                                             const CudagraphDispatchInput& input) {
  if (!has_full_cudagraphs(config.cudagraph_mode)) return CudagraphDispatchReason::piecewise_only;
  if (!input.uniform_decode) return CudagraphDispatchReason::not_uniform;
  return input.full_forbidden ? CudagraphDispatchReason::full_graph_forbidden
                              : CudagraphDispatchReason::full_graph_too_small;
}

Status check_counts(const CudagraphDispatchConfig& config, std::int32_t num_tokens,
                    std::int32_t num_reqs) {
  if (num_tokens >= 0 && num_reqs >= 0 && config.num_spec >= 0) return Ok{};
  return invalid_input("dispatch of " + std::to_string(num_tokens) + " tokens in " +
                       std::to_string(num_reqs) + " rows");
}

bool graphs_off(const CudagraphDispatchConfig& config) {
  return config.cudagraph_mode == CUDAGraphMode::none || config.capture_sizes.empty();
}

// The smallest captured size that holds the tokens; absent above the largest.
std::optional<std::int32_t> padded_size(const CudagraphDispatchConfig& config,
                                        std::int32_t num_tokens) {
  const auto padded = std::ranges::lower_bound(config.capture_sizes, num_tokens);
  if (padded == config.capture_sizes.end()) return std::nullopt;
  return *padded;
}

// The graph of uniform decodes that is captured for a size of the list. One that was rounded is not
// above the largest size.
std::optional<CudagraphKey> uniform_key(const CudagraphDispatchConfig& config,
                                        std::int32_t listed_size) {
  const std::int32_t size = config.decode_graphs == DecodeGraphs::rounded_list
                                ? listed_size
                                : round_up(listed_size, config.num_spec + 1);
  if (!has_uniform_graph(config, size) || size > config.capture_sizes.back()) return std::nullopt;
  return CudagraphKey{.mode = CUDAGraphMode::full,
                      .num_tokens = size,
                      .num_reqs = uniform_rows(config, size),
                      .uniform = true};
}

std::optional<CudagraphKey> mixed_key(const CudagraphDispatchConfig& config, std::int32_t size) {
  const CUDAGraphMode mode = mixed_mode(config.cudagraph_mode);
  if (mode == CUDAGraphMode::none) return std::nullopt;
  CudagraphKey key{.mode = mode, .num_tokens = size};
  if (mode == CUDAGraphMode::full) key.num_reqs = std::min(size, config.max_num_seqs);
  return key;
}

// The smallest graph of uniform decodes, and of other batches, that holds the tokens. Unless full
// graphs come first, the larger of the two is not looked at.
std::array<std::optional<CudagraphKey>, 2> smallest_graphs(const CudagraphDispatchConfig& config,
                                                           std::int32_t num_tokens) {
  std::optional<CudagraphKey> uniform;
  for (const std::int32_t size : config.capture_sizes) {
    uniform = uniform_key(config, size);
    if (uniform && uniform->num_tokens >= num_tokens) break;
    uniform.reset();
  }
  std::optional<CudagraphKey> mixed = mixed_key(config, *padded_size(config, num_tokens));
  if (config.decode_graphs != DecodeGraphs::full_before_piecewise && uniform && mixed &&
      uniform->num_tokens != mixed->num_tokens)
    (uniform->num_tokens < mixed->num_tokens ? mixed : uniform).reset();
  return {uniform, mixed};
}

CudagraphDispatchReason reason_for_key(const CudagraphDispatchConfig& config,
                                       const CudagraphKey& key, bool uniform_decode) {
  if (key.uniform) return CudagraphDispatchReason::uniform_decode_graph;
  return key.mode == CUDAGraphMode::full
             ? CudagraphDispatchReason::mixed_batch_graph
             : reason_for_piecewise(config, {.uniform_decode = uniform_decode});
}

}  // namespace

Result<CudagraphDispatch> dispatch_cudagraph(const CudagraphDispatchConfig& config,
                                             const CudagraphDispatchInput& input) {
  if (Status status = check_counts(config, input.num_tokens, input.num_reqs); !status.ok())
    return status.error();
  const auto eager = [&](CudagraphDispatchReason reason) {
    return CudagraphDispatch{CUDAGraphMode::none, input.num_tokens, input.num_reqs, reason};
  };
  if (graphs_off(config)) return eager(CudagraphDispatchReason::graphs_off);
  if (input.only_none) return eager(CudagraphDispatchReason::only_none_allowed);
  const std::optional<std::int32_t> padded = padded_size(config, input.num_tokens);
  if (!padded) return eager(CudagraphDispatchReason::above_largest_size);
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

Result<CudagraphDispatch> dispatch_cudagraph_v2(const CudagraphDispatchConfig& config,
                                                const CudagraphDispatchInputV2& input) {
  if (Status status = check_counts(config, input.num_tokens, input.num_reqs); !status.ok())
    return status.error();
  const auto eager = [&](CudagraphDispatchReason reason) {
    return CudagraphDispatch{CUDAGraphMode::none, input.num_tokens, input.num_reqs, reason};
  };
  if (graphs_off(config)) return eager(CudagraphDispatchReason::graphs_off);
  if (input.num_tokens > config.capture_sizes.back())
    return eager(CudagraphDispatchReason::above_largest_size);
  const bool uniform_decode = input.uniform_token_count == 1 + config.num_spec;
  for (const auto& key : smallest_graphs(config, input.num_tokens)) {
    if (!key || (key->uniform && !uniform_decode) ||
        key->num_reqs.value_or(input.num_reqs) < input.num_reqs)
      continue;
    return CudagraphDispatch{key->mode, key->num_tokens, key->num_reqs.value_or(input.num_reqs),
                             reason_for_key(config, *key, uniform_decode)};
  }
  return eager(CudagraphDispatchReason::no_graph_for_batch);
}

std::vector<CudagraphKey> cudagraph_keys(const CudagraphDispatchConfig& config) {
  std::vector<CudagraphKey> keys;
  for (const std::int32_t size : config.capture_sizes)
    if (const auto key = mixed_key(config, size)) keys.push_back(*key);
  for (const std::int32_t size : config.capture_sizes)
    if (const auto key = uniform_key(config, size); key && (keys.empty() || keys.back() != *key))
      keys.push_back(*key);
  return keys;
}

std::vector<std::int32_t> captured_sizes(const CudagraphDispatchConfig& config,
                                         bool uniform_alone) {
  std::vector<std::int32_t> sizes;
  for (const CudagraphKey& key : cudagraph_keys(config))
    if (key.uniform || !uniform_alone) sizes.push_back(key.num_tokens);
  std::ranges::sort(sizes);
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  return sizes;
}

}  // namespace hybridscope
