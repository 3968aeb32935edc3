#include "storage/session_writer.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <new>
#include <optional>
#include <thread>
#include <utility>

#include "storage/keyframe.h"
#include "storage/open_database.h"
#include "storage/request_names.h"
#include "storage/session_rows.h"
#include "storage/session_text.h"
#include "storage/sql_error.h"
#include "storage/step_queue.h"
#include "storage/step_rows.h"

namespace hybridscope {
namespace {

// Less than the second that is promised, as the transaction takes its time as well.
constexpr std::chrono::milliseconds kPatience{700};
// That the writer takes from the queue at once.
constexpr std::size_t kTakenSteps = 8;
// Between two transactions, so that another program's turn comes (set_busy_timeout).
constexpr std::chrono::milliseconds kPause{1};

// What only a recorder's connection does.
void set_up_to_record(SQLite::Database& database) {
  // Every row goes in beside its step, in one transaction; looking each one's step up again would
  // cost half as much again (docs/performance.md). Tests run PRAGMA foreign_key_check on recorded
  // files.
  database.exec("PRAGMA foreign_keys = OFF");
  database.exec("PRAGMA cache_size = -32768");  // KiB
  database.exec("PRAGMA wal_autocheckpoint = 4096");
}

}  // namespace

// Two threads: the caller's fills steps, the recorder's own is the only one to use the database
// from start() to stop().
class SessionWriter::Recorder {
 public:
  Recorder(std::string file, std::unique_ptr<SQLite::Database> database, BegunSession begun,
           const BlockLimits& limits, Options options)
      : file_(std::move(file)),
        database_(std::move(database)),
        begun_(std::move(begun)),
        keyframes_(limits),
        names_(std::move(options.request_name)),
        finding_text_(std::move(options.finding_text)),
        batch_steps_(options.batch_steps),
        queue_({.max_steps = kMaxQueuedSteps,
                .wake = std::min(kMaxQueuedSteps / 2, options.batch_steps)}),
        thread_([this] { record(); }) {}
  ~Recorder() { stop(); }
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  StepRecord& next_record() {
    if (!step_) step_ = queue_.take_free();
    return step_->record;
  }
  Status push();
  Status finish(SessionStatus status, const std::string& reason);
  const BegunSession& begun() const { return begun_; }

 private:
  void record();
  void write_batch(StepQueue::Steps steps, StepRows& rows);
  void write(const QueuedStep& step, StepRows& rows);
  void stop();
  Status note_end(SessionStatus status, const std::string& reason);

  std::string file_;
  std::unique_ptr<SQLite::Database> database_;  // null: finished
  BegunSession begun_;
  KeyframeMaker keyframes_;
  RequestNames names_;
  std::function<std::string(const Finding&)> finding_text_;
  std::size_t batch_steps_;
  StepQueue queue_;
  std::unique_ptr<QueuedStep> step_;  // being filled
  SessionTotals totals_;              // of what is committed
  std::thread thread_;                // last: it uses all of the above
};

Status SessionWriter::Recorder::push() {
  HS_EXPECT(step_ != nullptr);
  names_.find_new(*step_);
  step_->finding_texts.clear();
  for (const Finding& finding : step_->record.findings)
    step_->finding_texts.push_back(finding_text_ ? finding_text_(finding) : std::string());
  queue_.push(std::move(step_));
  if (auto failure = queue_.failure()) return *std::move(failure);
  return Ok{};
}

// The thread: transactions until the queue is closed or something fails.
void SessionWriter::Recorder::record() {
  const Status recorded = catch_sqlite(file_, database_->getHandle(), [&]() -> Status {
    try {
      StepRows rows(*database_, begun_.session);
      for (;;) {
        StepQueue::Steps steps = queue_.take(kPatience, std::min(kTakenSteps, batch_steps_));
        if (steps.empty()) return Ok{};
        write_batch(std::move(steps), rows);
        std::this_thread::sleep_for(kPause);
      }
    } catch (const std::bad_alloc&) {
      return Error{ErrorKind::not_available, fmt::format("{}: not enough memory to write", file_)};
    }
  });
  if (!recorded.ok()) queue_.fail(recorded.error());
}

void SessionWriter::Recorder::write(const QueuedStep& step, StepRows& rows) {
  for (const auto& request : step.new_requests)
    rows.write_request(step.record.trace.step, request.request, request.name);
  rows.write(step.record, step.finding_texts);
  if (const auto& tables = keyframes_.add(step.record); !tables.empty())
    rows.write_keyframe(step.record.trace.step, tables);
}

// One transaction: `steps` and what is queued meanwhile, as far as a batch goes.
void SessionWriter::Recorder::write_batch(StepQueue::Steps steps, StepRows& rows) {
  SessionTotals totals = totals_;
  SQLite::Transaction transaction(*database_, SQLite::TransactionBehavior::IMMEDIATE);
  for (std::size_t num_steps = 0; !steps.empty();) {
    for (const auto& step : steps) {
      write(*step, rows);
      totals.add(step->record);
    }
    num_steps += steps.size();
    queue_.give_back(std::move(steps));
    steps = queue_.take_queued(std::min(kTakenSteps, batch_steps_ - num_steps));
  }
  rows.flush();
  if (!update_totals(*database_, begun_.session, totals))
    throw SQLite::Exception(
        fmt::format("somebody has deleted session \"{}\" while it was recorded", begun_.name),
        SQLITE_ABORT);
  transaction.commit();
  totals_ = totals;
}

void SessionWriter::Recorder::stop() {
  queue_.close();
  if (thread_.joinable()) thread_.join();
}

Status SessionWriter::Recorder::note_end(SessionStatus status, const std::string& reason) {
  return catch_sqlite(file_, database_->getHandle(), [&]() -> Status {
    update_status(*database_, begun_.session, status, reason);
    return Ok{};
  });
}

Status SessionWriter::Recorder::finish(SessionStatus status, const std::string& reason) {
  HS_EXPECT(database_ != nullptr);
  stop();
  const auto failure = queue_.failure();
  Status ended =
      failure ? note_end(SessionStatus::failed, failure->message) : note_end(status, reason);
  database_.reset();  // the last one to close the file folds the log into it
  if (failure) return *failure;
  return ended;
}

Result<std::unique_ptr<SessionWriter>> SessionWriter::begin(const SessionPlace& place,
                                                            const SessionHeader& header,
                                                            Options options) {
  using Writer = std::unique_ptr<SessionWriter>;
  if (!place.name.empty())
    if (Status fits = check_session_name(place.name); !fits.ok()) return fits.error();
  auto opened = open_database(
      place.file, {.access = FileAccess::create, .busy_timeout_ms = options.busy_timeout_ms});
  if (!opened.ok()) return opened.error();
  auto database = std::move(opened).value();
  return catch_sqlite(place.file, database->getHandle(), [&]() -> Result<Writer> {
    set_up_to_record(*database);
    auto begun = insert_session(
        *database,
        {.file = place.file, .name = place.name, .header = header, .program = options.program});
    if (!begun.ok()) return begun.error();
    return Writer(new SessionWriter(
        std::make_unique<Recorder>(place.file, std::move(database), std::move(begun).value(),
                                   block_limits(header.config), std::move(options))));
  });
}

SessionWriter::SessionWriter(std::unique_ptr<Recorder> recorder) : recorder_(std::move(recorder)) {}
SessionWriter::~SessionWriter() = default;

StepRecord& SessionWriter::next_record() { return recorder_->next_record(); }
Status SessionWriter::push() { return recorder_->push(); }
Status SessionWriter::finish(SessionStatus status, const std::string& reason) {
  return recorder_->finish(status, reason);
}
const std::string& SessionWriter::name() const { return recorder_->begun().name; }
std::int64_t SessionWriter::session() const { return recorder_->begun().session; }

}  // namespace hybridscope
