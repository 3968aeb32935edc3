// What a token's content says of its origin (semantics: token-contents).
#pragma once

#include <cstdint>

#include "core/base/fingerprint.h"

namespace hybridscope {

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
