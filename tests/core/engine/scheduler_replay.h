// Runs the calls of one case of golden/scheduler.jsonl through Scheduler and KVCacheManager, and
// renders what they answer as the file has it (FORMAT.md 16).
#pragma once

#include <deque>
#include <map>
#include <string>
#include <vector>

#include "core/caching/block_hash.h"
#include "core/engine/scheduler.h"
#include "tests/support/golden.h"

namespace hybridscope::test {

class SchedulerReplay {
 public:
  // `config`: the case's; `manager` was made from it.
  SchedulerReplay(const Json& config, KVCacheManager manager);
  SchedulerReplay(const SchedulerReplay&) = delete;
  SchedulerReplay& operator=(const SchedulerReplay&) = delete;

  Json run(const Json& call);

 private:
  // The scheduler counts draft tokens; which ones they are is kept here.
  struct Known {
    std::string name;
    Request state;
    BlockHashChain hashes;
    std::vector<std::int64_t> drafts;
  };

  Known& known(RequestId id) { return requests_[static_cast<std::size_t>(id.value)]; }
  const std::string& name(RequestId id) { return known(id).name; }
  Known& known(const std::string& name) { return known(ids_.at(name)); }
  void append(Known& request, const std::vector<TokenContent>& tokens);

  void add_request(const Json& call);
  Json schedule();
  Json update_from_output(const Json& sampled_token_ids);
  Json update_draft_token_ids(const Json& draft_token_ids);

  void add_new_and_cached(const ScheduleOutput& output, Json& result);
  void add_cached(const ScheduledRequest& entry, const Json& new_block_ids, Json& cached);
  Json scheduled_drafts(const ScheduleOutput& output);
  Json block_ids(RequestId request, std::span<const std::int32_t> first_column) const;
  Json names(const std::vector<RequestId>& ids);  // sorted
  Json new_block_ids_to_zero();
  void add_queues(Json& result) const;

  KVCacheManager manager_;
  CacheEventLog log_;
  Scheduler scheduler_;
  bool use_v2_model_runner_;
  std::int32_t max_num_batched_tokens_;
  std::int32_t hash_block_size_;
  std::vector<bool> is_mamba_;  // [groups]
  std::deque<Known> requests_;  // the scheduler keeps pointers to them
  std::map<std::string, RequestId> ids_;
  std::vector<const ScheduledRequest*> last_scheduled_;
};

}  // namespace hybridscope::test
