#include "core/metadata/gdn_metadata.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/base/ids.h"
#include "core/base/math.h"

namespace hybridscope {
namespace {

bool is_mixed(const GdnMetadata& m) { return m.num_prefills > 0; }

// The non-spec rows that chunks are made of: all, or those behind decodes that run by themselves.
struct ChunkRows {
  TensorView<std::int32_t> starts{};  // [rows + 1], from 0
  std::int32_t first_row = 0;         // among the non-spec rows
  std::int32_t first_token = 0;       // of the non-spec tokens
};

ChunkRows chunk_rows(const GdnMetadata& m) {
  const TensorView<std::int32_t>& all = m.non_spec_query_start_loc;
  const TensorView<std::int32_t>& own = m.prefill_query_start_loc;
  const std::int32_t first = all.rows - own.rows;
  if (!own.present || own.rows < 1 || first < 0) return {.starts = all};
  return {.starts = own, .first_row = first, .first_token = all.at(first)};
}

// A non-spec row that runs as a decode beside prefills.
bool decodes_beside_prefills(const GdnMetadata& m, std::int32_t index) {
  return is_mixed(m) && m.prefill_state_indices.present && !m.spec_sequence_masks.present &&
         index < m.num_decodes;
}

// Batch row of the n-th spec or non-spec row: by the masks in a mixed batch; a pure batch keeps its
// order, with padding rows last.
struct RowsInTurn {
  const GdnMetadata& metadata;
  std::int32_t next_spec = 0;
  std::int32_t next_non_spec = 0;

  std::int32_t next(bool spec) {
    const TensorView<std::uint8_t>& masks = metadata.spec_sequence_masks;
    std::int32_t& row = spec ? next_spec : next_non_spec;
    if (is_mixed(metadata) && masks.present)
      while (row < masks.rows && (masks.at(row) != 0) != spec) ++row;
    return row++;
  }
};

StateAccess spec_access(const GdnMetadata& m, std::int32_t index, std::int32_t row) {
  StateAccess access{.row = row,
                     .index = index,
                     .is_decode = true,
                     .counts_given = m.num_accepted_tokens.present,
                     .blocks = row_of(m.spec_state_indices_tensor, index)};
  access.num_accepted_tokens = element_or(m.num_accepted_tokens, index, 1);
  if (is_mixed(m)) access.first_gathered_token = element_or(m.spec_query_start_loc, index, -1);
  set_query_tokens(m.spec_query_start_loc, access);
  return access;
}

StateAccess non_spec_access(const GdnMetadata& m, std::int32_t index, std::int32_t row) {
  StateAccess access{.row = row,
                     .index = index,
                     .is_decode = !is_mixed(m) || decodes_beside_prefills(m, index),
                     .blocks = row_of(m.non_spec_state_indices_tensor, index)};
  if (access.is_decode) {
    set_query_tokens(m.non_spec_query_start_loc, access);
  } else {
    access.index = row;
    access.has_initial_state = element_or(m.has_initial_state, index, 0) != 0;
    access.checkpoint_tokens = element_or(m.checkpoint.checkpoint_offsets, index, 0);
    access.checkpoint_block = element_or(m.checkpoint.state_indices, index, 0);
  }
  return access;
}

struct RowsOfKind {
  bool spec = false;
  const TensorView<std::int32_t>& starts;
  const TensorView<std::int32_t>& token_indices;
  std::string_view starts_detail;
  std::string_view indices_detail;
};

// A mixed batch: every token index and every offset belongs to a row of its kind, in the order of
// the rows.
void expect_gathered_rows(const GdnMetadata& m, const RowsOfKind& kind, BatchMismatches& check) {
  std::int32_t next = 0;
  std::int32_t index = 0;
  for (std::int32_t row = 0; row < check.num_real_rows(); ++row) {
    if ((m.spec_sequence_masks.at(row) != 0) != kind.spec) continue;
    if (index + 1 < kind.starts.rows)
      check.expect_equal(next, kind.starts.at(index), kind.starts_detail, row);
    ++index;
    const std::int32_t first = check.query_start(row);
    const std::int32_t count = std::max(check.query_start(row + 1) - first, 0);
    const std::int32_t held = std::clamp(kind.token_indices.rows - next, 0, count);
    std::int32_t right = 0;  // tokens
    while (right < held && kind.token_indices.at(next + right) == first + right) ++right;
    if (right < count)
      return check.add({MismatchKind::foreign_row, first + right,
                        right < held ? kind.token_indices.at(next + right) : kPadSlotId,
                        kind.indices_detail, row});
    next += count;
  }
  check.expect_equal(next, kind.token_indices.rows, kind.indices_detail);
  if (check.expect_equal(index + 1, kind.starts.rows, kind.starts_detail))
    check.expect_equal(next, kind.starts.at(index), kind.starts_detail);
}

// A batch of verify rows alone: tokens and rows are in batch order, followed by padding rows.
void expect_verify_rows(const GdnMetadata& m, BatchMismatches& check) {
  const std::int32_t num_rows = check.num_real_rows();
  check.expect_row_starts({m.spec_query_start_loc, 0, num_rows}, "spec_query_start_loc");
  for (std::int32_t row = 0; row < m.spec_sequence_masks.rows; ++row)
    if (!check.expect_equal(row < num_rows, m.spec_sequence_masks.at(row), "spec_sequence_masks",
                            row))
      break;
  for (std::int32_t token = 0; token < m.spec_token_indx.rows; ++token) {
    const std::int32_t seen = m.spec_token_indx.at(token);
    if (seen != token)
      return check.add({MismatchKind::foreign_row, token, seen, "spec_token_indx"});
  }
}

// One count for each class of rows.
struct ClassCounts {
  std::int32_t GdnMetadata::*spec_decodes;
  std::int32_t GdnMetadata::*decodes;
  std::int32_t GdnMetadata::*prefills;
  std::string_view spec_decodes_name;
  std::string_view decodes_name;
  std::string_view prefills_name;
};
constexpr ClassCounts kRowCounts = {&GdnMetadata::num_spec_decodes,
                                    &GdnMetadata::num_decodes,
                                    &GdnMetadata::num_prefills,
                                    "num_spec_decodes",
                                    "num_decodes",
                                    "num_prefills"};
constexpr ClassCounts kTokenCounts = {&GdnMetadata::num_spec_decode_tokens,
                                      &GdnMetadata::num_decode_tokens,
                                      &GdnMetadata::num_prefill_tokens,
                                      "num_spec_decode_tokens",
                                      "num_decode_tokens",
                                      "num_prefill_tokens"};

// Verify rows or their tokens by the masks; absent: the metadata has none.
std::optional<std::int32_t> masked(const GdnMetadata& m, const ClassCounts& counts,
                                   const BatchMismatches& check) {
  if (!m.spec_sequence_masks.present)
    return m.spec_state_indices_tensor.present ? std::nullopt : std::optional(0);
  std::int32_t sum = 0;
  for (std::int32_t row = 0; row < std::min(check.num_real_rows(), m.spec_sequence_masks.rows);
       ++row)
    if (m.spec_sequence_masks.at(row) != 0)
      sum += counts.spec_decodes == &GdnMetadata::num_spec_decodes
                 ? 1
                 : check.query_start(row + 1) - check.query_start(row);
  return sum;
}

// The counts of the three classes do not add up by `missing`. The one that is wrong: that of the
// verify rows if the masks have another one; else that of the decodes, if it is not one token a
// row; else that of the prefills, if there are any.
void expect_sum(const GdnMetadata& m, std::int32_t missing, const ClassCounts& counts,
                BatchMismatches& check) {
  if (missing == 0) return;
  const auto wrong = [&](std::int32_t GdnMetadata::*count, std::string_view name) {
    check.add({MismatchKind::inconsistent, m.*count + missing, m.*count, name});
  };
  const auto of_masks = masked(m, counts, check);
  if (of_masks && *of_masks != m.*counts.spec_decodes)
    return wrong(counts.spec_decodes, counts.spec_decodes_name);
  if (m.num_decodes != m.num_decode_tokens && m.num_decodes + m.num_decode_tokens > 0) {
    const bool rows = counts.decodes == &GdnMetadata::num_decodes;
    if ((rows ? m.num_decode_tokens - m.num_decodes : m.num_decodes - m.num_decode_tokens) ==
        missing)
      return wrong(counts.decodes, counts.decodes_name);
  }
  if (m.num_prefills > 0 || m.num_prefill_tokens > 0)
    return wrong(counts.prefills, counts.prefills_name);
  if (m.num_spec_decodes > 0) return wrong(counts.spec_decodes, counts.spec_decodes_name);
  wrong(counts.decodes, counts.decodes_name);
}

void expect_sums(const GdnMetadata& m, BatchMismatches& check) {
  const CommonAttentionMetadata& common = check.batch.common;
  const std::int32_t num_rows = check.num_real_rows();
  // Padding rows count as decodes, not as verify rows.
  const std::int32_t rows = m.num_prefills + m.num_decodes + m.num_spec_decodes;
  const std::int32_t tokens = m.num_prefill_tokens + m.num_decode_tokens + m.num_spec_decode_tokens;
  // Nor as prefills in a batch of GdnBatch::first_chunks_as_prefills.
  const bool left_out =
      m.num_prefills > 0 && rows == num_rows && tokens == check.query_start(num_rows);
  const bool padded = m.num_spec_decodes == 0 && !left_out;
  expect_sum(m, (padded ? common.num_actual_tokens : check.query_start(num_rows)) - tokens,
             kTokenCounts, check);
  expect_sum(m, (padded ? common.num_reqs : num_rows) - rows, kRowCounts, check);
  check.expect_equal(common.num_actual_tokens, m.num_actual_tokens, "num_actual_tokens");
}

void expect_rows(const GdnMetadata& m, BatchMismatches& check) {
  if (is_mixed(m) && m.spec_sequence_masks.present) {
    expect_gathered_rows(m,
                         {true, m.spec_query_start_loc, m.spec_token_indx, "spec_query_start_loc",
                          "spec_token_indx"},
                         check);
    expect_gathered_rows(m,
                         {false, m.non_spec_query_start_loc, m.non_spec_token_indx,
                          "non_spec_query_start_loc", "non_spec_token_indx"},
                         check);
  } else if (m.num_spec_decodes > 0) {
    expect_verify_rows(m, check);
  } else if (m.non_spec_query_start_loc.present) {
    check.expect_row_starts({m.non_spec_query_start_loc, 0, check.num_real_rows()},
                            "non_spec_query_start_loc");
  }
}

// A row with computed tokens and no initial state is found where it runs (semantics: I1).
void expect_initial_states(const GdnMetadata& m, BatchMismatches& check) {
  if (!is_mixed(m)) return;
  RowsInTurn batch{m};
  for (std::int32_t index = 0; index < m.has_initial_state.rows; ++index) {
    const std::int32_t row = batch.next(false);
    if (row >= check.num_real_rows()) return;
    if (check.batch.rows[static_cast<std::size_t>(row)].num_computed_tokens == 0)
      check.expect_equal(0, m.has_initial_state.at(index) != 0, "has_initial_state", row);
  }
}

void expect_counts(const GdnMetadata& m, BatchMismatches& check) {
  if (m.num_spec_decodes == 0 || !m.num_accepted_tokens.present) return;
  std::int32_t index = 0;
  for (std::int32_t row = 0; row < check.num_real_rows() && index < m.num_accepted_tokens.rows;
       ++row)
    if (!is_mixed(m) || m.spec_sequence_masks.at(row) != 0)
      check.expect_row_count(row, m.num_accepted_tokens.at(index++));
}

// Chunks of kFlaChunkSize tokens inside each row (semantics: prepare-chunk-indices,
// prepare-chunk-offsets).
void expect_chunks(const GdnMetadata& m, BatchMismatches& check) {
  const TensorView<std::int32_t> starts = chunk_rows(m).starts;
  const TensorView<std::int32_t>& indices = m.chunk_indices;
  const TensorView<std::int32_t>& offsets = m.chunk_offsets;
  if (!indices.present) return check.add({MismatchKind::inconsistent, 1, 0, "prefill chunks"});
  if (offsets.rows < starts.rows) {
    const std::int32_t rows = m.non_spec_state_indices_tensor.rows;
    return starts.rows > rows + 1 ? check.add({MismatchKind::inconsistent, rows + 1, starts.rows,
                                               "entries of non_spec_query_start_loc"})
                                  : check.add({MismatchKind::inconsistent, starts.rows,
                                               offsets.rows, "entries of chunk_offsets"});
  }
  const std::int32_t num_rows = starts.rows - 1;
  std::int32_t chunk = 0;
  std::int32_t sequence = 0;  // among the rows that have a chunk
  for (std::int32_t row = 0; row < num_rows; ++row) {
    if (!check.expect_equal(chunk, offsets.at(row), "chunk_offsets")) return;
    const std::int32_t count = cdiv(starts.at(row + 1) - starts.at(row), kFlaChunkSize);
    for (std::int32_t i = 0; i < count && chunk < indices.rows; ++i, ++chunk) {
      if (indices.at(chunk, 0) != sequence)
        return check.add({MismatchKind::foreign_row, sequence, indices.at(chunk, 0),
                          "chunk_indices: row of a chunk"});
      if (!check.expect_equal(i, indices.at(chunk, 1), "chunk_indices")) return;
    }
    if (count > 0) ++sequence;
  }
  check.expect_equal(chunk, offsets.at(num_rows), "chunk_offsets");
  check.expect_equal(chunk, indices.rows, "chunks");
}

}  // namespace

void swap_gathered_tokens(GdnMetadata& m, std::vector<std::int32_t>& storage) {
  const TensorView<std::int32_t>& tokens = m.spec_token_indx;
  if (!tokens.present || !is_mixed(m)) return;
  storage.assign(tokens.data, tokens.data + tokens.rows);
  for (std::int32_t row = 0; row < m.num_spec_decodes; ++row) {
    const std::int32_t begin = m.spec_query_start_loc.at(row);
    if (m.spec_query_start_loc.at(row + 1) - begin < 2) continue;
    std::swap(storage[static_cast<std::size_t>(begin)],
              storage[static_cast<std::size_t>(begin) + 1]);
    break;
  }
  m.spec_token_indx = vector_view(storage.data(), tokens.rows);
}

void append_needed_arrays(const GdnMetadata& m, const ForwardContext& context,
                          std::vector<NeededArray>& out) {
  const bool mixed = is_mixed(m);
  const std::int32_t spec = std::max(m.num_spec_decodes, 0);
  const TensorView<std::int32_t>& spec_states = m.spec_state_indices_tensor;
  const TensorView<std::int32_t>& states = m.non_spec_state_indices_tensor;
  const auto add = [&out](const NeededArray& array) { out.push_back(array); };
  add(needed(spec_states, spec, "spec_state_indices_tensor"));
  add(needed(m.num_accepted_tokens, spec, "num_accepted_tokens"));
  add(if_present(m.spec_query_start_loc, spec > 0 ? (mixed ? spec : spec_states.rows) + 1 : 0,
                 "spec_query_start_loc"));
  add(if_present(m.spec_sequence_masks, context.num_rows, "spec_sequence_masks"));
  add(needed(states, mixed ? 1 : 0, "non_spec_state_indices_tensor"));
  add(needed(m.has_initial_state, mixed ? states.rows : 0, "has_initial_state"));
  add(if_present(m.non_spec_query_start_loc, states.present ? states.rows + 1 : 0,
                 "non_spec_query_start_loc"));
}

void append_state_accesses(const GdnMetadata& m, const ForwardContext& /*context*/,
                           std::vector<StateAccess>& out) {
  RowsInTurn batch{m};
  if (m.num_spec_decodes > 0) {
    const std::int32_t count = is_mixed(m) ? m.num_spec_decodes : m.spec_state_indices_tensor.rows;
    for (std::int32_t i = 0; i < count; ++i)
      out.push_back(spec_access(m, i, i < m.num_spec_decodes ? batch.next(true) : -1));
  }
  if (!m.non_spec_state_indices_tensor.present) return;
  for (std::int32_t i = 0; i < m.non_spec_state_indices_tensor.rows; ++i)
    out.push_back(non_spec_access(m, i, batch.next(false)));
}

void append_mismatches(const GdnMetadata& m, const MetadataBatch& batch,
                       std::vector<MetadataMismatch>& out) {
  BatchMismatches check{batch, out};
  expect_sums(m, check);
  expect_rows(m, check);
  expect_initial_states(m, check);
  expect_counts(m, check);
  const TensorView<std::int32_t>& starts = m.non_spec_query_start_loc;
  if (m.num_prefills == 0 || !starts.present) return;
  if (!check.expect_ascending(starts, "non_spec_query_start_loc")) return;
  check.expect_conv_programs(starts, m.conv1d);
  expect_chunks(m, check);
}

bool refreshes_persistent_buffers(const GdnMetadata& m, std::int32_t num_spec) {
  return m.num_prefills == 0 && (num_spec > 0 ? m.num_decodes : m.num_spec_decodes) == 0;
}

MetadataRows metadata_rows(const GdnMetadata& m, std::int32_t num_rows) {
  const TensorView<std::uint8_t>& masks = m.spec_sequence_masks;
  MetadataRows rows{.by_spec = true};
  for (std::int32_t row = 0; row < num_rows; ++row) {
    const bool spec = masks.present && row < masks.rows && masks.at(row) != 0;
    (spec ? rows.spec : rows.non_spec).push_back(row);
  }
  return rows;
}

ChunkView chunk_view(const GdnMetadata& m, std::int32_t num_rows) {
  ChunkView view{.cuts_chunks = true};
  const auto [starts, first_row, first_token] = chunk_rows(m);
  if (!m.chunk_indices.present || !starts.present) return view;
  view.rule =
      "Every sequence is cut into chunks of 64 tokens from its first token of the step on "
      "(prepare_chunk_indices).";
  view.chunk_size = kFlaChunkSize;
  const std::vector<std::int32_t> rows = metadata_rows(m, num_rows).non_spec;
  std::vector<std::int32_t> with_chunks;  // chunk_indices counts sequences that have a chunk
  for (std::int32_t i = 0; i + 1 < starts.rows; ++i) {
    const auto row = static_cast<std::size_t>(first_row + i);
    if (row >= rows.size()) break;
    if (starts.at(i + 1) > starts.at(i)) with_chunks.push_back(i);
    view.sequences.push_back(
        {rows[row], first_token + starts.at(i), first_token + starts.at(i + 1)});
  }
  for (std::int32_t c = 0; c < m.chunk_indices.rows; ++c) {
    const auto nth = static_cast<std::size_t>(m.chunk_indices.at(c, 0));
    if (nth >= with_chunks.size()) continue;
    const std::int32_t sequence = with_chunks[nth];
    const std::int32_t first = starts.at(sequence) + m.chunk_indices.at(c, 1) * kFlaChunkSize;
    view.chunks.push_back({sequence, first_token + first,
                           first_token + std::min(first + kFlaChunkSize, starts.at(sequence + 1))});
  }
  mark_last_chunks(view);
  view.arrays = {{"chunk_indices", m.chunk_indices}, {"chunk_offsets", m.chunk_offsets}};
  return view;
}

bool tell_row_lengths(const GdnMetadata& m, std::span<const std::int32_t> num_computed_tokens,
                      std::vector<std::int32_t>& lengths) {
  const auto num_rows = static_cast<std::int32_t>(num_computed_tokens.size());
  const bool all_spec = m.num_prefills == 0 && m.num_spec_decodes > 0;
  const bool has_masks = m.spec_sequence_masks.present && m.spec_sequence_masks.rows >= num_rows;
  if (!all_spec && m.num_spec_decodes > 0 && !has_masks) return false;
  std::int32_t spec = 0;
  std::int32_t others = 0;
  for (std::int32_t row = 0; row < num_rows; ++row) {
    const bool is_spec =
        all_spec || (has_masks && m.num_spec_decodes > 0 && m.spec_sequence_masks.at(row) != 0);
    lengths.push_back(is_spec ? length_at(m.spec_query_start_loc, spec++)
                              : length_at(m.non_spec_query_start_loc, others++));
    if (lengths.back() <= 0) return false;
  }
  return sums_up(lengths, m.num_prefill_tokens + m.num_decode_tokens + m.num_spec_decode_tokens);
}

}  // namespace hybridscope
