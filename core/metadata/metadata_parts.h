// Helpers with which each kind of metadata describes itself (metadata_description.h).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/tensor_view.h"
#include "core/metadata/causal_conv1d_metadata.h"
#include "core/metadata/metadata_description.h"

namespace hybridscope {

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
