// Writes what is shown to files and to the clipboard. A run is written a slice of work at a time,
// as a session or as a report. Has its own source of steps, so it continues while the run is
// viewed, edited or closed.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "core/base/result.h"
#include "gui/model/content_render.h"
#include "gui/model/shown_run.h"
#include "sessions/text/command_files.h"

namespace hybridscope {

struct RunFile {
  std::string path;     // FILE.db[:NAME], FILE.html
  std::string program;  // "hybridscope 0.1.0"
};

// The file that RunFile::path names.
OutputTarget run_output(const std::string& path);

class FileJob {
 public:
  FileJob(const FileJob&) = delete;
  FileJob& operator=(const FileJob&) = delete;
  // If the job is not done, the file is removed.
  virtual ~FileJob() = default;

  // Writes one more step. False: the file is complete. No more calls after an error or false.
  virtual Result<bool> step() = 0;
  const std::string& path() const { return path_; }
  std::int64_t num_done() const { return num_done_; }
  std::int64_t num_steps() const { return num_steps_; }

 protected:
  FileJob(std::string path, std::int64_t num_steps)
      : path_(std::move(path)), num_steps_(num_steps) {}
  void count_step() { ++num_done_; }

 private:
  std::string path_;
  std::int64_t num_steps_;
  std::int64_t num_done_ = 0;
};

// Writes every known step: of live runs at level full, of sessions at their own level. A live run
// is run once more for this; a copy of a session keeps its status, note and bookmarks. Errors:
// those of SessionWriter; a name that is taken.
Result<std::unique_ptr<FileJob>> begin_session_file(const ShownRun& run, const RunFile& file);

// The report of `hybridscope sessions export --html`. Errors: a name that does not end in .html, a
// existing file that is not such a report (invalid_input); those of OutputFile.
Result<std::unique_ptr<FileJob>> begin_report_file(const ShownRun& run, const RunFile& file);

// Works until at least `budget_us` of the clock (in microseconds) have passed. False: done.
struct JobSlice {
  std::int64_t budget_us = 0;
  const std::function<std::int64_t()>& clock_us;
};
Result<bool> advance_job(FileJob& job, const JobSlice& slice);

// "writing runs.db: step 120 of 3,000".
std::string progress_words(const FileJob& job);

// The known steps of a run again, as a source for files.

// Independent of the run afterwards. Errors: those of ShownRun::source.
Result<std::unique_ptr<StepSource>> known_steps(const ShownRun& run);

// Exports a panel: to the clipboard, or as a picture to a file.

class Workbench;

// Puts the content of the panel in focus on the clipboard and reports its size. Requires: a step is
// shown. Error: no panel is shown.
Status copy_panel_in_focus(Workbench& workbench, ContentFormat format);
// "FORMAT [PANEL]": of any panel, shown or not.
Status copy_panel(Workbench& workbench, const std::string& argument);

// "FILE.png [PANEL]": shows the panel and asks for a picture of it.
Status order_panel_picture(Workbench& workbench, const std::string& argument);
// "block_tables-step-3.png", for the panel in focus.
std::string suggested_picture(const Workbench& workbench);

}  // namespace hybridscope
