#include "storage/held_blocks.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "core/base/result.h"
#include "sessions/record/value_names.h"
#include "storage/keyframe.h"

namespace hybridscope {
namespace {

// A packed blob (keyframe.h): version, then temporal, conv and attention contents, then labels.
// Each is a list of blocks (put_ids), then a column for each member, in the order of the blocks:
// numbers minus the one before, fingerprints as words.
constexpr std::uint64_t kBlocksVersion = 1;
constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();

constexpr HeldContent HeldBlock::*kContents[] = {&HeldBlock::temporal, &HeldBlock::conv,
                                                 &HeldBlock::attention};

bool is_held(const HeldContent& content) { return content.event.kind != WriteKind::never; }

struct Bounds {
  std::int64_t least = 0;
  std::int64_t most = kMost;
};

class ColumnWriter {
 public:
  explicit ColumnWriter(VarintWriter& out) : out_(out) {}

  template <class Item, class Member>
  void numbers(std::span<Item* const> items, const Bounds&, const Member& member) {
    std::int64_t before = 0;
    for (Item* item : items) {
      const auto value = static_cast<std::int64_t>(member(*item));
      out_.put_signed(value - std::exchange(before, value));
    }
  }
  template <class Item, class Member>
  void words(std::span<Item* const> items, const Member& member) {
    for (Item* item : items) out_.put_word(member(*item));
  }

 private:
  VarintWriter& out_;
};

class ColumnReader {
 public:
  explicit ColumnReader(VarintReader& in) : in_(in) {}

  template <class Item, class Member>
  void numbers(std::span<Item* const> items, const Bounds& bounds, const Member& member) {
    std::int64_t value = 0;
    for (Item* item : items) {
      value += in_.take_signed(2 * kMost);
      in_range_ = in_range_ && value >= bounds.least && value <= bounds.most;
      if (!ok()) return;
      auto& into = member(*item);
      into = static_cast<std::remove_reference_t<decltype(into)>>(value);
    }
  }
  template <class Item, class Member>
  void words(std::span<Item* const> items, const Member& member) {
    for (Item* item : items) member(*item) = in_.take_word();
  }
  bool ok() const { return in_range_ && in_.ok(); }

 private:
  VarintReader& in_;
  bool in_range_ = true;
};

struct EventLimits {
  std::int32_t num_groups = 0;
  std::int32_t num_requests = 0;
};

// `Item` is HeldContent; const to write.
template <class Columns, class Item>
void code_contents(Columns& columns, std::span<Item* const> held, const EventLimits& limits) {
  columns.numbers(
      held, {1, num_codes<WriteKind>() - 1}, [](auto& x) -> auto& { return x.event.kind; });
  columns.numbers(
      held, {}, [](auto& x) -> auto& { return x.event.step; });
  columns.numbers(
      held, {}, [](auto& x) -> auto& { return x.event.ordinal; });
  columns.numbers(
      held, {-1, limits.num_requests - 1}, [](auto& x) -> auto& { return x.event.request.value; });
  columns.numbers(
      held, {-kMost, kMost}, [](auto& x) -> auto& { return x.event.num_tokens; });
  columns.words(
      held, [](auto& x) -> auto& { return x.fingerprint; });
}

// `Item` is RegisteredLabel; const to write.
template <class Columns, class Item>
void code_labels(Columns& columns, std::span<Item* const> labels, const EventLimits& limits) {
  columns.numbers(
      labels, {}, [](auto& x) -> auto& { return x.step; });
  columns.numbers(
      labels, {-1, limits.num_requests - 1}, [](auto& x) -> auto& { return x.request.value; });
  columns.numbers(
      labels, {-1, limits.num_groups - 1}, [](auto& x) -> auto& { return x.group; });
  columns.numbers(
      labels, {-kMost, kMost}, [](auto& x) -> auto& { return x.num_tokens; });
  columns.words(
      labels, [](auto& x) -> auto& { return x.block_hash; });
}

}  // namespace

HeldBlocks::HeldBlocks(std::int32_t num_blocks) : blocks_(static_cast<std::size_t>(num_blocks)) {}

HeldBlock& HeldBlocks::at(std::int32_t block) {
  HS_EXPECT(block >= 0 && static_cast<std::size_t>(block) < blocks_.size());
  return blocks_[static_cast<std::size_t>(block)];
}

const HeldBlock& HeldBlocks::at(std::int32_t block) const {
  return const_cast<HeldBlocks*>(this)->at(block);
}

void HeldBlocks::apply(const CacheEvent& event, std::int32_t step) {
  switch (event.kind) {
    case CacheEventKind::allocated: {
      HeldBlock& block = at(event.block);
      for (const auto content : kContents) block.*content = {};
      break;
    }
    case CacheEventKind::evicted: at(event.block).labels.clear(); break;
    case CacheEventKind::withdrawn: {
      std::vector<RegisteredLabel>& labels = at(event.block).labels;
      if (event.num_tokens <= 0) return labels.clear();
      if (labels.empty()) return;
      const auto is_lost = [&](const RegisteredLabel& label) {
        return label.num_tokens == event.num_tokens;
      };
      labels.erase(std::remove_if(labels.begin() + 1, labels.end(), is_lost), labels.end());
      break;
    }
    case CacheEventKind::registered:
      at(event.block)
          .labels.push_back({.step = step,
                             .request = event.request,
                             .group = event.group,
                             .num_tokens = event.num_tokens,
                             .block_hash = event.block_hash});
      break;
    default:  // of references and block tables
      break;
  }
}

void HeldBlocks::apply(const StateWrite& write) {
  HeldBlock& block = at(write.block);
  const HeldContent held{write.event, write.fingerprint};
  switch (write.content) {
    case ContentKind::none: break;
    case ContentKind::temporal: block.temporal = held; break;
    case ContentKind::conv: block.conv = held; break;
    case ContentKind::attention: block.attention = held; break;
  }
}

std::int64_t HeldBlocks::num_held() const {
  std::int64_t count = 0;
  for (const HeldBlock& block : blocks_) {
    for (const auto content : kContents) count += is_held(block.*content) ? 1 : 0;
    count += static_cast<std::int64_t>(block.labels.size());
  }
  return count;
}

std::vector<std::uint8_t> encode_blocks(const HeldBlocks& blocks) {
  VarintWriter out;
  ColumnWriter columns(out);
  out.put(kBlocksVersion);
  std::vector<std::int32_t> ids;
  for (const auto content : kContents) {
    ids.clear();
    std::vector<const HeldContent*> held;
    for (std::int32_t block = 0; block < blocks.num_blocks(); ++block) {
      const HeldContent& one = blocks.at(block).*content;
      if (!is_held(one)) continue;
      ids.push_back(block);
      held.push_back(&one);
    }
    out.put_ids(ids);
    code_contents(columns, std::span<const HeldContent* const>(held), {});
  }
  ids.clear();
  std::vector<const RegisteredLabel*> labels;
  for (std::int32_t block = 0; block < blocks.num_blocks(); ++block)
    for (const RegisteredLabel& label : blocks.at(block).labels) {
      ids.push_back(block);
      labels.push_back(&label);
    }
  out.put_ids(ids);
  code_labels(columns, std::span<const RegisteredLabel* const>(labels), {});
  return pack_blob(out.bytes());
}

Result<HeldBlocks> decode_blocks(std::span<const std::uint8_t> blob, const BlockLimits& limits,
                                 std::int32_t num_requests) {
  const auto bytes = unpack_blob(blob);
  if (!bytes) return bytes.error();
  VarintReader in(bytes.value());
  ColumnReader columns(in);
  if (in.take() != kBlocksVersion) return damaged_keyframe("another version");
  const EventLimits event_limits{limits.num_groups, num_requests};
  HeldBlocks blocks(limits.num_blocks);
  std::vector<std::int32_t> ids;
  for (const auto content : kContents) {
    in.take_ids(0, limits.num_blocks, ids);
    std::vector<HeldContent*> held;
    for (const std::int32_t block : ids)
      if (columns.ok()) held.push_back(&(blocks.at(block).*content));
    code_contents(columns, std::span<HeldContent* const>(held), event_limits);
  }
  in.take_ids(0, limits.num_blocks, ids);
  if (!columns.ok()) return damaged_keyframe("contents that cannot be");
  std::vector<RegisteredLabel> labels(ids.size());
  std::vector<RegisteredLabel*> places;
  for (RegisteredLabel& label : labels) places.push_back(&label);
  code_labels(columns, std::span<RegisteredLabel* const>(places), event_limits);
  if (!columns.ok() || !in.at_end()) return damaged_keyframe("labels that cannot be");
  for (std::size_t i = 0; i < ids.size(); ++i) blocks.at(ids[i]).labels.push_back(labels[i]);
  return blocks;
}

namespace {

void check_range(const TableCursor& cursor, std::string_view column, std::int32_t value,
                 std::int32_t least, std::int32_t end) {
  if (value < least || value >= end)
    cursor.fail(column, fmt::format("{}, expected {} to {}", value, least, end - 1));
}

}  // namespace

BlockLimits block_limits(const EngineConfig& config) {
  return {.num_groups = static_cast<std::int32_t>(config.kv_cache_config.groups.size()),
          .num_blocks = config.kv_cache_config.num_blocks};
}

TableCursor make_event_cursor(ReadContext& context) {
  return {context,
          "block_events",
          {"ordinal"},
          fields::columns<CacheEvent>({"at_commit"}, fields::kEvent)};
}

BlockEventRow read_block_event(const TableCursor& cursor, const BlockLimits& limits) {
  BlockEventRow row;
  RowFields columns(cursor, 1);
  columns("at_commit", row.at_commit);
  fields::kEvent(row.event, columns);
  const CacheEvent& event = row.event;
  const bool of_table =
      event.kind == CacheEventKind::column_set || event.kind == CacheEventKind::table_dropped;
  check_range(cursor, "block", event.block, 0, limits.num_blocks);
  check_range(cursor, "grp", event.group, of_table ? 0 : -1, limits.num_groups);
  if (!of_table) return row;
  check_range(cursor, "request", event.request.value, 0, cursor.context().num_requests);
  if (event.kind == CacheEventKind::column_set)
    check_range(cursor, "col", event.column, 0, kMaxTableColumns);
  return row;
}

TableCursor make_change_cursor(ReadContext& context) {
  return {context,
          "worker_table_changes",
          {"ordinal"},
          fields::columns<WorkerTableChange>({}, fields::kChange)};
}

WorkerTableChange read_worker_change(const TableCursor& cursor, const BlockLimits& limits) {
  WorkerTableChange change;
  RowFields columns(cursor, 1);
  fields::kChange(change, columns);
  check_range(cursor, "request", change.request.value, 0, cursor.context().num_requests);
  check_range(cursor, "grp", change.group, 0, limits.num_groups);
  check_range(cursor, "col", change.column, 0, kMaxTableColumns);
  return change;
}

}  // namespace hybridscope
