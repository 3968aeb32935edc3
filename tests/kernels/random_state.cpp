#include "tests/kernels/random_state.h"

#include <algorithm>
#include <utility>

namespace hybridscope::test {
namespace {

std::int64_t bytes_of(const StateTensorSpec& spec) {
  std::int64_t bytes = spec.dtype == Dtype::float32 ? 4 : 2;
  for (const std::int64_t size : spec.shape) bytes *= size;
  return bytes;
}

Dtype random_dtype(const Draw& draw) {
  constexpr Dtype kDtypes[] = {Dtype::float16, Dtype::bfloat16, Dtype::float32};
  return kDtypes[draw(0, 2)];
}

std::uint64_t random_word(const Draw& draw) {
  std::uint64_t word = 1;
  for (int i = 0; i < 4; ++i) word = word << 16 | static_cast<std::uint64_t>(draw(0, 65535));
  return word;
}

std::int32_t num_groups(const StateMemory& memory) {
  return static_cast<std::int32_t>(memory.tensors.mamba_group_ids.size());
}

std::int32_t random_block(const Draw& draw, const StateMemory& memory) {
  return draw(0, memory.num_blocks - 1);
}

// A block, or the value for a missing one.
std::int32_t random_source(const Draw& draw, const StateMemory& memory, std::int32_t least) {
  return draw(1, 5) == 5 ? draw(least, -1) : random_block(draw, memory);
}

void add_random_copy(const Draw& draw, const StateMemory& memory, StateOps& ops) {
  const std::int32_t dst = random_block(draw, memory);
  const auto source = [&] {
    if (draw(1, 6) == 6) return kPoisonSource;
    return draw(1, 4) == 4 ? dst : random_block(draw, memory);
  };
  ops.add_copy({.group_index = draw(0, num_groups(memory) - 1),
                .conv_src_block = source(),
                .temporal_src_block = source(),
                .dst_block = dst,
                .accept_token_bias = draw(0, 5)});
}

void add_random_row(const Draw& draw, const StateMemory& memory, StateOps& ops) {
  ForwardRow row{.group_index = draw(0, num_groups(memory) - 1),
                 .temporal_src_block = random_source(draw, memory, kPoisonSource),
                 .conv_src_block = random_source(draw, memory, kPoisonSource),
                 .conv_src_position = draw(0, 4),
                 .first_token = static_cast<std::int32_t>(ops.tokens.size()),
                 .num_tokens = draw(0, 9),
                 .first_write = static_cast<std::int32_t>(ops.writes.size()),
                 .num_writes = draw(0, 4),
                 .start = random_word(draw)};
  for (std::int32_t i = 0; i < row.num_tokens; ++i) {
    ops.tokens.push_back(random_word(draw));
    ops.token_fingerprints.push_back(random_word(draw));
  }
  constexpr ForwardWriteKind kKinds[] = {ForwardWriteKind::temporal, ForwardWriteKind::conv_tail,
                                         ForwardWriteKind::conv_window};
  for (std::int32_t i = 0; i < row.num_writes; ++i)
    ops.writes.push_back({.kind = kKinds[draw(0, 2)],
                          .block = random_block(draw, memory),
                          .num_tokens = draw(0, row.num_tokens)});
  ops.add_row(row);
}

}  // namespace

StateTensorSpec conv_spec(ConvStateLayout layout, std::int64_t positions, std::int64_t dim,
                          Dtype dtype) {
  std::vector<std::int64_t> shape{positions, dim};
  if (layout == ConvStateLayout::DS) std::swap(shape[0], shape[1]);
  return {.kind = StateKind::conv, .shape = std::move(shape), .dtype = dtype};
}

StateTensorSpec temporal_spec(std::vector<std::int64_t> shape, Dtype dtype) {
  return {.kind = StateKind::temporal, .shape = std::move(shape), .dtype = dtype};
}

StateMemory make_memory(const MemoryShape& shape) {
  MambaSpec spec;
  spec.states = shape.states;
  spec.page_size_bytes = shape.padding_bytes;
  for (const StateTensorSpec& state : shape.states) spec.page_size_bytes += bytes_of(state);
  KVCacheConfig config;
  config.num_blocks = shape.num_blocks;
  std::int32_t next_layer = 0;
  for (const std::int32_t count : shape.group_layers) {
    KVCacheGroup group;
    group.spec = spec;
    for (std::int32_t i = 0; i < count; ++i) group.layers.push_back(next_layer++);
    config.groups.push_back(std::move(group));
  }
  return make_state_memory(config,
                           {.conv_state_layout = shape.layout, .conv_kernel = shape.conv_kernel})
      .value();
}

// Sizes of whole 4 bytes, so that a state of 4-byte elements may follow any other.
StateMemory random_memory(const Draw& draw) {
  MemoryShape shape;
  shape.layout = draw(0, 1) == 0 ? ConvStateLayout::SD : ConvStateLayout::DS;
  shape.conv_kernel = draw(2, 5);
  shape.num_blocks = draw(1, 6);
  shape.group_layers.assign(static_cast<std::size_t>(draw(1, 3)), 0);
  for (std::int32_t& layers : shape.group_layers) layers = draw(1, 3);
  const auto conv = [&] {
    return conv_spec(shape.layout, shape.conv_kernel - 1 + draw(0, 2), 2 * draw(1, 6),
                     random_dtype(draw));
  };
  // No conv, one, or three of them (KDA).
  constexpr std::int32_t kConvs[] = {0, 1, 1, 3};
  const std::int32_t num_convs = kConvs[draw(0, 3)];
  for (std::int32_t i = 0; i < num_convs; ++i) shape.states.push_back(conv());
  if (num_convs == 0 || draw(1, 4) > 1)
    shape.states.push_back(temporal_spec({2, 2, draw(1, 5)}, random_dtype(draw)));
  shape.padding_bytes = 4 * draw(0, 5);
  return make_memory(shape);
}

StateOps random_ops(const Draw& draw, const StateMemory& memory, std::int32_t num_batches) {
  StateOps ops;
  const std::int32_t batches = draw(1, num_batches);
  for (std::int32_t batch = 0; batch < batches; ++batch) {
    const std::int32_t kind = draw(0, 4);
    if (kind == 1 || kind == 2) ops.begin_launch();
    const std::int32_t count = draw(1, 5);
    for (std::int32_t i = 0; i < count; ++i) {
      if (kind == 0)
        ops.add_poison(random_block(draw, memory));
      else if (kind <= 2)
        add_random_copy(draw, memory, ops);
      else
        add_random_row(draw, memory, ops);
    }
  }
  return ops;
}

BlockContents random_contents(const Draw& draw, const StateMemory& memory, std::int32_t count) {
  std::int32_t widest = 0;
  for (const std::int32_t width : memory.layout.state_conv_widths) widest = std::max(widest, width);
  BlockContents contents;
  for (std::int32_t i = 0; i < count; ++i) {
    BlockContent content{.kind = draw(0, 1) == 0 ? StateKind::temporal : StateKind::conv,
                         .group_index = draw(0, num_groups(memory) - 1),
                         .block = random_block(draw, memory),
                         .fingerprint = draw(1, 4) == 4 ? kPoison : random_word(draw)};
    if (content.kind == StateKind::conv) {
      content.first_position = static_cast<std::int32_t>(contents.conv_fingerprints.size());
      constexpr Fingerprint kNothing[] = {kPoison, kBeforeFirstToken};
      for (std::int32_t position = 0; position < widest; ++position)
        contents.conv_fingerprints.push_back(draw(1, 4) == 4 ? kNothing[draw(0, 1)]
                                                             : random_word(draw));
    }
    contents.blocks.push_back(content);
  }
  return contents;
}

}  // namespace hybridscope::test
