#include "kernels/cpu/state_copy_cpu.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace hybridscope {
namespace {

std::int64_t region_end(const StateCopy& copy, std::int64_t start) {
  return start + (copy.num_rows - 1) * copy.row_stride_bytes + copy.row_bytes;
}

// One call with the offset of each row, in the direction of the shift.
template <class Move>
void for_each_row_in_order(const StateCopy& copy, const Move& move) {
  const bool downwards = copy.dst_byte_offset <= copy.src_byte_offset;
  for (std::int64_t i = 0; i < copy.num_rows; ++i)
    move((downwards ? i : copy.num_rows - 1 - i) * copy.row_stride_bytes);
}

// Moves rows of a compile-time size: a call of memmove per row would cost more than the copy.
template <std::size_t kBytes>
void move_short_rows(const StateCopy& copy, std::byte* to, const std::byte* from) {
  for_each_row_in_order(copy, [&](std::int64_t offset) {
    std::array<std::byte, kBytes> row;
    std::memcpy(row.data(), from + offset, kBytes);
    std::memcpy(to + offset, row.data(), kBytes);
  });
}

}  // namespace

// Rows do not overlap each other and both sides have one stride, so moving them in the direction of
// the shift never overwrites a source row that is still to be read.
void move_rows(const StateCopy& copy, std::byte* state) {
  if (copy.num_rows <= 0 || copy.row_bytes <= 0) return;
  std::byte* to = state + copy.dst_byte_offset;
  const std::byte* from = state + copy.src_byte_offset;
  if (copy.num_rows == 1 || copy.row_bytes == copy.row_stride_bytes) {
    std::memmove(to, from, static_cast<std::size_t>(copy.num_rows * copy.row_bytes));
    return;
  }
  switch (copy.row_bytes) {
    case 2: return move_short_rows<2>(copy, to, from);
    case 4: return move_short_rows<4>(copy, to, from);
    case 6: return move_short_rows<6>(copy, to, from);
    case 8: return move_short_rows<8>(copy, to, from);
    case 10: return move_short_rows<10>(copy, to, from);
    case 12: return move_short_rows<12>(copy, to, from);
    case 16: return move_short_rows<16>(copy, to, from);
    default:
      for_each_row_in_order(copy, [&](std::int64_t offset) {
        std::memmove(to + offset, from + offset, static_cast<std::size_t>(copy.row_bytes));
      });
  }
}

void execute_copy(const StateCopy& copy, std::span<std::byte> state) {
  if (copy.num_rows <= 0 || copy.row_bytes <= 0) return;
  const auto size = static_cast<std::int64_t>(state.size());
  HS_EXPECT(copy.src_byte_offset >= 0 && region_end(copy, copy.src_byte_offset) <= size);
  HS_EXPECT(copy.dst_byte_offset >= 0 && region_end(copy, copy.dst_byte_offset) <= size);
  HS_EXPECT(copy.num_rows == 1 || copy.row_bytes <= copy.row_stride_bytes);
  move_rows(copy, state.data());
}

Status execute_copies(std::span<const StateCopy> copies, HostStateBytes states) {
  for (const StateCopy& copy : copies) {
    HS_EXPECT(copy.state_index >= 0 && static_cast<std::size_t>(copy.state_index) < states.size());
    execute_copy(copy, states[static_cast<std::size_t>(copy.state_index)]);
  }
  return Ok{};
}

namespace {

// One call with (state, copy) for each state of the copy's group, in order.
template <class Use>
void for_each_state(const MemoryMap& map, const StateCopyOp& op, const Use& use) {
  for_each_copy_of_state(map, op, [&](const CopyOfState& made) {
    use(map.states[static_cast<std::size_t>(made.copy.state_index)], made);
  });
}

template <class Use>
void for_each_row(const StateCopy& copy, const Use& use) {
  if (copy.row_bytes == 0) return;
  for (std::int64_t row = 0; row < copy.num_rows; ++row) use(row * copy.row_stride_bytes);
}

void poison_target(const StateView& state, const StateCopy& copy) {
  for_each_row(copy, [&](std::int64_t offset) {
    fill_poison(state.data + copy.dst_byte_offset + offset, copy.row_bytes);
  });
}

}  // namespace

void PlanCopiesCpu::run(const MemoryMap& map, std::span<const StateCopyOp> copies) {
  if (copies.size() > 1 && conflicts_.found_in(copies)) return run_staged(map, copies);
  for (const StateCopyOp& op : copies)
    for_each_state(map, op, [](const StateView& state, const CopyOfState& made) {
      if (made.poison)
        poison_target(state, made.copy);
      else
        move_rows(made.copy, state.data);
    });
}

void PlanCopiesCpu::run_staged(const MemoryMap& map, std::span<const StateCopyOp> copies) {
  staging_.clear();
  const auto save = [this](const StateView& state, const CopyOfState& made) {
    if (made.poison) return;
    for_each_row(made.copy, [&](std::int64_t offset) {
      const std::byte* from = state.data + made.copy.src_byte_offset + offset;
      staging_.insert(staging_.end(), from, from + made.copy.row_bytes);
    });
  };
  for (const StateCopyOp& op : copies) for_each_state(map, op, save);
  const std::byte* next = staging_.data();
  const auto write = [&next](const StateView& state, const CopyOfState& made) {
    if (made.poison) return poison_target(state, made.copy);
    for_each_row(made.copy, [&](std::int64_t offset) {
      std::memcpy(state.data + made.copy.dst_byte_offset + offset, next,
                  static_cast<std::size_t>(made.copy.row_bytes));
      next += made.copy.row_bytes;
    });
  };
  for (const StateCopyOp& op : copies) for_each_state(map, op, write);
}

namespace {

void add_state(const HashView& view, std::int32_t block, std::uint64_t* sums) {
  const std::byte* state = view.data + block * view.block_stride;
  if (!view.is_conv())
    for (std::int64_t word = 0; word < view.num_units(); ++word)
      sums[0] += hash_word(view, state, word);
  for (std::int64_t position = 0; position < view.num_positions; ++position)
    for (std::int64_t channel = 0; channel < view.num_channels; ++channel)
      sums[1 + position] += hash_element(view, state, position, channel);
}

}  // namespace

void hash_states(const HashedStates& states, std::span<const std::int32_t> blocks,
                 std::span<std::uint64_t> sums) {
  const auto width = static_cast<std::size_t>(num_sums(states));
  HS_EXPECT(sums.size() == blocks.size() * width);
  std::ranges::fill(sums, 0);
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (blocks[i] < 1 || blocks[i] >= states.num_blocks) continue;
    for (const HashView& view : states.views) add_state(view, blocks[i], &sums[i * width]);
  }
}

namespace {

// The element size is a constant and the elements that hold the fingerprint itself are stored
// apart, so that the compiler vectorises the remaining loop.
template <class Element>
void store_elements(std::byte* to, std::int64_t count, Fingerprint fingerprint) {
  constexpr auto kSize = static_cast<std::int32_t>(sizeof(Element));
  constexpr std::int64_t kHead = 8 / kSize;
  const auto store = [to, fingerprint](std::int64_t i) {
    store_as(to + i * kSize, static_cast<Element>(trace_element(fingerprint, i, kSize)));
  };
  for (std::int64_t i = 0; i < std::min(count, kHead); ++i) store(i);
  for (std::int64_t i = kHead; i < count; ++i) store(i);
}

struct Strides {
  std::int64_t from = 1;  // elements
  std::int64_t to = 1;
};

template <class Element>
void copy_elements(std::byte* to, const std::byte* from, std::int64_t count, Strides strides) {
  constexpr auto kSize = static_cast<std::int64_t>(sizeof(Element));
  for (std::int64_t i = 0; i < count; ++i)
    store_as(to + i * strides.to * kSize, load_as<Element>(from + i * strides.from * kSize));
}

void copy_channels(const StateView& state, std::byte* to, const std::byte* from, Strides strides) {
  const std::int32_t elem_size = state.geometry.elem_size;
  if (strides.from == 1 && strides.to == 1)
    std::memcpy(to, from, static_cast<std::size_t>(state.dim * elem_size));
  else if (elem_size == 2)
    copy_elements<std::uint16_t>(to, from, state.dim, strides);
  else
    copy_elements<std::uint32_t>(to, from, state.dim, strides);
}

}  // namespace

void fill_poison(std::byte* to, std::int64_t num_bytes) {
  std::int64_t i = 0;
  for (; i + 8 <= num_bytes; i += 8) store_as(to + i, kPoison);
  for (; i < num_bytes; i += 2) store_as(to + i, static_cast<std::uint16_t>(kPoison));
}

void store_trace_elements(std::byte* to, std::int64_t count, std::int32_t elem_size,
                          Fingerprint fingerprint) {
  if (fingerprint == kPoison)
    fill_poison(to, count * elem_size);
  else if (fingerprint == kBeforeFirstToken)
    std::memset(to, 0, static_cast<std::size_t>(count * elem_size));
  else if (elem_size == 2)
    store_elements<std::uint16_t>(to, count, fingerprint);
  else
    store_elements<std::uint32_t>(to, count, fingerprint);
}

void load_position(const StateView& state, const std::byte* block, std::int64_t position,
                   std::byte* to) {
  const std::byte* from = block + state.element(position, 0) * state.geometry.elem_size;
  copy_channels(state, to, from, {.from = state.channel_stride, .to = 1});
}

void store_position(const StateView& state, std::byte* block, std::int64_t position,
                    const std::byte* from) {
  std::byte* to = block + state.element(position, 0) * state.geometry.elem_size;
  copy_channels(state, to, from, {.from = 1, .to = state.channel_stride});
}

void make_trace_image(const StateView& state, const BlockContent& content,
                      std::span<const Fingerprint> conv_fingerprints,
                      std::vector<std::byte>& image) {
  const std::int32_t elem_size = state.geometry.elem_size;
  HS_EXPECT(state.geometry.is_conv() == (content.kind == StateKind::conv));
  image.resize(static_cast<std::size_t>(state.num_elements * elem_size));
  if (content.kind == StateKind::temporal)
    return store_trace_elements(image.data(), state.num_elements, elem_size, content.fingerprint);
  std::vector<std::byte> channels(static_cast<std::size_t>(state.dim * elem_size));
  for (std::int32_t position = 0; position < state.geometry.conv_width; ++position) {
    const auto index = static_cast<std::size_t>(content.first_position + position);
    store_trace_elements(channels.data(), state.dim, elem_size, conv_fingerprints[index]);
    store_position(state, image.data(), position, channels.data());
  }
}

std::optional<ElementDifference> first_difference(const StateView& state, const std::byte* block,
                                                  std::span<const std::byte> image) {
  if (std::memcmp(block, image.data(), image.size()) == 0) return std::nullopt;
  const bool conv = state.geometry.is_conv();
  const std::int32_t elem_size = state.geometry.elem_size;
  for (std::int64_t i = 0; i < state.num_elements; ++i) {
    const std::int64_t at = conv ? state.element(i / state.dim, i % state.dim) : i;
    const std::uint64_t expected = load_element(image.data(), at, elem_size);
    const std::uint64_t seen = load_element(block, at, elem_size);
    if (expected != seen) return ElementDifference{i, expected, seen};
  }
  return std::nullopt;
}

}  // namespace hybridscope
