#include "tests/kernels/random_state.h"

#include <algorithm>
#include <utility>

#include "core/state/state_ops.h"

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

NaiveState::NaiveState(const StateMemory& memory) : memory_(memory) {
  const MambaStateTensors& tensors = memory.tensors;
  for (std::size_t k = 0; k < tensors.state_kinds.size(); ++k) {
    const StateTensor& tensor = tensors.layers[0].states[k];
    Kind kind{.conv = tensors.state_kinds[k] == StateKind::conv,
              .num_elements = tensor.elements_per_block(),
              .elem_size = tensor.elem_size};
    if (kind.conv) {
      const bool dim_first = tensors.conv_state_layout == ConvStateLayout::DS;
      kind.positions = tensor.shape[dim_first ? 2 : 1];
      kind.dim = tensor.shape[dim_first ? 1 : 2];
    }
    kinds_.push_back(kind);
  }
  for (std::int32_t block = 0; block < memory.num_blocks; ++block) poison(block);
}

NaiveState::Elements& NaiveState::at(std::int32_t buffer, std::int32_t block, std::size_t kind) {
  return states_[{buffer, block, kind}];
}

void NaiveState::poison(std::int32_t block) {
  for (std::int32_t buffer = 0; buffer < memory_.num_buffers; ++buffer)
    for (std::size_t k = 0; k < kinds_.size(); ++k)
      at(buffer, block, k)
          .assign(static_cast<std::size_t>(kinds_[k].num_elements),
                  kPoison & ((std::uint64_t{1} << (8 * kinds_[k].elem_size)) - 1));
}

template <class Use>
void NaiveState::for_each_state(std::int32_t group_index, const Use& use) {
  for (std::size_t layer = 0; layer < memory_.tensors.layers.size(); ++layer)
    if (memory_.tensors.layers[layer].group_index == group_index)
      for (std::size_t k = 0; k < kinds_.size(); ++k) use(memory_.layer_buffers[layer], k);
}

// All sources of the launch are read first (semantics: collect-mamba-copy-meta,
// do-mamba-copy-block).
void NaiveState::copy(std::span<const StateCopyOp> launch) {
  const auto before = states_;
  for (const StateCopyOp& op : launch)
    for_each_state(op.group_index, [&](std::int32_t buffer, std::size_t k) {
      const Kind& kind = kinds_[k];
      const std::int32_t source = kind.conv ? op.conv_src_block : op.temporal_src_block;
      Elements from = source < 0 ? Elements(static_cast<std::size_t>(kind.num_elements))
                                 : before.at({buffer, source, k});
      if (source < 0)
        for (std::uint64_t& element : from) element = trace_element(kPoison, 0, kind.elem_size);
      Elements& to = at(buffer, op.dst_block, k);
      const std::int64_t skipped = kind.conv ? op.accept_token_bias * kind.dim : 0;
      for (std::int64_t i = skipped; i < kind.num_elements; ++i)
        to[static_cast<std::size_t>(i - skipped)] = from[static_cast<std::size_t>(i)];
    });
}

std::vector<std::pair<std::int32_t, NaiveState::Elements>> NaiveState::row_of_temporal(
    const StateOps& ops, const ForwardRow& row, std::int32_t buffer, std::size_t k) {
  const Kind& kind = kinds_[k];
  Fingerprint start = row.temporal_src_block == kNoSource ? row.start : kPoison;
  if (row.temporal_src_block >= 0) {
    const Elements& state = at(buffer, row.temporal_src_block, k);
    start = kind.elem_size == 4 ? state[0] | state[1] << 32
                                : state[0] | state[1] << 16 | state[2] << 32 | state[3] << 48;
  }
  std::vector<std::pair<std::int32_t, Elements>> written;
  for (std::int32_t w = row.first_write; w < row.first_write + row.num_writes; ++w) {
    const ForwardWrite& write = ops.writes[static_cast<std::size_t>(w)];
    if (write.kind != ForwardWriteKind::temporal) continue;
    Fingerprint state = start;
    for (std::int32_t t = 0; t < write.num_tokens; ++t)
      state = extend_fingerprint(state, ops.tokens[static_cast<std::size_t>(row.first_token + t)]);
    Elements elements;
    for (std::int64_t i = 0; i < kind.num_elements; ++i)
      elements.push_back(trace_element(state, i, kind.elem_size));
    written.emplace_back(write.block, std::move(elements));
  }
  return written;
}

// A window in front of the row's tokens: `history` holds W - 1 prior positions, then every token.
void NaiveState::row_of_conv(const StateOps& ops, const ForwardRow& row, std::int32_t buffer,
                             std::size_t k) {
  const Kind& kind = kinds_[k];
  const std::int32_t length = memory_.conv_kernel - 1;
  std::vector<Elements> history;
  for (std::int32_t n = 0; n < length; ++n) {
    Elements position;
    const std::int64_t at_position = row.conv_src_position + n;
    for (std::int64_t c = 0; c < kind.dim; ++c) {
      if (row.conv_src_block == kNoSource)
        position.push_back(0);
      else if (row.conv_src_block < 0 || at_position >= kind.positions)
        position.push_back(trace_element(kPoison, c, kind.elem_size));
      else
        position.push_back(at(buffer, row.conv_src_block,
                              k)[static_cast<std::size_t>(at_position * kind.dim + c)]);
    }
    history.push_back(std::move(position));
  }
  for (std::int32_t t = 0; t < row.num_tokens; ++t) {
    Elements position;
    for (std::int64_t c = 0; c < kind.dim; ++c)
      position.push_back(
          trace_element(ops.token_fingerprints[static_cast<std::size_t>(row.first_token + t)], c,
                        kind.elem_size));
    history.push_back(std::move(position));
  }
  for (std::int32_t w = row.first_write; w < row.first_write + row.num_writes; ++w) {
    const ForwardWrite& write = ops.writes[static_cast<std::size_t>(w)];
    if (write.kind == ForwardWriteKind::temporal) continue;
    const bool tail = write.kind == ForwardWriteKind::conv_tail;
    const std::int32_t first = tail ? write.num_tokens : 1;
    const std::int32_t count = tail ? length : length - 1 + write.num_tokens;
    for (std::int32_t i = 0; i < count && i < kind.positions; ++i)
      std::ranges::copy(history[static_cast<std::size_t>(first + i)],
                        at(buffer, write.block, k).begin() + i * kind.dim);
  }
}

void NaiveState::forward(const StateOps& ops, const ForwardRow& row) {
  for_each_state(row.group_index, [&](std::int32_t buffer, std::size_t k) {
    if (kinds_[k].conv) return row_of_conv(ops, row, buffer, k);
    for (auto& [block, elements] : row_of_temporal(ops, row, buffer, k))
      at(buffer, block, k) = elements;
  });
}

void NaiveState::run(const StateOps& ops) {
  for (const StateOpBatch& batch : ops.batches) {
    const auto first = static_cast<std::size_t>(batch.first);
    const auto count = static_cast<std::size_t>(batch.count);
    if (batch.kind == StateOpKind::copy) copy(std::span(ops.copies).subspan(first, count));
    for (std::size_t i = first; i < first + count; ++i) {
      if (batch.kind == StateOpKind::poison) poison(ops.poisoned[i]);
      if (batch.kind == StateOpKind::forward) forward(ops, ops.rows[i]);
    }
  }
}

void NaiveState::fill(const BlockContents& contents) {
  for (const BlockContent& content : contents.blocks)
    for_each_state(content.group_index, [&](std::int32_t buffer, std::size_t k) {
      const Kind& kind = kinds_[k];
      if (kind.conv != (content.kind == StateKind::conv)) return;
      Elements& elements = at(buffer, content.block, k);
      for (std::int64_t i = 0; i < kind.num_elements; ++i) {
        const auto position =
            static_cast<std::size_t>(kind.conv ? content.first_position + i / kind.dim : 0);
        elements[static_cast<std::size_t>(i)] =
            kind.conv
                ? trace_element(contents.conv_fingerprints[position], i % kind.dim, kind.elem_size)
                : trace_element(content.fingerprint, i, kind.elem_size);
      }
    });
}

std::vector<std::byte> NaiveState::bytes() const {
  std::vector<std::byte> bytes(static_cast<std::size_t>(memory_.total_bytes()));
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<std::byte>(kPoison >> (8 * (i % 2)));
  const bool dim_first = memory_.tensors.conv_state_layout == ConvStateLayout::DS;
  for (const auto& [place, elements] : states_) {
    const auto [buffer, block, k] = place;
    const Kind& kind = kinds_[k];
    const std::int64_t begin = buffer * memory_.buffer_bytes() + block * memory_.page_size_bytes +
                               memory_.state_offsets[k];
    for (std::int64_t i = 0; i < kind.num_elements; ++i) {
      const std::int64_t place_of_element =
          kind.conv && dim_first ? i % kind.dim * kind.positions + i / kind.dim : i;
      for (std::int32_t b = 0; b < kind.elem_size; ++b)
        bytes[static_cast<std::size_t>(begin + place_of_element * kind.elem_size + b)] =
            static_cast<std::byte>(elements[static_cast<std::size_t>(i)] >> (8 * b));
    }
  }
  return bytes;
}

}  // namespace hybridscope::test
