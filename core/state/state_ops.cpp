#include "core/state/state_ops.h"

namespace hybridscope {
namespace {

void count_in(std::vector<StateOpBatch>& batches, StateOpKind kind, std::size_t index) {
  if (batches.empty() || batches.back().kind != kind)
    batches.push_back({.kind = kind, .first = static_cast<std::int32_t>(index), .count = 0});
  ++batches.back().count;
}

}  // namespace

void StateOps::clear() {
  batches.clear();
  num_before_forward = 0;
  poisoned.clear();
  copies.clear();
  rows.clear();
  writes.clear();
  tokens.clear();
  token_fingerprints.clear();
}

void StateOps::add_poison(std::int32_t block) {
  count_in(batches, StateOpKind::poison, poisoned.size());
  poisoned.push_back(block);
}

void StateOps::add_row(const ForwardRow& row) {
  count_in(batches, StateOpKind::forward, rows.size());
  rows.push_back(row);
}

void StateOps::begin_launch() {
  batches.push_back(
      {.kind = StateOpKind::copy, .first = static_cast<std::int32_t>(copies.size()), .count = 0});
}

void StateOps::add_copy(const StateCopyOp& copy) {
  count_in(batches, StateOpKind::copy, copies.size());
  copies.push_back(copy);
}

}  // namespace hybridscope
