// Writes one session, step by step, on a separate thread, so the thread that runs the engine waits
// for the disk only if the writer is kMaxQueuedSteps behind. Steps are committed in transactions of
// at most kMaxBatchSteps steps or about one second; a killed program loses at most that and the
// queued steps.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "sessions/explain/explain_names.h"
#include "sessions/record/step_record.h"
#include "sessions/record/step_recorder.h"
#include "sessions/run/drive.h"
#include "sessions/run/spoken_words.h"
#include "storage/session_file.h"
#include "storage/session_reader.h"

namespace hybridscope {

// The queue of steps from the engine's thread to the writer's. Bounded: the pusher waits while
// kMaxQueuedSteps are in use. Steps are reused.

// A step, with the texts that must be made on the pusher's thread.
struct QueuedStep {
  StepRecord record;
  struct NewRequest {
    RequestId request{};
    std::string name;
  };
  std::vector<NewRequest> new_requests;    // requests that this step names first
  std::vector<std::string> finding_texts;  // [findings]
};

class StepQueue {
 public:
  using Steps = std::vector<std::unique_ptr<QueuedStep>>;

  struct Sizes {
    std::size_t max_steps = 0;  // steps in use
    std::size_t wake = 0;       // queued steps at which the writer is woken
  };
  explicit StepQueue(Sizes sizes) : sizes_(sizes) {}

  // For the pusher. A step to fill; waits while the queue is full.
  std::unique_ptr<QueuedStep> take_free();
  void push(std::unique_ptr<QueuedStep> step);
  // No more steps will come.
  void close();
  // The writer's error; after one, nothing waits any more.
  std::optional<Error> failure();

  // For the writer. Waits until there are enough steps to wake it, until the oldest one has waited
  // for `patience`, or until the queue is closed. Empty: closed, and no steps are left.
  Steps take(std::chrono::milliseconds patience, std::size_t at_most);
  // Does not wait. Empty: nothing is queued.
  Steps take_queued(std::size_t at_most);
  // Returns written steps for reuse.
  void give_back(Steps steps);
  void fail(Error error);

 private:
  using Clock = std::chrono::steady_clock;
  Steps take_locked(std::size_t at_most);

  std::mutex mutex_;
  std::condition_variable space_;
  std::condition_variable work_;
  Sizes sizes_;
  std::size_t num_out_ = 0;  // being filled, queued or being written
  Steps free_;
  std::deque<std::unique_ptr<QueuedStep>> queued_;
  Clock::time_point oldest_{};  // when the first of queued_ was pushed
  bool closed_ = false;
  std::optional<Error> failure_;
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

// Keeps the steps of a run as a session: what --record, Python and the window record with.

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
