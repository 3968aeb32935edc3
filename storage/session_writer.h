// Writes one session, step by step, on a separate thread, so the thread that runs the engine waits
// for the disk only if the writer is kMaxQueuedSteps behind. Steps are committed in transactions of
// at most kMaxBatchSteps steps or about one second; a killed program loses at most that and the
// queued steps.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "sessions/record/session_header.h"
#include "sessions/record/step_record.h"
#include "storage/session_file.h"
#include "storage/step_queue.h"

namespace hybridscope {

// Tracks the requests that a session's steps have named so far.
class RequestNames {
 public:
  explicit RequestNames(std::function<std::string(RequestId)> name) : name_(std::move(name)) {}

  // Sets step.new_requests to the requests that this record names first.
  void find_new(QueuedStep& step);

 private:
  void see(RequestId request, QueuedStep& step);

  std::function<std::string(RequestId)> name_;
  std::vector<bool> known_;  // [requests]
};

inline constexpr std::size_t kMaxBatchSteps = 256;
// Few enough that a record is still in the CPU cache when it is written and when it is filled again
// (docs/performance.md).
inline constexpr std::size_t kMaxQueuedSteps = 64;

class SessionWriter {
 public:
  struct Options {
    std::string program;                                      // "hybridscope 0.1.0"
    std::function<std::string(RequestId)> request_name;       // called on the caller's thread only
    std::function<std::string(const Finding&)> finding_text;  // called on the caller's thread only
    std::int64_t busy_timeout_ms = 10000;      // how long to wait for another program that writes
    std::size_t batch_steps = kMaxBatchSteps;  // most steps per transaction
    // How long a step waits for others, and how long a transaction goes on accepting steps.
    std::chrono::milliseconds patience{500};
    std::chrono::milliseconds transaction{250};
    // Somebody reads the session while it is written: called with the number of steps in the file,
    // on the writer's thread, after each transaction. The write-ahead log then begins anew whenever
    // it is long, so that it stays bounded though readers use it.
    std::function<void(std::int64_t)> committed = {};
  };

  // Begins a session; when this returns it is in the file, without steps. An empty name is replaced
  // by the source's name with a free number. Errors: those of SessionFile::open; invalid_input, the
  // name is taken or check_session_name refuses it.
  static Result<std::unique_ptr<SessionWriter>> begin(const SessionPlace& place,
                                                      const SessionHeader& header, Options options);
  // Without finish(): writes the pushed steps; the session is interrupted, as after a kill.
  ~SessionWriter();
  SessionWriter(const SessionWriter&) = delete;
  SessionWriter& operator=(const SessionWriter&) = delete;

  // A record to fill; the writer's storage is reused. Waits while the queue is full.
  StepRecord& next_record();
  // Hands over the record that next_record() returned. Error: what the writer's thread met (disk
  // full, locked too long). Nothing more is recorded then; committed steps stay.
  Status push();
  // Waits until everything is in the file and records how the run ended. Error: as push(); the
  // session's status is then "failed", if that can still be written.
  Status finish(SessionStatus status, const std::string& reason);
  // Deletes the session from the file, also after finish(); with the file, if begin() made that and
  // there is no other session in it.
  Status discard();

  const std::string& name() const;  // in the file
  std::int64_t session() const;     // its number in the file

 private:
  class Recorder;
  SessionWriter(std::unique_ptr<Recorder> recorder, bool made_file);

  std::unique_ptr<Recorder> recorder_;
  bool made_file_;
};

}  // namespace hybridscope
