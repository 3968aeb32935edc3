// Fingerprints: 64-bit values that name a token history (semantics: fingerprint). The constants are
// fixed forever: digests are compared across machines and releases.
#pragma once

#include <cstdint>

#include "core/base/math.h"

namespace hybridscope {

// Names the prefix that ends at one token; never 0. Equal prefixes have equal fingerprints.
using Fingerprint = std::uint64_t;

// Identity of one token. Two tokens are the same token iff their contents are equal.
using TokenContent = std::uint64_t;

// Folds `value` into `state`; never 0.
HS_HOST_DEVICE constexpr std::uint64_t mix(std::uint64_t state, std::uint64_t value) {
  std::uint64_t x = state ^ (value * 0x9E3779B97F4A7C15ULL + 0xD1B54A32D192ED03ULL);
  x = (x ^ (x >> 32)) * 0xD6E8FEB86659FD93ULL;
  x ^= x >> 29;
  return x + (x == 0 ? 1 : 0);
}

// F(0), the fingerprint of the empty prefix under a cache salt (0: no salt).
HS_HOST_DEVICE constexpr Fingerprint seed_fingerprint(std::uint64_t cache_salt) {
  return mix(0x68796272696473ULL, cache_salt);
}

// F(p) = mix(F(p-1), token[p-1]).
HS_HOST_DEVICE constexpr Fingerprint extend_fingerprint(Fingerprint prefix, TokenContent token) {
  return mix(prefix, token);
}

// What a token's content says of its origin (semantics: token-contents).

// The origin of a token, kept in its two top bits, so that kinds never collide.
enum class TokenKind : std::uint8_t { prompt, output, rejected_draft, placeholder };

// `content` with its top bits replaced by the kind.
constexpr TokenContent tagged_token(TokenKind kind, std::uint64_t content) {
  return (content >> 2) | (static_cast<std::uint64_t>(kind) << 62);
}
constexpr TokenKind token_kind(TokenContent content) {
  return static_cast<TokenKind>(content >> 62);
}

// Token `index` of the text of prompts that is named by `text`.
constexpr TokenContent prompt_token(std::uint64_t text, std::uint64_t index) {
  return tagged_token(TokenKind::prompt, mix(text, index));
}

// The text whose token number b is the byte b: prompts of bytes are made of its tokens.
inline constexpr std::uint64_t kByteText = 0x7465787462797465ULL;
inline constexpr std::int32_t kByteVocabulary = 256;

}  // namespace hybridscope
