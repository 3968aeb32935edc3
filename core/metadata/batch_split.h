// Where the decode rows of a batch end and its prefill rows begin. The batch is ordered decodes
// first; everything from the first prefill row on counts as prefill.
#pragma once

#include <cstdint>
#include <span>

#include "core/base/result.h"
#include "core/metadata/common_attention_metadata.h"

namespace hybridscope {

// num_decodes + num_prefills = num_reqs; the token counts add up to num_actual_tokens.
struct BatchSplit {
  std::int32_t num_decodes = 0;
  std::int32_t num_prefills = 0;
  std::int32_t num_decode_tokens = 0;
  std::int32_t num_prefill_tokens = 0;
  friend bool operator==(const BatchSplit&, const BatchSplit&) = default;
};

struct SplitOptions {
  std::int32_t decode_threshold = 1;  // longest query that is a decode
  bool require_uniform = false;       // decodes must all have the first row's query length
};

// The split by query length of vLLM commit f5972a872 (semantics: split-decodes-and-prefills), used
// by the Mamba1 and Mamba2 builders. Errors: a uniform batch whose num_actual_tokens is not rows *
// first query length; no rows with max_query_len above the threshold; sizes unlike num_reqs.
Result<BatchSplit> split_decodes_and_prefills(const CommonAttentionMetadata& common,
                                              const SplitOptions& options);

struct SplitOptionsV2 {
  std::int32_t decode_threshold = 1;
  bool require_uniform = false;
  bool treat_short_extends_as_decodes = true;  // false: is_prefilling rows are prefills as well
};

// The split of vLLM commit cb10b7e80 (semantics: split-decodes-and-prefills-v2), used by the GDN
// builder. Errors: is_prefilling needed and absent; no rows with max_query_len above the
// threshold; sizes unlike num_reqs.
Result<BatchSplit> split_decodes_and_prefills_v2(const CommonAttentionMetadata& common,
                                                 const SplitOptionsV2& options);

struct RowClassBatch {
  std::span<const RowClass> row_classes{};          // [num_reqs]
  std::span<const std::int32_t> query_start_loc{};  // [num_reqs + 1]
  std::int32_t num_actual_tokens = 0;               // padded tokens included
};

// The split by each row's class, without looking at lengths (semantics: split-by-row-class).
// Padding rows come last: they count as decodes in a batch without prefills, else as prefills, as
// in the splits by length. Errors: a decode or verify row after a prefill; a padding row before
// another row; sizes that do not fit.
Result<BatchSplit> split_by_row_class(const RowClassBatch& batch);

}  // namespace hybridscope
