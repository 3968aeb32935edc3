// Which token of a model stands for a token of the engine, which only knows which tokens are equal
// (numerics: tokens, drafts, acceptance).
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>

#include "core/base/fingerprint.h"

namespace hybridscope {

// Equal contents have equal tokens, for ever: a content whose token was not generated yet when it
// was needed (a prompt that continues an answer too early) has a token of its own from then on.
class ModelTokenIds {
 public:
  explicit ModelTokenIds(std::int32_t vocab_size);

  // The model's token for a token in a sequence.
  std::int32_t id(TokenContent content);
  // The model's token for one that was needed before it was generated; absent: it was not needed.
  std::optional<std::int32_t> settled(TokenContent content) const;
  // The token that a run generated for `content` is `id`. Returns the content's token: another one
  // if that was needed before; a request that begins again may generate another one.
  std::int32_t generated(TokenContent content, std::int32_t id);
  // A token other than `right`, for a draft that is rejected.
  std::int32_t wrong_draft(std::int32_t right, TokenContent content) const;

 private:
  std::int32_t vocab_size_;
  struct Known {
    std::int32_t id = 0;
    bool was_needed = false;  // before it was generated
  };
  std::unordered_map<TokenContent, Known> ids_;  // texts and generated tokens
};

}  // namespace hybridscope
