// A run as one HTML file that opens anywhere, offline: the steps, the block tables, the copies and
// the findings, with a slider. What people attach to issues.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "sessions/record/step_source.h"

namespace hybridscope {

// Without a range, runs of more steps than this show their first kShortReportSteps.
inline constexpr std::int64_t kMaxReportSteps = 2000;
inline constexpr std::int64_t kShortReportSteps = 200;

struct ReportBookmark {
  std::int64_t step = 0;
  std::string note;
};

// What the source does not know; any text, shown as it is.
struct HtmlReportOptions {
  std::string name = {};
  std::string model = {};
  std::string engine = {};  // profile
  std::string source = {};
  std::string program = {};
  std::string status = {};
  std::string note = {};
  std::vector<ReportBookmark> bookmarks = {};
  std::int64_t first_step = 0;  // 0 and 0: no range
  std::int64_t last_step = 0;
};

struct HtmlReport {
  std::string html;
  std::int64_t num_steps = 0;      // shown
  std::int64_t num_all_steps = 0;  // of the run, as far as it was read
  // "steps 1 to 200 of 17,012": empty when everything is shown.
  std::string left_out;
};

// Reads the source to its end. Errors: those of the source; a range without a step (not_found).
Result<HtmlReport> write_html_report(StepSource& source, const HtmlReportOptions& options);

// The same, a step of the source at a time.
class HtmlReportWriter {
 public:
  // `source` is to live as long.
  HtmlReportWriter(StepSource& source, HtmlReportOptions options);
  ~HtmlReportWriter();
  HtmlReportWriter(const HtmlReportWriter&) = delete;
  HtmlReportWriter& operator=(const HtmlReportWriter&) = delete;

  // False: the source has ended. Errors: those of the source.
  Result<bool> step();
  // Error not_found: a range without a step.
  Result<HtmlReport> finish();

 private:
  class Maker;
  std::unique_ptr<Maker> maker_;
};

}  // namespace hybridscope
