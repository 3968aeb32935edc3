#include <algorithm>
#include <limits>

#include "core/base/ids.h"
#include "storage/step_history.h"

namespace hybridscope {

WriteHistory::WriteHistory(ReadContext& context)
    : context_(context),
      // SQLite would take the primary keys.
      places_(context,
              "SELECT step, place FROM write_events INDEXED BY write_events_by_content WHERE "
              "session = ? AND block = ? AND content = ? AND (step, place) < (?, ?) AND NOT (step "
              "= ? AND kind = ?) ORDER BY step DESC, place DESC LIMIT 1"),
      given_out_(context,
                 "SELECT 1 FROM block_events INDEXED BY allocations_by_block WHERE session = ? AND "
                 "block = ? AND step > ? AND step <= ? AND kind = 0 LIMIT 1"),
      writes_(context, "write_events", {"place"}, fields::columns<StateWrite>({}, fields::kWrite),
              SeekBy::row) {}

std::optional<WriteHistory::PlacedWrite> WriteHistory::before(std::int32_t block,
                                                              ContentKind content,
                                                              const Moment& moment) {
  places_.start({context_.session, block, static_cast<std::int64_t>(content), moment.step,
                 moment.place, moment.step, static_cast<std::int64_t>(moment.except)});
  if (!places_.step()) return std::nullopt;
  PlacedWrite found;
  const std::int64_t step = sqlite3_column_int64(places_.get(), 0);
  found.place = sqlite3_column_int64(places_.get(), 1);
  places_.stop();
  // Blocks are allocated by the schedule, before the writes of the step.
  given_out_.start({context_.session, block, step, moment.step});
  const bool anew = given_out_.step();
  given_out_.stop();
  if (anew) return std::nullopt;
  writes_.seek(step, found.place);
  if (!writes_.at_row()) return std::nullopt;
  RowFields columns(writes_, 1);
  fields::kWrite(found.write, columns);
  found.write.event.step = static_cast<std::int32_t>(step);
  return found;
}

std::vector<StateWrite> WriteHistory::chain(std::int32_t block, ContentKind content,
                                            std::int64_t step, const Source& source,
                                            std::size_t limit) {
  std::vector<StateWrite> chain;
  auto found =
      before(block, content, {.step = step, .place = std::numeric_limits<std::int64_t>::max()});
  // Each write precedes the last one, so this ends even if the file is damaged.
  while (found && !context_.error) {
    chain.push_back(found->write);
    if (chain.size() > limit) break;
    const std::optional<std::int32_t> from = source(found->write);
    if (!from) break;
    found = before(*from, content,
                   {.step = found->write.event.step,
                    .place = found->place,
                    .except = found->write.event.kind});
  }
  return chain;
}

LastRows::LastRows(ReadContext& context, const SessionHeader& header)
    : context_(context),
      loader_(context, header),
      step_before_(context, "SELECT max(step) FROM steps WHERE session = ? AND step < ?"),
      admission_(context,
                 "SELECT admission FROM rows WHERE session = ? AND step = ? AND request = ?"),
      preempted_(context,
                 "SELECT step FROM preemptions WHERE session = ? AND request = ? AND step <= ? "
                 "ORDER BY step DESC LIMIT 1"),
      last_row_(context,
                "SELECT step FROM rows WHERE session = ?1 AND request = ?2 AND step < ?3 AND step "
                ">= (SELECT first_step FROM requests WHERE session = ?1 AND request = ?2) AND row "
                "IS NOT NULL ORDER BY step DESC LIMIT 1") {}

void LastRows::take(std::int64_t step, std::optional<RequestId> only) {
  if (step == 0 || !loader_.load_rows_and_copies(step, record_)) return;
  const auto& rows = record_.trace.rows;
  for (std::size_t r = 0; r < rows.size(); ++r)
    if (!only || rows[r].request == *only)
      counts_[rows[r].request.value] = own_count_left(record_.trace, r);
}

// A request that was admitted for the first time has had no row; the last row of one that is
// admitted again came before it was preempted.
std::int64_t LastRows::find_last_row(RequestId request) {
  const std::int64_t session = context_.session;
  const auto admission = static_cast<Admission>(admission_.number({session, step_, request.value}));
  if (admission == Admission::new_request) return 0;
  const std::int64_t preempted =
      admission == Admission::resumed ? preempted_.number({session, request.value, step_}) : 0;
  return last_row_.number(
      {session, request.value, preempted > 0 ? std::min(preempted + 1, step_) : step_});
}

std::optional<OwnCount> LastRows::before(RequestId request, std::int64_t step) {
  if (step != step_) {
    counts_.clear();
    step_ = step;
    take(step_before_.number({context_.session, step}));
  }
  if (!counts_.contains(request.value)) {
    counts_[request.value] = std::nullopt;
    take(find_last_row(request), request);
  }
  return counts_[request.value];
}

}  // namespace hybridscope
