#include "storage/session_writer.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/core.h>
#include <sqlite3.h>

#include <algorithm>
#include <exception>
#include <filesystem>
#include <new>
#include <system_error>
#include <thread>
#include <utility>

#include "storage/keyframe.h"
#include "storage/open_database.h"
#include "storage/record_jsonl.h"
#include "storage/session_rows.h"
#include "storage/step_rows.h"
#include "storage/table_cursor.h"

namespace hybridscope {

namespace {

// The most steps that the writer takes from the queue at once.
constexpr std::size_t kTakenSteps = 8;
// Pause between two transactions, so that another program can write (set_busy_timeout).
constexpr std::chrono::milliseconds kPause{1};
// Pages of a watched session's write-ahead log: after so many they are copied into the file, and at
// the most the log is begun anew, unless a reader keeps an old snapshot for longer than
// kReadersWaitMs.
constexpr int kCopiedLogPages = 4096;
constexpr int kMostLogPages = 32768;
constexpr std::int64_t kReadersWaitMs = 500;

bool has_no_session(SQLite::Database& database) {
  try {
    return database.execAndGet("SELECT count(*) FROM sessions").getInt64() == 0;
  } catch (const SQLite::Exception&) {
    return false;
  }
}

// Settings only for a recorder's connection.
void set_up_to_record(SQLite::Database& database) {
  // Every row is inserted together with its step in one transaction; checking each one's foreign
  // key would add half of the cost (docs/performance.md). Tests run PRAGMA foreign_key_check on
  // recorded files.
  database.exec("PRAGMA foreign_keys = OFF");
  database.exec("PRAGMA cache_size = -32768");  // KiB
  database.exec("PRAGMA wal_autocheckpoint = 4096");
}

}  // namespace

// Two threads: the caller's thread fills steps; from start() to stop() only the recorder's thread
// uses the database.
class SessionWriter::Recorder {
 public:
  Recorder(std::string file, std::unique_ptr<SQLite::Database> database, BegunSession begun,
           const BlockLimits& limits, Options options)
      : file_(std::move(file)),
        database_(std::move(database)),
        begun_(std::move(begun)),
        keyframes_(limits),
        request_name_(std::move(options.request_name)),
        finding_text_(std::move(options.finding_text)),
        batch_steps_(options.batch_steps),
        patience_(options.patience),
        transaction_(options.transaction),
        busy_timeout_ms_(options.busy_timeout_ms),
        committed_(std::move(options.committed)),
        queue_({.max_steps = kMaxQueuedSteps,
                .wake = std::min(kMaxQueuedSteps / 2, options.batch_steps)}) {}
  ~Recorder() { stop(); }
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  // Error: the system cannot start another thread; the session is marked as failed.
  Status start();
  StepRecord& next_record() {
    if (!step_) step_ = queue_.take_free();
    return step_->record;
  }
  Status push();
  Status finish(SessionStatus status, const std::string& reason);
  Status discard(bool with_file);
  const BegunSession& begun() const { return begun_; }

 private:
  void record();
  bool write_batch(StepQueue::Steps steps, StepRows& rows);
  void write(const QueuedStep& step, StepRows& rows);
  void watch_log();
  void checkpoint_log();
  void stop();
  void throw_if_broken() const;
  Error was_deleted() const;
  bool has_moved() const;
  Error was_replaced() const;
  bool is_alone() const;
  Status note_end(SessionStatus status, const std::string& reason);
  Status note_failure(const std::string& reason);

  std::string file_;
  std::unique_ptr<SQLite::Database> database_;  // null: finished
  BegunSession begun_;
  KeyframeMaker keyframes_;
  NewRequests new_requests_;
  std::function<std::string(RequestId)> request_name_;
  std::function<std::string(const Finding&)> finding_text_;
  std::size_t batch_steps_;
  std::chrono::milliseconds patience_;
  std::chrono::milliseconds transaction_;
  std::int64_t busy_timeout_ms_;
  std::function<void(std::int64_t)> committed_;
  int log_pages_ = 0;  // of the write-ahead log, if it is watched
  int checkpoint_at_ = kCopiedLogPages;
  StepQueue queue_;
  std::unique_ptr<QueuedStep> step_;  // the step being filled
  SessionRowTotals totals_;           // of the committed steps
  // A contract violation on the recorder's thread, set before the queue fails; rethrown on the
  // caller's thread.
  std::exception_ptr broken_;
  std::thread thread_;  // uses all of the above
};

Status SessionWriter::Recorder::start() {
  try {
    thread_ = std::thread([this] { record(); });
    return Ok{};
  } catch (const std::system_error& error) {
    const std::string why = fmt::format("no thread to record with: {}", error.what());
    if (Status noted = note_end(SessionStatus::failed, why); !noted.ok()) return noted;
    return Error{ErrorKind::not_available, fmt::format("{}: {}", file_, why)};
  }
}

Status SessionWriter::Recorder::push() {
  HS_EXPECT(step_ != nullptr);
  step_->new_requests.clear();
  for (const RequestId request : new_requests_.of(step_->record))
    step_->new_requests.push_back({.request = request, .name = request_name_(request)});
  step_->finding_texts.clear();
  for (const Finding& finding : step_->record.findings)
    step_->finding_texts.push_back(finding_text_ ? finding_text_(finding) : std::string());
  queue_.push(std::move(step_));
  if (auto failure = queue_.failure()) {
    throw_if_broken();
    return *std::move(failure);
  }
  return Ok{};
}

void SessionWriter::Recorder::throw_if_broken() const {
  if (broken_) std::rethrow_exception(broken_);
}

Error SessionWriter::Recorder::was_deleted() const {
  return {ErrorKind::not_found,
          fmt::format("{}: session \"{}\" was deleted while it was being recorded", file_,
                      begun_.name)};
}

// Has the file that is written another name by now, or none?
bool SessionWriter::Recorder::has_moved() const {
  int moved = 0;
  return sqlite3_file_control(database_->getHandle(), "main", SQLITE_FCNTL_HAS_MOVED, &moved) ==
             SQLITE_OK &&
         moved != 0;
}

Error SessionWriter::Recorder::was_replaced() const {
  return {ErrorKind::not_available,
          fmt::format("{}: was removed, renamed or replaced while session \"{}\" was being "
                      "recorded in it: the recording is not complete",
                      file_, begun_.name)};
}

// The recorder's thread: runs transactions until the queue is closed or an error occurs.
void SessionWriter::Recorder::record() {
  const Status recorded = catch_sqlite(file_, database_->getHandle(), [&]() -> Status {
    try {
      StepRows rows(*database_, begun_.session);
      if (committed_) watch_log();
      for (;;) {
        StepQueue::Steps steps = queue_.take(patience_, std::min(kTakenSteps, batch_steps_));
        if (steps.empty()) return Ok{};
        if (has_moved()) return was_replaced();
        if (!write_batch(std::move(steps), rows)) return was_deleted();
        if (committed_) committed_(totals_.num_steps);
        if (log_pages_ >= checkpoint_at_) checkpoint_log();
        std::this_thread::sleep_for(kPause);
      }
    } catch (const std::bad_alloc&) {
      return Error{ErrorKind::not_available, fmt::format("{}: not enough memory to write", file_)};
    } catch (const SQLite::Exception&) {
      throw;
    } catch (...) {
      broken_ = std::current_exception();
      return Error{ErrorKind::io, fmt::format("{}: the recorder broke", file_)};
    }
  });
  if (!recorded.ok()) queue_.fail(recorded.error());
}

void SessionWriter::Recorder::write(const QueuedStep& step, StepRows& rows) {
  for (const auto& request : step.new_requests)
    rows.write_request(step.record.trace.step, request.request, request.name);
  rows.write(step.record, step.finding_texts);
  rows.write_keyframes(step.record.trace.step, keyframes_.add(step.record));
}

// One transaction: `steps`, and more from the queue up to the limits of a batch. False: the session
// was deleted from the file, and nothing of the batch was written.
bool SessionWriter::Recorder::write_batch(StepQueue::Steps steps, StepRows& rows) {
  SessionRowTotals totals = totals_;
  SQLite::Transaction transaction(*database_, SQLite::TransactionBehavior::IMMEDIATE);
  if (!is_there(*database_, begun_)) return false;
  const auto begin = std::chrono::steady_clock::now();
  for (std::size_t num_steps = 0; !steps.empty();) {
    for (const auto& step : steps) {
      write(*step, rows);
      totals.add(step->record);
    }
    num_steps += steps.size();
    queue_.give_back(std::move(steps));
    if (std::chrono::steady_clock::now() - begin > transaction_) break;
    steps = queue_.take_queued(std::min(kTakenSteps, batch_steps_ - num_steps));
  }
  rows.flush();
  update_totals(*database_, begun_, totals);
  transaction.commit();
  totals_ = totals;
  return true;
}

void SessionWriter::Recorder::watch_log() {
  sqlite3_wal_hook(
      database_->getHandle(),
      [](void* pages_of, sqlite3*, const char*, int pages) {
        *static_cast<int*>(pages_of) = pages;
        return SQLITE_OK;
      },
      &log_pages_);
}

// While readers use the log, its pages can be copied, but only a log that nobody uses begins anew.
void SessionWriter::Recorder::checkpoint_log() {
  const bool restarts = log_pages_ >= kMostLogPages;
  set_busy_timeout(*database_, kReadersWaitMs);
  const int code = sqlite3_wal_checkpoint_v2(
      database_->getHandle(), nullptr,
      restarts ? SQLITE_CHECKPOINT_RESTART : SQLITE_CHECKPOINT_PASSIVE, nullptr, nullptr);
  set_busy_timeout(*database_, busy_timeout_ms_);
  const int more = restarts && code != SQLITE_OK ? kMostLogPages / 4 : kCopiedLogPages;
  checkpoint_at_ = (restarts && code == SQLITE_OK ? 0 : log_pages_) + more;
}

void SessionWriter::Recorder::stop() {
  queue_.close();
  if (thread_.joinable()) thread_.join();
}

Status SessionWriter::Recorder::note_end(SessionStatus status, const std::string& reason) {
  return catch_sqlite(file_, database_->getHandle(), [&]() -> Status {
    if (has_moved()) return was_replaced();
    if (!update_status(*database_, begun_, status, reason)) return was_deleted();
    return Ok{};
  });
}

// On a full disk the write-ahead log may not grow by the few pages of the note; begun anew, it has
// room.
Status SessionWriter::Recorder::note_failure(const std::string& reason) {
  if (Status noted = note_end(SessionStatus::failed, reason); noted.ok()) return noted;
  sqlite3_wal_checkpoint_v2(database_->getHandle(), nullptr, SQLITE_CHECKPOINT_RESTART, nullptr,
                            nullptr);
  return note_end(SessionStatus::failed, reason);
}

Status SessionWriter::Recorder::finish(SessionStatus status, const std::string& reason) {
  HS_EXPECT(database_ != nullptr);
  stop();
  const auto failure = queue_.failure();
  Status ended = failure ? note_failure(failure->message) : note_end(status, reason);
  database_.reset();  // the last connection to close merges the log into the file
  begun_.lock.release();
  throw_if_broken();
  if (failure) return *failure;
  return ended;
}

// Is the session the only one of the file?
bool SessionWriter::Recorder::is_alone() const {
  const auto file = SessionFile::open(file_, FileAccess::write);
  if (!file.ok()) return false;
  const auto sessions = file.value().sessions();
  return sessions.ok() && sessions.value().size() == 1 &&
         sessions.value()[0].session == begun_.session &&
         sessions.value()[0].created_us == begun_.created_us;
}

Status SessionWriter::Recorder::discard(bool with_file) {
  stop();
  database_.reset();
  begun_.lock.release();
  if (with_file && is_alone()) {
    remove_database(file_);
    return Ok{};
  }
  auto file = SessionFile::open(file_, FileAccess::write);
  if (!file.ok()) return file.error();
  const auto sessions = file.value().sessions();
  if (!sessions.ok()) return sessions.error();
  for (const SessionInfo& info : sessions.value())
    if (info.session == begun_.session && info.created_us == begun_.created_us)
      return file.value().remove(info.session);
  return Ok{};
}

Result<std::unique_ptr<SessionWriter>> SessionWriter::begin(const SessionPlace& place,
                                                            const SessionHeader& header,
                                                            Options options) {
  using Writer = std::unique_ptr<SessionWriter>;
  if (!place.name.empty())
    if (Status fits = check_session_name(place.name); !fits.ok()) return fits.error();
  std::error_code error;
  const bool is_new = !std::filesystem::exists(place.file, error);
  auto opened = open_database(
      place.file, {.access = FileAccess::create, .busy_timeout_ms = options.busy_timeout_ms});
  if (!opened.ok()) return opened.error();
  auto database = std::move(opened).value();
  auto writer = catch_sqlite(place.file, database->getHandle(), [&]() -> Result<Writer> {
    set_up_to_record(*database);
    auto begun = insert_session(
        *database,
        {.file = place.file, .name = place.name, .header = header, .program = options.program});
    if (!begun.ok()) return begun.error();
    auto recorder =
        std::make_unique<Recorder>(place.file, std::move(database), std::move(begun).value(),
                                   block_limits(header.config), std::move(options));
    if (Status started = recorder->start(); !started.ok()) return started.error();
    return Writer(new SessionWriter(std::move(recorder), is_new));
  });
  if (!writer.ok() && is_new && database && has_no_session(*database)) {
    database.reset();
    remove_database(place.file);
  }
  return writer;
}

SessionWriter::SessionWriter(std::unique_ptr<Recorder> recorder, bool made_file)
    : recorder_(std::move(recorder)), made_file_(made_file) {}
SessionWriter::~SessionWriter() = default;

StepRecord& SessionWriter::next_record() { return recorder_->next_record(); }
Status SessionWriter::push() { return recorder_->push(); }
Status SessionWriter::finish(SessionStatus status, const std::string& reason) {
  return recorder_->finish(status, reason);
}
Status SessionWriter::discard() { return recorder_->discard(made_file_); }
const std::string& SessionWriter::name() const { return recorder_->begun().name; }
std::int64_t SessionWriter::session() const { return recorder_->begun().session; }

}  // namespace hybridscope
