// Batches in the shapes of the targets in docs/performance.md: blocks of 560 tokens, tables 256
// columns wide.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/tensor_view.h"
#include "core/metadata/common_attention_metadata.h"
#include "core/metadata/mamba_builder_config.h"
#include "core/metadata/row_class.h"

namespace hybridscope::bench {

inline constexpr std::int32_t kBlockSize = 560;
inline constexpr std::int32_t kColumns = 256;
inline constexpr std::int32_t kRows = 256;

enum class Shape : std::uint8_t {
  decodes,  // 256 decode or verify rows of 1 + K tokens
  mixed,    // 224 of them and 32 prefills of 256 tokens, half of these with a stored state
};

// Owns what a runner keeps between steps and hands to the builders.
class BenchBatch {
 public:
  BenchBatch(Shape shape, std::int32_t num_spec);

  const CommonAttentionMetadata& common() const { return common_; }
  TensorView<std::int32_t> num_accepted_tokens() const {
    return vector_view(num_accepted_tokens_.data(), kRows);
  }
  TensorView<std::int32_t> num_decode_draft_tokens() const {
    return vector_view(num_decode_draft_tokens_.data(), kRows);
  }
  const std::vector<RowClass>& row_classes() const { return row_classes_; }

 private:
  std::vector<std::int32_t> query_start_loc_;          // [kRows + 1]
  std::vector<std::int32_t> seq_lens_;                 // [kRows]
  std::vector<std::int32_t> block_table_;              // [kRows, kColumns]
  std::vector<std::int32_t> num_accepted_tokens_;      // [kRows]
  std::vector<std::int32_t> num_decode_draft_tokens_;  // [kRows] -1: prefill
  std::vector<RowClass> row_classes_;                  // [kRows]
  CommonAttentionMetadata common_;
};

// A builder of such batches: graph branch on, buffers for kRows rows of 1 + K tokens.
MambaBuilderConfig bench_builder_config(MambaCacheMode mode, std::int32_t num_spec);

}  // namespace hybridscope::bench
