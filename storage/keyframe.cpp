#include "storage/keyframe.h"

#include <algorithm>
#include <utility>

#include "storage/blob_coding.h"

namespace hybridscope {
namespace {

// A packed blob (blob_coding.h) of these numbers:
// version, num_groups,
// scheduler tables, deferred blocks, worker tables.
// Tables: number of requests; for each request: its id minus the previous one, then for each group
// the number of columns and each column's block minus the previous one (zigzag). Deferred blocks:
// number of blocks; for each: its id minus the previous one, and its references.
constexpr std::uint64_t kTablesVersion = 1;
constexpr std::int64_t kMaxReferences = 1 << 24;  // per block

template <class Tables>
void put_tables(const Tables& tables, VarintWriter& out) {
  const std::vector<RequestId> requests = tables.requests();
  out.put(requests.size());
  std::int32_t before = 0;
  for (const RequestId request : requests) {
    out.put(static_cast<std::uint64_t>(request.value - std::exchange(before, request.value)));
    for (std::int32_t group = 0; group < tables.num_groups(); ++group)
      out.put_ids(tables.block_ids(request, group));
  }
}

void put_deferred(const BlockTableMirror& tables, VarintWriter& out) {
  std::vector<std::int32_t> blocks;
  for (std::int32_t block = 0; tables.num_deferred() != 0 && block < tables.num_blocks(); ++block)
    if (tables.deferred(block) != 0) blocks.push_back(block);
  out.put(blocks.size());
  std::int32_t before = 0;
  for (const std::int32_t block : blocks) {
    out.put(static_cast<std::uint64_t>(block - std::exchange(before, block)));
    out.put_signed(tables.deferred(block));
  }
}

struct IdRange32 {
  std::int64_t least;
  std::int64_t end;
};

template <class Tables>
void take_tables(VarintReader& in, std::int32_t num_requests, const IdRange32& ids,
                 Tables& tables) {
  std::vector<std::int32_t> columns;
  std::int64_t request = 0;
  for (std::int64_t left = in.take_below(std::int64_t{num_requests} + 1); left > 0; --left) {
    request += in.take_below(num_requests - request);
    for (std::int32_t group = 0; group < tables.num_groups(); ++group) {
      in.take_ids(ids.least, ids.end, columns);
      if (!in.ok()) return;
      if (!columns.empty())
        tables.set_block_ids(RequestId{static_cast<std::int32_t>(request)}, group, columns);
    }
  }
}

void take_deferred(VarintReader& in, BlockTableMirror& tables) {
  const std::int64_t num_blocks = tables.num_blocks();
  std::int64_t block = 0;
  for (std::int64_t left = in.take_below(num_blocks + 1); left > 0; --left) {
    block += in.take_below(num_blocks - block);
    const std::int64_t references = in.take_signed(kMaxReferences);
    if (!in.ok()) return;
    tables.set_deferred(static_cast<std::int32_t>(block), static_cast<std::int32_t>(references));
  }
}

std::int64_t num_columns(const BlockTableMirror& tables) {
  std::int64_t count = 0;
  for (const RequestId request : tables.requests())
    for (std::int32_t group = 0; group < tables.num_groups(); ++group)
      count += static_cast<std::int64_t>(tables.block_ids(request, group).size());
  return count;
}

}  // namespace

void SessionTables::apply(const CacheEvent& event) {
  scheduler.apply(event);
  if (event.kind == CacheEventKind::table_dropped) worker.drop(event.request);
}

std::vector<std::uint8_t> encode_tables(const SessionTables& tables) {
  VarintWriter out;
  out.put(kTablesVersion);
  out.put(static_cast<std::uint64_t>(tables.scheduler.num_groups()));
  put_tables(tables.scheduler, out);
  put_deferred(tables.scheduler, out);
  put_tables(tables.worker, out);
  return pack_blob(out.bytes());
}

Result<SessionTables> decode_tables(std::span<const std::uint8_t> blob, const BlockLimits& limits,
                                    std::int32_t num_requests) {
  const auto bytes = unpack_blob(blob);
  if (!bytes) return bytes.error();
  VarintReader in(bytes.value());
  if (in.take() != kTablesVersion) return damaged_keyframe("another version");
  if (in.take() != static_cast<std::uint64_t>(limits.num_groups))
    return damaged_keyframe("another number of groups");
  SessionTables tables(limits);
  constexpr IdRange32 kAnyId = {std::numeric_limits<std::int32_t>::min(), std::int64_t{1} << 31};
  take_tables(in, num_requests, {0, limits.num_blocks}, tables.scheduler);
  take_deferred(in, tables.scheduler);
  take_tables(in, num_requests, kAnyId, tables.worker);
  if (!in.at_end()) return damaged_keyframe("tables that cannot be");
  return tables;
}

bool KeyframeMaker::Pace::is_due() {
  if (num_changes < due_after) return false;
  num_changes = 0;
  return true;
}

const Keyframes& KeyframeMaker::add(const StepRecord& record) {
  keyframes_ = {};
  if (tables_pace_.is_due()) {
    keyframes_.tables = encode_tables(tables_);
    tables_pace_.due_after = std::max(kKeyframeChanges, num_columns(tables_.scheduler));
  }
  if (blocks_pace_.is_due()) {
    keyframes_.blocks = encode_blocks(blocks_);
    blocks_pace_.due_after = std::max(kKeyframeWrites, blocks_.num_held() / 2);
  }
  const StepTrace& trace = record.trace;
  for (const CacheEvent& event : trace.cache_events) tables_.apply(event);
  for (const WorkerTableChange& change : record.worker_changes) tables_.apply(change);
  for (const CacheEvent& event : trace.commit_events) tables_.apply(event);
  for (const auto* events : {&trace.cache_events, &trace.commit_events})
    for (const CacheEvent& event : *events)
      blocks_.apply(event, static_cast<std::int32_t>(trace.step));
  for (const StateWrite& write : record.writes) blocks_.apply(write);
  const auto num_events =
      static_cast<std::int64_t>(trace.cache_events.size() + trace.commit_events.size());
  tables_pace_.num_changes += num_events + static_cast<std::int64_t>(record.worker_changes.size());
  blocks_pace_.num_changes += num_events + static_cast<std::int64_t>(record.writes.size());
  return keyframes_;
}

}  // namespace hybridscope
