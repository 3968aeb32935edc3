#include "storage/write_history.h"

#include <limits>

#include "core/base/ids.h"
#include "storage/table_fields.h"

namespace hybridscope {

WriteHistory::WriteHistory(ReadContext& context)
    : context_(context),
      // SQLite would take the primary keys.
      places_(context,
              "SELECT step, place FROM write_events INDEXED BY write_events_by_content "
              "WHERE session = ? AND block = ? AND content = ? AND (step, place) < (?, ?) "
              "AND NOT (step = ? AND kind = ?) ORDER BY step DESC, place DESC LIMIT 1"),
      given_out_(context,
                 "SELECT 1 FROM block_events INDEXED BY allocations_by_block "
                 "WHERE session = ? AND block = ? AND step > ? AND step <= ? AND kind = 0 LIMIT 1"),
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

}  // namespace hybridscope
