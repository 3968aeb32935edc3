// A run of a scenario with its cache report, for tests.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sessions/cache_report/cache_changes.h"
#include "sessions/cache_report/cache_report.h"
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

}  // namespace hybridscope::test
