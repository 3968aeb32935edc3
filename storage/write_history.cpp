#include "storage/write_history.h"

#include <limits>

#include "storage/table_fields.h"

namespace hybridscope {

WriteHistory::WriteHistory(ReadContext& context)
    : context_(context),
      places_(context,
              "SELECT step, place FROM write_events WHERE session = ? AND block = ? "
              "AND (step, place) < (?, ?) AND content = ? AND NOT (step = ? AND kind = ?) "
              "ORDER BY step DESC, place DESC LIMIT 1"),
      given_out_(context,
                 "SELECT 1 FROM block_events WHERE session = ? AND step > ? AND step <= ? "
                 "AND kind = ? AND block = ? LIMIT 1"),
      writes_(context, "write_events", {"place"}, fields::columns<StateWrite>({}, fields::kWrite)) {
}

std::optional<WriteHistory::PlacedWrite> WriteHistory::before(std::int32_t block,
                                                              ContentKind content,
                                                              const Moment& moment) {
  places_.start({context_.session, block, moment.step, moment.place,
                 static_cast<std::int64_t>(content), moment.step,
                 static_cast<std::int64_t>(moment.except)});
  if (!places_.step()) return std::nullopt;
  PlacedWrite found;
  const std::int64_t step = sqlite3_column_int64(places_.get(), 0);
  found.place = sqlite3_column_int64(places_.get(), 1);
  places_.stop();
  // Blocks are given out at schedule, before the writes of their step.
  given_out_.start({context_.session, step, moment.step,
                    static_cast<std::int64_t>(CacheEventKind::allocated), block});
  const bool anew = given_out_.step();
  given_out_.stop();
  if (anew) return std::nullopt;
  for (writes_.seek(step); writes_.at_row(); writes_.advance()) {
    constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
    if (writes_.integer(0, 0, kMost) != found.place) continue;
    RowFields columns(writes_, 1);
    fields::kWrite(found.write, columns);
    found.write.event.step = static_cast<std::int32_t>(step);
    break;
  }
  return found;
}

std::optional<StateWrite> WriteHistory::last(std::int32_t block, ContentKind content,
                                             std::int64_t step) {
  const auto found =
      before(block, content, {.step = step, .place = std::numeric_limits<std::int64_t>::max()});
  if (!found || context_.error) return std::nullopt;
  return found->write;
}

std::vector<StateWrite> WriteHistory::chain(std::int32_t block, ContentKind content,
                                            std::int64_t step, const Source& source,
                                            std::size_t limit) {
  std::vector<StateWrite> chain;
  auto found =
      before(block, content, {.step = step, .place = std::numeric_limits<std::int64_t>::max()});
  // Each write is before the last, so that this ends whatever the file says.
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
