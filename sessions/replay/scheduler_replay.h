// A scheduler and its KV cache, driven call by call with explicit token ids, to follow recorded
// runs of another engine in lockstep. Requests are identified by name. Independent of file formats.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/caching/block_hash.h"
#include "core/caching/cache_events.h"
#include "core/caching/kv_cache_manager.h"
#include "core/engine/engine_config.h"
#include "core/engine/scheduler.h"

namespace hybridscope {

// Token ids of an engine; only their equality matters.
using TokenIds = std::vector<std::int64_t>;

// Block ids by column, one list per KV cache group.
using GroupBlockIds = std::vector<std::vector<std::int32_t>>;

struct ReplayRequest {
  std::string name;
  TokenIds prompt_token_ids;
  std::int32_t max_tokens = 1;    // output tokens after which it ends
  std::int32_t priority = 0;      // smaller is more important
  std::int64_t arrival_time = 0;  // any increasing unit
  std::uint64_t cache_salt = 0;   // prompts under different salts share nothing; 0: none
};

// One request of a scheduled step.
struct ReplayedRequest {
  std::string name;
  Admission admission = Admission::running;
  std::int32_t num_scheduled_tokens = 0;
  std::int32_t num_computed_tokens = 0;      // before the step; for an admission the cached prefix
  std::int32_t num_output_tokens = 0;        // generated before the step
  std::int32_t num_output_placeholders = 0;  // placeholders of frames in flight when scheduled
  TokenIds draft_token_ids;                  // the scheduled drafts; -1: placeholders
  GroupBlockIds block_ids;                   // complete lists, after scheduling
  std::vector<std::int32_t> first_new_column;  // [groups] first column with a new block
  // The state that the chunk stores on its way in the first recurrent group: the tokens before it
  // (0: there is none), and the column that holds it.
  std::pair<std::int32_t, std::int32_t> checkpoint;

  // The part of block_ids from first_new_column on.
  GroupBlockIds new_block_ids() const;
};

// What the prefix cache answered to a waiting request.
struct ReplayedLookup {
  std::string name;
  std::int32_t num_hit_tokens = 0;
  std::int32_t shared_prefix_boundary = 0;  // 0: no group has more than the hit
  GroupBlockIds block_ids;                  // of the hit
};

// What a frame brought a request.
struct ReplayedOutput {
  std::int32_t num_tokens = 0;  // delivered
  EndOfRequest end = EndOfRequest::none;
};

// The result of schedule(), with the content of vLLM's SchedulerOutput.
struct ReplayedSchedule {
  std::vector<ReplayedLookup> lookups;     // in order, also of requests that were not admitted
  std::vector<ReplayedRequest> scheduled;  // running requests in queue order, then admitted ones
  std::int32_t total_num_scheduled_tokens = 0;
  // In the order they were preempted; those of a reset before the step are first.
  std::vector<std::string> preempted;
  // Since the last schedule, in the order in which they finished.
  std::vector<std::string> finished;
  // [groups] as seen by the first running request.
  std::vector<std::int32_t> num_common_prefix_blocks;
  std::vector<std::int32_t> new_attention_block_ids;  // allocated since the last schedule, by group
  std::vector<PendingCopy> block_copies;              // made before anything else of the step
  bool skip_drafts = false;                           // no request can use drafts after the step
};

// The names of ended requests may be used again. After an error the state is as before the call,
// unless the call says otherwise.
class SchedulerReplay {
 public:
  // Uses only the settings that the scheduler and its cache read, policies included. Errors: those
  // of KVCacheManager::create; max_num_seqs or a block_size below 1.
  static Result<SchedulerReplay> create(const EngineConfig& config);

  // Error: a live request has this name.
  Status add_request(const ReplayRequest& request);

  // What the prefix cache would answer to such a request now, without its shared_prefix_boundary.
  ReplayedLookup lookup(const ReplayRequest& request) const;

  // Ends the request. A name that is not live changes nothing, as in vLLM.
  void abort(const std::string& name);

  // `reset_running_requests` preempts all running requests first. True: all hashes are gone.
  bool reset_prefix_cache(bool reset_running_requests);

  // Preempts a running request; false: it does not run.
  bool preempt(const std::string& name);

  // Schedules one step with this token budget, by default the configured one. Error: the settings
  // contradict each other so that blocks and counts do not fit; no further calls are allowed then.
  Result<ReplayedSchedule> schedule(std::optional<std::int32_t> token_budget = {});

  // The tokens that the last scheduled step (asynchronously the oldest unanswered one) sampled, by
  // name: none for an unfinished prefill chunk, otherwise k accepted drafts plus one token.
  // Requests in `stopped` end with it (at a stop token); their blocks are freed in the order of the
  // step. Errors: no step to answer, no entry for a scheduled live request, an entry for another
  // request, more tokens than drafts + 1.
  Status update_from_output(const std::map<std::string, TokenIds>& sampled_token_ids,
                            const std::set<std::string>& stopped = {});

  // The requests of the step that update_from_output will take.
  std::vector<std::string> awaiting_output() const;

  // From now on a sampled token of this value ends its request.
  void set_stop_token(std::int64_t token) { stop_token_ = token; }
  // What the last update_from_output delivered, by name: requests with a token or an end.
  const std::map<std::string, ReplayedOutput>& delivered() const { return delivered_; }

  // What happens to blocks from now on is kept until it is taken.
  void keep_cache_events() { keeps_events_ = true; }
  // Since the last call.
  std::vector<CacheEvent> take_cache_events();
  // The name of a request of any time.
  const std::string& name_of(RequestId id) const { return known(id).name; }

  // The draft tokens for the next step, by name; synchronous scheduling only. As in vLLM, requests
  // that are not live or still in prefill keep none.
  void update_draft_token_ids(const std::map<std::string, TokenIds>& draft_token_ids);

  // Names of live requests: live() in order of arrival, the others in order of their queue.
  std::vector<std::string> live() const;
  std::vector<std::string> running() const;
  std::vector<std::string> waiting() const;
  std::vector<std::string> skipped_waiting()
      const;  // the queue of those that wait for stale frames
  // The counts of a live request; null for other names. Valid until the next call.
  const Request* find(const std::string& name) const;
  // The complete lists of a live request; empty without blocks and for other names.
  GroupBlockIds block_ids(const std::string& name) const;
  const KVCacheManager& kv_cache() const { return cache_->manager; }
  const EngineConfig& config() const { return cache_->config; }

 private:
  // Allocated once, because the scheduler points to the policies and the manager, and the manager
  // to the log.
  struct Cache {
    EngineConfig config;
    KVCacheManager manager;
    CacheEventLog log;
  };
  // The token ids of a request: the scheduler only counts tokens and drafts.
  struct Known {
    std::string name;
    Request state;
    BlockHashChain hashes;
    TokenIds drafts;
  };

  // A scheduled request and the run that it was scheduled in.
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
  ReplayedLookup describe(const AdmissionLookup& lookup, const CacheHit& hit) const;
  std::vector<std::int32_t> take_new_attention_block_ids();
  void clear_log();
  GroupBlockIds block_ids(RequestId request) const;

  std::unique_ptr<Cache> cache_;
  Scheduler scheduler_;
  std::deque<Known> requests_;                 // by id; the scheduler points to them
  std::map<std::string, RequestId> ids_;       // of live requests
  std::vector<RequestId> live_;                // in order of arrival
  std::deque<std::vector<PendingRow>> steps_;  // scheduled but not yet answered, in order
  std::optional<std::int64_t> stop_token_;
  std::map<std::string, ReplayedOutput> delivered_;
  bool keeps_events_ = false;
  std::vector<CacheEvent> events_;            // since they were taken
  std::vector<std::string> reset_preempted_;  // since the last schedule
};

}  // namespace hybridscope
