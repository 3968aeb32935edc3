#include "gui/model/file_job.h"

#include <fmt/core.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "gui/model/command_table.h"
#include "gui/model/plan_model.h"
#include "gui/model/workbench.h"
#include "sessions/explain/explain_finding.h"
#include "sessions/known_bugs/finding_cause.h"
#include "sessions/record/step_record.h"
#include "sessions/report/html_report.h"
#include "sessions/text/number_words.h"
#include "sessions/text/output_file.h"
#include "storage/session_writer.h"

namespace hybridscope {

Result<bool> advance_job(FileJob& job, const JobSlice& slice) {
  const std::int64_t start = slice.clock_us();
  do {
    const auto more = job.step();
    if (!more.ok() || !more.value()) return more;
  } while (slice.clock_us() - start < slice.budget_us);
  return true;
}

std::string progress_words(const FileJob& job) {
  return fmt::format("writing {}: step {} of {}", job.path(), grouped_number(job.num_done()),
                     grouped_number(job.num_steps()));
}

// Writes a run to a session file.

namespace {

// The steps of another source up to a last one.
class StepsUpTo final : public ForwardedSource {
 public:
  StepsUpTo(std::unique_ptr<StepSource> source, std::int64_t last)
      : ForwardedSource(std::move(source)), last_(last) {}

  Result<const StepStamp*> next() override {
    if (step_ >= last_) return nullptr;
    auto stamp = ForwardedSource::next();
    if (stamp.ok() && stamp.value() != nullptr) step_ = stamp.value()->step;
    return stamp;
  }

 private:
  std::int64_t last_;
  std::int64_t step_ = 0;
};

class SessionJob final : public FileJob {
 public:
  SessionJob(const ShownRun& run, const RunFile& file, std::unique_ptr<StepSource> source)
      : FileJob(file.path, static_cast<std::int64_t>(run.marks().size())),
        place_(parse_session_place(file.path)),
        source_(std::move(source)),
        bookmarks_(bookmarks_of_known_steps(run)),
        note_(run.note()),
        end_(run.end()) {}
  ~SessionJob() override {
    if (writer_ != nullptr) (void)writer_->discard();
    writer_.reset();
    if (!done_ && made_file_) remove_file();
  }

  Status begin(SessionHeader header, const std::string& program) {
    header.name = place_.name;
    header.level = source_->level();
    const auto name_of = [this](RequestId request) { return source_->request_name(request); };
    names_ = make_names(source_->config(), name_of);
    std::error_code ignored;
    made_file_ = !std::filesystem::exists(place_.file, ignored);
    auto writer = SessionWriter::begin(place_, header,
                                       {.program = program,
                                        .request_name = name_of,
                                        .finding_text = [this](const Finding& finding) {
                                          return explain_finding(finding, names_);
                                        }});
    if (!writer.ok()) {
      made_file_ = false;
      return writer.error();
    }
    writer_ = std::move(writer).value();
    return Ok{};
  }

  Result<bool> step() override {
    const auto stamp = source_->next();
    if (!stamp.ok()) return stamp.error();
    if (stamp.value() == nullptr) {
      if (Status done = finish(); !done.ok()) return done.error();
      return false;
    }
    const auto record = source_->record();
    if (!record.ok()) return record.error();
    writer_->next_record() = *record.value();
    if (Status pushed = writer_->push(); !pushed.ok()) return pushed.error();
    count_step();
    return true;
  }

 private:
  Status finish() {
    Status done = writer_->finish(end_.status, end_.reason);
    if (done.ok()) done = keep_notes();
    if (!done.ok()) return done;
    done_ = true;
    writer_.reset();
    return Ok{};
  }

  // Copies the user's note and bookmarks.
  Status keep_notes() const {
    if (bookmarks_.empty() && note_.empty()) return Ok{};
    auto file = SessionFile::open(place_.file, FileAccess::write);
    if (!file.ok()) return file.error();
    if (Status set = file.value().set_note(writer_->session(), note_); !set.ok()) return set;
    for (const ShownBookmark& bookmark : bookmarks_)
      if (auto added = file.value().add_bookmark(writer_->session(), bookmark.step, bookmark.note);
          !added.ok())
        return added.error();
    return Ok{};
  }

  // Also removes SQLite's files beside it. The file is kept if another program has put a session
  // into it meanwhile.
  void remove_file() const {
    {
      const auto file = SessionFile::open(place_.file, FileAccess::read);
      const auto left = file.ok() ? file.value().sessions() : file.error();
      if (!left.ok() || !left.value().empty()) return;
    }
    std::error_code ignored;
    for (const char* ending : {"", "-wal", "-shm"})
      std::filesystem::remove(place_.file + ending, ignored);
  }

  SessionPlace place_;
  std::unique_ptr<StepSource> source_;
  std::vector<ShownBookmark> bookmarks_;
  std::string note_;
  RunEnd end_;
  bool made_file_ = false;
  bool done_ = false;
  Names names_;
  std::unique_ptr<SessionWriter> writer_;
};

}  // namespace

Result<std::unique_ptr<StepSource>> known_steps(const ShownRun& run) {
  auto source = run.source(ShownRun::With::speech);
  if (!source.ok()) return source.error();
  return std::unique_ptr<StepSource>(
      std::make_unique<StepsUpTo>(std::move(source).value(), run.last_known_step()));
}

OutputTarget run_output(const std::string& path) {
  const SessionPlace place = parse_session_place(path);
  if (!is_session_file_name(place.file)) return {.option = {}, .path = path};
  return {.option = {}, .path = place.file, .use = FileUse::session};
}

Result<std::unique_ptr<FileJob>> begin_session_file(const ShownRun& run, const RunFile& file) {
  auto source = known_steps(run);
  if (!source.ok()) return source.error();
  auto job = std::make_unique<SessionJob>(run, file, std::move(source).value());
  if (Status begun = job->begin(run.header(), file.program); !begun.ok()) return begun.error();
  return std::unique_ptr<FileJob>(std::move(job));
}

// Writes a run to an HTML report.

namespace {

HtmlReportOptions options_of(const ShownRun& run, const RunFile& file) {
  HtmlReportOptions options{.header = run.header(), .program = file.program};
  options.header.name = run.title();
  for (const ShownBookmark& bookmark : bookmarks_of_known_steps(run))
    options.bookmarks.emplace_back(bookmark.step, bookmark.note);
  if (run.plan() != nullptr)
    options.find_causes = [plan = *run.plan(),
                           scope = options.header.check](std::span<const Finding> findings) {
      return find_cause_words(plan, findings, {.scope = scope});
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

namespace {

constexpr std::string_view kCopyUsage = "text|json|markdown [PANEL]";
constexpr std::string_view kPictureUsage = "FILE.png [PANEL]";

Result<const PanelInfo*> panel_in_focus(const Workbench& workbench) {
  if (const PanelInfo* panel = workbench.view().panel_in_focus()) return panel;
  return invalid_input("no panel is shown");
}

// One word, and the panel named by the second word or in focus.
struct WordAndPanel {
  std::string word;
  const PanelInfo* panel = nullptr;
};
Result<WordAndPanel> read_word_and_panel(const Workbench& workbench, const std::string& argument,
                                         std::string_view usage) {
  const auto read = words_of(argument);
  if (!read.ok()) return read.error();
  const std::vector<std::string>& words = read.value();
  if (words.empty() || words.size() > 2)
    return invalid_input(
        fmt::format("expected {}, found {} words; put a name with spaces in double quotes", usage,
                    words.size()));
  const auto panel =
      words.size() == 2 ? read_panel(words[1], workbench.view()) : panel_in_focus(workbench);
  if (!panel.ok()) return panel.error();
  return WordAndPanel{words[0], panel.value()};
}

Status copy(Workbench& workbench, const PanelInfo& panel, ContentFormat format) {
  if (panel.make == nullptr)
    return invalid_input(fmt::format("{} has nothing to copy", panel.title));
  if (panel.of == PanelOf::plan && workbench.plan_results() == nullptr)
    return invalid_input(std::string(kNoPlan));
  if (panel.of != PanelOf::plan && !workbench.has_step())
    return invalid_input(
        fmt::format("{}: {}", panel.title, what_it_needs(CommandNeeds::step, workbench.run())));
  const PanelDocument document = make_panel_document(workbench, panel.id);
  workbench.outbox().clipboard = render_content(document, format);
  workbench.say(NoticeKind::info, fmt::format("Copied: {} as {}, {}", panel.title,
                                              content_format_title(format), size_words(document)));
  return Ok{};
}

}  // namespace

Status copy_panel_in_focus(Workbench& workbench, ContentFormat format) {
  const auto panel = panel_in_focus(workbench);
  if (!panel.ok()) return panel.error();
  return copy(workbench, *panel.value(), format);
}

Status copy_panel(Workbench& workbench, const std::string& argument) {
  const auto read = read_word_and_panel(workbench, argument, kCopyUsage);
  if (!read.ok()) return read.error();
  const auto format = content_format_of(read.value().word);
  if (!format)
    return invalid_input(
        fmt::format("expected text, json or markdown, found \"{}\"", read.value().word));
  return copy(workbench, *read.value().panel, *format);
}

Status order_panel_picture(Workbench& workbench, const std::string& argument) {
  const auto read = read_word_and_panel(workbench, argument, kPictureUsage);
  if (!read.ok()) return read.error();
  if (!read.value().word.ends_with(".png"))
    return invalid_input(fmt::format("expected FILE.png, found \"{}\"", read.value().word));
  if (Status apart = workbench.check_output({.option = {}, .path = read.value().word}); !apart.ok())
    return apart;
  const std::string id(read.value().panel->id);
  workbench.view().layout.show_panel(id);
  workbench.view().focused_panel = id;
  workbench.outbox().pictures.push_back({.path = read.value().word, .panel = id});
  return Ok{};
}

std::string suggested_picture(const Workbench& workbench) {
  const PanelInfo* panel = workbench.view().panel_in_focus();
  if (panel == nullptr) return {};
  if (workbench.run() == nullptr) return fmt::format("{}.png", panel->id);
  return fmt::format("{}-step-{}.png", panel->id, workbench.run()->step());
}

}  // namespace hybridscope
