// Which captured graph a step runs in, and how many tokens and rows it is padded to: dispatch of
// the V1 runner (semantics: cudagraph-dispatch; vLLM CudagraphDispatcher) and of V2
// (semantics: cudagraph-dispatch-v2; vLLM CudaGraphManager).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/base/result.h"
#include "core/metadata/cudagraph_mode.h"

namespace hybridscope {

enum class DecodeGraphs : std::uint8_t;  // builder_policies.h

// What was captured at start-up.
struct CudagraphDispatchConfig {
  CUDAGraphMode cudagraph_mode = CUDAGraphMode::none;  // as resolved
  std::span<const std::int32_t> capture_sizes{};       // ascending, without duplicates
  std::int32_t max_num_seqs = 1;
  std::int32_t num_spec = 0;     // K
  DecodeGraphs decode_graphs{};  // rounded_list; V1: as V2's first
};

struct CudagraphDispatchInput {
  std::int32_t num_tokens = 0;  // T, without padding
  std::int32_t num_reqs = 0;    // N, without padding
  bool uniform_decode = false;  // decided by the caller from row classes or by shape
  bool full_forbidden = false;  // cascade attention
  bool only_none = false;       // warm-up, or a data-parallel partner runs eagerly
};

// Errors: negative counts; a uniform decode whose padded size is not a multiple of K + 1 (an assert
// of the reference).
Result<CudagraphDispatch> dispatch_cudagraph(const CudagraphDispatchConfig& config,
                                             const CudagraphDispatchInput& input);

struct BatchShape {
  std::int32_t max_query_len = 0;
  std::int32_t num_tokens = 0;
  std::int32_t num_reqs = 0;
  std::int32_t num_spec = 0;  // K
};

// The reference's uniform test (_is_uniform_decode): shape only, so that a prefill of K + 1 tokens
// passes for a decode (known bugs 5, 46).
constexpr bool is_uniform_decode_by_shape(const BatchShape& batch) {
  return batch.max_query_len == batch.num_spec + 1 &&
         batch.num_tokens == (batch.num_spec + 1) * batch.num_reqs;
}

// V2's count of tokens that every row has, absent if rows differ (get_uniform_token_count); ignores
// K and what the rows are (known bugs 5, 46).
constexpr std::optional<std::int32_t> get_uniform_token_count(const BatchShape& batch) {
  if (batch.num_reqs == 0 || batch.num_tokens != batch.max_query_len * batch.num_reqs)
    return std::nullopt;
  return batch.max_query_len;
}

struct CudagraphDispatchInputV2 {
  std::int32_t num_tokens = 0;                        // T, without padding
  std::int32_t num_reqs = 0;                          // N, without padding
  std::optional<std::int32_t> uniform_token_count{};  // absent: not a uniform decode
};

// Dispatch of V2: of the graphs that hold the tokens, those of the smallest size (policy
// decode_graphs: of all, or of the full ones and then of the piecewise ones); of these the first
// that fits: the one of uniform decodes, then the one of other batches. Errors: negative counts.
Result<CudagraphDispatch> dispatch_cudagraph_v2(const CudagraphDispatchConfig& config,
                                                const CudagraphDispatchInputV2& input);

// One captured graph.
struct CudagraphKey {
  CUDAGraphMode mode = CUDAGraphMode::piecewise;  // piecewise or full
  std::int32_t num_tokens = 0;
  std::optional<std::int32_t> num_reqs{};  // absent: any
  bool uniform = false;
  friend bool operator==(const CudagraphKey&, const CudagraphKey&) = default;
};

// Every captured graph, of either runner: the graphs of other batches by size, then those of
// uniform decodes by size.
std::vector<CudagraphKey> cudagraph_keys(const CudagraphDispatchConfig& config);

// The sizes of all captured graphs, of uniform decodes alone if asked: ascending, without
// duplicates.
std::vector<std::int32_t> captured_sizes(const CudagraphDispatchConfig& config,
                                         bool uniform_alone = false);

}  // namespace hybridscope
