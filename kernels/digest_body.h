// The digest of a block: a sum over all words of its pages, each mixed with its place. The sum
// does not depend on the order in which it is made.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/fingerprint.h"
#include "core/base/host_device.h"
#include "kernels/state_view.h"

namespace hybridscope {

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

}  // namespace hybridscope
