// --record and --record-level, and the session that they ask for.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "cli/cli_fwd.h"
#include "core/base/result.h"
#include "sessions/explain/explain_names.h"
#include "storage/session_sink.h"

namespace hybridscope {

struct RecordOption {
  std::string place;  // FILE.db[:NAME], empty: nothing is recorded
  RecordLevel level = RecordLevel::blocks;
  bool quiet = false;  // says nothing on stderr
};

void add_record_options(CLI::App& command, RecordOption& option);

// A session that is being recorded by a command.
class RecordedSession final : public StepSink {
 public:
  // `header` without name and level. Errors: those of SessionSink::begin.
  static Result<std::unique_ptr<RecordedSession>> begin(const RecordOption& option,
                                                        const SessionPlace& place,
                                                        SessionHeader header, const Names& names);

  RecordLevel level() const { return sink_->level(); }
  // Error: what keeps the file from being written; the command ends then.
  Result<Going> take(const CheckedStep& step) override { return sink_->take(step); }
  // Says on stderr what was recorded, unless it is quiet. Error: as take().
  Status finish(SessionStatus status, const std::string& reason);

 private:
  RecordedSession(const RecordOption& option, std::string file, std::unique_ptr<SessionSink> sink);

  bool quiet_;
  std::string file_;
  std::unique_ptr<SessionSink> sink_;
};

// The exit code for an error of RecordedSession or of another place for a session: an unusable name
// is a usage error.
int record_exit_code(const Error& error);

}  // namespace hybridscope
