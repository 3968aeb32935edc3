// The files that a job reads and writes: where its text goes, and what is written step by step, as
// --record and --trace ask for. A row in step_files.cpp adds a file of steps for all commands that
// run or judge.
#pragma once

#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/engine/engine.h"
#include "sessions/explain/explain_names.h"
#include "sessions/record/step_record.h"
#include "sessions/run/drive.h"
#include "sessions/run/run_plan.h"
#include "sessions/text/command_files.h"
#include "sessions/text/output_file.h"
#include "storage/session_file.h"

namespace hybridscope {

struct RecordOption {
  std::string place;  // FILE.db[:NAME], empty: nothing is recorded
  RecordLevel level = RecordLevel::blocks;
  // Gets what was recorded, in words, when it is; may be empty.
  std::function<void(const std::string& words)> tell = {};
  // Somebody reads the session while it is written: gets where it is, before its first step, and
  // how many steps are in the file whenever there are more, soon and from another thread. Both are
  // empty, or neither.
  std::function<void(const SessionPlace& place)> begun = {};
  std::function<void(std::int64_t num_steps)> committed = {};
};

struct StepFileOptions {
  RecordOption record = {};
  std::string trace = {};  // a file for `judge`, empty: none
};

// What the steps come from.
struct StepFileSource {
  // Makes the header of a session, without name and level; asked for only if a session is kept, as
  // it holds the whole plan. Error: what cannot be kept.
  std::function<Result<SessionHeader>()> header;
  const Names& names;
  // Our own engine and what it runs; null: the steps are another engine's.
  const Engine* engine = nullptr;
  const RunPlan* plan = nullptr;
  std::string suffix = {};  // of a session's name that was given
};

// How the steps end.
struct StepsEnd {
  SessionStatus status = SessionStatus::complete;
  std::string reason = {};    // empty: complete
  bool files_failed = false;  // a file could not be written, and the run ended there
};

class StepFile : public StepSink {
 public:
  // Once, behind the last step. Error: what keeps the file from being written.
  virtual Status finish(const StepsEnd& end) = 0;
};

// All of them as one sink, which a command has even when it writes none.
class StepFiles final : public StepSink {
 public:
  StepFiles() = default;
  // What `source` refers to must outlive them. Error: a file that cannot be written, or what it
  // does not allow.
  static Result<StepFiles> begin(const StepFileOptions& options, const StepFileSource& source);

  bool wants_writes() const override;
  // Error: what keeps one of them from being written; the command ends then.
  Result<Going> take(const CheckedStep& step) override;
  // Finishes all files and writes to none afterwards. Error: that of the first file with one.
  Status finish(const StepsEnd& end);

 private:
  std::vector<std::unique_ptr<StepFile>> files_;
  bool failed_ = false;
};

// The session of a command (--record).

// A name that was given gets the source's suffix; without one it is named after header.source.
// Null: no session is asked for. Errors: those of source.header and SessionSink::begin.
Result<std::unique_ptr<StepFile>> begin_recorded_session(const StepFileOptions& options,
                                                         const StepFileSource& source);

// The trace of a run of our own engine (--trace).

// Its header is in it. Null: no trace is asked for. Error: the file cannot be written. Requires:
// the source has an engine and a plan.
Result<std::unique_ptr<StepFile>> begin_trace_file(const StepFileOptions& options,
                                                   const StepFileSource& source);

// The files that a job reads and writes, and where its text goes.

// Every file that the options may ask for.
std::vector<OutputTarget> outputs_of(const StepFileOptions& options);
// The option of the first of them that is for one run, which replaces the file; empty: there is
// none.
std::string_view file_of_one_run(const StepFileOptions& options);
// "--json", whose document is on standard output.
OutputTarget document(std::string_view option, bool is_asked_for);
// The file of `--record FILE.db:NAME`.
OutputTarget recording(const std::string& place);
// The session file of "FILE.db:NAME" that is read.
InputFile session_input(const std::string& place);

// The file at `path`, if one is asked for (empty: none). Made before long work, so that a missing
// folder is reported at once. Error: it cannot be written.
Result<std::optional<OutputFile>> open_output(const std::string& path);

// Where the text for people goes: standard error where one of these is on standard output.
std::FILE* text_stream(const std::vector<OutputTarget>& outputs);

}  // namespace hybridscope
