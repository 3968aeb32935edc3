// Writes steps of our own engine as lines of a trace, with everything that the format has
// (docs/trace-format.md).
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/engine/engine.h"
#include "core/engine/engine_config.h"
#include "core/engine/policy_overrides.h"
#include "core/trace/block_table_mirror.h"
#include "core/trace/step_trace.h"
#include "sessions/judge/traced_cache.h"

namespace hybridscope {

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

}  // namespace hybridscope
