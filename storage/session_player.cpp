#include "storage/session_player.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "storage/held_blocks.h"
#include "storage/keyframe.h"
#include "storage/step_history.h"

namespace hybridscope {
namespace {

constexpr std::int64_t kStart = std::numeric_limits<std::int64_t>::min();

}  // namespace

struct SessionPlayer::Impl {
  explicit Impl(std::unique_ptr<SessionReader> opened)
      : reader(std::move(opened)),
        context(reader->impl().context),
        limits(block_limits(reader->info().header.config)),
        keyframes(context, "keyframes", "tables"),
        events(make_event_cursor(context)),
        changes(make_change_cursor(context)),
        tables(limits) {}

  Status move_to(std::int64_t target);
  void forget();
  Status take_keyframe(std::int64_t target);
  void roll_to(std::int64_t target);
  void take_step(std::int64_t number);
  void finish_step();

  std::unique_ptr<SessionReader> reader;
  ReadContext& context;
  BlockLimits limits;
  KeyframeQuery keyframes;
  TableCursor events;
  TableCursor changes;

  std::int64_t step = 0;
  const StepRecord* record = nullptr;
  // The tables include all steps before `next`, except for `pending`: the commit events of the
  // current step.
  SessionTables tables;
  std::int64_t next = kStart;
  std::vector<CacheEvent> pending;
};

// Empties the tables and goes before the first step.
void SessionPlayer::Impl::forget() {
  tables = SessionTables(limits);
  next = kStart;
  pending.clear();
  step = 0;
}

// Loads the last keyframe at or before `target`, if it is ahead of the current step.
Status SessionPlayer::Impl::take_keyframe(std::int64_t target) {
  auto found = keyframes.last(next, target, [this](std::span<const std::uint8_t> blob) {
    return decode_tables(blob, limits, context.num_requests);
  });
  if (found) {
    tables = std::move(found->content);
    next = found->step;
    pending.clear();
  }
  return reader->impl().status();
}

void SessionPlayer::Impl::finish_step() {
  for (const CacheEvent& event : pending) tables.apply(event);
  pending.clear();
}

// Applies a step's changes; its commit events stay pending.
void SessionPlayer::Impl::take_step(std::int64_t number) {
  finish_step();
  for (; events.has_row() && events.next_step() == number; events.advance()) {
    const BlockEventRow row = read_block_event(events, limits);
    if (context.error) return;
    if (row.at_commit)
      pending.push_back(row.event);
    else
      tables.apply(row.event);
  }
  for (; changes.has_row() && changes.next_step() == number; changes.advance()) {
    const WorkerTableChange change = read_worker_change(changes, limits);
    if (context.error) return;
    tables.apply(change);
  }
  next = number + 1;
}

void SessionPlayer::Impl::roll_to(std::int64_t target) {
  events.seek(next);
  changes.seek(next);
  while (!context.error) {
    const std::int64_t number = std::min(events.next_step(), changes.next_step());
    if (number > target) break;
    take_step(number);
  }
  if (next > target) return;
  finish_step();
  next = target + 1;
}

Status SessionPlayer::Impl::move_to(std::int64_t target) {
  auto read = reader->read(target);
  if (!read) {
    if (read.error().kind != ErrorKind::not_found) forget();
    return read.error();
  }
  record = read.value();
  if (target == step) return Ok{};
  if (reader->info().header.level >= RecordLevel::blocks) {
    if (next > target) forget();
    if (Status status = take_keyframe(target); !status) {
      forget();
      return status.error();
    }
    roll_to(target);
    if (Status status = reader->impl().status(); !status) {
      forget();
      return status.error();
    }
  }
  step = target;
  return Ok{};
}

SessionPlayer::SessionPlayer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
SessionPlayer::~SessionPlayer() = default;

Result<std::unique_ptr<SessionPlayer>> SessionPlayer::open(const SessionPlace& place) {
  auto reader = SessionReader::open(place);
  if (!reader) return reader.error();
  auto impl = std::make_unique<Impl>(std::move(reader).value());
  if (Status status = impl->reader->impl().status(); !status) return status.error();
  return std::unique_ptr<SessionPlayer>(new SessionPlayer(std::move(impl)));
}

SessionReader& SessionPlayer::reader() { return *impl_->reader; }
std::int64_t SessionPlayer::step() const { return impl_->step; }
Status SessionPlayer::go_to(std::int64_t step) { return impl_->move_to(step); }

const StepRecord& SessionPlayer::record() const {
  HS_EXPECT(impl_->record != nullptr);
  return *impl_->record;
}
const BlockTableMirror& SessionPlayer::scheduler_tables() const { return impl_->tables.scheduler; }
const WorkerTables& SessionPlayer::worker_tables() const { return impl_->tables.worker; }

}  // namespace hybridscope
