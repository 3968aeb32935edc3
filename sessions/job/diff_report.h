// What `hybridscope diff` found, as text of at most 100 columns and as one JSON object.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sessions/diff/collected_diff.h"
#include "sessions/diff/field_difference.h"
#include "sessions/diff/request_totals.h"
#include "sessions/run/spoken_words.h"

namespace hybridscope {

struct DiffReportSide {
  std::string title;
  RecordLevel level = RecordLevel::full;
  std::string look_further;  // command line that explains step {} in full
};

struct DiffReport {
  DiffReportSide a;
  DiffReportSide b;
  std::vector<ConfigDifference> settings;
  std::vector<std::string> notes;    // what is not compared and why, one sentence each
  std::vector<std::string> ignored;  // rules, as given
  bool by_request = false;
  // What differs step by step.
  CollectedDiff collected;
  DiffSummary summary;
  std::vector<std::pair<std::string, std::int64_t>> by_request_name;  // fields, most first
  // What differs request by request.
  std::vector<TotalDifference> totals;
  std::int64_t num_requests = 0;  // compared

  // Differing texts of a language model that ran in both; empty: none did.
  std::optional<std::vector<DifferingText>> texts = {};

  std::size_t limit = 100;
  bool all = false;

  bool differs() const {
    if (texts && !texts->empty()) return true;
    return by_request ? !totals.empty() : summary.num_differences > 0;
  }
};

std::string format_diff(const DiffReport& report);
nlohmann::ordered_json diff_to_json(const DiffReport& report);

}  // namespace hybridscope
