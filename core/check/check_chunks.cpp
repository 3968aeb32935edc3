#include <algorithm>

#include "core/base/math.h"
#include "core/check/check_group_metadata.h"
#include "core/check/mismatch.h"
#include "core/metadata/gdn_metadata.h"

namespace hybridscope {
namespace {

std::int32_t num_rows(const PackedRows& rows) { return rows.starts.rows - 1; }

std::int32_t length(const PackedRows& rows, std::int32_t row) {
  return rows.starts.at(row + 1) - rows.starts.at(row);
}

}  // namespace

// SEMANTICS A5: one program for every kCausalConv1dBlockM tokens of a row, in row order.
void check_conv_programs(CheckContext& context, const PackedRows& rows,
                         const CausalConv1dMetadata& conv1d) {
  if (!conv1d.present) return;
  std::int32_t program = 0;
  for (std::int32_t row = 0; row < num_rows(rows); ++row) {
    const std::int32_t count = cdiv(length(rows, row), kCausalConv1dBlockM);
    if (row < conv1d.nums.rows &&
        !expect_equal(context,
                      {count, conv1d.nums.at(row), "conv1d programs of a row", -1, rows.group}))
      return;
    for (std::int32_t chunk = 0; chunk < count; ++chunk, ++program) {
      if (program >= std::min(conv1d.tot, conv1d.batch_ptr.rows)) continue;
      const std::int32_t seen = conv1d.batch_ptr.at(program);
      if (seen != row) {
        report(context, Rule::foreign_row_datum,
               {row, seen, "row of a conv1d program", -1, rows.group});
        return;
      }
      if (!expect_equal(context, {chunk, conv1d.token_chunk_offset_ptr.at(program),
                                  "token chunk of a conv1d program", -1, rows.group}))
        return;
    }
  }
  expect_equal(context, {program, conv1d.tot, "conv1d programs", -1, rows.group});
}

// SEMANTICS A7: chunks cross neither a row nor a multiple of chunk_size of the row's positions.
void check_ssd_chunks(CheckContext& context, const PackedRows& rows, std::int32_t first_row,
                      const Mamba2Metadata& metadata) {
  const TensorView<std::int32_t>& ends = metadata.cu_chunk_seqlen_p;
  if (metadata.chunk_size < 1 || !ends.present || !metadata.seq_idx_p.present ||
      !metadata.last_chunk_indices_p.present) {
    report(context, Rule::metadata_inconsistent, {1, 0, "prefill chunks", -1, rows.group});
    return;
  }
  const std::int32_t size = metadata.chunk_size;
  const auto wrong = [&](Rule rule, std::int32_t expected, std::int32_t seen,
                         std::string_view detail, std::int32_t row) {
    report(context, rule, {expected, seen, detail, first_row + row, rows.group});
  };
  std::int32_t chunk = 0;
  for (std::int32_t row = 0; row < num_rows(rows); ++row) {
    const std::int32_t computed =
        context.trace().rows[static_cast<std::size_t>(first_row + row)].num_computed_tokens;
    for (std::int32_t token = rows.starts.at(row); token < rows.starts.at(row + 1); ++chunk) {
      const std::int32_t position = computed + token - rows.starts.at(row);
      const std::int32_t end = std::min(rows.starts.at(row + 1), token + size - position % size);
      const bool there = chunk + 1 < ends.rows;
      if (!there || ends.at(chunk) != token || ends.at(chunk + 1) != end)
        return wrong(Rule::metadata_inconsistent, end, there ? ends.at(chunk + 1) : -1,
                     "cu_chunk_seqlen_p", row);
      const std::int32_t owner =
          chunk < metadata.seq_idx_p.rows ? metadata.seq_idx_p.at(chunk) : -1;
      if (owner != row) return wrong(Rule::foreign_row_datum, row, owner, "seq_idx_p", row);
      token = end;
    }
    const std::int32_t last =
        row < metadata.last_chunk_indices_p.rows ? metadata.last_chunk_indices_p.at(row) : -1;
    if (length(rows, row) > 0 && last != chunk - 1)
      return wrong(Rule::metadata_inconsistent, chunk - 1, last, "last_chunk_indices_p", row);
  }
  expect_equal(context, {chunk + 1, ends.rows, "entries of cu_chunk_seqlen_p", -1, rows.group});
}

// SEMANTICS A8: chunks of kFlaChunkSize tokens inside each row.
void check_fla_chunks(CheckContext& context, const PackedRows& rows, const GdnMetadata& metadata) {
  const TensorView<std::int32_t>& indices = metadata.chunk_indices;
  const TensorView<std::int32_t>& offsets = metadata.chunk_offsets;
  if (!indices.present || offsets.rows < rows.starts.rows) {
    report(context, Rule::metadata_inconsistent, {1, 0, "prefill chunks", -1, rows.group});
    return;
  }
  std::int32_t chunk = 0;
  std::int32_t sequence = 0;  // among the rows that have a chunk
  for (std::int32_t row = 0; row < num_rows(rows); ++row) {
    if (!expect_equal(context, {chunk, offsets.at(row), "chunk_offsets", -1, rows.group})) return;
    const std::int32_t count = cdiv(length(rows, row), kFlaChunkSize);
    for (std::int32_t i = 0; i < count && chunk < indices.rows; ++i, ++chunk) {
      if (indices.at(chunk, 0) != sequence)
        return report(context, Rule::foreign_row_datum,
                      {sequence, indices.at(chunk, 0), "row of a chunk", -1, rows.group});
      if (!expect_equal(context, {i, indices.at(chunk, 1), "chunk_indices", -1, rows.group}))
        return;
    }
    if (count > 0) ++sequence;
  }
  expect_equal(context, {chunk, offsets.at(num_rows(rows)), "chunk_offsets", -1, rows.group});
  expect_equal(context, {chunk, indices.rows, "chunks", -1, rows.group});
}

}  // namespace hybridscope
