#include "sessions/conformance/planned_copies.h"

#include <algorithm>
#include <cstddef>
#include <string>

#include "core/metadata/chunk_metadata.h"
#include "core/state/state_copy.h"

namespace hybridscope {
namespace {

StateCopyOp op_of(const StateCopyTrace& copy, std::int32_t group_index) {
  return {.group_index = group_index,
          .conv_src_block = copy.conv_src_block,
          .temporal_src_block = copy.temporal_src_block,
          .dst_block = copy.dst_block,
          .accept_token_bias = copy.accept_token_bias};
}

// Position of the copy's group among the mamba groups.
Result<std::int32_t> group_index_of(const StateCopyTrace& copy,
                                    std::span<const std::int32_t> mamba_group_ids) {
  const auto found = std::ranges::find(mamba_group_ids, copy.group);
  if (found == mamba_group_ids.end())
    return invalid_input("group " + std::to_string(copy.group) + " is not a mamba group");
  return static_cast<std::int32_t>(found - mamba_group_ids.begin());
}

Status check_copy_blocks(const StateCopyTrace& copy, std::int64_t num_blocks) {
  if (copy.accept_token_bias < 0)
    return invalid_input("accept_token_bias " + std::to_string(copy.accept_token_bias) +
                         " is negative");
  for (const std::int32_t block : {copy.conv_src_block, copy.temporal_src_block, copy.dst_block})
    if (block < 0 || block >= num_blocks)
      return invalid_input("block " + std::to_string(block) + " of a copy in group " +
                           std::to_string(copy.group) + " is outside a state of " +
                           std::to_string(num_blocks) + " blocks");
  return Ok{};
}

// Checks the blocks of a copy for all states of its group in the layout.
Status check_copy_blocks(const StateCopyTrace& copy, const StateLayout& layout,
                         std::int32_t group_index) {
  for (std::size_t state = 0; state < layout.state_num_blocks.size(); ++state)
    if (layout.state_group_indices[state] == group_index)
      if (Status status = check_copy_blocks(copy, layout.state_num_blocks[state]); !status)
        return status;
  return Ok{};
}

Result<StateCopy> batched_copy(const StateTensor& state, std::optional<StateKind> kind,
                               ConvStateLayout layout, const StateCopyOp& op) {
  if (!kind)
    return invalid_input("the copy function of a state is not known (expected conv or temporal)");
  const bool conv = *kind == StateKind::conv;
  const std::int32_t source = src_block_of(*kind, op);
  const Result<CopySpec> spec =
      get_copy_spec(state,
                    {.block_ids = std::span(&source, 1),
                     .cur_block_idx = 0,
                     .num_accepted_tokens = conv ? op.accept_token_bias + 1 : 1},
                    *kind, layout);
  if (!spec) return spec.error();
  const Result<std::int64_t> destination = block_byte_offset(state, op.dst_block);
  if (!destination) return destination.error();
  StateCopy planned;
  planned.src_byte_offset = spec.value().start_byte_offset.value_or(0);
  planned.dst_byte_offset = destination.value();
  planned.row_bytes = spec.value().copy_bytes;
  return planned;
}

}  // namespace

Result<std::vector<RowStateCopy>> plan_fused_copies(const StateLayout& layout,
                                                    const CopyLaunch& launch) {
  std::vector<RowStateCopy> planned;
  for (const StateCopyTrace& copy : launch.copies) {
    const auto group_index = group_index_of(copy, layout.mamba_group_ids);
    if (!group_index) return group_index.error();
    const std::int32_t row = launch.decisions[static_cast<std::size_t>(copy.decision)].row;
    if (Status status = check_copy_blocks(copy, layout, group_index.value()); !status)
      return status.error();
    for_each_copy_of_state(layout, op_of(copy, group_index.value()), [&](const CopyOfState& made) {
      if (made.copy.row_bytes > 0 && made.copy.num_rows > 0) planned.push_back({row, made.copy});
    });
  }
  return planned;
}

Result<std::vector<StateCopy>> plan_batched_copies(const MambaStateTensors& tensors,
                                                   const CopyLaunch& launch) {
  std::vector<StateCopy> planned;
  for (const StateCopyTrace& copy : launch.copies) {
    const auto group_index = group_index_of(copy, tensors.mamba_group_ids);
    if (!group_index) return group_index.error();
    std::int32_t state_index = -1;
    for (const MambaLayerStates& layer : tensors.layers)
      for (std::size_t i = 0; i < layer.states.size(); ++i) {
        ++state_index;
        if (layer.group_index != group_index.value()) continue;
        const StateTensor& state = layer.states[i];
        if (Status status = check_copy_blocks(copy, state.shape.empty() ? 0 : state.shape.front());
            !status)
          return status.error();
        Result<StateCopy> made =
            batched_copy(state, tensors.state_kinds.at(i), tensors.conv_state_layout,
                         op_of(copy, group_index.value()));
        if (!made) return made.error();
        made.value().state_index = state_index;
        planned.push_back(made.value());
      }
  }
  return planned;
}

namespace {

// Python's rule for one index: -size .. size - 1.
std::optional<std::int64_t> python_index(std::int64_t index, std::int64_t size) {
  if (index < -size || index >= size) return std::nullopt;
  return index < 0 ? index + size : index;
}

// A block without its page's padding, as a temporal state is copied.
StateCopy copy_of_whole_block(const StateTensor& state, const StateCopyBlocks& blocks) {
  return make_state_copy(0,
                         {.block_stride = state.block_stride_bytes(),
                          .inner_size = state.elements_per_block(),
                          .elem_size = state.elem_size},
                         blocks);
}

CopySpec make_spec(const StateTensor& state, const StateCopy& copy, std::int64_t num_elements) {
  CopySpec spec;
  if (num_elements > 0) spec.start_byte_offset = copy.src_byte_offset;
  spec.num_elements = num_elements;
  spec.copy_bytes = num_elements * state.elem_size;
  return spec;
}

// The block id, counted from 0.
Result<std::int32_t> block_of(const StateTensor& state, std::int32_t block_id) {
  if (state.shape.empty() || state.stride.size() != state.shape.size())
    return invalid_input("a state tensor has " + std::to_string(state.shape.size()) +
                         " dimensions and " + std::to_string(state.stride.size()) + " strides");
  const auto index = python_index(block_id, state.shape[0]);
  if (!index)
    return invalid_input("block " + std::to_string(block_id) + " is outside a state of " +
                         std::to_string(state.shape[0]) + " blocks");
  return static_cast<std::int32_t>(*index);
}

Result<CopySpec> whole_block(const StateTensor& state, std::int32_t block_id) {
  const Result<std::int32_t> block = block_of(state, block_id);
  if (!block) return block.error();
  return make_spec(state, copy_of_whole_block(state, {.src_block = block.value()}),
                   state.elements_per_block());
}

// state[block_id, offset:] with Python's slice rules.
Result<CopySpec> block_from_position(const StateTensor& state, std::int32_t block_id,
                                     std::int64_t offset) {
  if (state.shape.size() < 2)
    return invalid_input("a conv state needs positions, its tensor has " +
                         std::to_string(state.shape.size()) + " dimension(s)");
  const Result<std::int32_t> block = block_of(state, block_id);
  if (!block) return block.error();
  const std::int64_t state_len = state.shape[1];
  const std::int64_t start =
      std::clamp<std::int64_t>(offset < 0 ? state_len + offset : offset, 0, state_len);
  const std::int64_t per_position = state_len == 0 ? 0 : state.elements_per_block() / state_len;
  const StateGeometry window{.block_stride = state.block_stride_bytes(),
                             .inner_size = state.stride[1],
                             .elem_size = state.elem_size,
                             .conv_width = static_cast<std::int32_t>(state_len)};
  return make_spec(state,
                   make_state_copy(0, window,
                                   {.src_block = block.value(),
                                    .accept_token_bias = static_cast<std::int32_t>(start)}),
                   (state_len - start) * per_position);
}

// Python's x[index]: the element of `block_ids`, negative indices from the end.
Result<std::int32_t> block_at(std::span<const std::int32_t> block_ids, std::int32_t column) {
  const auto index = python_index(column, static_cast<std::int64_t>(block_ids.size()));
  if (!index)
    return invalid_input("column " + std::to_string(column) + " is outside a row of " +
                         std::to_string(block_ids.size()) + " block ids");
  return block_ids[static_cast<std::size_t>(*index)];
}

}  // namespace

Result<std::int64_t> block_byte_offset(const StateTensor& state, std::int32_t block_id) {
  const Result<std::int32_t> block = block_of(state, block_id);
  if (!block) return block.error();
  return copy_of_whole_block(state, {.dst_block = block.value()}).dst_byte_offset;
}

Result<CopySpec> get_conv_copy_spec(const StateTensor& state, const CopySpecArgs& args,
                                    ConvStateLayout layout) {
  const Result<std::int32_t> block = block_at(args.block_ids, args.cur_block_idx);
  if (!block) return block.error();
  const std::int64_t offset = static_cast<std::int64_t>(args.num_accepted_tokens) - 1;
  if (layout == ConvStateLayout::SD) return block_from_position(state, block.value(), offset);
  if (offset > 0)
    return invalid_input("num_accepted_tokens " + std::to_string(args.num_accepted_tokens) +
                         ": in DS layout a shifted conv state is not one region (expected 1)");
  return whole_block(state, block.value());
}

Result<CopySpec> get_temporal_copy_spec(const StateTensor& state, const CopySpecArgs& args) {
  const Result<std::int32_t> block =
      block_at(args.block_ids, args.cur_block_idx + args.num_accepted_tokens - 1);
  if (!block) return block.error();
  return whole_block(state, block.value());
}

Result<CopySpec> get_copy_spec(const StateTensor& state, const CopySpecArgs& args, StateKind kind,
                               ConvStateLayout layout) {
  return kind == StateKind::conv ? get_conv_copy_spec(state, args, layout)
                                 : get_temporal_copy_spec(state, args);
}

Result<VarlenChunkMetadata> compute_varlen_chunk_metadata(
    std::span<const std::int32_t> query_start_loc, std::int32_t chunk_size) {
  if (chunk_size < 1)
    return invalid_input("chunk_size is " + std::to_string(chunk_size) + " (expected at least 1)");
  if (query_start_loc.empty() || query_start_loc[0] != 0)
    return invalid_input("query_start_loc must begin with 0");
  // Mamba2 cuts a sequence on the grid of its own position: the packed position of its first token
  // taken for the number of computed tokens gives the packed grid. It lists chunks without tokens,
  // so empty sequences are left out.
  const std::size_t sequences = query_start_loc.size() - 1;
  std::vector<std::int32_t> first_positions;
  std::vector<std::int32_t> offsets{0};
  std::vector<std::size_t> sequence_of_row;
  for (std::size_t i = 0; i < sequences; ++i) {
    if (query_start_loc[i + 1] <= query_start_loc[i]) continue;
    first_positions.push_back(query_start_loc[i]);
    offsets.push_back(offsets.back() + query_start_loc[i + 1] - query_start_loc[i]);
    sequence_of_row.push_back(i);
  }
  Mamba2ChunkMetadataBuilder builder;
  const auto chunks = builder.compute({.chunk_size = chunk_size,
                                       .num_computed_tokens_p = first_positions,
                                       .query_start_loc_p = offsets});
  if (!chunks) return chunks.error();
  const Mamba2ChunkMetadata& cut = chunks.value();
  VarlenChunkMetadata result;
  result.cu_chunk_seqlens.assign(cut.cu_chunk_seqlen_p.data,
                                 cut.cu_chunk_seqlen_p.data + cut.cu_chunk_seqlen_p.rows);
  for (std::int32_t chunk = 0; chunk < cut.seq_idx_p.rows; ++chunk)
    result.seq_idx_chunks.push_back(static_cast<std::int32_t>(
        sequence_of_row[static_cast<std::size_t>(cut.seq_idx_p.at(chunk))]));
  result.last_chunk_indices.assign(sequences, -1);
  for (std::size_t row = 0; row < sequence_of_row.size(); ++row)
    result.last_chunk_indices[sequence_of_row[row]] =
        cut.last_chunk_indices_p.at(static_cast<std::int32_t>(row));
  if (!result.seq_idx_chunks.empty() && offsets.back() != query_start_loc.back())
    return invalid_input("chunks hold " + std::to_string(offsets.back()) +
                         " tokens, query_start_loc ends at " +
                         std::to_string(query_start_loc.back()));
  return result;
}

}  // namespace hybridscope
