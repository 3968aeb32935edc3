// Plain values that metadata of any kind is made of and described by: programs of the causal conv,
// states inside prefills, which state its rows read and write, which arrays a forward needs, how
// its tokens are cut into chunks, and where it contradicts the batch. Each kind makes them next to
// its struct; builder_metadata.h dispatches on the kind.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/tensor_view.h"
#include "core/metadata/common_attention_metadata.h"
#include "core/model/kv_cache_spec.h"

namespace hybridscope {

// Which program of the varlen causal conv kernel works on which row and token block
// (semantics: compute-causal-conv1d-metadata; BLOCK_M 8 only).

inline constexpr std::int32_t kCausalConv1dBlockM = 8;

// Views of arrays that a CausalConv1dMetadataBuilder owns. absent: the reference's None for
// nums_dict, batch_ptr and token_chunk_offset_ptr.
struct CausalConv1dMetadata {
  bool present = false;
  std::int32_t tot = 0;                               // programs; also mlist_len
  TensorView<std::int32_t> nums{};                    // [rows] programs per row
  TensorView<std::int32_t> batch_ptr{};               // [2 * max(1024, tot)], -1 from tot on
  TensorView<std::int32_t> token_chunk_offset_ptr{};  // [2 * max(1024, tot)], -1 from tot on

  // int64 in the reference.
  TensorView<std::int32_t> mlist() const { return vector_view(batch_ptr.data, tot); }
  TensorView<std::int32_t> offsetlist() const {
    return vector_view(token_chunk_offset_ptr.data, tot);
  }
};

// States that prefills store inside themselves, as the layers are told (semantics:
// checkpoint-metadata; vLLM MambaPrefillCheckpointMetadata).

// Views of arrays that a CheckpointMetadataBuilder owns; absent if no row stores a state.
struct CheckpointMetadata {
  TensorView<std::int32_t> checkpoint_offsets{};  // [rows] tokens of the row before it; 0: none
  TensorView<std::int32_t> state_indices{};       // [rows] block that gets it; 0: none
  // Where state_indices comes from, for the table of another group; not handed to the layers.
  TensorView<std::int32_t> request_rows{};  // [rows] rows of the block table
  TensorView<std::int32_t> block_cols{};    // [rows] its columns; -1: none
};

// A field of a metadata class. Each class lists its fields once (for_each_field), for code that
// prints, stores or reads metadata without knowing its kind.

enum class ArrayDtype : std::uint8_t { boolean, int32, int64, host_int, host_bool };

// Which batch rows the first dimension of an array stands for.
enum class ArrayRows : std::uint8_t { none, batch, decodes, prefills, spec, non_spec };

// What the elements of an array are, for readers that explain them without knowing the array.
enum class ArrayElements : std::uint8_t {
  values,           // speaks for itself
  row_starts,       // token offsets: one for each row and the end of the last
  block_ids,        // rows of state that the layers read and write
  block_columns,    // of the block table, one for each row; in a graph cut to the number of tokens
  token_indices,    // one for each token
  accepted_counts,  // one for each row, at least 1
  sequence_lengths,
};

struct MetadataField {
  std::string_view name{};  // in the reference
  ArrayDtype dtype = ArrayDtype::int32;
  ArrayRows rows = ArrayRows::none;
  ArrayElements elements = ArrayElements::values;
  std::int32_t cols = 0;         // of an array that always has as many; 0: as the batch has it
  std::int32_t min = INT32_MIN;  // of a plain number that readers divide by
  // Only some releases have it: it is not listed while it is absent (a plain number: while
  // negative).
  bool listed_if_present = false;
};

// Is a field absent that is listed only while it is present?
template <class T>
constexpr bool is_left_out(const MetadataField& field, const T& value) {
  if (!field.listed_if_present) return false;
  if constexpr (requires { value.present; })
    return !value.present;
  else
    return static_cast<std::int64_t>(value) < 0;
}

// What the kernels of a group are given besides the metadata.
struct ForwardContext {
  MambaCacheMode mamba_cache_mode = MambaCacheMode::none;
  std::int32_t num_rows = 0;    // of the batch, without padding rows
  std::int32_t block_size = 0;  // of the group, tokens; 0: not known
  // Mode all with drafts: columns that decode rows read from; absent:
  // block_idx_last_computed_token.
  TensorView<std::int32_t> temporal_source_column{};  // [num_decodes]
  TensorView<std::int32_t> conv_source_column{};      // [num_decodes]
};

// Where SSD kernels take the states at a row's block boundaries from in mode all: the end of every
// `stride`-th chunk from `first_chunk` on (vLLM mamba_mixer2.py, first_chunk and chunk_stride).
struct BoundaryChunks {
  TensorView<std::int32_t> cu_chunk_seqlen{};  // [chunks + 1] packed tokens
  TensorView<std::int32_t> seq_idx{};          // [chunks]
  std::int32_t sequence = -1;                  // of the row
  std::int32_t first_token = 0;                // packed, of the row
  std::int32_t first_chunk = 0;
  std::int32_t stride = 0;  // 0: states are taken by position

  // Tokens of the row that the state of its i-th boundary holds; -1: the chunk is no chunk of it.
  std::int32_t tokens_at(std::int32_t i) const;
};

// What the kernels do with the state of one row, according to the metadata. `blocks` are the row's
// state indices: a window of blocks from the row's running column on, or with `by_column` (mode
// all) one block for each column of the request's block table.
struct StateAccess {
  std::int32_t row = -1;                 // of the batch; -1, or past its rows: a padding row
  std::int32_t index = 0;                // among the rows of its arrays
  bool is_decode = false;                // runs the decode kernel, else the prefill kernel
  bool by_column = false;                // see above
  bool runs_as_padding = false;          // a padding row that the kernel does not recognise as one
  bool counts_given = false;             // decode rows: accepted counts are there
  bool has_initial_state = false;        // prefill rows
  std::int32_t num_accepted_tokens = 1;  // 1 where counts are not given
  std::int32_t num_query_tokens = 1;     // decode rows with a window: by their offsets, else 1
  // Index of the row's first token among the gathered tokens; -1: its tokens are not gathered.
  std::int32_t first_gathered_token = -1;
  std::span<const std::int32_t> blocks{};
  // Prefill rows: the state after so many of the row's tokens also goes to the block; 0: none.
  std::int32_t checkpoint_tokens = 0;
  std::int32_t checkpoint_block = 0;
  BoundaryChunks boundary_chunks{};

  // With by_column: columns of the request's block table.
  std::int32_t computed_column = -1;         // of the last computed token
  std::int32_t first_scheduled_column = -1;  // prefill rows
  std::int32_t last_scheduled_column = -1;
  std::int32_t temporal_source_column = -1;  // before the accepted count is added
  std::int32_t conv_source_column = -1;

  // The block of a column; the pad id outside the row.
  std::int32_t block_at(std::int32_t column) const;
};

// An array that a forward reads, and how many rows it has to have at least.
struct NeededArray {
  std::int64_t expected_rows = 0;
  bool present = false;
  std::int32_t rows = 0;
  std::string_view name{};
};

// One row of the batch, with the counts of its request.
struct MetadataBatchRow {
  std::int32_t num_computed_tokens = 0;   // c
  std::int32_t num_scheduled_tokens = 0;  // q
  std::int32_t num_accepted_tokens = 1;   // a
};

// The batch that metadata was made for, from sources other than its builder.
struct MetadataBatch {
  CommonAttentionMetadata common{};
  std::span<const MetadataBatchRow> rows{};  // without padding rows
  MambaCacheMode mamba_cache_mode = MambaCacheMode::none;
  std::int32_t block_size = 1;        // of the group
  std::int32_t num_spec = 0;          // K
  bool accepted_counts_given = true;  // to the builder
  std::int32_t chunk_size = 0;        // of SSD kernels; 0: not known
};

enum class MismatchKind : std::uint8_t {
  inconsistent,             // two numbers that should be equal
  foreign_row,              // the values of a row are those of another row
  padding_runs_as_prefill,  // a padding row among the prefill rows
};

// Where metadata contradicts the batch.
struct MetadataMismatch {
  MismatchKind kind = MismatchKind::inconsistent;
  std::int64_t expected = 0;
  std::int64_t seen = 0;
  std::string_view detail{};
  std::int32_t row = -1;  // of the batch
};

// Maps the elements of an array to batch rows.
struct MetadataRows {
  bool by_spec = false;                // rows are divided into spec and non-spec rows
  std::int32_t first_prefill_row = 0;  // else: decode rows, then prefill rows
  std::vector<std::int32_t> spec{};    // batch rows, ascending
  std::vector<std::int32_t> non_spec{};

  // -1: none.
  std::int32_t batch_row(ArrayRows rows, std::int64_t index) const;
};

// How scan kernels cut the packed tokens of a step, according to the metadata.
struct ChunkView {
  struct Sequence {
    std::int32_t row = -1;   // of the batch
    std::int32_t first = 0;  // packed tokens [first, last)
    std::int32_t last = 0;
  };
  struct Chunk {
    std::int32_t sequence = -1;  // index into sequences
    std::int32_t first = 0;      // packed tokens [first, last)
    std::int32_t last = 0;
    bool is_last = false;  // of its sequence
  };
  struct Array {
    std::string_view name{};
    TensorView<std::int32_t> values{};
  };
  bool cuts_chunks = false;     // false: this kind of metadata has no chunks
  std::string_view rule{};      // where chunks are cut, in one sentence
  std::int32_t chunk_size = 0;  // tokens; 0: no chunks in this step
  std::vector<Sequence> sequences{};
  std::vector<Chunk> chunks{};
  std::vector<Array> arrays{};  // that define the chunks
};

// Helpers with which each kind of metadata describes itself (metadata_description.h).

// Recorded metadata, and that of other engines, may be shorter than its counts say: these two read
// views whose length has not been checked.
template <class T>
std::int32_t element_or(const TensorView<T>& view, std::int32_t row, std::int32_t otherwise) {
  return view.present && row >= 0 && row < view.rows ? view.at(row) : otherwise;
}
// A row of a table; empty if there is no such row.
inline std::span<const std::int32_t> row_of(const TensorView<std::int32_t>& table,
                                            std::int32_t row) {
  if (!table.present || row < 0 || row >= table.rows) return {};
  return {table.data + static_cast<std::int64_t>(row) * table.cols,
          static_cast<std::size_t>(table.cols)};
}

// Tokens of row `index` by offsets [rows + 1]; -1: the offsets do not have the row.
inline std::int32_t length_at(const TensorView<std::int32_t>& starts, std::int32_t index) {
  return starts.present && index >= 0 && index + 1 < starts.rows
             ? starts.at(index + 1) - starts.at(index)
             : -1;
}
// Do the rows have so many tokens?
bool sums_up(std::span<const std::int32_t> lengths, std::int32_t tokens);
// Tokens of row access.index by offsets [rows + 1]; a padding row runs if it has some.
void set_query_tokens(const TensorView<std::int32_t>& starts, StateAccess& access);

template <class T>
NeededArray needed(const TensorView<T>& array, std::int64_t rows, std::string_view name) {
  return {rows, array.present && array.cols > 0 && (array.rows == 0 || array.data != nullptr),
          array.rows, name};
}
// An array that a forward pass needs where it is present, as needed() describes one.
template <class T>
NeededArray if_present(const TensorView<T>& array, std::int64_t rows, std::string_view name) {
  return needed(array, array.present ? rows : 0, name);
}

// The last chunk of a sequence is the one that ends with it.
void mark_last_chunks(ChunkView& view);

// Collects the contradictions between metadata and batch; nearly always there are none.
struct BatchMismatches {
  const MetadataBatch& batch;
  std::vector<MetadataMismatch>& out;

  std::int32_t num_real_rows() const { return static_cast<std::int32_t>(batch.rows.size()); }
  std::int32_t query_start(std::int32_t row) const {
    return batch.common.query_start_loc[static_cast<std::size_t>(row)];
  }

  void add(const MetadataMismatch& mismatch) { out.push_back(mismatch); }
  // True: the numbers are equal.
  bool expect_equal(std::int64_t expected, std::int64_t seen, std::string_view detail,
                    std::int32_t row = -1) {
    if (expected == seen) [[likely]]
      return true;
    add({MismatchKind::inconsistent, expected, seen, detail, row});
    return false;
  }

  // Offsets of packed rows, to compare with those of the batch: index i of `starts` is batch row
  // first_row + i.
  struct PackedRows {
    TensorView<std::int32_t> starts{};  // [count + 1] token offsets, from 0
    std::int32_t first_row = 0;
    std::int32_t count = 0;
  };
  bool expect_row_starts(const PackedRows& rows, std::string_view detail);
  // Offsets start at 0, never decrease and stay within the batch's tokens.
  bool expect_ascending(const TensorView<std::int32_t>& starts, std::string_view detail);
  // The accepted count that a kernel sees for a row is the request's (semantics: I7; known bugs 9,
  // 28).
  void expect_row_count(std::int32_t row, std::int32_t count);
  // One program for every kCausalConv1dBlockM tokens of a row, in row order
  // (semantics: compute-causal-conv1d-metadata). `starts`: token offsets of the rows, from 0.
  void expect_conv_programs(const TensorView<std::int32_t>& starts,
                            const CausalConv1dMetadata& conv1d);
};

}  // namespace hybridscope
