#include "core/language/twin_sequence.h"

#include <algorithm>
#include <iterator>

namespace hybridscope {

TwinSequence::TwinSequence(const HybridModel& model)
    : model_(&model), run_(std::make_unique<LoneRun>(model)) {
  states_.emplace(0, run_->states());
}

const std::vector<LayerStates>* TwinSequence::states_after(std::int32_t num_tokens) const {
  const auto found = states_.find(num_tokens);
  return found == states_.end() ? nullptr : &found->second;
}

void TwinSequence::stand_behind(std::int32_t num_tokens, std::span<const std::int32_t> token_ids) {
  const auto wanted = token_ids.first(static_cast<std::size_t>(num_tokens));
  const auto common = std::ranges::mismatch(tokens_, wanted).in2 - wanted.begin();
  const auto kept = states_.upper_bound(static_cast<std::int32_t>(common));
  if (kept == states_.begin()) {
    run_ = std::make_unique<LoneRun>(*model_);
  } else {
    const auto& [at, states] = *std::prev(kept);
    run_->go_on_from(states, at);
  }
  const auto from = static_cast<std::size_t>(run_->num_tokens());
  if (from < wanted.size()) run_->extend(wanted.subspan(from));
  tokens_.assign(wanted.begin(), wanted.end());
  states_.clear();
  states_.emplace(num_tokens, run_->states());
}

void TwinSequence::extend(std::span<const std::int32_t> token_ids) {
  if (token_ids.empty()) return;
  run_->extend(token_ids);
  tokens_.insert(tokens_.end(), token_ids.begin(), token_ids.end());
  last_ = static_cast<std::int32_t>(token_ids.size());
  states_.emplace(run_->num_tokens(), run_->states());
}

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
