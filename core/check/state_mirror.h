// Keeps state in bytes beside symbolic state: executes on a StateBackend what the checker executed,
// and compares each element (semantics: bytes-state). The checker finds wrong symbolic state; the
// mirror only checks that memory agrees with it, so wrong state must be equally wrong in memory.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/result.h"
#include "core/check/check_context.h"
#include "core/check/step_checker.h"
#include "core/check/symbolic_state.h"
#include "core/state/state_backend.h"
#include "core/state/state_memory.h"
#include "core/state/state_ops.h"

namespace hybridscope {

// In which layers a block's bytes are what symbolic state says. Mamba groups may have different
// numbers of layers, and faulty metadata lets one group write into another's block: then symbolic
// state describes only the layers that both have.

class ContentGroups {
 public:
  explicit ContentGroups(const StateMemory& memory);

  // Applies the operations of a step.
  void apply(const StateOps& ops);

  // The mamba group in whose layers symbolic state describes the block's state of this kind.
  std::int32_t of(StateKind kind, std::int32_t block) const {
    return (kind == StateKind::conv ? conv_ : temporal_)[static_cast<std::size_t>(block)];
  }
  std::int32_t num_layers(std::int32_t group_index) const {
    return num_layers_[static_cast<std::size_t>(group_index)];
  }

 private:
  std::int32_t narrower(std::int32_t a, std::int32_t b) const;
  std::int32_t source(StateKind kind, std::int32_t block) const;
  void apply_copies(std::span<const StateCopyOp> copies);
  void apply_row(const StateOps& ops, const ForwardRow& row);

  std::vector<std::int32_t> num_layers_;  // [mamba groups] that are kept in memory
  std::int32_t widest_ = 0;
  std::vector<std::int32_t> temporal_;  // [num_blocks] into the mamba groups
  std::vector<std::int32_t> conv_;
};

class StateMirror {
 public:
  // Requires: `backend` outlives the mirror, and all of its memory is poison. Errors: a memory of
  // another configuration; conv windows of other than W - 1 + K positions (known bug 25: shorter
  // ones would be written past their end).
  static Result<StateMirror> create(const CheckConfig& config, StateBackend& backend);

  // Executes the last step of `checker`, which logs its operations, and compares the bytes that the
  // step wrote, or all. Findings of state_bytes_wrong, one per block and kind of state, valid until
  // the next call. Error: the backend's.
  Result<std::span<const Finding>> follow(const StepChecker& checker, std::int64_t step,
                                          CheckScope scope);

  std::int64_t num_elements_verified() const { return num_elements_verified_; }

 private:
  StateMirror(const CheckConfig& config, StateBackend& backend);

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

// Logs what the rows of a step do to state, as operations for a StateBackend
// (core/state/state_ops.h). Costs nothing while logging is off.

// Logs the tokens of the step's rows, in the order of the batch. Call after truth.fold().
void log_tokens(CheckContext& context, const RowTruth& truth);

// Logs a write of the current row.
inline void log_row_write(CheckContext& context, const ForwardWrite& write) {
  if (StateOps* ops = context.ops()) ops->writes.push_back(write);
}

// Appends the row whose writes were logged since the previous row; a row without writes is left
// out. Fills in first_write and num_writes.
void append_row(StateOps& ops, ForwardRow row);
inline void log_row(CheckContext& context, const ForwardRow& row) {
  if (StateOps* ops = context.ops()) append_row(*ops, row);
}

// Logs a padding row, which folds one token of its own, kPoison.
void log_padding_row(CheckContext& context, ForwardRow row);

}  // namespace hybridscope
