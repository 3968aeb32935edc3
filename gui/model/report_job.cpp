// Writes a run to an HTML report.
#include <fmt/core.h>

#include <fstream>
#include <utility>

#include "gui/model/file_job.h"
#include "gui/model/session_job.h"
#include "sessions/known_bugs/finding_cause.h"
#include "sessions/report/html_report.h"
#include "sessions/text/output_file.h"

namespace hybridscope {
namespace {

HtmlReportOptions options_of(const ShownRun& run, const RunFile& file) {
  const SessionHeader header = run.header();
  HtmlReportOptions options;
  options.name = run.title();
  options.model = header.model;
  options.engine = header.engine;
  options.source = header.source;
  options.program = file.program;
  options.language = header.language;
  for (const ShownBookmark& bookmark : bookmarks_of_known_steps(run))
    options.bookmarks.push_back({.step = bookmark.step, .note = bookmark.note});
  if (run.plan() != nullptr)
    options.find_cause = [plan = *run.plan(), scope = header.check](const Finding& root) {
      return find_cause_words(plan, std::span(&root, 1), {.scope = scope}).front().sentence();
    };
  return options;
}

// A report may replace only another report.
Status check_report_place(const std::string& path) {
  if (!path.ends_with(".html"))
    return invalid_input(fmt::format("{}: expected a name that ends in .html", path));
  std::ifstream file(path, std::ios::binary);
  if (!file) return Ok{};
  std::string head(1024, '\0');
  file.read(head.data(), static_cast<std::streamsize>(head.size()));
  if (head.find("<title>hybridscope report</title>") != std::string::npos) return Ok{};
  return invalid_input(
      fmt::format("{}: there is a file of that name which is no report of hybridscope; "
                  "it was left as it is",
                  path));
}

class ReportJob final : public FileJob {
 public:
  ReportJob(const ShownRun& run, const RunFile& file, std::unique_ptr<StepSource> source,
            OutputFile output)
      : FileJob(file.path, static_cast<std::int64_t>(run.marks().size())),
        source_(std::move(source)),
        output_(std::move(output)),
        report_(*source_, options_of(run, file)) {}

  Result<bool> step() override {
    const auto more = report_.step();
    if (!more.ok()) return more.error();
    if (more.value()) {
      count_step();
      return true;
    }
    const auto report = report_.finish();
    if (!report.ok()) return report.error();
    if (Status written = output_.write(report.value().html); !written.ok()) return written.error();
    if (Status done = output_.finish(); !done.ok()) return done.error();
    return false;
  }

 private:
  std::unique_ptr<StepSource> source_;
  OutputFile output_;
  HtmlReportWriter report_;
};

}  // namespace

Result<std::unique_ptr<FileJob>> begin_report_file(const ShownRun& run, const RunFile& file) {
  if (Status fits = check_report_place(file.path); !fits.ok()) return fits.error();
  auto source = known_steps(run);
  if (!source.ok()) return source.error();
  auto output = OutputFile::create(file.path);
  if (!output.ok()) return output.error();
  return std::unique_ptr<FileJob>(
      std::make_unique<ReportJob>(run, file, std::move(source).value(), std::move(output).value()));
}

}  // namespace hybridscope
