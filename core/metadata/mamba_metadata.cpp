#include "core/metadata/mamba_metadata.h"

#include <algorithm>

namespace hybridscope {
namespace {

StateAccess decode_access(const MambaMetadata& m, const ForwardContext& context, std::int32_t row) {
  const bool by_column = context.mamba_cache_mode == MambaCacheMode::all;
  StateAccess access{.row = row, .index = row, .is_decode = true, .by_column = by_column};
  access.blocks = row_of(m.state_indices_tensor_d, row);
  access.counts_given = m.num_accepted_tokens.present;
  access.num_accepted_tokens = element_or(m.num_accepted_tokens, row, 1);
  if (by_column) {
    access.runs_as_padding = !m.query_start_loc_d.present;
    access.computed_column = element_or(m.block_idx_last_computed_token, row, -1);
    access.last_scheduled_column = element_or(m.block_idx_last_scheduled_token, row, -1);
    access.temporal_source_column =
        element_or(context.temporal_source_column, row, access.computed_column);
    access.conv_source_column = element_or(context.conv_source_column, row, access.computed_column);
    return access;
  }
  set_query_tokens(m.query_start_loc_d, access);
  return access;
}

StateAccess prefill_access(const MambaMetadata& m, const ForwardContext& context,
                           std::int32_t index) {
  const std::int32_t row = m.num_decodes + index;
  StateAccess access{.row = row,
                     .index = row,
                     .by_column = context.mamba_cache_mode == MambaCacheMode::all,
                     .has_initial_state = element_or(m.has_initial_states_p, index, 0) != 0,
                     .blocks = row_of(m.state_indices_tensor_p, index)};
  if (!access.by_column) return access;
  access.computed_column = element_or(m.block_idx_last_computed_token, row, -1);
  access.first_scheduled_column = element_or(m.block_idx_first_scheduled_token_p, index, -1);
  access.last_scheduled_column = element_or(m.block_idx_last_scheduled_token, row, -1);
  access.temporal_source_column = access.computed_column;
  access.conv_source_column = access.computed_column;
  return access;
}

// The columns that a row of mode all reads and writes (semantics: prefix-caching-block-indices)
// follow from the batch alone.
void expect_block_indices(const MambaMetadata& m, BatchMismatches& check) {
  if (check.batch.mamba_cache_mode != MambaCacheMode::all) return;
  const std::int32_t block_size = check.batch.block_size;
  const std::int32_t rows = std::min(m.num_decodes + m.num_prefills, check.num_real_rows());
  for (std::int32_t row = 0; row < rows; ++row) {
    const MetadataBatchRow& batch_row = check.batch.rows[static_cast<std::size_t>(row)];
    const std::int32_t computed = batch_row.num_computed_tokens;
    const std::int32_t end = computed + batch_row.num_scheduled_tokens;
    check.expect_equal(std::max(computed - 1, 0) / block_size,
                       m.block_idx_last_computed_token.at(row), "block_idx_last_computed_token",
                       row);
    check.expect_equal(std::max(end - 1, 0) / block_size, m.block_idx_last_scheduled_token.at(row),
                       "block_idx_last_scheduled_token", row);
    const std::int32_t index = row - m.num_decodes;
    if (index < 0) continue;
    check.expect_equal(computed / block_size, m.block_idx_first_scheduled_token_p.at(index),
                       "block_idx_first_scheduled_token_p", row);
    if (m.num_computed_tokens_p.present && index < m.num_computed_tokens_p.rows)
      check.expect_equal(computed, m.num_computed_tokens_p.at(index), "num_computed_tokens_p", row);
  }
}

void expect_lengths(const MambaMetadata& m, BatchMismatches& check) {
  const auto lengths = check.batch.common.seq_lens;
  check.expect_equal(check.batch.common.num_reqs, m.num_reqs, "num_reqs");
  if (!m.seq_lens.present || m.seq_lens.data == lengths.data()) return;
  const auto rows = std::min(m.seq_lens.rows, static_cast<std::int32_t>(lengths.size()));
  for (std::int32_t row = 0; row < rows; ++row)
    check.expect_equal(lengths[static_cast<std::size_t>(row)], m.seq_lens.at(row),
                       "seq_lens of the metadata", row);
}

// If the two counts do not add up to the step's tokens, the one that its rows do not have is wrong.
void expect_token_counts(const MambaMetadata& m, BatchMismatches& check) {
  const std::int32_t tokens = check.batch.common.num_actual_tokens;
  if (m.num_decode_tokens + m.num_prefill_tokens == tokens) return;
  const std::int32_t decode_tokens = m.num_prefills > 0 ? check.query_start(m.num_decodes) : tokens;
  if (check.expect_equal(decode_tokens, m.num_decode_tokens, "num_decode_tokens"))
    check.expect_equal(tokens - decode_tokens, m.num_prefill_tokens, "num_prefill_tokens");
}

// The prefill rows follow the decode rows, and no padding row is among them.
bool expect_prefill_rows(const MambaMetadata& m, BatchMismatches& check) {
  if (m.num_decodes + m.num_prefills > check.num_real_rows()) {
    check.add({MismatchKind::padding_runs_as_prefill, check.num_real_rows(),
               m.num_decodes + m.num_prefills, "a padding row runs as a prefill"});
    return false;
  }
  check.expect_equal(check.query_start(m.num_decodes), m.num_decode_tokens, "decode tokens");
  // A row with computed tokens and no initial state is found where it runs (semantics: I1).
  for (std::int32_t index = 0; index < m.num_prefills; ++index) {
    const std::int32_t row = m.num_decodes + index;
    if (check.batch.rows[static_cast<std::size_t>(row)].num_computed_tokens == 0)
      check.expect_equal(0, m.has_initial_states_p.at(index) != 0, "has_initial_states_p", row);
  }
  return check.expect_row_starts({prefill_starts(m), m.num_decodes, m.num_prefills},
                                 "query_start_loc_p");
}

}  // namespace

std::optional<MetadataMismatch> wrong_row_count(const MambaMetadata& m, std::int32_t num_reqs) {
  if (m.num_decodes + m.num_prefills == num_reqs) return std::nullopt;
  const TensorView<std::int32_t>& prefills = m.state_indices_tensor_p;
  const bool prefills_fit = (prefills.present ? prefills.rows : 0) == m.num_prefills;
  if (prefills_fit)
    return MetadataMismatch{MismatchKind::inconsistent, num_reqs - m.num_prefills, m.num_decodes,
                            "num_decodes"};
  return MetadataMismatch{MismatchKind::inconsistent, num_reqs - m.num_decodes, m.num_prefills,
                          "num_prefills"};
}

TensorView<std::int32_t> prefill_starts(const MambaMetadata& m) {
  TensorView<std::int32_t> starts = m.query_start_loc_p;
  starts.rows = std::min(starts.rows, m.num_prefills + 1);
  return starts;
}

void append_needed_arrays(const MambaMetadata& m, const ForwardContext& context,
                          std::vector<NeededArray>& out) {
  const std::int32_t decodes = m.num_decodes;
  const std::int32_t prefills = m.num_prefills;
  const bool all = context.mamba_cache_mode == MambaCacheMode::all;
  const auto add = [&out](const NeededArray& array) { out.push_back(array); };
  add(needed(m.state_indices_tensor_d, decodes, "state_indices_tensor_d"));
  add(if_present(m.query_start_loc_d, decodes + 1, "query_start_loc_d"));
  add(if_present(m.num_accepted_tokens, decodes, "num_accepted_tokens"));
  add(if_present(context.temporal_source_column, decodes, "temporal source columns"));
  add(if_present(context.conv_source_column, decodes, "conv source columns"));
  add(needed(m.state_indices_tensor_p, prefills, "state_indices_tensor_p"));
  add(needed(m.has_initial_states_p, prefills, "has_initial_states_p"));
  add(needed(m.block_idx_last_scheduled_token, all ? decodes + prefills : 0,
             "block_idx_last_scheduled_token"));
  add(needed(m.block_idx_last_computed_token, all ? decodes + prefills : 0,
             "block_idx_last_computed_token"));
  add(needed(m.block_idx_first_scheduled_token_p, all ? prefills : 0,
             "block_idx_first_scheduled_token_p"));
}

void append_state_accesses(const MambaMetadata& m, const ForwardContext& context,
                           std::vector<StateAccess>& out) {
  for (std::int32_t row = 0; row < m.num_decodes; ++row)
    out.push_back(decode_access(m, context, row));
  for (std::int32_t index = 0; index < m.num_prefills; ++index)
    out.push_back(prefill_access(m, context, index));
}

bool append_mamba_mismatches(const MambaMetadata& m, BatchMismatches& check) {
  const CommonAttentionMetadata& common = check.batch.common;
  if (const auto wrong = wrong_row_count(m, common.num_reqs)) {
    check.add(*wrong);
    return false;
  }
  expect_token_counts(m, check);
  expect_lengths(m, check);
  expect_block_indices(m, check);
  if (m.query_start_loc_d.present)
    check.expect_row_starts({m.query_start_loc_d, 0, m.num_decodes}, "query_start_loc_d");
  if (m.num_accepted_tokens.present)
    for (std::int32_t row = 0; row < std::min(m.num_decodes, m.num_accepted_tokens.rows); ++row)
      check.expect_row_count(row, m.num_accepted_tokens.at(row));
  if (m.num_prefills == 0 || !expect_prefill_rows(m, check)) return false;
  check.expect_conv_programs(prefill_starts(m), m.conv1d);
  return true;
}

void append_mismatches(const MambaMetadata& m, const MetadataBatch& batch,
                       std::vector<MetadataMismatch>& out) {
  BatchMismatches check{batch, out};
  append_mamba_mismatches(m, check);
}

bool refreshes_persistent_buffers(const MambaMetadata& m, std::int32_t /*num_spec*/) {
  return m.num_prefills == 0;
}

bool has_num_rows(const MambaMetadata& m, std::int32_t num_rows) {
  return m.num_decodes + m.num_prefills == num_rows;
}

MetadataRows metadata_rows(const MambaMetadata& m, std::int32_t /*num_rows*/) {
  return {.first_prefill_row = m.num_decodes};
}

ChunkView chunk_view(const MambaMetadata& /*m*/, std::int32_t /*num_rows*/) { return {}; }

bool tell_row_lengths(const MambaMetadata& m, std::span<const std::int32_t> num_computed_tokens,
                      std::vector<std::int32_t>& lengths) {
  for (std::size_t r = 0; r < num_computed_tokens.size(); ++r) {
    const auto row = static_cast<std::int32_t>(r);
    const bool decodes = row < m.num_decodes;
    std::int32_t length = decodes ? length_at(m.query_start_loc_d, row)
                                  : length_at(m.query_start_loc_p, row - m.num_decodes);
    if (decodes && !m.query_start_loc_d.present) length = 1;
    const bool agrees = m.seq_lens.present && row < m.seq_lens.rows && length > 0 &&
                        m.seq_lens.at(row) == num_computed_tokens[r] + length;
    if (!agrees) return false;
    lengths.push_back(length);
  }
  // Padding counts as decode tokens.
  const std::int32_t tokens = m.num_decode_tokens + m.num_prefill_tokens;
  return m.num_prefills == 0 || sums_up(lengths, tokens);
}

namespace {

void expect_prep_initial_states(const Mamba2Metadata& m, BatchMismatches& check) {
  if (m.base.num_prefills == 0) return;
  const auto& flags = m.base.has_initial_states_p;
  const bool any_flag = std::any_of(flags.data, flags.data + m.base.num_prefills,
                                    [](std::uint8_t flag) { return flag != 0; });
  bool any_computed = false;
  for (std::int32_t row = m.base.num_decodes; row < check.num_real_rows(); ++row)
    any_computed =
        any_computed || check.batch.rows[static_cast<std::size_t>(row)].num_computed_tokens > 0;
  // If it is what the rows say, a flag is wrong instead, which is found where the row runs.
  if (m.prep_initial_states != any_computed)
    check.expect_equal(any_flag, m.prep_initial_states, "prep_initial_states");
}

// Chunks cross neither a row nor a multiple of chunk_size of the row's own positions, nor a row's
// checkpoint (semantics: compute-chunk-metadata).
void expect_chunks(const Mamba2Metadata& m, BatchMismatches& check) {
  const TensorView<std::int32_t>& ends = m.cu_chunk_seqlen_p;
  if (m.chunk_size < 1 || !ends.present || !m.seq_idx_p.present || !m.last_chunk_indices_p.present)
    return check.add({MismatchKind::inconsistent, 1, 0, "prefill chunks"});
  if (check.batch.chunk_size > 0 &&
      !check.expect_equal(check.batch.chunk_size, m.chunk_size, "chunk_size"))
    return;
  const std::int32_t size = m.chunk_size;
  const std::int32_t first_row = m.base.num_decodes;
  const TensorView<std::int32_t> starts = prefill_starts(m.base);
  std::int32_t chunk = 0;
  for (std::int32_t row = 0; row + 1 < starts.rows; ++row) {
    const auto wrong = [&](MismatchKind kind, std::int32_t expected, std::int32_t seen,
                           std::string_view detail) {
      check.add({kind, expected, seen, detail, first_row + row});
    };
    const std::int32_t computed =
        check.batch.rows[static_cast<std::size_t>(first_row + row)].num_computed_tokens;
    const std::int32_t row_end = starts.at(row + 1);
    const TensorView<std::int32_t>& offsets = m.checkpoint_meta.checkpoint_offsets;
    const std::int32_t checkpoint =
        offsets.present && row < offsets.rows ? starts.at(row) + offsets.at(row) : row_end;
    const bool stores = checkpoint < row_end && checkpoint > starts.at(row);
    std::int32_t checkpoint_chunk = 0;
    for (std::int32_t token = starts.at(row); token < row_end; ++chunk) {
      const std::int32_t position = computed + token - starts.at(row);
      std::int32_t end = std::min(row_end, token + size - position % size);
      if (token < checkpoint) end = std::min(end, checkpoint);
      for (const auto& [entry, bound] : {std::pair(chunk, token), std::pair(chunk + 1, end)})
        if (const std::int32_t seen = element_or(ends, entry, -1); seen != bound)
          return wrong(MismatchKind::inconsistent, bound, seen, "cu_chunk_seqlen_p");
      const std::int32_t owner = chunk < m.seq_idx_p.rows ? m.seq_idx_p.at(chunk) : -1;
      if (owner != row) return wrong(MismatchKind::foreign_row, row, owner, "seq_idx_p");
      token = end;
      if (stores && token == checkpoint) checkpoint_chunk = chunk;
    }
    const std::int32_t stored = element_or(m.checkpoint_chunk_idx, row, -1);
    if (stores && stored != checkpoint_chunk)
      return wrong(MismatchKind::inconsistent, checkpoint_chunk, stored, "checkpoint_chunk_idx");
    const std::int32_t last =
        row < m.last_chunk_indices_p.rows ? m.last_chunk_indices_p.at(row) : -1;
    if (row_end > starts.at(row) && last != chunk - 1)
      return wrong(MismatchKind::inconsistent, chunk - 1, last, "last_chunk_indices_p");
  }
  check.expect_equal(chunk + 1, ends.rows, "entries of cu_chunk_seqlen_p");
}

void mark_last_chunks(const Mamba2Metadata& m, ChunkView& view) {
  const TensorView<std::int32_t>& named = m.last_chunk_indices_p;
  if (!named.present) return mark_last_chunks(view);
  const auto rows = std::min(named.rows, static_cast<std::int32_t>(view.sequences.size()));
  for (std::int32_t row = 0; row < rows; ++row)
    if (const auto last = static_cast<std::size_t>(named.at(row));
        named.at(row) >= 0 && last < view.chunks.size())
      view.chunks[last].is_last = true;
}

// The boundary chunks of prefill row `index`.
BoundaryChunks boundary_chunks_of(const Mamba2Metadata& m, const ForwardContext& context,
                                  std::int32_t index) {
  const TensorView<std::int32_t>& last = m.last_chunk_indices_p;
  const bool known = m.cu_chunk_seqlen_p.present && m.seq_idx_p.present && last.present &&
                     m.base.num_computed_tokens_p.present && m.chunk_size > 0;
  if (!known || context.block_size < m.chunk_size) return {};
  const std::int32_t stride = context.block_size / m.chunk_size;
  const std::int32_t computed = element_or(m.base.num_computed_tokens_p, index, 0);
  const std::int32_t row_chunk = index == 0 ? 0 : element_or(last, index - 1, -1) + 1;
  return {.cu_chunk_seqlen = m.cu_chunk_seqlen_p,
          .seq_idx = m.seq_idx_p,
          .sequence = index,
          .first_token = element_or(m.base.query_start_loc_p, index, 0),
          .first_chunk = row_chunk + stride - 1 - computed % context.block_size / m.chunk_size,
          .stride = stride};
}

}  // namespace

void append_needed_arrays(const Mamba2Metadata& m, const ForwardContext& context,
                          std::vector<NeededArray>& out) {
  append_needed_arrays(m.base, context, out);
}

void append_state_accesses(const Mamba2Metadata& m, const ForwardContext& context,
                           std::vector<StateAccess>& out) {
  const std::size_t first = out.size();
  append_state_accesses(m.base, context, out);
  const CheckpointMetadata& checkpoints = m.checkpoint_meta;
  std::int32_t index = 0;
  for (std::size_t i = first; i < out.size(); ++i) {
    if (out[i].is_decode) continue;
    out[i].checkpoint_tokens = element_or(checkpoints.checkpoint_offsets, index, 0);
    out[i].checkpoint_block = element_or(checkpoints.state_indices, index, 0);
    if (out[i].by_column) out[i].boundary_chunks = boundary_chunks_of(m, context, index);
    ++index;
  }
}

void append_mismatches(const Mamba2Metadata& m, const MetadataBatch& batch,
                       std::vector<MetadataMismatch>& out) {
  BatchMismatches check{batch, out};
  expect_prep_initial_states(m, check);
  if (append_mamba_mismatches(m.base, check)) expect_chunks(m, check);
}

bool refreshes_persistent_buffers(const Mamba2Metadata& m, std::int32_t num_spec) {
  return refreshes_persistent_buffers(m.base, num_spec);
}

std::optional<MetadataMismatch> wrong_row_count(const Mamba2Metadata& m, std::int32_t num_reqs) {
  return wrong_row_count(m.base, num_reqs);
}

bool has_num_rows(const Mamba2Metadata& m, std::int32_t num_rows) {
  return has_num_rows(m.base, num_rows);
}

MetadataRows metadata_rows(const Mamba2Metadata& m, std::int32_t num_rows) {
  return metadata_rows(m.base, num_rows);
}

bool tell_row_lengths(const Mamba2Metadata& m, std::span<const std::int32_t> num_computed_tokens,
                      std::vector<std::int32_t>& lengths) {
  return tell_row_lengths(m.base, num_computed_tokens, lengths);
}

ChunkView chunk_view(const Mamba2Metadata& m, std::int32_t num_rows) {
  ChunkView view{.cuts_chunks = true};
  const MambaMetadata& base = m.base;
  const TensorView<std::int32_t>& ends = m.cu_chunk_seqlen_p;
  if (!ends.present || !base.query_start_loc_p.present) return view;
  view.rule =
      "A logical chunk ends with its sequence and where the sequence's own position is a "
      "multiple of chunk_size (_compute_chunk_metadata), not on the grid of packed tokens.";
  view.chunk_size = std::max(m.chunk_size, 1);
  const TensorView<std::int32_t> starts = prefill_starts(base);
  for (std::int32_t i = 0; i + 1 < starts.rows; ++i)
    if (const std::int32_t row = base.num_decodes + i; row >= 0 && row < num_rows)
      view.sequences.push_back({row, starts.at(i), starts.at(i + 1)});
  for (std::int32_t c = 0; c + 1 < ends.rows; ++c)
    view.chunks.push_back({m.seq_idx_p.present && c < m.seq_idx_p.rows ? m.seq_idx_p.at(c) : -1,
                           ends.at(c), ends.at(c + 1)});
  mark_last_chunks(m, view);
  view.arrays = {{"cu_chunk_seqlen_p", ends},
                 {"seq_idx_p", m.seq_idx_p},
                 {"last_chunk_indices_p", m.last_chunk_indices_p}};
  return view;
}

}  // namespace hybridscope
