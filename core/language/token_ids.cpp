#include "core/language/token_ids.h"

#include <algorithm>

namespace hybridscope {

ModelTokenIds::ModelTokenIds(std::int32_t vocab_size) : vocab_size_(vocab_size) {
  for (std::int32_t byte = 0; byte < std::min(vocab_size, kByteVocabulary); ++byte)
    ids_.emplace(prompt_token(kByteText, static_cast<std::uint64_t>(byte)), Known{byte, true});
}

std::int32_t ModelTokenIds::id(TokenContent content) {
  const auto found = ids_.find(content);
  if (found != ids_.end()) return found->second.id;
  const auto id =
      static_cast<std::int32_t>(mix(0, content) % static_cast<std::uint64_t>(vocab_size_));
  if (token_kind(content) == TokenKind::output) ids_.emplace(content, Known{id, true});
  return id;
}

std::optional<std::int32_t> ModelTokenIds::settled(TokenContent content) const {
  const auto found = ids_.find(content);
  if (found == ids_.end() || !found->second.was_needed) return std::nullopt;
  return found->second.id;
}

std::int32_t ModelTokenIds::generated(TokenContent content, std::int32_t id) {
  Known& known = ids_.try_emplace(content, Known{id, false}).first->second;
  if (!known.was_needed) known.id = id;
  return known.id;
}

std::int32_t ModelTokenIds::wrong_draft(std::int32_t right, TokenContent content) const {
  if (vocab_size_ < 2) return right;
  const auto others = static_cast<std::uint64_t>(vocab_size_) - 1;
  const auto step = 1 + static_cast<std::int32_t>(mix(1, content) % others);
  return (right + step) % vocab_size_;
}

}  // namespace hybridscope
