// What a CudaLanguageMachine owns, and a step while it is given. Not for other folders: it includes
// CUDA's headers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "kernels/cuda/launch_graph.h"
#include "kernels/language/cuda_language_machine.h"
#include "kernels/language/device_batch.h"
#include "kernels/language/device_copies.h"
#include "kernels/language/device_forward.h"
#include "kernels/language/device_model.h"
#include "kernels/step_plan.h"

namespace hybridscope {

struct CudaLanguageMachine::Content {
  Content(const HybridModel& model, LanguageLayout with_layout, DevicePools with_pools,
          DeviceForward with_forward, int device)
      : vocab_size(model.vocab_size),
        layout(std::move(with_layout)),
        pools(std::move(with_pools)),
        forward(std::move(with_forward)),
        fused(layout, pools.layers(), device),
        conflicts(layout.num_blocks),
        meetings(layout.num_blocks) {}

  std::int32_t vocab_size;
  LanguageLayout layout;
  Stream stream;
  LaunchContext context;
  DevicePools pools;
  DeviceForward forward;
  DeviceCopies fused;
  std::optional<Error> queue_error;  // while the step was queued; finish() returns it
  CopyConflicts conflicts;
  RowMeetings meetings;
  DeviceUpload upload;
  DeviceLanguageStep step;
  std::int64_t allocations_at_creation = 0;

  // What the step keeps: states, logits [rows, vocab], greedy tokens [rows].
  struct Kept {
    bool is_logits = false;
    std::int64_t first = 0;  // float of the states, or row of the logits
    std::int64_t count = 0;
  };
  bool finished = false;  // what comes next is the next step's
  std::vector<Kept> kept;
  std::int64_t num_state_floats = 0;
  std::int64_t num_logits_rows = 0;
  std::vector<std::pair<std::int64_t, std::size_t>> decided;  // the first decision, and rows
  std::int64_t num_decisions = 0;
  std::vector<PlacedFloats> pending_states;
  std::vector<std::int32_t> pending_logits;
  DeviceMemory device_kept;
  PinnedMemory host_kept;

  // The largest needs of the step.
  std::int32_t most_tokens = 0;
  std::int32_t most_positions = 0;
  std::int32_t most_pieces = 0;  // of chunks
  std::int64_t move_floats = 0;
  DeviceMemory move_scratch;
  bool has_front = false;

  // Captured graphs, while what they read stays where it is.
  std::map<std::vector<std::int64_t>, LaunchGraph> graphs;
  const std::byte* graphs_read = nullptr;
  std::int64_t graphs_at_layout = 0;
  LanguageMachineDelays delays;

  float* states() const { return reinterpret_cast<float*>(device_kept.data()); }
  float* logits() const { return states() + num_state_floats; }
  std::int32_t* greedy() const {
    return reinterpret_cast<std::int32_t*>(logits() + num_logits_rows * vocab_size);
  }
  std::int64_t decisions_offset() const {  // bytes
    return 4 * (num_state_floats + num_logits_rows * (vocab_size + 1));
  }
  StateCopyDecision* decisions() const {
    return reinterpret_cast<StateCopyDecision*>(device_kept.data() + decisions_offset());
  }
  std::int64_t kept_bytes() const {
    return decisions_offset() +
           num_decisions * static_cast<std::int64_t>(sizeof(StateCopyDecision));
  }
  std::int64_t num_allocations() const {
    return upload.num_allocations() + forward.num_allocations() + device_kept.num_allocations() +
           fused.num_allocations() + host_kept.num_allocations() + move_scratch.num_allocations();
  }

  Status reserve(const LanguageMachineRequest& request);
  void begin_if_finished();
  void flush_states();
  void flush_logits();
  void fill(std::span<const std::int32_t> blocks, float value);
  void move(const PoolMoves& moves);
  Status launch_forward(const StagedBatch& batch, const std::byte* piece, bool replays_graph);
  Status make_room();
};

}  // namespace hybridscope
