// Makes traces with everything that the format has (docs/trace-format.md): of steps of our own
// engine, and of the reference's chained vectors.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/base/result.h"
#include "core/caching/cache_events.h"
#include "core/engine/engine.h"
#include "core/engine/engine_config.h"
#include "core/engine/releases.h"
#include "core/trace/block_table_mirror.h"
#include "core/trace/step_trace.h"

namespace hybridscope {

// What a line of a trace says of the cache beyond block tables (docs/trace-format.md): copies of
// whole blocks, states stored inside a prefill, and the hashes that blocks got and lost.

// What cache events did to the hashes of blocks, as one difference between two times: a hash that
// was registered and lost in between is not in it.

// First everything in `lost` happened, then everything in `registered`.
struct HashDifference {
  // Events evicted (the block lost all hashes) and withdrawn (the one of event.num_tokens).
  std::vector<CacheEvent> lost;
  std::vector<CacheEvent> registered;  // in the order in which it happened
};

class HashChanges {
 public:
  // Follows events, in order. Requires: they follow those of the call before.
  void apply(std::span<const CacheEvent> events);

  // The difference since the last call. `all_lost`: the reader knows already that every hash that
  // there was is lost (a reset), so only registrations are named.
  HashDifference take(bool all_lost);

 private:
  // A hash of a block, and its place in the order of registrations.
  struct Hash {
    CacheEvent event;
    std::int64_t number = 0;
  };
  using Hashes = std::vector<Hash>;  // of a block, in order of registration

  void add_lost(std::int32_t block, const Hashes& before, const Hashes& now, Hashes& registered,
                std::vector<CacheEvent>& lost) const;

  std::map<std::int32_t, Hashes> hashes_;  // [block]
  std::map<std::int32_t, Hashes> before_;  // [block] of those that changed since the last take
  std::int64_t num_registered_ = 0;
};

using NameOfRequest = std::function<std::string(RequestId)>;

// scheduler_output/kv_cache_block_copies: one object a copy, in stream order.
nlohmann::ordered_json block_copies_json(const StepTrace& trace, const NameOfRequest& name_of);

// prefill_checkpoints: what the scheduler made room for and what the layers are told to store.
// `tables`: the scheduler's, after scheduling.
nlohmann::ordered_json prefill_checkpoints_json(const StepTrace& trace,
                                                MambaCacheMode mamba_cache_mode,
                                                const BlockTableMirror& tables,
                                                const NameOfRequest& name_of);

// block_hashes or block_hashes_after_output; what is empty is left out.
nlohmann::ordered_json block_hashes_json(const HashDifference& difference,
                                         const NameOfRequest& name_of);

// What a trace says of requests but a StepTrace does not.
struct TracedRequests {
  std::function<std::string(RequestId)> name;
  // The token at a position of a request that has not been released.
  std::function<TokenContent(RequestId, std::int32_t)> token;
  // Output tokens after which a request ends; empty: left out.
  std::function<std::int32_t(RequestId)> max_tokens = {};
  // Priority and salt of a request; an empty function means 0, which is left out.
  std::function<std::int32_t(RequestId)> priority = {};
  std::function<std::uint64_t(RequestId)> cache_salt = {};
};
// The requests of this engine, which must outlive them.
TracedRequests traced_requests_of(const Engine& engine);

class TraceWriter {
 public:
  TraceWriter(const EngineConfig& config, TracedRequests requests);

  // One line without newline. `policies`: what the run's settings override of its profile.
  std::string header(const std::string& name, const PolicyOverrides& policies = {}) const;
  // One line without newline. Steps must come complete and in order.
  std::string step(const StepTrace& trace);

 private:
  using Json = nlohmann::ordered_json;
  Json scheduler_output(const StepTrace& trace);
  void add_cache(const StepTrace& trace, Json& line);
  void add_commands(const StepTrace& trace, Json& line) const;
  void add_scheduled(const StepTrace& trace, const ScheduledTrace& scheduled, Json& output);
  Json new_request(const ScheduledTrace& scheduled);
  Json new_block_ids(const StepTrace& trace, const ScheduledTrace& scheduled);
  // Does the worker keep counts on the device that the scheduler does not know when it schedules?
  bool counts_on_device() const;
  Json block_ids(RequestId request) const;
  Json changed_block_ids(const StepTrace& trace);
  Json input_batch(const StepTrace& trace);
  Json copies(const CopyLaunch& launch) const;
  Json sampled(const StepTrace& trace);
  std::int32_t token_id(RequestId request, std::int32_t position);

  EngineConfig config_;
  TracedRequests requests_;
  BlockTableMirror tables_;
  HashChanges hashes_;
  // [requests * groups] columns sent to the worker so far.
  std::vector<std::int32_t> num_known_columns_;
  std::vector<RequestId> finished_;                           // in the previous step
  std::unordered_map<TokenContent, std::int32_t> token_ids_;  // numbered in order of first use
};

// Converts a case of the reference's chained vectors (pipeline.jsonl) to a trace with the
// reference's own scheduler and worker decisions.

// `line`: one line of a pipeline vector file. Returns the lines of its trace: a header named after
// the case's id, then one line per schedule call, numbered from 1. Errors, as "FILE:LINE: POINTER:
// ...": not JSON, a member that is missing or has another type, a copy outside all blocks.
Result<std::vector<std::string>> pipeline_trace(const std::string& line, const std::string& file,
                                                std::int64_t line_number);

}  // namespace hybridscope
