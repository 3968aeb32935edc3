// Steps as JSON lists of numbers and sentences for a report's page (report_data.js names the
// fields).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/engine/engine_config.h"
#include "sessions/explain/explain_names.h"
#include "sessions/explain/finding_roots.h"
#include "sessions/record/step_record.h"
#include "sessions/report/report_cells.h"

namespace hybridscope {

// The sentences of a report, each stored as a shared template plus its numbers: a thousand
// decisions of one rule cost one template and a thousand lists of numbers.
class ReportTexts {
 public:
  // Returns [template, number...]: the template's pieces with the numbers between them give the
  // text.
  nlohmann::json add(std::string_view text);

  // [[piece...]...]: the templates that add() refers to.
  nlohmann::json templates() const;
  std::size_t size() const { return templates_.size(); }
  // Removes the templates after the first `size`.
  void truncate(std::size_t size);

 private:
  std::map<std::vector<std::string>, std::size_t> places_;
  std::vector<const std::vector<std::string>*> templates_;  // keys of places_
};

class ReportSteps {
 public:
  // What a root comes from, as "known bug 48, ..."; empty: not known.
  using FindCause = std::function<std::string(const Finding&)>;

  // `config` and `names` must outlive this.
  ReportSteps(const EngineConfig& config, const Names& names, bool knows_own_counts,
              FindCause find_cause)
      : config_(config),
        names_(names),
        cells_(config),
        roots_(knows_own_counts),
        find_cause_(std::move(find_cause)) {}

  // An object; empty members are left out. Steps come in order; of those that are not shown,
  // pass_over() is told.
  nlohmann::json step(const StepRecord& record);
  void pass_over(const StepRecord& record) { cells_.take(record); }

  // The beginnings of the chains of all findings so far.
  const std::vector<FindingRoot>& roots() const { return roots_.roots(); }
  ReportTexts& texts() { return texts_; }
  const ReportTexts& texts() const { return texts_; }

 private:
  nlohmann::json commands(const StepTrace& trace);
  nlohmann::json lookups(const StepTrace& trace);
  nlohmann::json skipped(const StepTrace& trace);
  nlohmann::json rows(const StepTrace& trace);
  // launch_number: 0 pre-copies, 1 post-copies.
  void add_decisions(const StepTrace& trace, std::int32_t launch_number, nlohmann::json& decisions);
  nlohmann::json block_copies(const StepTrace& trace);
  std::optional<std::size_t> add_root(const StepTrace& trace, const Finding& finding,
                                      nlohmann::json& entry);
  nlohmann::json findings(const StepRecord& record);

  const EngineConfig& config_;
  const Names& names_;
  ReportTexts texts_;
  ReportCells cells_;
  RootTracker roots_;
  FindCause find_cause_;
};

}  // namespace hybridscope
