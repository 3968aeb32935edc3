#include "kernels/language/device_copies.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "core/base/result.h"

namespace hybridscope {
namespace {

constexpr std::int64_t kFloatBytes = sizeof(float);

// A state of a layer in the layout of the fused kernels, of so many elements a block; `width`:
// positions of a conv window, 0: temporal.
void append_state(const StatePool& pool, std::int64_t elements, std::int64_t width,
                  std::int32_t group, std::int32_t num_blocks, StateLayout& layout,
                  std::vector<std::uintptr_t>& addresses) {
  if (elements == 0) return;
  const std::int64_t stride = pool.stride == 0 ? pool.block_elements : pool.stride;
  layout.state_block_strides.push_back(stride * kFloatBytes);
  layout.state_elem_sizes.push_back(static_cast<std::int32_t>(kFloatBytes));
  layout.state_inner_sizes.push_back(width > 0 ? elements / width : elements);
  layout.state_conv_widths.push_back(static_cast<std::int32_t>(width));
  layout.state_group_indices.push_back(group);
  layout.state_dim_row_count.push_back(0);
  layout.state_dim_row_stride.push_back(0);
  layout.state_num_blocks.push_back(num_blocks);
  ++layout.num_layers;
  addresses.push_back(reinterpret_cast<std::uintptr_t>(pool.data.data()));
}

// One input of the decisions of all rows.
std::vector<std::int32_t> inputs_of(const DecidedCopies& decided,
                                    std::int32_t StateCopyDecision::*member) {
  std::vector<std::int32_t> inputs;
  for (const CopyDecisionTrace& one : decided.decisions) inputs.push_back(one.decision.*member);
  return inputs;
}

std::int32_t num_slots(const DecidedCopies& decided) {
  return decided.slots.empty() ? 0 : *std::ranges::max_element(decided.slots) + 1;
}

// The values of rows, laid out by slot; slots without a row hold `otherwise`.
std::vector<std::int32_t> by_slot(const DecidedCopies& decided, std::vector<std::int32_t> rows,
                                  std::int32_t otherwise) {
  std::vector<std::int32_t> slots(static_cast<std::size_t>(num_slots(decided)), otherwise);
  for (std::size_t row = 0; row < rows.size(); ++row)
    slots[static_cast<std::size_t>(decided.slots[row])] = rows[row];
  return slots;
}

std::int32_t columns_of(const DecidedCopies& decided) {
  std::int32_t columns = 1;
  for (const TensorView<std::int32_t>& table : decided.block_tables)
    columns = std::max(columns, table.cols);
  return columns;
}

bool is_of_slots(StateCopyRule rule) {
  return rule == StateCopyRule::preprocess_mamba_align_fused_kernel ||
         rule == StateCopyRule::postprocess_mamba_v2;
}

}  // namespace

DeviceCopies::DeviceCopies(const LanguageLayout& layout, std::span<const LayerMemory> layers,
                           int device)
    : device_(device) {
  layout_.num_state_types = 1;  // every state is a layer of its own
  layout_.mamba_group_ids = layout.mamba_groups;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const auto found = std::ranges::find(layout.mamba_groups, layout.group_of_layer[i]);
    if (found == layout.mamba_groups.end()) continue;
    const auto group = static_cast<std::int32_t>(found - layout.mamba_groups.begin());
    const BlockElements& block = layout.blocks[i];
    if (block.conv > 0)
      append_state(layers[i].conv, block.conv, block.conv / layout.conv_dim[i], group,
                   layout.num_blocks, layout_, addresses_);
    append_state(layers[i].temporal, block.temporal, 0, group, layout.num_blocks, layout_,
                 addresses_);
  }
}

bool DeviceCopies::has_kernel(const DecidedCopies& decided) {
  if (decided.decisions.empty()) return false;
  const StateCopyRule rule = decided.decisions.front().decision.rule;
  if (rule != StateCopyRule::postprocess_mamba_v1 && !is_of_slots(rule)) return false;
  const std::size_t rows = decided.decisions.size();
  const bool has_rows = std::ranges::all_of(decided.decisions, [&](const CopyDecisionTrace& one) {
    return one.decision.rule == rule && one.decision.block_size > 0;
  });
  const bool has_slots =
      !is_of_slots(rule) ||
      (decided.slots.size() == rows &&
       std::ranges::all_of(decided.slots, [](std::int32_t slot) { return slot >= 0; }));
  const bool has_starts = rule != StateCopyRule::preprocess_mamba_align_fused_kernel ||
                          decided.query_start_loc.size() > rows;
  const bool has_tables =
      std::ranges::all_of(decided.block_tables, [rows](const TensorView<std::int32_t>& table) {
        return table.present && static_cast<std::size_t>(table.rows) >= rows;
      });
  return has_rows && has_slots && has_starts && has_tables;
}

Status DeviceCopies::reserve(const DecidedCopies& decided) {
  HS_CUDA(device_, cudaSetDevice, device_);  // any thread may give a step
  const std::size_t counts =
      std::max(decided.decisions.size(), static_cast<std::size_t>(num_slots(decided)));
  if (Status status =
          counts_.reserve(device_, static_cast<std::int64_t>(counts * sizeof(std::int32_t)));
      !status)
    return status;
  const std::int32_t block_size = decided.decisions.front().decision.block_size;
  const std::int64_t columns = columns_of(decided);
  if (fused_ != nullptr && layout_.block_table_stride_req >= columns &&
      layout_.block_size == block_size)
    return Ok{};
  HS_CUDA(device_, cudaDeviceSynchronize);
  layout_.block_table_stride_req = std::max(columns, layout_.block_table_stride_req);
  layout_.block_size = block_size;
  auto fused = FusedAlign::create(layout_, addresses_);
  if (!fused) return fused.error();
  HS_CUDA(device_, cudaDeviceSynchronize);  // what create() copied is on no stream of ours
  fused_ = std::make_unique<FusedAlign>(std::move(fused).value());
  ++num_layouts_;
  return Ok{};
}

DeviceCopies::Staged DeviceCopies::stage(const DecidedCopies& decided, ArrayPiece& piece) const {
  HS_EXPECT(has_kernel(decided) && fused_ != nullptr);
  const StateCopyRule rule = decided.decisions.front().decision.rule;
  const auto rows = static_cast<std::int32_t>(decided.decisions.size());
  Staged staged{.rule = rule,
                .num_rows = rows,
                .num_slots = num_slots(decided),
                .block_size = layout_.block_size};
  using Decision = StateCopyDecision;
  const auto add = [&](std::int32_t Decision::*member, std::int32_t otherwise) {
    std::vector<std::int32_t> values = inputs_of(decided, member);
    if (is_of_slots(rule)) values = by_slot(decided, std::move(values), otherwise);
    staged.arrays.push_back(piece.add(values));
  };
  add(&Decision::num_accepted_tokens, 1);
  add(&Decision::mamba_state_idx, -1);
  if (is_of_slots(rule)) {
    staged.idx_mapping = piece.add(decided.slots);
  }
  if (rule == StateCopyRule::postprocess_mamba_v1) {
    add(&Decision::num_scheduled_tokens, 0);
    add(&Decision::num_computed_tokens, 0);
    add(&Decision::num_draft_tokens, 0);
  } else if (rule == StateCopyRule::postprocess_mamba_v2) {
    add(&Decision::new_num_computed_tokens, 0);
  } else {
    add(&Decision::num_computed_tokens, 0);
    staged.arrays.push_back(
        piece.add(decided.query_start_loc.first(static_cast<std::size_t>(rows) + 1)));
    const std::vector<std::int32_t> none(static_cast<std::size_t>(staged.num_slots), -1);
    staged.src_col = piece.add(none);
    staged.src_off = piece.add(none);
  }
  const auto stride = static_cast<std::size_t>(layout_.block_table_stride_req);
  for (const TensorView<std::int32_t>& table : decided.block_tables) {
    std::vector<std::int32_t> ids(static_cast<std::size_t>(rows) * stride, 0);
    for (std::int32_t row = 0; row < rows; ++row)
      std::copy_n(
          table.data + static_cast<std::ptrdiff_t>(row) * table.cols, table.cols,
          ids.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(row) * stride));
    staged.block_tables.push_back(piece.add(ids));
  }
  return staged;
}

Status DeviceCopies::launch(const Staged& staged, const std::byte* piece,
                            StateCopyDecision* decisions, CUstream_st* stream) const {
  const auto array = [&](std::size_t i) { return staged.arrays[i].in(piece); };
  // The piece is the step's own: its slots can be written.
  const auto slots = [&](const Uploaded<std::int32_t>& values) {
    return const_cast<std::int32_t*>(values.in(piece));
  };
  auto* const counts = reinterpret_cast<std::int32_t*>(counts_.data());
  std::vector<const std::int32_t*> tables;
  for (const auto& table : staged.block_tables) tables.push_back(table.in(piece));
  if (staged.rule == StateCopyRule::postprocess_mamba_v1)
    return fused_->postprocess({.num_reqs = staged.num_rows,
                                .num_accepted_tokens = array(0),
                                .mamba_state_idx = array(1),
                                .num_scheduled_tokens = array(2),
                                .num_computed_tokens = array(3),
                                .num_draft_tokens = array(4),
                                .block_tables = tables,
                                .num_accepted_tokens_out = counts,
                                .decisions = decisions},
                               stream);
  const std::int32_t* const idx_mapping = staged.idx_mapping.in(piece);
  if (staged.rule == StateCopyRule::postprocess_mamba_v2)
    return fused_->postprocess_align({.num_reqs = staged.num_rows,
                                      .num_slots = staged.num_slots,
                                      .idx_mapping = idx_mapping,
                                      .num_accepted_tokens = array(0),
                                      .state_idx = array(1),
                                      .new_num_computed_tokens = array(2),
                                      .block_tables = tables,
                                      .num_accepted_tokens_out = counts,
                                      .decisions = decisions},
                                     stream);
  if (Status advanced = launch_align_advance({.num_reqs = staged.num_rows,
                                              .block_size = staged.block_size,
                                              .idx_mapping = idx_mapping,
                                              .num_computed_tokens = array(2),
                                              .query_start_loc = array(3),
                                              .state_idx = slots(staged.arrays[1]),
                                              .num_accepted_tokens = slots(staged.arrays[0]),
                                              .src_col = slots(staged.src_col),
                                              .src_off = slots(staged.src_off),
                                              .decisions = decisions},
                                             stream);
      !advanced)
    return advanced;
  return fused_->precopy({.num_reqs = staged.num_rows,
                          .idx_mapping = idx_mapping,
                          .state_idx = slots(staged.arrays[1]),
                          .src_col = slots(staged.src_col),
                          .src_off = slots(staged.src_off),
                          .block_tables = tables},
                         stream);
}

namespace {

class MovesOf {
 public:
  // Floats from `shift` on of a block (below 0: poison) go to the front of another one.
  struct Move {
    std::int32_t from = 0;
    std::int32_t to = 0;
    std::int64_t shift = 0;
  };
  void begin_read() { moves.reads.emplace_back(); }
  // `elements`: of a block, that copies move.
  void add(const StatePool& pool, std::int64_t elements, const Move& move) {
    const std::int64_t shift = std::min(move.shift, elements);
    const std::int64_t count = elements - shift;
    if (count == 0) return;
    moves.reads.back().floats.push_back(
        {.place = move.from < 0 ? nullptr : pool.block(move.from).data() + shift,
         .offset = moves.num_floats,
         .count = count});
    moves.writes.push_back(
        {.place = pool.block(move.to).data(), .offset = moves.num_floats, .count = count});
    moves.num_floats += count;
  }

  PoolMoves moves;
};

}  // namespace

PoolMoves meeting_state_moves(const LanguageLayout& layout, std::span<const LayerMemory> layers,
                              std::span<const StateCopyOp> copies,
                              bool shifts_last_position_first) {
  MovesOf made;
  for (const StateCopyOp& copy : copies) {
    made.begin_read();
    const std::int32_t group = layout.mamba_groups[static_cast<std::size_t>(copy.group_index)];
    const bool shifts = shifts_last_position_first && copy.conv_src_block == copy.dst_block &&
                        copy.accept_token_bias > 0;
    for (std::size_t i = 0; i < layers.size(); ++i) {
      if (layout.group_of_layer[i] != group) continue;
      if (!shifts)
        made.add(layers[i].conv, layout.blocks[i].conv,
                 {copy.conv_src_block, copy.dst_block,
                  std::int64_t{copy.accept_token_bias} * layout.conv_dim[i]});
      made.add(layers[i].temporal, layout.blocks[i].temporal,
               {copy.temporal_src_block, copy.dst_block, 0});
    }
    if (shifts) made.moves.reads.back().shift = copy;
  }
  return std::move(made.moves);
}

PoolMoves meeting_block_moves(const LanguageLayout& layout, std::span<const LayerMemory> layers,
                              std::span<const BlockCopy> copies) {
  MovesOf made;
  made.begin_read();
  for (const BlockCopy& copy : copies)
    for (std::size_t i = 0; i < layers.size(); ++i) {
      if (layout.group_of_layer[i] != copy.group) continue;
      const std::int64_t elements = layout.blocks[i].keys_or_values;
      for (const std::span<float> pool : {layers[i].kv.keys, layers[i].kv.values})
        made.add({pool, elements}, elements, {copy.source_block, copy.block, 0});
    }
  return std::move(made.moves);
}

std::vector<BlockCopy> copies_of_blocks(const LanguageLayout& layout,
                                        std::span<const BlockCopy> copies) {
  const auto is_block = [&](std::int32_t block) { return block > 0 && block < layout.num_blocks; };
  std::vector<BlockCopy> there;
  std::ranges::copy_if(copies, std::back_inserter(there), [&](const BlockCopy& copy) {
    return is_block(copy.block) && is_block(copy.source_block);
  });
  return there;
}

bool do_meet(std::span<const BlockCopy> copies) {
  std::set<std::int32_t> written;
  for (const BlockCopy& copy : copies)
    if (!written.insert(copy.block).second) return true;
  return std::ranges::any_of(
      copies, [&](const BlockCopy& copy) { return written.contains(copy.source_block); });
}

}  // namespace hybridscope
