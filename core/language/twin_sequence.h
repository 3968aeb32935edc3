// The lone run of one request, forced on the tokens that the request has: the judge of what its
// blocks hold (numerics: tokens, drafts, acceptance). Also which tokens the model has for the
// engine's.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "core/base/fingerprint.h"
#include "core/numeric/lone_run.h"

namespace hybridscope {

class TwinSequence {
 public:
  // `model` must outlive it.
  explicit TwinSequence(const HybridModel& model);

  // Comes to stand behind the first `num_tokens` of `token_ids`, whatever it stood behind: goes
  // back to a state that it kept of the same tokens, goes on, or begins anew. Keeps the states
  // there and none from before.
  void stand_behind(std::int32_t num_tokens, std::span<const std::int32_t> token_ids);
  // Runs the next tokens and keeps the states behind them.
  void extend(std::span<const std::int32_t> token_ids);

  std::int32_t num_tokens() const { return run_->num_tokens(); }
  // [vocab] behind the last token. Requires: one was run since stand_behind.
  std::vector<float> logits() const { return run_->logits(last_ - 1); }
  // [layers] the states after `num_tokens` tokens; null: not kept.
  const std::vector<LayerStates>* states_after(std::int32_t num_tokens) const;

 private:
  const HybridModel* model_;
  std::unique_ptr<LoneRun> run_;
  std::int32_t last_ = 0;                                    // tokens of the last pass
  std::vector<std::int32_t> tokens_;                         // that it has run
  std::map<std::int32_t, std::vector<LayerStates>> states_;  // by number of tokens
};

// Which token of a model stands for a token of the engine, which only knows which tokens are equal
// (numerics: tokens, drafts, acceptance).

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
