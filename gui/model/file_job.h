// A file that is made of a run, a slice of work at a time: as a session, as a report. It goes on
// while the run is looked at, edited or closed, as it has its own source of steps.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "core/base/result.h"
#include "gui/model/shown_run.h"

namespace hybridscope {

struct RunFile {
  std::string path;     // FILE.db[:NAME], FILE.html
  std::string program;  // "hybridscope 0.1.0"
};

class FileJob {
 public:
  FileJob(const FileJob&) = delete;
  FileJob& operator=(const FileJob&) = delete;
  // Of a job that is not done: nothing of the file stays.
  virtual ~FileJob() = default;

  // One step more. False: that was all, the file is whole. After an error or false: no more calls.
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

// Every known step, at level full for runs that are made, at the level there is for sessions. A run
// that is made is made once more for it; a copy of a session keeps how it ended, its note and its
// bookmarks. Errors: those of SessionWriter; a name that is taken.
Result<std::unique_ptr<FileJob>> begin_session_file(const ShownRun& run, const RunFile& file);

// The report of `hybridscope sessions export --html`. Errors: a name that does not end in .html, a
// file that is there and is no such report (invalid_input); those of OutputFile.
Result<std::unique_ptr<FileJob>> begin_report_file(const ShownRun& run, const RunFile& file);

// Goes on until at least `budget_us` of the clock, which counts microseconds, are over. False:
// done.
struct JobSlice {
  std::int64_t budget_us = 0;
  const std::function<std::int64_t()>& clock_us;
};
Result<bool> advance_job(FileJob& job, const JobSlice& slice);

// "writing runs.db: step 120 of 3,000".
std::string progress_words(const FileJob& job);

}  // namespace hybridscope
