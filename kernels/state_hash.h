// Hashes of the states that blocks hold: which states of which blocks, and the hash itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "core/base/fingerprint.h"
#include "core/base/math.h"
#include "core/base/result.h"
#include "kernels/memory_view.h"

namespace hybridscope {

// The hash of the states that a block holds, for comparing memory from step to step: sums modulo
// 2^64 of mixed words and elements, which do not depend on the order in which they are made.
//
//   temporal          sum over states and their 8-byte words w:
//                     mix((ordinal << 40) + w, word); the last word is padded with zero bytes
//   conv, position p  sum over states and channels c:
//                     mix((ordinal << 40) + c, element [p, c]); a shifted window keeps its numbers

// One state of one layer, in all blocks.
struct HashView {
  const std::byte* data = nullptr;   // of block 0
  std::int64_t block_stride = 0;     // bytes from a block to the next
  std::int64_t num_bytes = 0;        // temporal: of one block, contiguous
  std::int64_t num_positions = 0;    // conv: 1 or more; 0: temporal
  std::int64_t num_channels = 0;     // conv
  std::int64_t position_stride = 0;  // conv: elements from a position to the next
  std::int64_t channel_stride = 0;   // conv: elements from a channel to the next
  std::int32_t elem_size = 0;        // conv: 1, 2 or 4 bytes
  std::int32_t ordinal = 0;          // among the states of the group

  HS_HOST_DEVICE constexpr bool is_conv() const { return num_positions > 0; }
  // Words of a temporal state, channels of a conv state.
  HS_HOST_DEVICE constexpr std::int64_t num_units() const {
    return is_conv() ? num_channels : cdiv(num_bytes, std::int64_t{8});
  }
  HS_HOST_DEVICE constexpr std::uint64_t place(std::int64_t unit) const {
    return (static_cast<std::uint64_t>(ordinal) << 40) + static_cast<std::uint64_t>(unit);
  }
};
static_assert(std::is_trivially_copyable_v<HashView>);

// A word from any address, little endian; bytes from `left` on are zero.
HS_HOST_DEVICE inline std::uint64_t load_hash_word(const std::byte* from, std::int64_t left) {
  if (left >= 8 && reinterpret_cast<std::uintptr_t>(from) % 8 == 0)
    return load_as<std::uint64_t>(from);
  std::uint64_t word = 0;
  for (std::int64_t i = 0; i < 8 && i < left; ++i)
    word |= static_cast<std::uint64_t>(from[i]) << (8 * i);
  return word;
}

// What a word of a temporal state adds. `state`: of one block.
HS_HOST_DEVICE inline std::uint64_t hash_word(const HashView& view, const std::byte* state,
                                              std::int64_t word) {
  return mix(view.place(word), load_hash_word(state + word * 8, view.num_bytes - word * 8));
}

// What an element of a conv state adds to the sum of its position.
HS_HOST_DEVICE inline std::uint64_t hash_element(const HashView& view, const std::byte* state,
                                                 std::int64_t position, std::int64_t channel) {
  const std::int64_t at = position * view.position_stride + channel * view.channel_stride;
  const std::uint64_t element = view.elem_size == 1 ? load_as<std::uint8_t>(state + at)
                                                    : load_element(state, at, view.elem_size);
  return mix(view.place(channel), element);
}

// The digest of a block: a sum over all words of its pages, each mixed with its place. The sum
// does not depend on the order in which it is made.

inline constexpr std::int64_t kDigestWordBytes = 8;

struct PageView {
  const std::byte* data = nullptr;
  std::int64_t page_size_bytes = 0;
  std::int32_t buffer = 0;

  HS_HOST_DEVICE constexpr std::int64_t num_words() const {
    return (page_size_bytes + kDigestWordBytes - 1) / kDigestWordBytes;
  }
};

// Word `word` of a page, little endian; the last one is padded with zeros. Pages whose size is
// not a multiple of a word are not aligned to words: their words are assembled from 2 bytes at a
// time.
HS_HOST_DEVICE inline std::uint64_t load_word(const PageView& page, std::int64_t word) {
  const std::byte* from = page.data + word * kDigestWordBytes;
  if (page.page_size_bytes % kDigestWordBytes == 0) return load_as<std::uint64_t>(from);
  const std::int64_t left = page.page_size_bytes - word * kDigestWordBytes;
  std::uint64_t value = 0;
  for (std::int64_t i = 0; i < kDigestWordBytes && i < left; i += 2)
    value |= static_cast<std::uint64_t>(load_as<std::uint16_t>(from + i)) << (8 * i);
  return value;
}

// What a word adds to the digest of its block.
HS_HOST_DEVICE inline std::uint64_t digest_word(const PageView& page, std::int64_t word) {
  return mix(static_cast<std::uint64_t>(page.buffer * page.num_words() + word),
             load_word(page, word));
}

struct HashedStates {
  std::vector<HashView> views;
  std::int32_t num_blocks = 0;
};

// Numbers that a block has: the temporal one, then one for each position of the widest conv state.
std::int64_t num_sums(const HashedStates& states);

// Ok, or what is wrong: a size or a number that is negative, elements that are not of 1, 2 or 4
// bytes, a place that does not fit into 64 bits.
Status check_hashed(const HashedStates& states);

}  // namespace hybridscope
