#include "kernels/cpu/elements_cpu.h"

#include <algorithm>
#include <cstring>

#include "core/base/check.h"
#include "core/state/state_ops.h"

namespace hybridscope {
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
