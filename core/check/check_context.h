// What the units of the checker share while they check one step.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/ids.h"
#include "core/check/finding.h"
#include "core/check/state_write.h"
#include "core/check/symbolic_state.h"
#include "core/model/kv_cache_spec.h"
#include "core/state/state_ops.h"
#include "core/trace/block_table_mirror.h"
#include "core/trace/step_trace.h"

namespace hybridscope {

// Limits of every step, from the settings that the engine was started with.
struct CheckLimits {
  std::int32_t max_num_seqs = 0;
  std::int32_t max_model_len = 0;                          // tokens
  std::int32_t chunk_size = 0;                             // of SSD kernels; 0: not known
  std::vector<std::int32_t> cudagraph_capture_sizes = {};  // ascending; empty: not known
};

// What a checker has to know about the engine that made the traces.
struct CheckConfig {
  KVCacheConfig kv_cache_config;
  MambaCacheMode mamba_cache_mode = MambaCacheMode::align;
  std::int32_t conv_kernel = 4;             // W, at most kMaxConvKernel
  std::int32_t num_speculative_tokens = 0;  // K
  std::int32_t conv_window_len = 0;         // positions of a conv block; 0: conv_state_len()
  std::int32_t hash_block_size = 16;
  bool hits_inside_blocks = false;  // a hit may end at any hash block (semantics: copy-on-write)
  bool keys_inside_blocks =
      false;  // a prompt's end is registered there (semantics: prompt-tail-key)
  // Sampled tokens that a stop cuts off do not count as computed (policy stopped_tokens).
  bool takes_stopped_tokens_back = false;
  std::optional<CheckLimits> limits = {};  // absent: not known, not checked

  // Hash blocks that end inside a block of the widest attention group: where hits can end too.
  std::int32_t num_inner_hash_blocks() const;
  std::int32_t conv_state_len() const { return conv_kernel - 1 + num_speculative_tokens; }
  // Positions of a conv block that the kernels use and that it does not have (known bug 25).
  std::int32_t missing_conv_positions() const {
    return conv_window_len == 0 ? 0 : std::max(conv_state_len() - conv_window_len, 0);
  }
};

// The prefix a registered block stands for.
struct BlockLabel {
  bool registered = false;
  std::int32_t group = -1;
  std::int32_t num_tokens = 0;
  Fingerprint block_hash = 0;
  std::array<Fingerprint, kMaxConvKernel> history{};  // mamba groups: [conv_kernel - 1]
};

// Descriptions of the current group's metadata; the storage is reused.
struct MetadataSays {
  std::vector<NeededArray> needed_arrays = {};
  std::vector<MetadataBatchRow> rows = {};
  std::vector<MetadataMismatch> mismatches = {};
  std::vector<StateAccess> accesses = {};
  std::vector<std::int32_t> boundary_tokens = {};  // of one row
  std::vector<std::int32_t> computed_tokens = {};  // [rows]
  std::vector<std::int32_t> row_lengths = {};      // [rows], as a group tells them
  std::vector<std::int32_t> other_lengths = {};    // as the group before it
};

// Everything that lives from step to step.
struct CheckState {
  explicit CheckState(const CheckConfig& config);

  CheckConfig config;
  SymbolicState state;
  BlockTableMirror tables;         // the scheduler's
  std::vector<BlockLabel> labels;  // [num_blocks] the first of each block
  // A block that can be hit at several places has its further labels here, as (block, label).
  std::vector<std::pair<std::int32_t, BlockLabel>> more_labels;
  std::vector<std::int32_t> claimed_refs;  // [num_blocks] reference counts by the events
  bool logs_writes = false;
  std::vector<StateWrite> writes;  // of the last step, in order; only with logs_writes
  bool logs_ops = false;
  StateOps ops;                             // of the last step; only with logs_ops
  std::vector<std::int32_t> group_indices;  // [groups] number among the mamba groups, else -1
  MetadataSays metadata;
};

// The check of one step. Findings go to `findings`.
class CheckContext {
 public:
  CheckContext(CheckState& shared, const StepTrace& trace, std::vector<Finding>& findings)
      : shared_(shared), trace_(trace), findings_(findings) {}

  const CheckConfig& config() const { return shared_.config; }
  const StepTrace& trace() const { return trace_; }
  SymbolicState& state() { return shared_.state; }
  const SymbolicState& state() const { return shared_.state; }
  BlockTableMirror& tables() { return shared_.tables; }
  CheckState& shared() { return shared_; }
  const CheckState& shared() const { return shared_; }

  // Adds a finding; the step is filled in.
  void report(Finding finding);

  // The next write of this step by `request`, whose result encodes num_tokens tokens.
  WriteEvent next_write(WriteKind kind, RequestId request, std::int32_t num_tokens) {
    return {.kind = kind,
            .step = static_cast<std::int32_t>(trace_.step),
            .ordinal = ordinal_++,
            .request = request,
            .num_tokens = num_tokens};
  }

  // Logs a write that was executed, if logging is on. `where` has its group and column.
  void log_write(const WriteEvent& event, const Finding& where, ContentKind content,
                 std::int32_t block, Fingerprint fingerprint) {
    if (!shared_.logs_writes) return;
    shared_.writes.push_back({.event = event,
                              .group = where.group,
                              .content = content,
                              .column = where.column,
                              .block = block,
                              .fingerprint = fingerprint});
  }

  // The operations of this step; null: not logged.
  StateOps* ops() { return shared_.logs_ops ? &shared_.ops : nullptr; }
  // Is it a block of the pool, and not the null block?
  bool is_block(std::int32_t block) const {
    return block > kNullBlock && block < config().kv_cache_config.num_blocks;
  }
  // A block that is read, as operations name it.
  std::int32_t source_of(std::int32_t block) const {
    return is_block(block) ? block : kPoisonSource;
  }
  // Rows of the batch without padding.
  std::int32_t num_rows() const { return static_cast<std::int32_t>(trace_.rows.size()); }
  // Number of a group among the mamba groups. Requires: it is one.
  std::int32_t group_index(std::int32_t group) const {
    return shared_.group_indices[static_cast<std::size_t>(group)];
  }

  // Call before writing to a block: reports writes through the null block and into blocks that the
  // request does not own alone, and puts registered blocks on the list of blocks to recheck. Other
  // requests may hold an attention block that their hits of this step cover. False: the write must
  // be dropped.
  bool may_write(std::int32_t block, const Finding& where) {
    const bool owns = is_block(block) &&
                      tables().block_at(where.request, where.group, where.column) == block &&
                      tables().holders(block) <= 1;
    if (!owns && !report_foreign_write(block, where)) [[unlikely]]
      return false;
    look_again_at(block);
    return true;
  }

  // Call before a write that belongs to no request: puts registered blocks on the recheck list.
  void look_again_at(std::int32_t block) {
    if (shared_.labels[static_cast<std::size_t>(block)].registered) touched_.push_back(block);
  }

  // Call before reading state of `where.request` from an existing block: reports a block that no
  // request holds any more, and one that belongs to another request or group (semantics: I4, I7).
  // `owns`: the request holds it where the reader expects it.
  void check_source(std::int32_t block, bool owns, const Finding& where);

  // Is the block registered as this prefix? It may be as several.
  bool is_registered(std::int32_t block, std::int32_t group, Fingerprint block_hash) const;

  std::span<const std::int32_t> touched_registered_blocks() const { return touched_; }

 private:
  // False: the block cannot be written at all.
  bool report_foreign_write(std::int32_t block, const Finding& where);
  std::int32_t num_readers_of_step(std::int32_t block, const Finding& where) const;

  CheckState& shared_;
  const StepTrace& trace_;
  std::vector<Finding>& findings_;
  std::int32_t ordinal_ = 0;
  std::vector<std::int32_t> touched_;
};

// Two numbers of a step that should be equal and are not, as a finding.

struct Mismatch {
  std::int64_t expected = 0;
  std::int64_t seen = 0;
  std::string_view detail{};
  std::int32_t row = -1;  // of the batch; its request is filled in
  std::int32_t group = -1;
};

void report(CheckContext& context, Rule rule, const Mismatch& mismatch);

// Reports metadata_inconsistent if the numbers differ; true: they are equal, as nearly always.
inline bool expect_equal(CheckContext& context, const Mismatch& mismatch) {
  if (mismatch.expected == mismatch.seen) [[likely]]
    return true;
  report(context, Rule::metadata_inconsistent, mismatch);
  return false;
}

}  // namespace hybridscope
