// Writes a run to a session file.
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "gui/model/file_job.h"
#include "sessions/explain/explain_finding.h"
#include "sessions/record/forwarded_source.h"
#include "storage/session_writer.h"

namespace hybridscope {

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

}  // namespace hybridscope
