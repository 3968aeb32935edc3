// The metadata that a builder hands to the recurrent layers of one KV-cache group, of any kind, and
// the functions that describe it (metadata_description.h) to callers that know no kind. Values
// only: the builders themselves are in metadata_builders.h.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "core/metadata/gdn_metadata.h"
#include "core/metadata/mamba_metadata.h"
#include "core/metadata/metadata_description.h"

namespace hybridscope {

using BuilderMetadata = std::variant<MambaMetadata, Mamba2Metadata, GdnMetadata>;

// One of each kind, every array absent.
std::vector<BuilderMetadata> every_kind_of_metadata();

// Calls visit(MetadataField, member) for every field, in the order of the reference's class.
// `member`: a number, a TensorView, the CausalConv1dMetadata, or the TokenIndxDtype of the index
// arrays that follow. `metadata` may be const.
template <class Visit>
void for_each_field(BuilderMetadata& metadata, Visit&& visit) {
  std::visit([&](auto& own) { for_each_field(own, visit); }, metadata);
}
template <class Visit>
void for_each_field(const BuilderMetadata& metadata, Visit&& visit) {
  std::visit([&](const auto& own) { for_each_field(own, visit); }, metadata);
}

// Marks the nested conv metadata as present where its arrays are: recorded metadata lists those
// arrays, not nums_dict itself.
void set_conv1d_present(BuilderMetadata& metadata);

// GdnTokenPartition::unstable (gdn_metadata.h); does nothing to a kind that gathers no tokens.
void swap_gathered_tokens(BuilderMetadata& metadata, std::vector<std::int32_t>& storage);

// Arrays that a forward reads, in the order in which they are reported.
void append_needed_arrays(const BuilderMetadata& metadata, const ForwardContext& context,
                          std::vector<NeededArray>& out);

// Appends one per row, padding rows included, in the order in which the kernels run them. What a
// too short array leaves unknown is -1, or no block.
void append_state_accesses(const BuilderMetadata& metadata, const ForwardContext& context,
                           std::vector<StateAccess>& out);

// Appends every contradiction between the metadata and the batch: sums, rows of each kind, token
// ranges, accepted counts, programs and chunks. Requires: every needed array is there, and the
// batch's own arrays agree.
void append_mismatches(const BuilderMetadata& metadata, const MetadataBatch& batch,
                       std::vector<MetadataMismatch>& out);

// Did the build that made this metadata also write the buffers that a full graph replays? Only
// batches of one kind of row do: decodes, or for GatedDeltaNet with drafts spec rows (semantics:
// mamba-persistent-buffers, gdn-persistent-buffers; vLLM v1/attention/backends/mamba_attn.py
// _update_metadata_for_cudagraph_capture, gdn_attn.py build). Requires: a full graph is replayed.
bool refreshes_persistent_buffers(const BuilderMetadata& metadata, std::int32_t num_spec);

// The count of decode or of prefill rows that is wrong; empty: none, or the kind cannot say.
std::optional<MetadataMismatch> wrong_row_count(const BuilderMetadata& metadata,
                                                std::int32_t num_reqs);
// Does the metadata of a full graph tell so many rows, padding included?
bool has_num_rows(const BuilderMetadata& metadata, std::int32_t num_rows);

// Which batch row an array element belongs to; how the tokens are cut into chunks, if the kind
// has chunks. `num_rows`: of the batch, without padding rows.
MetadataRows metadata_rows(const BuilderMetadata& metadata, std::int32_t num_rows);
ChunkView chunk_view(const BuilderMetadata& metadata, std::int32_t num_rows);

// Any builder's metadata as a list of named integer arrays: what panels, JSON, storage and tests
// read, so that they need not know the builders.

struct NamedArray {
  std::string_view name;  // field name of the reference; "nums_dict.8.tot" for a nested one
  bool present = true;    // false: None
  ArrayDtype dtype = ArrayDtype::int32;  // host_int, host_bool: a plain number, without dims
  std::vector<std::int64_t> dims{};
  std::vector<std::int64_t> values{};  // row-major; where it is shorter than dims say, the rest is
  std::int64_t fill = 0;               // `fill` (batch_ptr, token_chunk_offset_ptr: -1)
  ArrayRows rows = ArrayRows::none;
  ArrayElements elements = ArrayElements::values;
};

// Fields in the order of the reference's metadata class.
std::vector<NamedArray> named_arrays(const BuilderMetadata& metadata);

// How many tokens each row of a batch has by its metadata alone, so that a count of the schedule
// can be held against it.

// `lengths`: [rows] tokens of each row without padding rows. False: the metadata does not tell all
// of them, or contradicts itself (its token counts or, for Mamba, its seq_lens say otherwise).
// `num_computed_tokens`: [rows].
bool tell_row_lengths(const BuilderMetadata& metadata,
                      std::span<const std::int32_t> num_computed_tokens,
                      std::vector<std::int32_t>& lengths);

}  // namespace hybridscope
