// What `hybridscope explain-cache` prints: a table, sentences about one request, JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "sessions/cache_report/cache_changes.h"
#include "sessions/cache_report/cache_report.h"
#include "sessions/explain/explain_names.h"
#include "sessions/plan/plan_jobs.h"
#include "sessions/run/run_plan.h"

namespace hybridscope {

// One admission with what would have helped.
struct ExplainedLookup {
  LookupReport report;
  bool tried = false;      // were changes tried?
  bool all_tried = false;  // all changes, or was the run too long for that?
  std::vector<CacheChange> changes = {};
  std::vector<CacheChange> coarser = {};  // of a hit inside a block (ChangeSearch::coarser_units)
  // The settings of --sweep that help, for first admissions; absent: none were tried.
  std::optional<std::vector<HelpfulSetting>> settings = {};
};

struct CacheReportView {
  const RunPlan& plan;
  const CacheReport& cache;
  const Names& names;
  std::vector<ExplainedLookup> lookups = {};  // that are shown
};

// The line above everything else.
std::string format_cache_heading(const CacheReportView& view);
std::string format_cache_table(const CacheReportView& view);
// Settings of --sweep with which lookups would hit more, and their price; empty: none were tried.
std::string format_helpful_settings(const CacheReportView& view);
// Each lookup in full sentences.
std::string format_cache_sentences(const CacheReportView& view);
std::string format_cache_totals(const CacheReportView& view);

nlohmann::ordered_json lookup_to_json(const ExplainedLookup& lookup, const CacheReportView& view);
// {name, model, ..., smallest_cacheable_prefix, totals, lookups}
nlohmann::ordered_json cache_report_to_json(const CacheReportView& view);

}  // namespace hybridscope
