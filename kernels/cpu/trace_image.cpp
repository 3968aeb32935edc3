#include "kernels/cpu/trace_image.h"

#include <cstring>

#include "core/base/check.h"
#include "kernels/cpu/elements_cpu.h"

namespace hybridscope {

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
