#include "storage/keyframe.h"

#include <zstd.h>

#include <algorithm>
#include <cstddef>

namespace hybridscope {
namespace {

// A packed blob of these numbers:
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

namespace {

constexpr int kZstdLevel = 1;
constexpr std::size_t kMaxBlobBytes = std::size_t{1} << 30;  // when unpacked
constexpr std::int64_t kMaxChange = std::int64_t{1} << 33;
constexpr int kWordBits = 64;

}  // namespace

void VarintWriter::put(std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) bytes_.push_back(static_cast<std::uint8_t>(value | 0x80));
  bytes_.push_back(static_cast<std::uint8_t>(value));
}

void VarintWriter::put_signed(std::int64_t value) {
  put(static_cast<std::uint64_t>(value) << 1 ^ static_cast<std::uint64_t>(value >> 63));
}

void VarintWriter::put_word(std::uint64_t value) {
  for (int shift = 0; shift < kWordBits; shift += 8)
    bytes_.push_back(static_cast<std::uint8_t>(value >> shift));
}

void VarintWriter::put_ids(std::span<const std::int32_t> ids) {
  put(ids.size());
  std::int64_t before = 0;
  for (const std::int32_t id : ids) put_signed(id - std::exchange(before, id));
}

std::uint64_t VarintReader::take() {
  std::uint64_t value = 0;
  for (int shift = 0; ok_ && shift < kWordBits; shift += 7) {
    if (next_ == bytes_.size()) break;
    const std::uint8_t byte = bytes_[next_++];
    value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if ((byte & 0x80) == 0) return value;
  }
  ok_ = false;
  return 0;
}

std::int64_t VarintReader::take_below(std::int64_t end) {
  const std::uint64_t value = take();
  if (ok_ && value < static_cast<std::uint64_t>(std::max<std::int64_t>(end, 0)))
    return static_cast<std::int64_t>(value);
  ok_ = false;
  return 0;
}

std::int64_t VarintReader::take_signed(std::int64_t limit) {
  const std::uint64_t folded = take();
  const auto value =
      static_cast<std::int64_t>(folded >> 1) ^ -static_cast<std::int64_t>(folded & 1);
  if (value >= -limit && value <= limit) return value;
  ok_ = false;
  return 0;
}

std::uint64_t VarintReader::take_word() {
  ok_ = ok_ && left_bytes() >= kWordBits / 8;
  if (!ok_) return 0;
  std::uint64_t value = 0;
  for (int shift = 0; shift < kWordBits; shift += 8)
    value |= std::uint64_t{bytes_[next_++]} << shift;
  return value;
}

void VarintReader::take_ids(std::int64_t least, std::int64_t end, std::vector<std::int32_t>& ids) {
  ids.clear();
  std::int64_t before = 0;
  // Each id takes at least one byte.
  for (std::int64_t left = take_below(left_bytes() + 1); ok_ && left > 0; --left) {
    before += take_signed(kMaxChange);
    ok_ = ok_ && before >= least && before < end;
    ids.push_back(static_cast<std::int32_t>(before));
  }
}

std::vector<std::uint8_t> pack_blob(std::span<const std::uint8_t> bytes) {
  std::vector<std::uint8_t> blob(ZSTD_compressBound(bytes.size()));
  const std::size_t size =
      ZSTD_compress(blob.data(), blob.size(), bytes.data(), bytes.size(), kZstdLevel);
  HS_EXPECT(ZSTD_isError(size) == 0);
  blob.resize(size);
  return blob;
}

Result<std::vector<std::uint8_t>> unpack_blob(std::span<const std::uint8_t> blob) {
  const unsigned long long size = ZSTD_getFrameContentSize(blob.data(), blob.size());
  if (size == ZSTD_CONTENTSIZE_ERROR || size == ZSTD_CONTENTSIZE_UNKNOWN || size > kMaxBlobBytes)
    return damaged_keyframe("no zstd frame of a known size");
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(size));
  if (ZSTD_decompress(bytes.data(), bytes.size(), blob.data(), blob.size()) != bytes.size())
    return damaged_keyframe("zstd cannot unpack it");
  return bytes;
}

Error damaged_keyframe(const std::string& what) {
  return Error{ErrorKind::corrupt, "the keyframe is damaged: " + what};
}

HeldBlocksReader::HeldBlocksReader(ReadContext& context, const BlockLimits& limits)
    : context_(context),
      limits_(limits),
      keyframes_(context, "block_keyframes", "blocks"),
      events_(make_event_cursor(context)),
      writes_(context, "write_events", {"place"}, fields::columns<StateWrite>({}, fields::kWrite)),
      blocks_(limits.num_blocks) {}

void HeldBlocksReader::forget() {
  blocks_ = HeldBlocks(limits_.num_blocks);
  next_ = 0;
}

void HeldBlocksReader::take_keyframe(std::int64_t step) {
  auto found = keyframes_.last(next_, step, [this](std::span<const std::uint8_t> blob) {
    return decode_blocks(blob, limits_, context_.num_requests);
  });
  if (!found) return;
  blocks_ = std::move(found->content);
  next_ = found->step;
}

void HeldBlocksReader::take_step(std::int64_t number) {
  for (; events_.has_row() && events_.next_step() == number; events_.advance()) {
    const BlockEventRow row = read_block_event(events_, limits_);
    if (context_.error) return;
    blocks_.apply(row.event, static_cast<std::int32_t>(number));
  }
  for (; writes_.has_row() && writes_.next_step() == number; writes_.advance()) {
    StateWrite write;
    RowFields columns(writes_, 1);
    fields::kWrite(write, columns);
    write.event.step = static_cast<std::int32_t>(number);
    if (write.block < 0 || write.block >= limits_.num_blocks)
      writes_.fail("block",
                   fmt::format("{}, expected 0 to {}", write.block, limits_.num_blocks - 1));
    if (context_.error) return;
    blocks_.apply(write);
  }
}

const HeldBlocks& HeldBlocksReader::at(std::int64_t step) {
  if (next_ > step + 1) forget();
  take_keyframe(step);
  if (!context_.error && next_ <= step) {
    events_.seek(next_);
    writes_.seek(next_);
    for (;;) {
      const std::int64_t number = std::min(events_.next_step(), writes_.next_step());
      if (number > step || context_.error) break;
      take_step(number);
    }
    next_ = step + 1;
  }
  if (context_.error) forget();
  return blocks_;
}

}  // namespace hybridscope
