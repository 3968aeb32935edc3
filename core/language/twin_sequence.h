// The lone run of one request, forced on the tokens that the request has: the judge of what its
// blocks hold (numerics: tokens, drafts, acceptance).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

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

}  // namespace hybridscope
