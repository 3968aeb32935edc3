#include <utility>

#include "core/language/language_machine.h"
#include "core/numeric/hybrid_model.h"

namespace hybridscope {

Result<std::unique_ptr<LanguageMachine>> HostLanguageMachine::create(
    const LanguageMachineRequest& request) {
  auto memory = NumericMemory::create(
      request.model, request.kv_cache_config,
      {.num_drafts = request.num_speculative_tokens, .missing = request.missing_conv_positions});
  if (!memory) return memory.error();
  return std::unique_ptr<LanguageMachine>(
      new HostLanguageMachine(request.model, std::move(memory).value()));
}

HostLanguageMachine::HostLanguageMachine(const HybridModel& model, NumericMemory memory)
    : memory_(std::move(memory)),
      forward_(model),
      logits_(static_cast<std::size_t>(model.vocab_size)) {}

void HostLanguageMachine::poison(std::span<const std::int32_t> blocks) {
  for (const std::int32_t block : blocks) memory_.poison(block);
}

void HostLanguageMachine::zero(std::span<const std::int32_t> blocks) {
  for (const std::int32_t block : blocks) memory_.zero(block);
}

void HostLanguageMachine::copy(std::span<const StateCopyOp> copies,
                               bool shifts_last_position_first) {
  memory_.copy(copies, shifts_last_position_first);
}

void HostLanguageMachine::copy_blocks(std::span<const BlockCopy> copies) {
  memory_.copy_blocks(copies);
}

void HostLanguageMachine::forward(const MachineForward& batch) {
  forward_.run({.token_ids = batch.token_ids,
                .positions = batch.positions,
                .groups = batch.groups,
                .group_of_layer = memory_.layout().group_of_layer,
                .memory = memory_.layers()});
}

std::size_t HostLanguageMachine::keep(std::span<const float> values) {
  if (std::exchange(finished_, false)) {
    values_.clear();
    ends_.clear();
  }
  values_.insert(values_.end(), values.begin(), values.end());
  ends_.push_back(values_.size());
  return ends_.size() - 1;
}

std::size_t HostLanguageMachine::keep_state(const BlockElementRange& place) {
  const LayerMemory& layer = memory_.layers()[static_cast<std::size_t>(place.layer)];
  const StatePool& pool = place.kind == StateKind::temporal ? layer.temporal : layer.conv;
  return keep(
      pool.block(place.block)
          .subspan(static_cast<std::size_t>(place.first), static_cast<std::size_t>(place.count)));
}

std::size_t HostLanguageMachine::keep_logits(std::int32_t token) {
  forward_.logits(token, logits_);
  return keep(logits_);
}

Status HostLanguageMachine::finish() {
  finished_ = true;
  return Ok{};
}

std::span<const float> HostLanguageMachine::kept(std::size_t number) const {
  const std::size_t first = number == 0 ? 0 : ends_[number - 1];
  return std::span<const float>(values_).subspan(first, ends_[number] - first);
}

std::int32_t HostLanguageMachine::greedy(std::size_t number) const {
  return greedy_token(kept(number));
}

}  // namespace hybridscope
