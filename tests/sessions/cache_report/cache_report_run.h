// A run of a scenario with its cache report, for tests.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/engine/command.h"
#include "core/engine/engine_config.h"
#include "core/trace/step_trace.h"
#include "sessions/cache_report/cache_changes.h"
#include "sessions/cache_report/cache_report.h"
#include "sessions/cache_report/lookup_report.h"
#include "sessions/explain/explain_names.h"
#include "sessions/run/checked_run.h"

namespace hybridscope::test {

class CacheReportRun {
 public:
  explicit CacheReportRun(RunPlan plan);
  CacheReportRun(const CacheReportRun&) = delete;
  CacheReportRun& operator=(const CacheReportRun&) = delete;

  const RunPlan& plan() const { return run_.plan(); }
  const EngineConfig& config() const { return run_.engine().config(); }
  const CacheReport& cache() const { return cache_; }
  const Names& names() const { return names_; }
  // The last admission of the request.
  const LookupReport& lookup(const std::string& request) const;
  std::string other(const LookupReport& report) const;  // whose prefix it is; empty: none
  std::vector<std::string> sentences(const std::string& request) const;
  std::vector<CacheChange> changes(const std::string& request) const;
  std::vector<std::string> coarser(const std::string& request) const;  // units, in sentences

 private:
  CheckedRun run_;
  Names names_;
  CacheReport cache_;
};

// tiny-mamba2 with 64 blocks, synchronous; `settings` and `requests` are the
// inside of the JSON of those keys.
std::string scenario_text(const std::string& settings, const std::string& requests);
std::unique_ptr<CacheReportRun> explain_text(const std::string& scenario);
std::unique_ptr<CacheReportRun> explain_shipped(const std::string& name);

// What each label of a lost token claims, looked up in sets of everything that was registered and
// computed.

class LabelConditions {
 public:
  explicit LabelConditions(const EngineConfig& config);

  // The claims of the report that are not true, one sentence each. Call before take(trace) and in
  // the order of the reports.
  std::vector<std::string> broken(const StepTrace& trace, const std::vector<AddRequest>& requests,
                                  const LookupReport& report);
  void take(const StepTrace& trace, const std::vector<AddRequest>& requests);

  const LostTokens& checked() const { return checked_; }  // by reason

 private:
  using Key = std::pair<Fingerprint, std::int32_t>;  // of a prefix with its look-ahead, in a group
  struct Lookup;

  const std::vector<Fingerprint>& prefixes_of(const AddRequest& request, RequestId id);
  Key key(const Lookup& lookup, std::int32_t num_tokens, std::size_t group) const;
  bool was_there(const Lookup& lookup, std::int32_t num_tokens, std::size_t group) const;
  bool is_missing(const Lookup& lookup, std::int32_t num_tokens, std::size_t group) const;
  std::int32_t attention_end(const Lookup& lookup, std::size_t group) const;
  bool attention_serves(const Lookup& lookup, std::int32_t num_tokens) const;
  bool has_state(const Lookup& lookup, std::int32_t num_tokens) const;
  bool was_computed(const Lookup& lookup, std::int32_t num_tokens) const;
  bool lacks_a_whole_block(const Lookup& lookup, std::int32_t num_tokens) const;
  bool lacks_something(const Lookup& lookup, std::int32_t num_tokens) const;

  EngineConfig config_;
  CacheRules rules_;
  std::map<std::int32_t, std::vector<Fingerprint>> prefixes_;  // by request: F(0), F(1), ...
  std::map<std::int32_t, std::int32_t> computed_;              // by request
  std::vector<RequestId> admitted_;
  std::set<Key> ever_;                             // registered before the step, with content
  std::map<std::int32_t, std::vector<Key>> keys_;  // of blocks, as the step began
  std::set<Key> lost_in_step_;                     // by blocks in the step being checked
  LostTokens checked_{};
};

}  // namespace hybridscope::test
