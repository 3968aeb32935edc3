// What each row of a mamba group reads and writes in a step's forward pass, as columns and blocks,
// and which block each write was made from. Derived from the metadata alone, as a layer's kernels
// see it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/check/state_write.h"
#include "core/model/kv_cache_spec.h"
#include "core/trace/step_trace.h"

namespace hybridscope {

// The kinds of state that a group's layers keep: some models have no conv window (linear
// attention), some no temporal state (short convolutions).

// A group without a list of its state tensors keeps both kinds.
inline bool keeps(const KVCacheGroup& group, StateKind kind) {
  const auto* mamba = std::get_if<MambaSpec>(&group.spec);
  if (mamba == nullptr) return false;
  return mamba->states.empty() ||
         std::ranges::find(mamba->states, kind, &StateTensorSpec::kind) != mamba->states.end();
}

// Does any group keep this kind?
inline bool keeps(const KVCacheConfig& config, StateKind kind) {
  return std::ranges::any_of(config.groups,
                             [kind](const KVCacheGroup& group) { return keeps(group, kind); });
}

struct StatesKept {
  bool temporal = true;
  bool conv = true;
};
inline StatesKept states_kept(const KVCacheConfig& config) {
  return {.temporal = keeps(config, StateKind::temporal), .conv = keeps(config, StateKind::conv)};
}
inline StatesKept states_kept(const KVCacheGroup& group) {
  return {.temporal = keeps(group, StateKind::temporal), .conv = keeps(group, StateKind::conv)};
}

struct StatePlace {
  // In the request's block table as the worker has it; -1: the block is in none of its columns.
  std::int32_t column = -1;
  std::int32_t block = 0;
};

// A state that a prefill leaves on its way.
struct PassedState {
  StatePlace place;
  std::int32_t num_tokens = 0;  // that it has folded
};

struct ForwardPlaces {
  std::int32_t row = -1;   // in the batch; padding rows are not listed
  bool is_decode = false;  // runs the decode kernel
  // Nothing is read or written, and no places are told: its first state index is null, or it has no
  // tokens (semantics: null-rows).
  bool is_skipped = false;
  bool counts_given = false;
  std::int32_t num_accepted_tokens = 1;  // as given to the kernel
  std::int32_t num_query_tokens = 0;
  bool has_initial_state = true;
  bool source_in_range = true;     // false: the accepted count points outside the row
  std::int32_t window_column = 0;  // temporal source = this + num_accepted_tokens - 1
  StatePlace temporal_source;
  StatePlace conv_source;
  // Prefill rows: in mode all at the block boundaries that the row passes, else its checkpoint
  // (semantics: prefill-checkpoint), if it stores one.
  std::vector<PassedState> passed;
  // Decode rows: query token t writes element t. Prefill rows: one element, the state after the
  // row.
  std::vector<StatePlace> targets;
};

// The group's real rows, in the order of its metadata. Empty without metadata.
std::vector<ForwardPlaces> forward_rows(const StepTrace& trace, const GroupTrace& group,
                                        MambaCacheMode mode);

// A row without a request that folds a placeholder into the state of a block: a padding row of the
// metadata that its kernel does not recognise as one, or a row of a dummy run.
struct PaddingWrite {
  std::int32_t row = -1;
  std::int32_t block = 0;
};
std::vector<PaddingWrite> padding_writes(const StepTrace& trace, const GroupTrace& group,
                                         MambaCacheMode mode);

// Does the step replay a graph that reads arrays of the group, and did no build of this step write
// them? Then what forward_rows says is an assumption: the graph finds what is left in its buffers.
bool replays(const StepTrace& trace, const GroupTrace& group);
bool replays_stale(const StepTrace& trace, const GroupTrace& group);

// The source block of a write to state: the block that a copy read, or the block from which a
// forward pass read its initial state.

// The sources of all writes of a step, resolved once.
class WriteSources {
 public:
  // `trace`: the step that wrote, with metadata.
  WriteSources(const StepTrace& trace, MambaCacheMode mode);

  // Empty for keys and values that a row wrote (they depend on tokens alone), for a forward pass
  // without an initial state, and for a step without metadata.
  std::optional<std::int32_t> of(const StateWrite& write) const;

 private:
  struct Source {
    std::int32_t group = 0;
    std::int64_t target = 0;  // copy: block; forward pass: request
    std::int32_t temporal = 0;
    std::int32_t conv = 0;
  };
  // Sorted by group and target; of equal entries the last one counts.
  using Sources = std::vector<Source>;
  static void add_block_copies(const StepTrace& trace, Sources& sources);
  static void add_copies(const CopyLaunch& launch, Sources& sources);
  static void add_rows(const StepTrace& trace, MambaCacheMode mode, Sources& sources);
  static void sort(Sources& sources);
  static std::optional<std::int32_t> find(const Sources& sources, const StateWrite& write,
                                          std::int64_t target);

  Sources block_copies_;
  Sources pre_copies_;
  Sources post_copies_;
  Sources rows_;
};

}  // namespace hybridscope
