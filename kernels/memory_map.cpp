#include "kernels/memory_map.h"

#include <algorithm>
#include <string>

#include "core/trace/step_trace.h"
#include "kernels/forward_bodies.h"

namespace hybridscope {
namespace {

static_assert(kMaxPriorTokens == kMaxConvKernel - 1);

Status check_state(const StateMemory& memory, const StateView& view, std::size_t index) {
  const std::int32_t elem_size = view.geometry.elem_size;
  const std::string place = "state " + std::to_string(index) + ": ";
  if (elem_size != 2 && elem_size != 4)
    return invalid_input(place + "elements of " + std::to_string(elem_size) +
                         " bytes, expected 2 or 4");
  if (view.geometry.is_conv()) {
    if (memory.conv_kernel >= 2 && memory.conv_kernel - 1 <= kMaxPriorTokens) return Ok{};
    return invalid_input(place + "a convolution over " + std::to_string(memory.conv_kernel) +
                         " tokens, expected 2 to " + std::to_string(kMaxPriorTokens + 1));
  }
  if (view.num_elements * elem_size >= static_cast<std::int64_t>(sizeof(Fingerprint))) return Ok{};
  return invalid_input(place + "a recurrent state of " +
                       std::to_string(view.num_elements * elem_size) +
                       " bytes cannot hold a fingerprint of 8 bytes");
}

StateView state_view(const StateMemory& memory, std::size_t index, std::byte* base) {
  const auto kinds = static_cast<std::size_t>(memory.layout.num_state_types);
  const std::size_t layer = index / kinds;
  const StateTensor& tensor = memory.tensors.layers[layer].states[index % kinds];
  StateView view;
  view.data = base + memory.layer_buffers[layer] * memory.buffer_bytes() +
              memory.state_offsets[index % kinds];
  view.num_elements = tensor.elements_per_block();
  view.geometry = memory.layout.geometry(static_cast<std::int32_t>(index));
  std::int64_t dense = 1;
  for (std::size_t axis = tensor.shape.size(); axis-- > 1;) {
    HS_EXPECT(tensor.stride[axis] == dense);
    dense *= tensor.shape[axis];
  }
  if (view.geometry.is_conv()) {
    const bool dim_first = memory.tensors.conv_state_layout == ConvStateLayout::DS;
    view.dim = tensor.shape[dim_first ? 1 : 2];
    view.position_stride = tensor.stride[dim_first ? 2 : 1];
    view.channel_stride = tensor.stride[dim_first ? 1 : 2];
  }
  return view;
}

void add_to_group(MemoryMap& map, std::int32_t index, std::int32_t group_index) {
  StateRange& range = map.group_states[static_cast<std::size_t>(group_index)];
  if (range.count == 0) range.first = index;
  HS_EXPECT(range.first + range.count == index);
  ++range.count;
  if (range.count > map.widest_group.count) map.widest_group = range;
}

}  // namespace

Result<MemoryMap> make_memory_map(const StateMemory& memory, std::byte* base) {
  MemoryMap map;
  map.num_state_types = memory.layout.num_state_types;
  map.num_blocks = memory.num_blocks;
  map.conv_kernel = memory.conv_kernel;
  map.group_states.resize(memory.tensors.mamba_group_ids.size());
  const auto num_states = static_cast<std::size_t>(memory.layout.num_states());
  for (std::size_t i = 0; i < num_states; ++i) {
    map.states.push_back(state_view(memory, i, base));
    const StateGeometry& geometry = map.states.back().geometry;
    if (Status status = check_state(memory, map.states.back(), i); !status) return status.error();
    add_to_group(map, static_cast<std::int32_t>(i), geometry.group_index);
    if (static_cast<std::int32_t>(i) >= map.num_state_types) continue;
    (geometry.is_conv() ? map.conv_kinds : map.temporal_kinds)
        .push_back(static_cast<std::int32_t>(i));
  }
  return map;
}

std::int64_t MemoryMap::widest_conv() const {
  std::int64_t widest = 0;
  for (const StateView& state : states)
    widest = std::max<std::int64_t>(widest, state.geometry.conv_width);
  return widest;
}

MemoryView view_of(const MemoryMap& map) {
  const auto most = [&map](const auto& size) {
    std::int64_t largest = 0;
    for (const StateView& state : map.states) largest = std::max(largest, size(state));
    return largest;
  };
  return {.states = map.states.data(),
          .group_states = map.group_states.data(),
          .temporal_kinds = map.temporal_kinds.data(),
          .conv_kinds = map.conv_kinds.data(),
          .num_state_types = map.num_state_types,
          .num_temporal_kinds = static_cast<std::int32_t>(map.temporal_kinds.size()),
          .num_conv_kinds = static_cast<std::int32_t>(map.conv_kinds.size()),
          .most_states = map.widest_group.count,
          .most_layers = map.widest_group.count / map.num_state_types,
          .conv_kernel = map.conv_kernel,
          .most_elements = most([](const StateView& state) { return state.num_elements; }),
          .most_temporal_elements = most([](const StateView& state) {
            return state.geometry.is_conv() ? 0 : state.num_elements;
          }),
          .most_dim = most([](const StateView& state) { return state.dim; }),
          .most_positions = std::max(map.widest_conv(), std::int64_t{1})};
}

namespace {

class OpsCheck {
 public:
  OpsCheck(const MemoryMap& map, const StateOps& ops) : map_(map), ops_(ops) {}

  void batch(const StateOpBatch& batch) const {
    const std::size_t size = batch.kind == StateOpKind::poison ? ops_.poisoned.size()
                             : batch.kind == StateOpKind::copy ? ops_.copies.size()
                                                               : ops_.rows.size();
    expect_inside(batch.first, batch.count, size);
  }
  void target(std::int32_t block) const { HS_EXPECT(block >= 0 && block < map_.num_blocks); }
  void source(std::int32_t block) const {
    HS_EXPECT(block >= kPoisonSource && block < map_.num_blocks);
  }
  void group(std::int32_t index) const {
    HS_EXPECT(index >= 0 && static_cast<std::size_t>(index) < map_.group_states.size());
  }
  void copy(const StateCopyOp& copy) const {
    group(copy.group_index);
    HS_EXPECT(copy.conv_src_block != kNoSource && copy.temporal_src_block != kNoSource);
    source(copy.conv_src_block);
    source(copy.temporal_src_block);
    target(copy.dst_block);
    HS_EXPECT(copy.accept_token_bias >= 0);
  }
  void row(const ForwardRow& row) const {
    group(row.group_index);
    source(row.temporal_src_block);
    source(row.conv_src_block);
    HS_EXPECT(row.conv_src_position >= 0);
    expect_inside(row.first_token, row.num_tokens, ops_.tokens.size());
    expect_inside(row.first_write, row.num_writes, ops_.writes.size());
    for (std::int32_t i = 0; i < row.num_writes; ++i) {
      const ForwardWrite& write = ops_.writes[static_cast<std::size_t>(row.first_write + i)];
      target(write.block);
      HS_EXPECT(write.num_tokens >= 0 && write.num_tokens <= row.num_tokens);
    }
  }

 private:
  static void expect_inside(std::int32_t first, std::int32_t count, std::size_t size) {
    HS_EXPECT(first >= 0 && count >= 0 && static_cast<std::size_t>(first) <= size &&
              static_cast<std::size_t>(count) <= size - static_cast<std::size_t>(first));
  }
  const MemoryMap& map_;
  const StateOps& ops_;
};

}  // namespace

void expect_valid(const MemoryMap& map, const BlockContents& contents) {
  for (const BlockContent& content : contents.blocks) {
    HS_EXPECT(content.group_index >= 0 &&
              static_cast<std::size_t>(content.group_index) < map.group_states.size());
    HS_EXPECT(content.block >= 0 && content.block < map.num_blocks);
    if (content.kind == StateKind::temporal) continue;
    HS_EXPECT(content.first_position >= 0 &&
              content.first_position + map.widest_conv() <=
                  static_cast<std::int64_t>(contents.conv_fingerprints.size()));
  }
}

void expect_valid(const MemoryMap& map, const StateOps& ops) {
  const OpsCheck check(map, ops);
  HS_EXPECT(ops.tokens.size() == ops.token_fingerprints.size());
  for (const StateOpBatch& batch : ops.batches) check.batch(batch);
  for (const std::int32_t block : ops.poisoned) check.target(block);
  for (const StateCopyOp& copy : ops.copies) check.copy(copy);
  for (const ForwardRow& row : ops.rows) check.row(row);
}

}  // namespace hybridscope
