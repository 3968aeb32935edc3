// Where a language model runs: the blocks of its layers, and the forward pass over them. A step's
// work is given in order; what it asked to keep is there when finish() returns. The host's is
// here, a GPU's is in kernels/language; both leave the same bits, in form
// chunked numbers within its tolerances.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/base/result.h"
#include "core/base/tensor_view.h"
#include "core/caching/cache_events.h"
#include "core/language/language_values.h"
#include "core/language/numeric_memory.h"
#include "core/numeric/model_forward.h"
#include "core/state/copy_launch.h"
#include "core/state/state_ops.h"

namespace hybridscope {

// A batch for all layers. Arrays are read during the call only.
struct MachineForward {
  std::span<const std::int32_t> token_ids;  // [T] below vocab_size
  std::span<const std::int32_t> positions;  // [T]
  std::span<const ForwardGroup> groups;     // all groups
  // The step replays a full CUDA graph: batches of one size differ in what their arrays hold only.
  bool replays_graph = false;
};

// Elements of a block of one layer: [first, first + count).
struct BlockElementRange {
  std::int32_t layer = 0;
  StateKind kind = StateKind::temporal;
  std::int32_t block = 0;
  std::int64_t first = 0;
  std::int64_t count = 0;
};

// A launch of copies with what the engine's kernels decide by: the inputs that its decisions carry,
// and the block tables. Arrays are read during the call only.
struct DecidedCopies {
  std::span<const CopyDecisionTrace> decisions;            // [rows]
  std::span<const std::int32_t> slots;                     // [rows] V2: idx_mapping
  std::span<const std::int32_t> query_start_loc;           // [rows + 1] of the batch
  std::span<const TensorView<std::int32_t>> block_tables;  // of the recurrent groups, by row
  std::span<const StateCopyOp> copies;                     // what the decisions come to
};

// What finish() did since creation besides carrying out steps.
struct LanguageMachineDelays {
  std::int64_t num_allocations = 0;  // of memory, for a step larger than any before
  std::int64_t num_captures = 0;     // of CUDA graphs
  std::int64_t num_replays = 0;
  std::int64_t num_decided = 0;  // launches of copies that the fused kernels decided
  friend bool operator==(const LanguageMachineDelays&, const LanguageMachineDelays&) = default;
};

class LanguageMachine {
 public:
  virtual ~LanguageMachine() = default;

  virtual const LanguageLayout& layout() const = 0;

  // As NumericMemory's functions. Blocks that do not exist are no block.
  virtual void poison(std::span<const std::int32_t> blocks) = 0;
  virtual void zero(std::span<const std::int32_t> blocks) = 0;
  virtual void copy(std::span<const StateCopyOp> copies, bool shifts_last_position_first) = 0;
  // Carries out the copies of decisions. A machine that has the engine's kernels has them decide
  // and copy, and returns a number for decided(), counted from 0 in each step; absent: it has no
  // kernel for this launch, or the copies meet.
  virtual std::optional<std::size_t> copy_decided(const DecidedCopies& decided) {
    copy(decided.copies, false);
    return std::nullopt;
  }
  virtual void copy_blocks(std::span<const BlockCopy> copies) = 0;
  virtual void forward(const MachineForward& batch) = 0;

  // Keep what the place holds at this point of the step, or the logits of token t of the last
  // forward pass. Both return a number for kept(), counted from 0 in each step. Requires: the place
  // lies inside its block; a forward pass in this step.
  virtual std::size_t keep_state(const BlockElementRange& place) = 0;
  virtual std::size_t keep_logits(std::int32_t token) = 0;

  // Ends the step: all its work is done, and what it keeps can be read until the next step's work
  // is given. Error: the device's; there is no next step then.
  virtual Status finish() = 0;
  virtual std::span<const float> kept(std::size_t number) const = 0;
  // The greedy token of kept logits (greedy_token).
  virtual std::int32_t greedy(std::size_t number) const = 0;
  // [rows] what a launch decided.
  virtual std::span<const StateCopyDecision> decided(std::size_t) const { return {}; }
  virtual LanguageMachineDelays delays() const { return {}; }
};

// What a machine is made for. `kv_cache_config`: of the engine, whose groups the layers run in.
struct LanguageMachineRequest {
  const HybridModel& model;  // outlives the machine
  const KVCacheConfig& kv_cache_config;
  std::int32_t num_speculative_tokens = 0;  // K
  std::int32_t missing_conv_positions = 0;  // ConvRoom::missing
  NumericForm form = NumericForm::recurrent;
  // The most tokens of a step, padding included; 0: not known.
  std::int32_t max_num_tokens = 0;
};
// Errors: those of make_language_layout; memory that cannot be had; a form that the machine has no
// kernels for; no such device.
using MakeLanguageMachine =
    std::function<Result<std::unique_ptr<LanguageMachine>>(const LanguageMachineRequest& request)>;

// A language model in this machine's memory: work is done when it is given.

class HostLanguageMachine final : public LanguageMachine {
 public:
  // Errors: those of NumericMemory::create.
  static Result<std::unique_ptr<LanguageMachine>> create(const LanguageMachineRequest& request);

  const LanguageLayout& layout() const override { return memory_.layout(); }
  void poison(std::span<const std::int32_t> blocks) override;
  void zero(std::span<const std::int32_t> blocks) override;
  void copy(std::span<const StateCopyOp> copies, bool shifts_last_position_first) override;
  void copy_blocks(std::span<const BlockCopy> copies) override;
  void forward(const MachineForward& batch) override;
  std::size_t keep_state(const BlockElementRange& place) override;
  std::size_t keep_logits(std::int32_t token) override;
  Status finish() override;
  std::span<const float> kept(std::size_t number) const override;
  std::int32_t greedy(std::size_t number) const override;

 private:
  HostLanguageMachine(const HybridModel& model, NumericMemory memory);
  std::size_t keep(std::span<const float> values);

  NumericMemory memory_;
  ModelForward forward_;
  std::vector<float> logits_;           // of one token
  std::vector<float> values_;           // what the step keeps, one after the other
  std::vector<std::size_t> ends_ = {};  // [kept]
  bool finished_ = false;               // what is given next is the next step's
};

}  // namespace hybridscope
