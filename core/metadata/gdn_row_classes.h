// Which rows of a GDN batch are spec rows, and how the other rows split. An input of the GDN
// builder: the caller decides, by draft counts as the reference or by each row's class.
#pragma once

#include <cstdint>
#include <span>

#include "core/base/policy_set.h"
#include "core/base/result.h"
#include "core/base/tensor_view.h"
#include "core/metadata/batch_split.h"
#include "core/metadata/common_attention_metadata.h"
#include "core/metadata/row_class.h"

namespace hybridscope {

enum class GdnBatch : std::uint8_t;  // gdn_builder_policies.h

struct GdnRowClasses {
  bool spec_batch = false;  // false: the whole batch takes the non-spec path, split as below
  std::span<const std::uint8_t> spec_sequence_masks{};  // [num_reqs], 1: spec row; spec batch only
  // Non-spec path only. Of all rows, but rows without tokens at the end may be left out.
  BatchSplit split{};
};

// The inputs of a GDN build.
struct GdnBuildInputs {
  CommonAttentionMetadata common{};
  TensorView<std::int32_t> num_accepted_tokens{};  // [num_reqs], needed in a spec batch
  GdnRowClasses row_classes{};
  PolicySet policies{};
};

// Are the rows of a batch spec rows if all their draft counts are 0?
enum class ZeroDrafts : std::uint8_t {
  no_spec_rows,
  spec_rows,  // 0.32.0: only spec rows start from the state of their accepted count (known bug 7)
};

struct GdnDraftCounts {
  std::int32_t num_spec = 0;                           // K
  TensorView<std::int32_t> num_decode_draft_tokens{};  // [num_reqs], -1: row without draft tokens
  ZeroDrafts zero_drafts = ZeroDrafts::no_spec_rows;
  GdnBatch batch{};  // padded_to_tokens
};

// The reference's classing (semantics: gdn-row-classes): rows with a draft count >= 0 are spec
// rows; no row is one if K is 0, no counts are given or (ZeroDrafts) the non-negative counts add up
// to 0. The non-spec path splits with threshold 1 (semantics: split-decodes-and-prefills-v2);
// GdnBatch::first_chunks_as_prefills: prefilling rows without a state are prefills too, and rows
// without tokens behind a prefill are not counted (semantics: gdn-batch). `masks` is storage of at
// least num_reqs elements that the result points to. Errors: counts or storage that do not fit
// num_reqs.
Result<GdnRowClasses> classify_gdn_rows_by_drafts(const CommonAttentionMetadata& common,
                                                  const GdnDraftCounts& drafts,
                                                  std::span<std::uint8_t> masks);

struct GdnRowClassInput {
  std::int32_t num_spec = 0;                // K
  std::span<const RowClass> row_classes{};  // [num_reqs]
};

// Classing by each row's class: with K > 0 every decode and verify row is a spec row, with or
// without drafts, so that each of them reads the column of its accepted count (known bug 7).
// Without such rows, or with K = 0, split_by_row_class. Errors: its errors, sizes that do not fit.
Result<GdnRowClasses> classify_gdn_rows_by_class(const CommonAttentionMetadata& common,
                                                 const GdnRowClassInput& input,
                                                 std::span<std::uint8_t> masks);

}  // namespace hybridscope
