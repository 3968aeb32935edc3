#include "core/language/group_rows.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <variant>

#include "core/metadata/builder_metadata.h"

namespace hybridscope {
namespace {

using Ints = std::vector<std::int32_t>;

// Batch rows of a group's decode rows and prefill rows, in the order of their arrays.
struct BatchRows {
  Ints decodes, prefills;
};

BatchRows batch_rows(const BuilderMetadata& metadata, const ForwardContext& context) {
  std::vector<StateAccess> accesses;
  append_state_accesses(metadata, context, accesses);
  BatchRows rows;
  for (const StateAccess& access : accesses)
    (access.is_decode ? rows.decodes : rows.prefills).push_back(access.row);
  return rows;
}

template <class T>
T element(const TensorView<T>& view, std::int32_t row, T otherwise) {
  return view.present && row >= 0 && row < view.rows ? view.at(row) : otherwise;
}

template <class T>
TensorView<T> rows_from(TensorView<T> view, std::int32_t first) {
  const std::int32_t skipped = std::clamp(first, 0, view.rows);
  view.data += static_cast<std::ptrdiff_t>(skipped) * view.cols;
  view.rows -= skipped;
  return view;
}

}  // namespace

std::span<const std::int32_t> GroupRows::keep(Ints values) {
  return ints_.emplace_back(std::move(values));
}

TensorView<std::int32_t> GroupRows::keep_blocks(const TensorView<std::int32_t>& table,
                                                std::int32_t count) {
  const std::int32_t cols = table.present ? table.cols : 0;
  Ints blocks(static_cast<std::size_t>(count) * static_cast<std::size_t>(cols), kPadSlotId);
  for (std::int32_t row = 0; row < std::min(count, table.rows); ++row)
    for (std::int32_t col = 0; col < cols; ++col) {
      const std::int32_t block = table.at(row, col);
      if (block > 0 && block < size_.num_blocks)
        blocks[static_cast<std::size_t>(row * cols + col)] = block;
    }
  return matrix_view(keep(std::move(blocks)).data(), count, cols);
}

std::span<const std::int32_t> GroupRows::keep_starts(const TensorView<std::int32_t>& starts,
                                                     std::int32_t count, std::int32_t most) {
  Ints offsets{0};
  for (std::int32_t row = 1; row <= count; ++row)  // without offsets every row has one token
    offsets.push_back(std::clamp(starts.present ? element(starts, row, offsets.back()) : row,
                                 offsets.back(), std::max(most, offsets.back())));
  if (starts.present && count > 0)
    offsets.front() = std::clamp(element(starts, 0, 0), 0, offsets[1]);
  return keep(std::move(offsets));
}

std::span<const std::int32_t> GroupRows::keep_rows(const TensorView<std::int32_t>& values,
                                                   std::int32_t first, std::int32_t count,
                                                   std::int32_t otherwise) {
  Ints kept;
  for (std::int32_t row = first; row < first + count; ++row)
    kept.push_back(element(values, row, otherwise));
  return keep(std::move(kept));
}

std::vector<std::int32_t> GroupRows::tokens_from(std::int32_t first, std::int32_t count) const {
  const std::int32_t begin = std::clamp(first, 0, size_.num_tokens);
  Ints tokens(static_cast<std::size_t>(std::clamp(count, 0, size_.num_tokens - begin)));
  std::iota(tokens.begin(), tokens.end(), begin);
  return tokens;
}

std::vector<std::int32_t> GroupRows::gathered(const TensorView<std::int32_t>& tokens,
                                              std::int32_t count) const {
  if (!tokens.present) return tokens_from(0, count);
  Ints kept;
  for (std::int32_t i = 0; i < tokens.rows; ++i)
    kept.push_back(std::clamp(tokens.at(i), 0, std::max(size_.num_tokens - 1, 0)));
  return kept;
}

void GroupRows::read(const StepTrace& trace, const GroupTrace& group, MambaCacheMode mode,
                     const BatchSize& size) {
  size_ = size;
  group_ = {};
  group_.block_size = group.block_size;
  ints_.clear();
  flags_.clear();
  reads_.clear();
  writes_.clear();
  written_.clear();
  if (!group.is_mamba) return read_attention(trace, group);
  if (!group.metadata) return;
  if (const auto* gdn = std::get_if<GdnMetadata>(&*group.metadata))
    return read_gdn(trace, group, *gdn, mode);
  if (const auto* mamba2 = std::get_if<Mamba2Metadata>(&*group.metadata))
    return read_mamba(trace, group, mamba2->base, mode, mamba2);
  read_mamba(trace, group, std::get<MambaMetadata>(*group.metadata), mode, nullptr);
}

void GroupRows::read_attention(const StepTrace& trace, const GroupTrace& group) {
  // Padding rows of a graph have no sequence.
  const auto rows = std::max(static_cast<std::int32_t>(trace.rows.size()), trace.common.num_reqs);
  const auto& starts = trace.common.query_start_loc;
  group_.attention.query_start_loc = keep_starts(
      vector_view(starts.data(), static_cast<std::int32_t>(starts.size())), rows, size_.num_tokens);
  group_.attention.block_table = keep_blocks(group.block_table, rows);
  Ints lengths;
  for (std::int32_t row = 0; row < rows; ++row) {
    const auto r = static_cast<std::size_t>(row);
    const std::int32_t query =
        group_.attention.query_start_loc[r + 1] - group_.attention.query_start_loc[r];
    const std::int32_t length = r < trace.common.seq_lens.size() ? trace.common.seq_lens[r] : 0;
    // Positions from 0, in columns that the table has.
    const std::int32_t most = group_.attention.block_table.cols * group.block_size;
    lengths.push_back(length >= query && length <= most ? length : 0);
  }
  group_.attention.seq_lens = keep(std::move(lengths));
}

void GroupRows::read_mamba(const StepTrace& trace, const GroupTrace& group, const MambaMetadata& m,
                           MambaCacheMode mode, const Mamba2Metadata* mamba2) {
  const ForwardContext context = forward_context(trace, group, mode);
  const BatchRows rows = batch_rows(*group.metadata, context);
  const bool by_column = mode == MambaCacheMode::all;
  const std::int32_t decodes = std::max(m.num_decodes, 0);
  const std::int32_t prefills = std::max(m.num_prefills, 0);
  if (decodes > 0) {
    DecodePart part;
    part.tokens = tokens_from(0, m.num_decode_tokens);
    part.rows.state_indices = keep_blocks(m.state_indices_tensor_d, decodes);
    part.rows.query_start_loc =
        keep_starts(m.query_start_loc_d, decodes, static_cast<std::int32_t>(part.tokens.size()));
    if (m.num_accepted_tokens.present && group.accepted_counts_given)
      part.rows.num_accepted_tokens = keep_rows(m.num_accepted_tokens, 0, decodes, 1);
    if (by_column) {
      const auto& computed = m.block_idx_last_computed_token;
      const auto& temporal = context.temporal_source_column;
      const auto& conv = context.conv_source_column;
      part.rows.source_column = keep_rows(temporal.present ? temporal : computed, 0, decodes, -1);
      part.rows.conv_source_column = keep_rows(conv.present ? conv : computed, 0, decodes, -1);
      part.rows.destination_column = keep_rows(m.block_idx_last_scheduled_token, 0, decodes, -1);
    }
    set_variants(trace, part);
    note_decodes(part, rows.decodes);
    group_.decodes.push_back(std::move(part));
  }
  if (prefills == 0) return;
  PrefillPart part;
  part.tokens = tokens_from(m.num_decode_tokens, size_.num_tokens);
  part.rows.query_start_loc =
      keep_starts(m.query_start_loc_p, prefills, static_cast<std::int32_t>(part.tokens.size()));
  part.rows.has_initial_states = keep_flags(m.has_initial_states_p, prefills);
  part.rows.state_indices = keep_blocks(m.state_indices_tensor_p, prefills);
  if (by_column) {
    part.rows.mamba_block_size = group.block_size;
    part.rows.block_idx_first_scheduled_token =
        keep_rows(m.block_idx_first_scheduled_token_p, 0, prefills, -1);
    part.rows.block_idx_last_scheduled_token =
        keep_rows(m.block_idx_last_scheduled_token, decodes, prefills, -1);
    part.rows.block_idx_last_computed_token =
        keep_rows(m.block_idx_last_computed_token, decodes, prefills, -1);
    part.rows.num_computed_tokens = keep_rows(m.num_computed_tokens_p, 0, prefills, 0);
  } else if (mamba2 != nullptr) {
    set_checkpoints(mamba2->checkpoint_meta, 0, prefills, part.rows);
  }
  part.stores_boundaries_by_piece = trace.kernels.stores_boundaries_by_piece;
  part.prep_initial_states = mamba2 == nullptr || mamba2->prep_initial_states;
  set_chunks(*group.metadata, {context.num_rows, 0}, rows.prefills, part);
  note_prefills(part, rows.prefills);
  group_.prefills.push_back(std::move(part));
}

void GroupRows::read_gdn(const StepTrace& trace, const GroupTrace& group, const GdnMetadata& m,
                         MambaCacheMode mode) {
  const BatchRows rows = batch_rows(*group.metadata, forward_context(trace, group, mode));
  const bool mixed = m.num_prefills > 0;
  std::int32_t spec = 0;
  if (m.num_spec_decodes > 0) {
    spec = mixed ? m.num_spec_decodes : m.spec_state_indices_tensor.rows;
    DecodePart part;
    part.tokens = gathered(m.spec_token_indx, size_.num_tokens);
    if (trace.kernels.gates_in_batch_order && m.spec_token_indx.present)
      part.gate_tokens = tokens_from(0, static_cast<std::int32_t>(part.tokens.size()));
    set_variants(trace, part);
    part.rows.state_indices = keep_blocks(m.spec_state_indices_tensor, spec);
    part.rows.query_start_loc =
        keep_starts(m.spec_query_start_loc, spec, static_cast<std::int32_t>(part.tokens.size()));
    if (m.num_accepted_tokens.present && group.accepted_counts_given)
      part.rows.num_accepted_tokens = keep_rows(m.num_accepted_tokens, 0, spec, 1);
    note_decodes(part, rows.decodes);
    group_.decodes.push_back(std::move(part));
  }
  if (!m.non_spec_state_indices_tensor.present) return;
  const std::int32_t count = m.non_spec_state_indices_tensor.rows;
  const auto is_decode = static_cast<std::int32_t>(rows.decodes.size()) - spec;
  const Ints tokens = gathered(m.non_spec_token_indx, size_.num_tokens);
  const auto num_tokens = static_cast<std::int32_t>(tokens.size());
  const auto starts = keep_starts(m.non_spec_query_start_loc, count, num_tokens);
  // Tokens of the decodes that run by themselves, then those of the prefill rows.
  const std::int32_t first = starts[static_cast<std::size_t>(is_decode)];
  if (is_decode > 0) {
    DecodePart part;
    part.tokens.assign(tokens.begin(), tokens.begin() + first);
    part.rows.state_indices = keep_blocks(m.non_spec_state_indices_tensor, is_decode);
    part.rows.query_start_loc = starts.first(static_cast<std::size_t>(is_decode) + 1);
    note_decodes(part, {rows.decodes.begin() + spec, rows.decodes.end()});
    group_.decodes.push_back(std::move(part));
  }
  if (is_decode >= count) return;
  PrefillPart part;
  const std::int32_t prefills = count - is_decode;
  part.tokens.assign(tokens.begin() + first, tokens.end());
  Ints own_starts;
  for (const std::int32_t start : starts.subspan(static_cast<std::size_t>(is_decode)))
    own_starts.push_back(start - first);
  part.rows.query_start_loc = keep(std::move(own_starts));
  part.rows.has_initial_states = keep_flags(rows_from(m.has_initial_state, is_decode), prefills);
  part.rows.state_indices =
      keep_blocks(rows_from(m.non_spec_state_indices_tensor, is_decode), prefills);
  set_checkpoints(m.checkpoint, is_decode, prefills, part.rows);
  set_chunks(*group.metadata, {static_cast<std::int32_t>(trace.rows.size()), first}, rows.prefills,
             part);
  note_prefills(part, rows.prefills);
  group_.prefills.push_back(std::move(part));
}

std::span<const std::uint8_t> GroupRows::keep_flags(const TensorView<std::uint8_t>& flags,
                                                    std::int32_t count) {
  std::vector<std::uint8_t> kept;
  for (std::int32_t row = 0; row < count; ++row)
    kept.push_back(element(flags, row, std::uint8_t{0}));
  return flags_.emplace_back(std::move(kept));
}

void GroupRows::set_checkpoints(const CheckpointMetadata& checkpoint, std::int32_t first,
                                std::int32_t count, PrefillRows& rows) {
  if (!checkpoint.checkpoint_offsets.present) return;
  Ints offsets, blocks;
  for (std::int32_t i = 0; i < count; ++i) {
    const auto r = static_cast<std::size_t>(i);
    const std::int32_t length = rows.query_start_loc[r + 1] - rows.query_start_loc[r];
    const std::int32_t offset = element(checkpoint.checkpoint_offsets, first + i, 0);
    const std::int32_t block = element(checkpoint.state_indices, first + i, 0);
    offsets.push_back(offset > 0 && offset <= length ? offset : 0);
    blocks.push_back(block > 0 && block < size_.num_blocks ? block : 0);
  }
  rows.checkpoint_offsets = keep(std::move(offsets));
  rows.checkpoint_blocks = keep(std::move(blocks));
}

void GroupRows::set_chunks(const BuilderMetadata& metadata, const ChunkedBatch& batch,
                           const Ints& batch_rows, PrefillPart& part) {
  if (!size_.is_chunked) return;
  const ChunkView view = chunk_view(metadata, batch.num_rows);
  Ints ends{0};
  Ints rows;
  Ints last(static_cast<std::size_t>(part.rows.num_rows()), -1);
  const auto most = static_cast<std::int32_t>(part.tokens.size());
  for (std::size_t c = 0; c < view.chunks.size(); ++c) {
    const ChunkView::Chunk& chunk = view.chunks[c];
    const auto sequence = static_cast<std::size_t>(chunk.sequence);
    const auto found = chunk.sequence < 0 || sequence >= view.sequences.size()
                           ? batch_rows.end()
                           : std::ranges::find(batch_rows, view.sequences[sequence].row);
    const auto row =
        found == batch_rows.end() ? -1 : static_cast<std::int32_t>(found - batch_rows.begin());
    if (row >= part.rows.num_rows()) continue;
    const std::int32_t first = std::clamp(chunk.first - batch.first_token, 0, most);
    const std::int32_t end = std::clamp(chunk.last - batch.first_token, first, most);
    part.row_chunks.push_back({row, first, end});
    if (c == 0) ends.front() = first;
    ends.push_back(end);
    rows.push_back(row);
    if (row >= 0 && chunk.is_last)
      last[static_cast<std::size_t>(row)] = static_cast<std::int32_t>(rows.size()) - 1;
  }
  part.mamba2_chunks = {.cu_chunk_seqlen = keep(std::move(ends)),
                        .seq_idx = keep(std::move(rows)),
                        .last_chunk_indices = keep(std::move(last)),
                        .chunk_size = std::max(view.chunk_size, 1)};
}

void GroupRows::set_variants(const StepTrace& trace, DecodePart& part) const {
  if (trace.kernels.rolls_conv_by_window) part.rolled_tokens = 1 + size_.num_speculative_tokens;
}

void GroupRows::add_place(std::vector<RowState>& places, RowState place) {
  if (place.row >= 0 && place.block > 0) places.push_back(place);
}

void GroupRows::add_write(RowState place, bool is_decode) {
  if (place.block > 0)
    written_.push_back({place.row, place.kind, place.block, place.num_tokens, is_decode});
  add_place(writes_, place);
}

void GroupRows::note_decodes(const DecodePart& part, const Ints& batch_rows) {
  for (std::int32_t r = 0; r < part.rows.num_rows(); ++r) {
    const auto index = static_cast<std::size_t>(r);
    const std::int32_t row = index < batch_rows.size() ? batch_rows[index] : -1;
    const std::int32_t query = part.rows.tokens(r).size();
    const std::int32_t offset = part.rows.offset(r);
    if (query <= 0 || part.rows.source(r, offset) <= 0) continue;
    add_place(reads_, {row, StateKind::temporal, part.rows.source(r, offset)});
    add_place(reads_, {row, StateKind::conv, part.rows.conv_source(r), offset});
    for (std::int32_t t = 0; t < query; ++t)
      add_write({row, StateKind::temporal, part.rows.destination(r, t), 0, t + 1}, true);
    const std::int32_t conv = part.rows.destination(r, 0);
    if (part.rows.num_accepted_tokens.empty())
      add_write({row, StateKind::conv, conv, 0, query}, true);
    else
      for (std::int32_t t = 0; t < query; ++t)
        add_write({row, StateKind::conv, conv, t, t + 1}, true);
  }
}

void GroupRows::note_prefills(const PrefillPart& part, const Ints& batch_rows) {
  for (std::int32_t r = 0; r < part.rows.num_rows(); ++r) {
    const auto index = static_cast<std::size_t>(r);
    const std::int32_t row = index < batch_rows.size() ? batch_rows[index] : -1;
    const std::int32_t query = part.rows.tokens(r).size();
    if (query <= 0) continue;
    const auto writes = [&](std::int32_t block, std::int32_t tokens) {
      add_write({row, StateKind::temporal, block, 0, tokens}, false);
      add_write({row, StateKind::conv, block, 0, tokens}, false);
    };
    if (part.rows.has_initial_states[index] != 0)
      for (const StateKind kind : {StateKind::temporal, StateKind::conv})
        add_place(reads_, {row, kind, part.rows.source(r)});
    for (const BoundaryState& boundary : boundary_states(part.rows, r))
      if (boundary.num_tokens > 0 && boundary.num_tokens <= query)
        writes(boundary.block, boundary.num_tokens);
    writes(part.rows.destination(r), query);
  }
}

}  // namespace hybridscope
