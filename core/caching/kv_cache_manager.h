// The scheduler's view of the KV cache: looks up cached prefixes, gives blocks to requests, takes
// them back (semantics: get-computed-blocks, allocate-slots). Owns the pool and the block lists of
// all requests. A plain copy is a snapshot.
//
// A step: new_step_starts, then get_computed_blocks / allocate_slots / withdraw / free while
// scheduling, and publish when the step's work is known to happen before anything scheduled later.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/ids.h"
#include "core/base/policy_set.h"
#include "core/base/result.h"
#include "core/caching/block_hash.h"
#include "core/caching/block_pool.h"
#include "core/caching/cache_events.h"
#include "core/caching/hybrid_coordinator.h"
#include "core/caching/mamba_manager.h"
#include "core/caching/retention.h"
#include "core/caching/single_type_manager.h"
#include "core/model/kv_cache_spec.h"

namespace hybridscope {

// Where a request is in its life (semantics: allocate-slots, schedule-waiting).
enum class RequestStatus : std::uint8_t { waiting, running, preempted, finished };

struct AllocateSlotsArgs {
  std::int32_t num_new_tokens = 0;                // positive
  std::int32_t num_new_computed_tokens = 0;       // tokens of the hit
  const CacheHit* new_computed_blocks = nullptr;  // blocks of the hit; null: none
  std::int32_t num_lookahead_tokens = 0;
  bool full_sequence_must_fit = false;
  std::int32_t reserved_blocks = 0;
  bool has_scheduled_reqs = false;
};

// Why allocate_slots refused.
enum class AllocationRefusal : std::uint8_t {
  none,                  // it did not refuse
  full_sequence,         // the whole sequence would not fit (full_sequence_must_fit)
  not_enough_blocks,     // too few free blocks for this step
  hit_cached_this_step,  // its last state or block is registered in this step (semantics:
                         // mamba-get-num-blocks-to-allocate, copy-on-write)
  hit_planned            // a block of the hit is planned in this step and not published yet
};

// Refused iff num_blocks_to_allocate + watermark_blocks > num_free_blocks - reserved_blocks (full
// sequence check: > num_free_blocks).
struct Allocation {
  AllocationRefusal refusal = AllocationRefusal::none;
  // Over all groups; more than the pool has if a hit has to wait.
  std::int64_t num_blocks_to_allocate = 0;
  std::int64_t watermark_blocks = 0;
  std::int32_t num_free_blocks = 0;  // when it was decided
  std::int32_t reserved_blocks = 0;
  // [num_groups] Granted: the group's new blocks are block_ids(request, group) from this column on
  // (they may include null blocks and moved speculative blocks). Valid until the next call.
  std::span<const std::int32_t> first_new_column = {};

  bool granted() const { return refusal == AllocationRefusal::none; }
};

// What the cache reads of a request.
struct RequestCacheView {
  RequestId id = {};
  std::span<const BlockHash> block_hashes = {};  // [num_tokens / hash_block_size], more is fine
  std::int32_t num_tokens = 0;                   // prompt and output
  std::int32_t num_computed_tokens = 0;
  std::int32_t num_in_flight_tokens = 0;  // SkippedBasis::processed only
  RequestStatus status = RequestStatus::waiting;
  CachedPrompt prompt = {};
};

struct KVCacheManagerConfig {
  KVCacheConfig kv_cache_config = {};
  std::int32_t max_model_len = 0;
  bool enable_caching = true;
  bool use_eagle = false;  // the last block of a hit is computed again for a draft model
  std::int32_t num_hash_lookahead_tokens = 0;  // that a block's hash covers besides its own
  bool mamba_shared_prefix_checkpoint = false;
  std::int32_t scheduler_block_size = 16;
  std::int32_t hash_block_size = 16;
  double watermark = 0.0;                               // fraction of num_blocks
  std::optional<std::int32_t> retention_interval = {};  // tokens; empty: every state is kept
  FixedPolicies policies = {};
};

class KVCacheManager {
 public:
  // Errors: sizes that are not positive, a watermark outside 0..1, a retention interval that is no
  // multiple of scheduler_block_size, and those of HybridCoordinator::create. `log` (may be null)
  // must outlive the manager or be replaced.
  static Result<KVCacheManager> create(const KVCacheManagerConfig& config, CacheEventLog* log);

  // Where events go from now on; null: nowhere. A copy writes to the log of its original.
  void set_event_log(CacheEventLog* log) { pool_.set_event_log(log); }

  // Hits on mamba states registered before this call become usable
  // (semantics: mamba-get-num-blocks-to-allocate).
  void new_step_starts();

  // The cached prefix of the request, at most num_tokens - 1 tokens. Error: too few block hashes.
  Result<CacheHit> get_computed_blocks(const RequestCacheView& request) const;

  // Blocks for num_new_tokens more tokens. Refused: no change, except that blocks the request does
  // not need any more may have been freed (as in the reference). Errors: num_new_tokens not
  // positive, negative counts, invalid request id, too few block hashes, a hit for a request that
  // already runs, a pool that runs empty although the need was met (the request's counts contradict
  // its blocks). After an error the state is not specified, but consistent.
  Result<Allocation> allocate_slots(const RequestCacheView& request, const AllocateSlotsArgs& args);

  // Registers and publishes the request's blocks that are full after num_tokens computed tokens, a
  // count that returned frames confirm (semantics: update-from-output-async; vLLM
  // AsyncScheduler._update_request_with_output). No effect without caching or without blocks.
  // Requires: block hashes of num_tokens tokens.
  void cache_computed_blocks(const RequestCacheView& request, std::int32_t num_tokens);

  // The copies that the step makes before anything else, since the last call, in order
  // (semantics: copy-on-write). Their blocks keep a reference each until they reach free_blocks,
  // which may be at once.
  struct BlockCopies {
    std::vector<PendingCopy> copies;
    bool empty() const { return copies.empty(); }
  };
  BlockCopies take_block_copies();
  void free_blocks(const BlockCopies& copies);
  // Their blocks are freed later, by free_due.
  void defer(const BlockCopies& copies);
  void free_due(const BlockCopies& copies);

  // Frees all blocks of the request. No effect on a request without blocks.
  void free(RequestId request);

  // take_blocks clears the request's lists; the blocks keep their references until they reach
  // free_blocks (semantics: deferred-frees).
  struct DeferredBlocks {
    RequestId request;
    std::vector<std::vector<std::int32_t>> block_ids;  // [num_groups], in freeing order
  };
  DeferredBlocks take_blocks(RequestId request);
  void free_blocks(const DeferredBlocks& blocks);

  // Drops all hashes if no block is in use; returns whether it did.
  bool reset_prefix_cache();

  // The blocks lose their hashes. Error: no such block.
  Status evict_blocks(std::span<const std::int32_t> block_ids);

  // Leading blocks that all requests with blocks share, as seen from `request`; [num_groups].
  std::vector<std::int32_t> get_num_common_prefix_blocks(RequestId request) const;

  // For BlockRegistration::planned_then_published. publish: requests scheduled from now on may use
  // what was planned so far; call it before finished requests are freed. withdraw: call it before
  // freeing a request that was scheduled in this step and will not run.
  void publish() { pool_.publish(); }
  void withdraw(RequestId request) { pool_.withdraw(request); }

  // Where the chunk of the request's last allocation stores a state before its end: tokens before
  // it (0: nowhere) and the column of the group's list (semantics: prefill-checkpoint).
  std::pair<std::int32_t, std::int32_t> checkpoint(RequestId request, std::int32_t group) const;

  // The request's block list; empty without blocks. Valid until the request is touched again.
  std::span<const std::int32_t> block_ids(RequestId request, std::int32_t group) const;

  std::int32_t num_groups() const { return coordinator_.num_groups(); }
  std::int32_t num_free_blocks() const { return pool_.num_free_blocks(); }
  std::int32_t num_requests() const { return num_tables_; }  // that hold a block list
  const BlockPool& pool() const { return pool_; }

 private:
  using Manager = std::variant<FullAttentionManager, MambaManager>;
  struct Plan;  // one allocate_slots in progress

  KVCacheManager(const KVCacheManagerConfig& config, HybridCoordinator coordinator,
                 CacheEventLog* log);

  void record_each(CacheEventKind kind, const BlockCopies& copies);
  MambaManagerConfig mamba_config(const KVCacheManagerConfig& config,
                                  const GroupParameters& parameters, const MambaSpec& spec) const;
  Status check_request(const RequestCacheView& request) const;
  Status check_args(const AllocateSlotsArgs& args) const;
  Plan make_plan(const RequestCacheView& request, const AllocateSlotsArgs& args) const;
  std::int64_t blocks_to_allocate(const Plan& plan) const;
  std::int64_t blocks_of_full_sequence(const Plan& plan, std::int32_t num_tokens) const;
  Allocation refuse(const Plan& plan, AllocationRefusal refusal) const;
  BlockNeedArgs need_of(const Plan& plan, std::size_t group) const;
  void remove_skipped_blocks(RequestId request, const Plan& plan);
  void note_checkpoints(const Plan& plan);
  Status allocate(RequestId request, Plan& plan);
  void add_local_computed_blocks(RequestId request, const Plan& plan);
  void cache_blocks(const RequestCacheView& request, std::int32_t slot, std::int32_t num_tokens);

  std::int32_t slot_of(RequestId request) const;
  std::int32_t acquire_slot(RequestId request);
  void release_slot(RequestId request);
  TableEdit edit(RequestId request, std::int32_t slot, std::size_t group);
  const RequestTable& table(std::int32_t slot, std::size_t group) const;

  HybridCoordinator coordinator_;
  BlockPool pool_;
  std::vector<Manager> managers_;  // [num_groups]
  std::int32_t max_model_len_ = 0;
  std::int32_t hash_block_size_ = 16;
  std::int32_t num_hash_lookahead_tokens_ = 0;
  std::int64_t watermark_blocks_ = 0;
  bool enable_caching_ = true;
  FixedPolicies policies_;

  // Requests with block lists live in slots, which are reused: memory follows the live requests.
  std::vector<std::int32_t> slot_of_request_;  // [largest request id + 1], -1: none
  std::vector<std::int32_t> free_slots_;
  std::vector<RequestTable> tables_;  // [slots, num_groups]
  RequestTable no_table_;
  std::int32_t num_tables_ = 0;
  std::vector<std::int32_t> first_new_column_;  // [num_groups], of the last allocation
};

}  // namespace hybridscope
