// Writes one session, step by step, on a thread of its own: whoever runs the engine does not wait
// for the disk unless the writer falls kMaxQueuedSteps behind. Steps reach the file in transactions
// of at most kMaxBatchSteps steps or about one second; a killed program loses no more than that and
// what is queued.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "core/base/result.h"
#include "sessions/record/session_header.h"
#include "sessions/record/step_record.h"
#include "storage/session_file.h"

namespace hybridscope {

inline constexpr std::size_t kMaxBatchSteps = 256;
// Few enough that a record is still in the processor's cache when it is written and when it is
// filled again (docs/performance.md).
inline constexpr std::size_t kMaxQueuedSteps = 64;

class SessionWriter {
 public:
  struct Options {
    std::string program;                                      // "hybridscope 0.1.0"
    std::function<std::string(RequestId)> request_name;       // asked by the caller's thread only
    std::function<std::string(const Finding&)> finding_text;  // as well
    std::int64_t busy_timeout_ms = 10000;      // how long another writer of the file is waited for
    std::size_t batch_steps = kMaxBatchSteps;  // of a transaction, at most
  };

  // Begins a session in the file; it is in the file, empty, when this returns. An empty name
  // becomes the source's with a number that is free. Errors: those of SessionFile::open; a name
  // that is taken or that check_session_name refuses (invalid_input).
  static Result<std::unique_ptr<SessionWriter>> begin(const SessionPlace& place,
                                                      const SessionHeader& header, Options options);
  // Without finish(): writes what was pushed; the session stays "recording", as a killed one does.
  ~SessionWriter();
  SessionWriter(const SessionWriter&) = delete;
  SessionWriter& operator=(const SessionWriter&) = delete;

  // A record to fill; its storage comes back from the writer. Waits while the queue is full.
  StepRecord& next_record();
  // Hands over the record that next_record() gave. Error: what the writer's thread met (disk full,
  // locked too long); nothing is recorded any more then, what was committed stays.
  Status push();
  // Waits until everything is in the file and notes how the run ended. Error: as push(); the
  // session is "failed" then, as far as that can still be written.
  Status finish(SessionStatus status, const std::string& reason);
  // Takes the session out of the file again, also after finish().
  Status discard();

  const std::string& name() const;  // of the session in the file
  std::int64_t session() const;     // its number in the file

 private:
  class Recorder;
  explicit SessionWriter(std::unique_ptr<Recorder> recorder);

  std::unique_ptr<Recorder> recorder_;
};

}  // namespace hybridscope
