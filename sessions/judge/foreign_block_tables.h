// The requests of another engine as the judge follows them, and the cache events that follow from
// the block tables of its trace: which blocks were allocated, shared and freed, and which prefix
// each block is registered under. The judge's side of the prefix cache (docs/semantics/caching.md).
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/base/fingerprint.h"
#include "core/base/ids.h"
#include "core/base/result.h"
#include "core/caching/hybrid_coordinator.h"
#include "core/engine/engine_config.h"
#include "core/engine/token_sequence.h"
#include "core/trace/block_table_mirror.h"
#include "core/trace/step_trace.h"
#include "sessions/judge/foreign_trace.h"

namespace hybridscope {

// What the judge keeps about another engine's requests: their tokens and prefixes, and the worker's
// view of them.

// The content of a token that a trace gives by id.
constexpr TokenContent foreign_token(std::int32_t id) {
  return tagged_token(TokenKind::prompt, static_cast<std::uint64_t>(static_cast<std::uint32_t>(id))
                                             << 2);
}

class ForeignRequest {
 public:
  // F(0) is the fingerprint of `cache_salt` (0: no salt).
  explicit ForeignRequest(std::uint64_t cache_salt);

  // Adds prompt tokens at the beginning, and output tokens after every step.
  void append(std::span<const std::int32_t> token_ids);
  // The scheduler learns the tokens of the frame that returns.
  void confirm(std::int32_t num_sampled_tokens);
  // After a reset: tokens of frames in flight are dropped when they return.
  void forget_frames_in_flight();
  // The request lost its blocks; it starts over when it is admitted again.
  void leave_run();

  // Prompt and output, including tokens of frames in flight.
  std::int32_t num_tokens() const { return static_cast<std::int32_t>(tokens_.size()); }
  // Requires: 0 <= position < num_tokens().
  TokenContent token(std::int32_t position) const {
    return tokens_[static_cast<std::size_t>(position)];
  }
  // F(position); 0 before the first token. Past the known tokens, where an engine with a wrong
  // count may read, a value that no prefix has.
  Fingerprint prefix(std::int32_t position) const;

  std::int32_t num_prompt_tokens = 0;
  std::int32_t max_num_tokens = 0;    // with all its output; 0: not in the trace
  std::int32_t num_known_tokens = 0;  // tokens that have returned to the scheduler
  std::int32_t num_lost_tokens = 0;   // of these, the engine's scheduler does not have so many
  // The scheduler's count, after the last step or commit.
  std::int32_t num_computed_tokens = 0;
  std::int32_t num_output_placeholders = 0;
  std::int32_t exact_computed_tokens = -1;  // after its last row; -1: no row in this run yet
  std::int32_t prefill_len = 0;             // V2: tokens known at its last admission
  std::int32_t run = 0;                     // number of preemptions
  std::int32_t first_valid_run = 0;         // frames of earlier runs are stale
  bool runs = false;                        // admitted and not preempted since
  bool readmitted = false;                  // V2: listed as new in this step although already known
  std::int32_t row = -1;                    // in the previous step; -1: none
  std::int32_t scheduled = -1;              // index into the step's scheduled requests, -1: none
  IdRange sampled;                          // in the current step
  std::int32_t num_accepted_tokens = 1;     // of its last step, bonus token included
  std::vector<std::vector<std::int32_t>> block_ids;  // [groups][columns] the worker's block ids
  std::vector<std::int32_t> num_cached_block;        // [groups] columns below it carry a hash

 private:
  std::vector<TokenContent> tokens_;
  std::vector<Fingerprint> prefixes_;  // [num_tokens + 1]
};

// Requests by id, without those that left.
class ForeignRequests {
 public:
  ForeignRequest& add(RequestId id, std::uint64_t cache_salt);
  void release(RequestId id);
  bool holds(RequestId id) const {
    return id.value >= 0 && static_cast<std::size_t>(id.value) < requests_.size() &&
           requests_[static_cast<std::size_t>(id.value)] != nullptr;
  }
  ForeignRequest& operator[](RequestId id) {
    HS_EXPECT(holds(id));
    return *requests_[static_cast<std::size_t>(id.value)];
  }
  const ForeignRequest& at(RequestId id) const {
    HS_EXPECT(holds(id));
    return *requests_[static_cast<std::size_t>(id.value)];
  }
  std::int32_t num_live() const { return num_live_; }

 private:
  std::vector<std::unique_ptr<ForeignRequest>> requests_;
  std::int32_t num_live_ = 0;
};

// The column of a request's list that holds the block; the last one if several do; -1: none.
inline std::int32_t column_of(std::span<const std::int32_t> ids, std::int32_t block) {
  const auto found = std::find(ids.rbegin(), ids.rend(), block);
  return static_cast<std::int32_t>(ids.rend() - found) - 1;
}

class ForeignBlockTables {
 public:
  // Errors: group sizes that the coordinator refuses.
  static Result<ForeignBlockTables> create(const ForeignHeader& header);

  // Appends to trace.cache_events the changes between the last step's tables and this step's. A
  // block that a request got is a hit if the request was admitted in this step and the column
  // belongs to its computed tokens (`trace.scheduled`), else an allocation. Blocks that move to
  // another column of the same request keep their content.
  void follow(const ForeignStep& step, ForeignRequests& requests, StepTrace& trace);

  // Appends the step's copies of whole blocks, after follow. Error: a copy whose request or group
  // is not in the trace and follows from no list; one deeper than its column.
  Status take_block_copies(const ForeignStep& step, StepTrace& trace);

  // Appends registrations, and their fingerprints to trace.label_history: those of block_hashes;
  // else full blocks of known and scheduled tokens, as KVCacheManager.cache_blocks plans them, or
  // as far as num_cached_block says.
  void register_blocks(const ForeignStep& step, ForeignRequests& requests, StepTrace& trace);

  // Asynchronous scheduling: appends the registrations of a running request's computed tokens to
  // trace.commit_events when one of its frames returns (semantics: update-from-output-async; vLLM
  // KVCacheManager.cache_blocks).
  void register_computed_blocks(RequestId request, std::int32_t num_tokens,
                                ForeignRequests& requests, StepTrace& trace);

  // Appends what block_hashes_after_output says to trace.commit_events. Requires: block_hashes.
  void take_hashes_after_output(const ForeignStep& step, ForeignRequests& requests,
                                StepTrace& trace);

  const BlockTableMirror& tables() const { return tables_; }
  // Has the block a hash after the last step?
  bool has_hash(std::int32_t block) const {
    return labelled_[static_cast<std::size_t>(block)] != 0;
  }
  // A block of a hit of the last step that has no hash, where the trace tells block_hashes; 0:
  // none.
  std::int32_t hit_without_hash() const { return hit_without_hash_; }

 private:
  ForeignBlockTables(const ForeignHeader& header, HybridCoordinator coordinator);

  struct Change {
    std::int32_t column = 0;
    std::int32_t block = 0;
  };
  // The events that registrations are appended to, and their fingerprints.
  struct Registrations {
    std::vector<CacheEvent>& events;
    std::vector<Fingerprint>& label_history;
  };
  void record(std::vector<CacheEvent>& events, const CacheEvent& event);
  void drop_all_labels(StepTrace& trace);
  void drop_tables(RequestId request, StepTrace& trace);
  void free_block(RequestId request, std::int32_t group, std::int32_t block, StepTrace& trace);
  void give_block(RequestId request, std::int32_t group, const Change& entering,
                  std::int32_t num_hit_columns, StepTrace& trace);
  void collect_changes(RequestId request, std::int32_t group, std::span<const std::int32_t> now);
  void take_left_blocks(const ForeignStep& step, StepTrace& trace);
  void take_new_lists(const ForeignStep& step, ForeignRequests& requests, StepTrace& trace);
  void note_hit_key(RequestId request, std::int32_t group, const Change& hit,
                    const ForeignRequest& known, StepTrace& trace);
  // Is it unknown which of the columns that num_cached_block counts have a hash? A retention
  // interval does not keep every state, and the counts do not say which; nor is it known where the
  // interval is not.
  bool keys_unknown(std::int32_t group) const;
  void release(RequestId request, std::int32_t block, StepTrace& trace);
  void copy_blocks(std::span<const BlockCopy> copies, StepTrace& trace);
  void lose_hashes(std::span<const ForeignLostHash> lost, std::vector<CacheEvent>& events);
  void register_traced(const ForeignHash& hash, ForeignRequests& requests,
                       const Registrations& registrations);
  void take_hashes(const ForeignStep& step, ForeignRequests& requests, StepTrace& trace);
  void take_hashes_of_preempted(const ForeignStep& step, ForeignRequests& requests,
                                StepTrace& trace);
  void register_block(CacheEvent event, const ForeignRequest& known,
                      const Registrations& registrations);
  std::vector<std::int32_t>& num_cached_block(ForeignRequest& known) const;
  void register_columns(RequestId request, std::int32_t group, std::int32_t end,
                        ForeignRequest& known, const Registrations& registrations);

  EngineConfig config_;
  bool retention_unknown_;  // ForeignHeader
  HybridCoordinator coordinator_;
  BlockTableMirror tables_;
  std::vector<std::int32_t> ref_cnt_;   // [num_blocks]
  std::vector<std::uint8_t> labelled_;  // [num_blocks]
  bool tells_hashes_ = false;           // the step has block_hashes
  bool counts_columns_ = false;         // it has num_cached_block and no block_hashes
  std::int32_t hit_without_hash_ = 0;

  // Changes of the table being followed.
  std::vector<Change> leaving_;   // columns that lose their block
  std::vector<Change> entering_;  // columns that get a block new to the request
};

}  // namespace hybridscope
