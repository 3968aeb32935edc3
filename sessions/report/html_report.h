// A run, or a comparison of two, as one self-contained HTML file that opens offline, to attach to
// issues: the steps, block tables, copies and findings, with a slider. The page is report.html with
// the style sheet and scripts beside it, built in by cmake/EmbedText.cmake.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/language/spoken_texts.h"
#include "sessions/explain/explain_step.h"
#include "sessions/record/step_record.h"
#include "sessions/report/report_tables.h"
#include "sessions/report/value_changes.h"
#include "sessions/run/finding_list.h"
#include "sessions/run/run_summary.h"
#include "sessions/run/spoken_words.h"

namespace hybridscope {

// Without a range, longer runs show only their first kShortReportSteps steps.
inline constexpr std::int64_t kMaxReportSteps = 2000;
inline constexpr std::int64_t kShortReportSteps = 200;

// What the source does not contain; texts are shown as they are.
struct HtmlReportOptions {
  SessionHeader header = {};  // of the run, as a session has it
  std::string program = {};
  std::string status = {};
  std::string note = {};
  std::vector<std::pair<std::int64_t, std::string>> bookmarks = {};  // step, note
  // What findings come from ("this is known bug 48, ..."); empty: not looked for.
  FindingList::FindCauses find_causes = {};
  // A command that explains a step in full; empty: there is none.
  std::function<std::string(std::int64_t step)> explain_command = {};
  std::int64_t first_step = 0;  // first and last 0: no range
  std::int64_t last_step = 0;
};

struct HtmlReport {
  std::string html;
  std::int64_t num_steps = 0;      // number of steps shown
  std::int64_t num_all_steps = 0;  // of the run, as far as it was read
  // "steps 1 to 200 of 17,012"; empty when everything is shown.
  std::string left_out;
};

// Reads the source to its end. Errors: those of the source; not_found, the range contains no step.
Result<HtmlReport> write_html_report(StepSource& source, const HtmlReportOptions& options);

// Writes a report as write_html_report() does, one step of the source at a time, and collects what
// the page shows.
class HtmlReportWriter {
 public:
  // `source` must outlive this.
  HtmlReportWriter(StepSource& source, HtmlReportOptions options);
  HtmlReportWriter(const HtmlReportWriter&) = delete;
  HtmlReportWriter& operator=(const HtmlReportWriter&) = delete;

  // False: the source has ended. Errors: those of the source.
  Result<bool> step();
  // Error not_found: the range contains no step.
  Result<HtmlReport> finish();

 private:
  bool has_range() const { return options_.first_step > 0 || options_.last_step > 0; }
  bool is_shown(std::int64_t step) const;
  bool has_slots() const { return source_.config().runner == ModelRunner::v2; }
  std::string name_of(RequestId request);
  Status take(std::int64_t step);
  void show(const StepRecord& record);
  // A title, then the sections, with an empty line before each.
  nlohmann::json lines_of(const StepRecord& record, std::span<const StepTopic> topics) const;
  nlohmann::json findings_of(const StepRecord& record) const;
  nlohmann::json row_of(const RowTrace& row, std::size_t number, const StepRecord& record) const;
  std::string left_out() const;
  nlohmann::json facts() const;
  nlohmann::json all_findings() const;
  // What the summary of `run` warns of, as far as the steps that were read tell.
  nlohmann::json notes();
  nlohmann::json describe_run();
  std::string data();

  StepSource& source_;
  HtmlReportOptions options_;
  std::map<std::int32_t, std::string> requests_;  // that something names
  Names names_;
  ReportTables tables_;
  FindingList findings_;
  StarvationWatch starvation_;
  SharedTexts texts_;
  nlohmann::json last_;                // the last shown step, without its tables
  std::vector<std::string> steps_;     // shown steps as JSON
  std::vector<std::int64_t> numbers_;  // step numbers of steps_
  bool cut_ = false;                   // the run is too long: only the first steps are kept
  std::map<std::string_view, std::int64_t> totals_;  // over all steps, by the field of StepCounts
  SpokenTexts spoken_;                               // of the steps that were read
  std::int64_t num_steps_ = 0;
  std::int64_t first_number_ = 0;
  std::int64_t last_number_ = 0;
};

// A comparison of two runs as one self-contained HTML file that opens offline, at the first
// divergence. The page is diff.html with the style sheet and scripts beside it, built in by
// cmake/EmbedText.cmake.

// The page with its data filled in. `data`: text from script_safe_json of the document that
// `hybridscope diff --json` prints, with a member `program` ("hybridscope 0.1.0").
std::string fill_diff_page(const std::string& data);

}  // namespace hybridscope
