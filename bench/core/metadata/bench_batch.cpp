#include "bench/core/metadata/bench_batch.h"

#include <algorithm>
#include <numeric>

namespace hybridscope::bench {
namespace {

constexpr std::int32_t kPrefills = 32;
constexpr std::int32_t kPrefillTokens = 256;

// Contexts spread over the whole table, so that the gather reads as widely as in a long run.
std::int32_t context_of(std::int32_t row) { return 1000 + row * 7919 % 140000; }

}  // namespace

BenchBatch::BenchBatch(Shape shape, std::int32_t num_spec)
    : query_start_loc_{0}, block_table_(static_cast<std::size_t>(kRows) * kColumns) {
  std::iota(block_table_.begin(), block_table_.end(), 1);
  const std::int32_t num_decodes = shape == Shape::decodes ? kRows : kRows - kPrefills;
  const RowClass decode = num_spec > 0 ? RowClass::verify : RowClass::decode;
  for (std::int32_t row = 0; row < kRows; ++row) {
    const bool prefill = row >= num_decodes;
    const std::int32_t len = prefill ? kPrefillTokens : 1 + num_spec;
    const std::int32_t computed = prefill && row % 2 == 0 ? 0 : context_of(row);
    query_start_loc_.push_back(query_start_loc_.back() + len);
    seq_lens_.push_back(computed + len);
    num_accepted_tokens_.push_back(prefill ? 1 : 1 + row % (1 + num_spec));
    num_decode_draft_tokens_.push_back(prefill ? -1 : num_spec);
    row_classes_.push_back(prefill ? RowClass::prefill : decode);
  }
  common_.query_start_loc = query_start_loc_;
  common_.seq_lens = seq_lens_;
  common_.num_reqs = kRows;
  common_.num_actual_tokens = query_start_loc_.back();
  common_.max_query_len = shape == Shape::decodes ? 1 + num_spec : kPrefillTokens;
  common_.block_table_tensor = matrix_view(block_table_.data(), kRows, kColumns);
}

MambaBuilderConfig bench_builder_config(MambaCacheMode mode, std::int32_t num_spec) {
  return {.mamba_cache_mode = mode,
          .block_size = kBlockSize,
          .num_spec = num_spec,
          .num_speculative_blocks = num_spec,
          .max_num_seqs = kRows,
          .max_model_len = kBlockSize * kColumns,
          .full_cudagraph = true,
          .chunk_size = 256};
}

}  // namespace hybridscope::bench
