// Runs under the checker: random small engines with requests and shapes of states, and engines
// whose memory is told as hashes.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "core/check/check_context.h"
#include "core/check/state_hash_check.h"
#include "core/check/step_checker.h"
#include "core/engine/engine.h"
#include "core/engine/engine_config.h"
#include "core/state/state_memory.h"
#include "kernels/cpu/cpu_state_backend.h"
#include "kernels/memory_map.h"
#include "tests/core/check/planted.h"
#include "tests/support/small_engine.h"

namespace hybridscope::test {

using Random = std::mt19937_64;

// 0 .. limit - 1.
std::int32_t below(Random& random, std::int32_t limit);

// Any mode, kind of layer, speculation and budget; plenty of blocks.
SmallEngine random_engine(Random& random);

// A prompt of up to 35 tokens, part of it shared with the other requests.
AddRequest random_request(Random& random);

// In seven of twelve calls a command for one of the requests or the engine.
void random_command(Random& random, PlantedRun& run);

// "none", "all", "align".
std::string mode_name(MambaCacheMode mode);

using Draw = std::function<int(int low, int high)>;  // in [low, high]

struct DrawnMemory {
  StateMemoryOptions options;
  KVCacheConfig config;
};

// Shapes, dtypes, padding, layout and layers of the scenario's mamba groups. Groups may have
// different numbers of layers.
DrawnMemory draw_memory(const EngineConfig& engine, const Draw& in);

// The engine's, with the layers of the memory.
CheckConfig check_config_of(const EngineConfig& engine, const DrawnMemory& memory);

// An engine, its checker, and bytes beside them that may go wrong: what they hold is told as
// hashes, as an observer of a real engine would tell it.

// The bytes of one block in all buffers.
class BlockBytes {
 public:
  explicit BlockBytes(CpuStateBackend& backend) : backend_(backend) {}

  // A byte of a state of the group's first layer.
  std::byte& byte(std::int32_t block, std::int32_t state, std::int64_t offset);
  void copy(std::int32_t from, std::int32_t to);
  // Of the state `state` and of those behind it.
  std::vector<std::byte> save(std::int32_t block, std::int32_t state) const;
  void restore(std::int32_t block, std::int32_t state, const std::vector<std::byte>& bytes);

 private:
  std::span<std::byte> page(std::int32_t block, std::int32_t buffer, std::int32_t state = 0) const;
  CpuStateBackend& backend_;
};

// What goes wrong in a step though every decision is right.
struct MemoryFault {
  bool drops_copies = false;          // no copy runs
  bool drops_forward = false;         // no layer runs
  bool tells_nothing = false;         // a group without blocks
  bool copies_whole_windows = false;  // a copy does not shift its window
  // With the step's operations; before the pre-copies, and at the end of the forward pass.
  std::function<void(BlockBytes&, const StateOps&)> before_step = {};
  std::function<void(BlockBytes&, const StateOps&)> in_forward = {};
};

class HashedRun {
 public:
  // Error-free configurations only. One hash tells a whole window unless `by_position`.
  HashedRun(const EngineConfig& engine, const CheckConfig& check, StateMemory memory,
            bool by_position = true);

  void apply(const Command& command) { (void)engine_.apply(command); }
  // The findings of this step's hashes.
  std::span<const Finding> step(const MemoryFault& fault = {});

  bool done() const { return engine_.num_unfinished() == 0 && !engine_.has_frame_in_flight(); }
  const StateOps& ops() const { return checker_.ops(); }
  std::int64_t num_steps() const { return num_steps_; }
  std::int64_t num_told() const { return num_told_; }
  std::int64_t num_copies() const { return num_copies_; }

 private:
  void run_batches(StateOpKind until, const MemoryFault& fault);
  void run(const StateOpBatch& batch, const MemoryFault& fault);
  std::vector<std::int32_t> blocks_to_tell(std::int32_t group_index);
  ToldHashes hashes_of(std::int32_t group_index, const std::vector<std::int32_t>& blocks) const;

  Engine engine_;
  StepChecker checker_;
  StateHashCheck hashes_;
  std::unique_ptr<CpuStateBackend> backend_;
  MemoryMap map_;
  std::int32_t num_positions_;
  std::int32_t conv_state_len_;
  std::size_t next_batch_ = 0;
  std::int32_t in_turn_ = 0;
  std::vector<std::vector<std::int32_t>> told_before_;  // [mamba groups] blocks of the step before
  std::vector<ToldGroup> told_;
  std::int64_t num_steps_ = 0;
  std::int64_t num_told_ = 0;
  std::int64_t num_copies_ = 0;
};

}  // namespace hybridscope::test
