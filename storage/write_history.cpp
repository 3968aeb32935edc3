#include "storage/write_history.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <limits>

#include "core/base/check.h"
#include "core/base/ids.h"
#include "storage/schema.h"
#include "storage/table_fields.h"

namespace hybridscope {

namespace {

std::string query() {
  return fmt::format(
      "SELECT step, kind, grp, block, num_tokens, block_hash, ordinal FROM block_events "
      "WHERE session = ? AND (step, ordinal) > (?, ?) AND kind IN ({}, {}, {}) "
      "ORDER BY step, ordinal",
      static_cast<int>(CacheEventKind::registered), static_cast<int>(CacheEventKind::evicted),
      static_cast<int>(CacheEventKind::withdrawn));
}

// SQLite would take the primary key. Empty for a file of an older version that cannot be upgraded:
// it is slow to search.
std::string indexed_by(ReadContext& context, std::string_view index) {
  ReadStatement query(context, fmt::format("SELECT 1 FROM sqlite_schema WHERE name = '{}'", index));
  const bool is_there = query.step();
  query.stop();
  return is_there ? fmt::format("INDEXED BY {}", index) : std::string();
}

}  // namespace

LabelHistory::LabelHistory(ReadContext& context, const BlockLimits& limits)
    : context_(context),
      limits_(limits),
      rows_(context, query()),
      changes_(static_cast<std::size_t>(limits.num_blocks)) {}

void LabelHistory::expect_more() {
  complete_ = false;
  started_ = false;
}

bool LabelHistory::read_on(std::int64_t max_rows) {
  if (complete_ || context_.error) return false;
  if (!started_) rows_.start({context_.session, last_step_, last_ordinal_});
  started_ = true;
  for (std::int64_t i = 0; i < max_rows; ++i) {
    if (!rows_.step()) {
      rows_.stop();
      complete_ = !context_.error;
      return false;
    }
    sqlite3_stmt* row = rows_.get();
    const std::int64_t step = sqlite3_column_int64(row, 0);
    last_step_ = step;
    last_ordinal_ = sqlite3_column_int64(row, 6);
    const std::int64_t group = sqlite3_column_int64(row, 2);
    const std::int64_t block = sqlite3_column_int64(row, 3);
    if (block < 0 || block >= limits_.num_blocks || group < -1 || group >= limits_.num_groups ||
        step < 0 || step > std::numeric_limits<std::int32_t>::max()) {
      context_.fail(
          ErrorKind::corrupt,
          fmt::format("step {}: block_events.block, grp: {}, {}, expected 0 to {}, -1 to "
                      "{}",
                      step, block, group, limits_.num_blocks - 1, limits_.num_groups - 1));
      return false;
    }
    RegisteredLabel change{.step = static_cast<std::int32_t>(step),
                           .group = kAllLost,
                           .num_tokens = sqlite3_column_int(row, 4)};
    const int kind = sqlite3_column_int(row, 1);
    if (kind == static_cast<int>(CacheEventKind::withdrawn) && change.num_tokens > 0)
      change.group = kOneLost;
    if (kind == static_cast<int>(CacheEventKind::registered)) {
      change.group = static_cast<std::int32_t>(group);
      change.block_hash = static_cast<Fingerprint>(sqlite3_column_int64(row, 5));
    }
    changes_[static_cast<std::size_t>(block)].push_back(change);
  }
  return true;
}

std::vector<RegisteredLabel> LabelHistory::labels(std::int32_t block, std::int64_t step) const {
  HS_EXPECT(complete_ && block >= 0 && block < limits_.num_blocks);
  const std::vector<RegisteredLabel>& changes = changes_[static_cast<std::size_t>(block)];
  const auto behind = std::upper_bound(
      changes.begin(), changes.end(), step,
      [](std::int64_t wanted, const RegisteredLabel& change) { return wanted < change.step; });
  auto change = behind;
  while (change != changes.begin() && std::prev(change)->group != kAllLost) --change;
  std::vector<RegisteredLabel> labels;
  for (; change != behind; ++change) {
    if (change->group != kOneLost) {
      labels.push_back(*change);
      continue;
    }
    if (labels.empty()) continue;
    const auto is_lost = [&](const RegisteredLabel& label) {
      return label.num_tokens == change->num_tokens;
    };
    labels.erase(std::remove_if(labels.begin() + 1, labels.end(), is_lost), labels.end());
  }
  return labels;
}

WriteHistory::WriteHistory(ReadContext& context)
    : context_(context),
      places_(context,
              fmt::format("SELECT step, place FROM write_events {} WHERE session = ? AND block = ? "
                          "AND content = ? AND (step, place) < (?, ?) "
                          "AND NOT (step = ? AND kind = ?) ORDER BY step DESC, place DESC LIMIT 1",
                          indexed_by(context, "write_events_by_content"))),
      given_out_(context,
                 fmt::format("SELECT 1 FROM block_events {} WHERE session = ? AND block = ? "
                             "AND step > ? AND step <= ? AND {} AND kind = {} LIMIT 1",
                             indexed_by(context, "block_events_by_block"), kEventsByBlock,
                             static_cast<int>(CacheEventKind::allocated))),
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
