// Keeps the steps of a run as a session: what --record, Python and the window record with.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "core/base/result.h"
#include "sessions/explain/explain_names.h"
#include "sessions/record/session_header.h"
#include "sessions/record/step_recorder.h"
#include "sessions/run/drive.h"
#include "sessions/run/spoken_words.h"
#include "storage/session_reader.h"
#include "storage/session_writer.h"

namespace hybridscope {

class SessionSink final : public StepSink {
 public:
  struct Options {
    SessionPlace place;   // without a name, one is chosen after the header's source
    std::string program;  // "hybridscope 0.1.0"
    // Somebody reads the session while it is written: as SessionWriter's, and steps are in the file
    // as soon as possible. May be empty.
    std::function<void(std::int64_t)> committed;
  };
  // The name is the place's, and the digests are this version's, whatever the header says of them.
  // Errors: those of SessionWriter::begin.
  static Result<std::unique_ptr<SessionSink>> begin(SessionHeader header, const Names& names,
                                                    Options options);

  // Steps need their writes at level full only.
  bool wants_writes() const override { return level() == RecordLevel::full; }
  // Error: what keeps the file from being written; committed steps stay.
  Result<Going> take(const CheckedStep& step) override;
  // How the run ended. Error: as take().
  Status finish(SessionStatus status, const std::string& reason);

  RecordLevel level() const { return recorder_.level(); }
  const std::string& name() const { return writer_->name(); }
  std::int64_t num_steps() const { return num_steps_; }

 private:
  SessionSink(StepRecorder recorder, std::unique_ptr<SessionWriter> writer);

  StepRecorder recorder_;
  std::unique_ptr<SessionWriter> writer_;
  std::int64_t num_steps_ = 0;
};

// What a language model said in a recorded session.

// Its texts, as far as the scheduler took their tokens; empty: no language model ran, or the
// session keeps none of its words. Errors: those of SessionReader::speech.
Result<std::optional<SpokenWords>> spoken_session(SessionReader& reader, const Names& names);

}  // namespace hybridscope
