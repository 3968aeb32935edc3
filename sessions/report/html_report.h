// A run, or a comparison of two, as one self-contained HTML file that opens offline, to attach to
// issues: the steps, block tables, copies and findings, with a slider. The page is report.html with
// the style sheet and scripts beside it, built in by cmake/EmbedText.cmake.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "sessions/record/step_record.h"
#include "sessions/run/spoken_words.h"

namespace hybridscope {

// The page with its data filled in. `data`: text from script_safe_json.
std::string fill_report_page(const std::string& data);

// Without a range, longer runs show only their first kShortReportSteps steps.
inline constexpr std::int64_t kMaxReportSteps = 2000;
inline constexpr std::int64_t kShortReportSteps = 200;

struct ReportBookmark {
  std::int64_t step = 0;
  std::string note;
};

// What the source does not contain; texts are shown as they are.
struct HtmlReportOptions {
  std::string name = {};
  std::string model = {};
  std::string engine = {};  // profile
  std::string source = {};
  std::string program = {};
  std::string status = {};
  std::string note = {};
  std::vector<ReportBookmark> bookmarks = {};
  std::optional<SpeechInfo> language = {};  // the language model that ran; empty: none
  // What a finding that begins a chain comes from ("this is known bug 48, ..."); empty: not looked
  // for.
  std::function<std::string(const Finding&)> find_cause = {};
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

// Writes a report as write_html_report() does, one step of the source at a time.
class HtmlReportWriter {
 public:
  // `source` must outlive this.
  HtmlReportWriter(StepSource& source, HtmlReportOptions options);
  ~HtmlReportWriter();
  HtmlReportWriter(const HtmlReportWriter&) = delete;
  HtmlReportWriter& operator=(const HtmlReportWriter&) = delete;

  // False: the source has ended. Errors: those of the source.
  Result<bool> step();
  // Error not_found: the range contains no step.
  Result<HtmlReport> finish();

 private:
  class Maker;
  std::unique_ptr<Maker> maker_;
};

// A comparison of two runs as one self-contained HTML file that opens offline, at the first
// divergence. The page is diff.html with the style sheet and scripts beside it, built in by
// cmake/EmbedText.cmake.

// The page with its data filled in. `data`: text from script_safe_json of the document that
// `hybridscope diff --json` prints, with a member `program` ("hybridscope 0.1.0").
std::string fill_diff_page(const std::string& data);

}  // namespace hybridscope
