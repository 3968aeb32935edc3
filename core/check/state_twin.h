// Real bytes beside symbolic state: carries out on a StateBackend what the checker executed, and
// holds each element against what symbolic state says (semantics: bytes-state). The checker
// judges the metadata, the twin the bytes: a state that went wrong has to be as wrong in memory.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/result.h"
#include "core/check/content_groups.h"
#include "core/check/step_checker.h"
#include "core/state/state_backend.h"

namespace hybridscope {

class StateTwin {
 public:
  // `backend` outlives the twin; its memory holds poison throughout. Error: a memory that is not
  // of this configuration, conv windows shorter than W - 1 + K (known bug 25: what lies behind
  // them would be written).
  static Result<StateTwin> create(const CheckConfig& config, StateBackend& backend);

  // Carries out the last step of `checker`, which logs its operations, and looks at the bytes: at
  // what the step wrote, or at everything. Findings of state_bytes_wrong, valid until the next
  // call, one a block and kind of state. Error: the backend's.
  Result<std::span<const Finding>> follow(const StepChecker& checker, std::int64_t step,
                                          CheckScope scope);

  // The memory holds what `state` knows, and poison where it knows nothing. Requires: a state that
  // this twin has followed to where it stands. Error: the backend's.
  Status refill(const SymbolicState& state);

  std::int64_t num_elements_verified() const { return num_elements_verified_; }

 private:
  StateTwin(const CheckConfig& config, StateBackend& backend);

  void note_touched(const StateOps& ops);
  void add_block(const SymbolicState& state, StateKind kind, std::int32_t block);
  Finding finding_of(const StateMismatch& mismatch, const SymbolicState& state) const;

  StateBackend* backend_;
  std::vector<KVCacheGroup> groups_;  // the mamba groups
  ContentGroups content_groups_;
  std::vector<std::int32_t> touched_temporal_;  // blocks that the step wrote, ascending
  std::vector<std::int32_t> touched_conv_;
  // [mamba groups] elements of a block's states of a kind, in all layers of the group
  std::vector<std::array<std::int64_t, 2>> num_elements_;
  BlockContents contents_;
  std::vector<Finding> findings_;
  std::int64_t num_elements_verified_ = 0;
};

}  // namespace hybridscope
