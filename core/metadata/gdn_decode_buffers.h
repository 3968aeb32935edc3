// Which rows of a GDN batch are spec rows, and the persistent buffers of a GDN builder: what a
// replayed graph of spec rows, or of non-spec decode rows, reads (semantics:
// gdn-persistent-buffers; vLLM, the end of GDNAttentionMetadataBuilder.build).
#pragma once

#include <cstdint>
#include <span>

#include "core/base/policy_set.h"
#include "core/base/result.h"
#include "core/base/tensor_view.h"
#include "core/metadata/batch_split.h"
#include "core/metadata/block_table_gather.h"
#include "core/metadata/common_attention_metadata.h"
#include "core/metadata/gdn_metadata.h"
#include "core/metadata/mamba_builder_config.h"
#include "core/metadata/persistent_buffer.h"

namespace hybridscope {

// Which rows of a GDN batch are spec rows, and how the other rows split. An input of the GDN
// builder: the caller decides, by draft counts as the reference or by each row's class.

enum class GdnBatch : std::uint8_t;  // builder_policies.h

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

// All rows of the buffers. kNeverWritten (mask: 0): no build has written the element yet.
struct GdnPersistentViews {
  TensorView<std::int32_t> spec_state_indices_tensor{};      // [rows, 1 + K]
  TensorView<std::int32_t> non_spec_state_indices_tensor{};  // [rows]
  TensorView<std::uint8_t> spec_sequence_masks{};            // [rows]
  TensorView<std::int32_t> spec_token_indx{};                // [rows * (1 + K)]
  TensorView<std::int32_t> spec_query_start_loc{};           // [rows + 1]
  TensorView<std::int32_t> non_spec_query_start_loc{};       // [rows + 1]
  TensorView<std::int32_t> num_accepted_tokens{};            // [rows]
};

// Writes the block ids ([spec rows, width]) and accepted counts ([spec rows]) of the spec rows.
// Requires: masks and counts for every row of the batch, width at most the window's.
struct SpecRowTarget {
  std::int32_t width = 1;
  std::int32_t* state_indices = nullptr;
  std::int32_t* num_accepted_tokens = nullptr;
};
void copy_spec_rows(const GdnBuildInputs& inputs, BlockTableWindow window, SpecRowTarget target);

class GdnDecodeBuffers {
 public:
  // `rows` = decode_cudagraph_max_bs.
  GdnDecodeBuffers(const MambaBuilderConfig& config, std::int32_t rows);

  // Does the block table of a pure spec batch fit? Error: fewer than 1 + K columns, unless there is
  // exactly one, which is broadcast.
  Status check_spec(const BlockTableWindow& window) const;

  // Writes the spec rows and the padding up to num_actual_tokens rows (GdnBatch: or num_reqs), and
  // points `metadata` to them. Requires: check_spec() is ok, counts of `metadata` set and within
  // the rows.
  void write_spec(const GdnBuildInputs& inputs, const BlockTableWindow& window,
                  GdnMetadata& metadata);

  // Writes the arrays of a batch of non-spec decodes. Requires: as many decodes as rows in the
  // window, or one row, which is broadcast.
  void write_non_spec(const GdnBuildInputs& inputs, const BlockTableWindow& window,
                      GdnMetadata& metadata);

  // The state indices alone, of a batch whose other arrays another group has written: of its first
  // `n` rows, with padding up to `padded`. Requires: check_spec() is ok, n rows in the window.
  TensorView<std::int32_t> write_spec_states(const BlockTableWindow& window, std::int32_t n,
                                             std::int32_t padded);
  // Requires: n rows in the window, or one, which is broadcast.
  TensorView<std::int32_t> write_non_spec_states(const BlockTableWindow& window, std::int32_t n,
                                                 std::int32_t padded);

  GdnPersistentViews views() const;

 private:
  // `n` rows of `width` columns are there.
  TensorView<std::int32_t> pad_spec_states(std::int32_t width, std::int32_t n, std::int32_t padded);

  PersistentBuffer<std::int32_t> spec_state_indices_tensor_;
  PersistentBuffer<std::int32_t> non_spec_state_indices_tensor_;
  PersistentBuffer<std::uint8_t> spec_sequence_masks_;
  PersistentBuffer<std::int32_t> spec_token_indx_;
  PersistentBuffer<std::int32_t> spec_query_start_loc_;
  PersistentBuffer<std::int32_t> non_spec_query_start_loc_;
  PersistentBuffer<std::int32_t> num_accepted_tokens_;
};

}  // namespace hybridscope
