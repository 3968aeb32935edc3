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
      copies_(context,
              "SELECT temporal_src_block, conv_src_block FROM state_copies WHERE session = ? "
              "AND step = ? AND launch = ? AND grp = ? AND dst_block = ? "
              "ORDER BY ordinal DESC LIMIT 1"),
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

// The block that a copy was made from; empty: the write is no copy.
std::optional<std::int32_t> WriteHistory::source_of(const StateWrite& copy) {
  const bool pre = copy.event.kind == WriteKind::pre_copy;
  if (!pre && copy.event.kind != WriteKind::post_copy) return std::nullopt;
  copies_.start({context_.session, copy.event.step, pre ? 0 : 1, copy.group, copy.block});
  std::optional<std::int32_t> source;
  if (copies_.step())
    source = sqlite3_column_int(copies_.get(), copy.content == ContentKind::conv ? 1 : 0);
  copies_.stop();
  return source;
}

std::vector<StateWrite> WriteHistory::chain(std::int32_t block, ContentKind content,
                                            std::int64_t step) {
  std::vector<StateWrite> chain;
  auto found =
      before(block, content, {.step = step, .place = std::numeric_limits<std::int64_t>::max()});
  // Each write is before the last, so that this ends whatever the file says.
  while (found && !context_.error) {
    chain.push_back(found->write);
    const std::optional<std::int32_t> source = source_of(found->write);
    if (!source) break;
    found = before(*source, content,
                   {.step = found->write.event.step,
                    .place = found->place,
                    .except = found->write.event.kind});
  }
  return chain;
}

}  // namespace hybridscope
