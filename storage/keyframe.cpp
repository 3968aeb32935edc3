#include "storage/keyframe.h"

#include <zstd.h>

#include <algorithm>
#include <utility>

namespace hybridscope {
namespace {

// A blob is a zstd frame of varints (LEB128), in this order:
// version, num_groups,
// scheduler tables, deferred blocks, worker tables.
// Tables: number of requests; for each request: its id minus the previous one, then for each group
// the number of columns and each column's block minus the previous one (zigzag). Deferred blocks:
// number of blocks; for each: its id minus the previous one, and its references.
constexpr std::uint64_t kBlobVersion = 1;
constexpr int kZstdLevel = 1;
constexpr std::size_t kMaxBlobBytes = std::size_t{1} << 30;  // when unpacked
constexpr std::int64_t kMaxReferences = 1 << 24;             // per block

class VarintWriter {
 public:
  void put(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_.push_back(static_cast<std::uint8_t>(value | 0x80));
    bytes_.push_back(static_cast<std::uint8_t>(value));
  }
  void put_signed(std::int64_t value) {
    put(static_cast<std::uint64_t>(value) << 1 ^ static_cast<std::uint64_t>(value >> 63));
  }
  void put_ids(std::span<const std::int32_t> ids) {
    put(ids.size());
    std::int64_t before = 0;
    for (const std::int32_t id : ids) put_signed(id - std::exchange(before, id));
  }
  const std::vector<std::uint8_t>& bytes() const { return bytes_; }

 private:
  std::vector<std::uint8_t> bytes_;
};

// Reads numbers as long as they are valid; after the first invalid one all are 0.
class VarintReader {
 public:
  explicit VarintReader(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

  std::uint64_t take() {
    std::uint64_t value = 0;
    for (int shift = 0; ok_ && shift < 64; shift += 7) {
      if (next_ == bytes_.size()) break;
      const std::uint8_t byte = bytes_[next_++];
      value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if ((byte & 0x80) == 0) return value;
    }
    ok_ = false;
    return 0;
  }
  // From 0 to below `end`.
  std::int64_t take_below(std::int64_t end) {
    const std::uint64_t value = take();
    if (ok_ && value < static_cast<std::uint64_t>(std::max<std::int64_t>(end, 0)))
      return static_cast<std::int64_t>(value);
    ok_ = false;
    return 0;
  }
  // From -limit to limit.
  std::int64_t take_signed(std::int64_t limit) {
    const std::uint64_t folded = take();
    const auto value =
        static_cast<std::int64_t>(folded >> 1) ^ -static_cast<std::int64_t>(folded & 1);
    if (value >= -limit && value <= limit) return value;
    ok_ = false;
    return 0;
  }
  // Reads what put_ids() wrote: ids from `least` to below `end`.
  void take_ids(std::int64_t least, std::int64_t end, std::vector<std::int32_t>& ids) {
    ids.clear();
    std::int64_t before = 0;
    // Each id takes at least one byte.
    for (std::int64_t left = take_below(left_bytes() + 1); ok_ && left > 0; --left) {
      before += take_signed(kMaxChange);
      ok_ = ok_ && before >= least && before < end;
      ids.push_back(static_cast<std::int32_t>(before));
    }
  }
  bool ok() const { return ok_; }
  bool at_end() const { return ok_ && next_ == bytes_.size(); }

 private:
  static constexpr std::int64_t kMaxChange = std::int64_t{1} << 33;
  std::int64_t left_bytes() const { return static_cast<std::int64_t>(bytes_.size() - next_); }

  std::span<const std::uint8_t> bytes_;
  std::size_t next_ = 0;
  bool ok_ = true;
};

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

Error damaged(const std::string& what) {
  return Error{ErrorKind::corrupt, "the keyframe is damaged: " + what};
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
  out.put(kBlobVersion);
  out.put(static_cast<std::uint64_t>(tables.scheduler.num_groups()));
  put_tables(tables.scheduler, out);
  put_deferred(tables.scheduler, out);
  put_tables(tables.worker, out);
  std::vector<std::uint8_t> blob(ZSTD_compressBound(out.bytes().size()));
  const std::size_t size =
      ZSTD_compress(blob.data(), blob.size(), out.bytes().data(), out.bytes().size(), kZstdLevel);
  HS_EXPECT(ZSTD_isError(size) == 0);
  blob.resize(size);
  return blob;
}

Result<SessionTables> decode_tables(std::span<const std::uint8_t> blob, const BlockLimits& limits,
                                    std::int32_t num_requests) {
  const unsigned long long size = ZSTD_getFrameContentSize(blob.data(), blob.size());
  if (size == ZSTD_CONTENTSIZE_ERROR || size == ZSTD_CONTENTSIZE_UNKNOWN || size > kMaxBlobBytes)
    return damaged("no zstd frame of a known size");
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(size));
  if (ZSTD_decompress(bytes.data(), bytes.size(), blob.data(), blob.size()) != bytes.size())
    return damaged("zstd cannot unpack it");
  VarintReader in(bytes);
  if (in.take() != kBlobVersion) return damaged("another version");
  if (in.take() != static_cast<std::uint64_t>(limits.num_groups))
    return damaged("another number of groups");
  SessionTables tables(limits);
  constexpr IdRange32 kAnyId = {std::numeric_limits<std::int32_t>::min(), std::int64_t{1} << 31};
  take_tables(in, num_requests, {0, limits.num_blocks}, tables.scheduler);
  take_deferred(in, tables.scheduler);
  take_tables(in, num_requests, kAnyId, tables.worker);
  if (!in.at_end()) return damaged("tables that cannot be");
  return tables;
}

const std::vector<std::uint8_t>& KeyframeMaker::add(const StepRecord& record) {
  blob_.clear();
  if (num_changes_ >= due_after_) {
    blob_ = encode_tables(tables_);
    num_changes_ = 0;
    due_after_ = std::max(kKeyframeChanges, num_columns(tables_.scheduler));
  }
  for (const CacheEvent& event : record.trace.cache_events) tables_.apply(event);
  for (const WorkerTableChange& change : record.worker_changes) tables_.apply(change);
  for (const CacheEvent& event : record.trace.commit_events) tables_.apply(event);
  num_changes_ +=
      static_cast<std::int64_t>(record.trace.cache_events.size() + record.worker_changes.size() +
                                record.trace.commit_events.size());
  return blob_;
}

}  // namespace hybridscope
