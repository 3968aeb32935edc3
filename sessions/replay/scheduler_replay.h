// A scheduler and its KV cache, driven call by call with explicit token ids: recorded runs of
// another engine are followed in lockstep through it. Requests go by name; no file format is known
// here.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/caching/block_hash.h"
#include "core/caching/cache_events.h"
#include "core/caching/kv_cache_manager.h"
#include "core/engine/engine_config.h"
#include "core/engine/scheduler.h"

namespace hybridscope {

// Token ids as an engine has them; only equality matters.
using TokenIds = std::vector<std::int64_t>;

// Block ids by column, one list a KV-cache group.
using GroupBlockIds = std::vector<std::vector<std::int32_t>>;

struct ReplayRequest {
  std::string name;
  TokenIds prompt_token_ids;
  std::int32_t max_tokens = 1;    // output tokens after which it ends
  std::int32_t priority = 0;      // smaller is more important
  std::int64_t arrival_time = 0;  // any increasing unit
  std::uint64_t cache_salt = 0;   // prompts under different salts share nothing; 0: none
};

// One request's part in a scheduled step.
struct ReplayedRequest {
  std::string name;
  Admission admission = Admission::running;
  std::int32_t num_scheduled_tokens = 0;
  std::int32_t num_computed_tokens = 0;        // before the step; at an admission the cached prefix
  std::int32_t num_output_tokens = 0;          // generated before the step
  std::int32_t num_output_placeholders = 0;    // of frames in flight when scheduled
  TokenIds draft_token_ids;                    // scheduled ones; -1: placeholders
  GroupBlockIds block_ids;                     // whole lists, after scheduling
  std::vector<std::int32_t> first_new_column;  // [groups] the lists are new from here on

  // block_ids from first_new_column on.
  GroupBlockIds new_block_ids() const;
};

// The answer of schedule(), as vLLM's SchedulerOutput tells it.
struct ReplayedSchedule {
  std::vector<ReplayedRequest> scheduled;  // running ones in queue order, then admitted ones
  std::int32_t total_num_scheduled_tokens = 0;
  std::vector<std::string> preempted;                  // in the order they were preempted
  std::vector<std::string> finished;                   // since the last schedule, in that order
  std::vector<std::int32_t> num_common_prefix_blocks;  // [groups] as the first running one sees it
  std::vector<std::int32_t> new_attention_block_ids;  // allocated since the last schedule, by group
};

// Names of ended requests may be used again. After an error the state is as it was before the call,
// except where a call says otherwise.
class SchedulerReplay {
 public:
  // Of the settings only those count that the scheduler and its cache read; `policies` is the
  // profile. Errors: those of KVCacheManager::create, max_num_seqs or a block_size below 1.
  static Result<SchedulerReplay> create(const EngineConfig& config);

  // Error: a request of this name is alive.
  Status add_request(const ReplayRequest& request);

  // Ends the request; a name that is not alive changes nothing, as in vLLM.
  void abort(const std::string& name);

  // Preempts all running requests first if told to; true when all hashes are gone.
  bool reset_prefix_cache(bool reset_running_requests);

  // One step with the configured token budget. Error: the settings contradict each other so that
  // blocks and counts do not fit; no further call makes sense then.
  Result<ReplayedSchedule> schedule();

  // What the step scheduled last has sampled (asynchronously: the first that is not answered), by
  // name: empty for an unfinished prefill chunk, k accepted drafts and one more token otherwise.
  // Those of `stopped` end with it (a stop token), so that blocks of several that end are freed in
  // the order of the step. Errors: no step to answer, no entry for a scheduled request that is
  // still alive, an entry for somebody else, more tokens than drafts + 1.
  Status update_from_output(const std::map<std::string, TokenIds>& sampled_token_ids,
                            const std::set<std::string>& stopped = {});

  // Draft tokens for the next step, by name; synchronous scheduling only. Requests that are not
  // alive or in the middle of their prefill keep none, as in vLLM.
  void update_draft_token_ids(const std::map<std::string, TokenIds>& draft_token_ids);

  // Names of live requests: in order of arrival; in order of their queue.
  std::vector<std::string> live() const;
  std::vector<std::string> running() const;
  std::vector<std::string> waiting() const;
  // Counts of a live request; null for any other name. Valid until the next call.
  const Request* find(const std::string& name) const;
  // Whole lists of a live request; without blocks, or for any other name, empty ones.
  GroupBlockIds block_ids(const std::string& name) const;
  const KVCacheManager& kv_cache() const { return cache_->manager; }
  const EngineConfig& config() const { return config_; }

 private:
  // At one address for as long as the replay lives: the scheduler points to the manager, the
  // manager to the log.
  struct Cache {
    KVCacheManager manager;
    CacheEventLog log;
  };
  // The scheduler counts tokens and drafts; which ones they are is kept here.
  struct Known {
    std::string name;
    Request state;
    BlockHashChain hashes;
    TokenIds drafts;
  };

  // A scheduled request, and the run of it that was scheduled.
  struct PendingRow {
    ScheduledRequest entry;
    std::int32_t run = 0;
  };

  SchedulerReplay(const EngineConfig& config, KVCacheManager manager);

  Known& known(RequestId id) { return requests_[static_cast<std::size_t>(id.value)]; }
  const Known& known(RequestId id) const { return requests_[static_cast<std::size_t>(id.value)]; }
  const Known* known(const std::string& name) const;
  Status check_sampled(const std::map<std::string, TokenIds>& sampled_token_ids) const;
  void append(Known& request, std::span<const std::int64_t> token_ids);
  void take_row(const PendingRow& row, const TokenIds& sampled);
  void forget_finished();
  ReplayedSchedule describe(const ScheduleOutput& output);
  ReplayedRequest describe(const ScheduledRequest& entry,
                           std::span<const std::int32_t> first_new_column) const;
  std::vector<std::int32_t> take_new_attention_block_ids();
  GroupBlockIds block_ids(RequestId request) const;

  EngineConfig config_;
  std::unique_ptr<Cache> cache_;
  Scheduler scheduler_;
  std::deque<Known> requests_;                 // by id; the scheduler points to them
  std::map<std::string, RequestId> ids_;       // of live requests
  std::vector<RequestId> live_;                // in order of arrival
  std::deque<std::vector<PendingRow>> steps_;  // scheduled and not yet answered, in order
};

}  // namespace hybridscope
