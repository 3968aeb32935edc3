// Keyframes: a session's block tables at one step, and what its blocks held then (held_blocks.h),
// as blobs, so that a later step can be reached without all of its history.
#pragma once

#include <fmt/core.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/trace/block_table_mirror.h"
#include "sessions/record/record_views.h"
#include "sessions/record/step_record.h"
#include "storage/held_blocks.h"
#include "storage/table_cursor.h"

namespace hybridscope {

// The scheduler's and the worker's tables of a session.
struct SessionTables {
  explicit SessionTables(const BlockLimits& limits)
      : scheduler(limits.num_groups, limits.num_blocks), worker(limits.num_groups) {}

  // Apply in the order of a step: its cache events, its worker table changes, its commit events. A
  // request whose table is dropped leaves both tables.
  void apply(const CacheEvent& event);
  void apply(const WorkerTableChange& change) { worker.apply(change); }

  BlockTableMirror scheduler;
  WorkerTables worker;
};

std::vector<std::uint8_t> encode_tables(const SessionTables& tables);
// Error corrupt: not such a blob, or impossible tables; request ids must be below `num_requests`.
Result<SessionTables> decode_tables(std::span<const std::uint8_t> blob, const BlockLimits& limits,
                                    std::int32_t num_requests);

// A keyframe of the tables is due after this many block events and worker table changes, or after
// as many as the last keyframe's tables had columns, if that is more; one of the blocks after this
// many block events and writes, or after half as many as the last keyframe had entries. So it is
// smaller than the rows since the last one, and they are read within some milliseconds.
inline constexpr std::int64_t kKeyframeChanges = 4096;
inline constexpr std::int64_t kKeyframeWrites = 16384;

// The keyframes that are due as blobs; an empty one is not due.
struct Keyframes {
  std::vector<std::uint8_t> tables;  // encode_tables()
  std::vector<std::uint8_t> blocks;  // encode_blocks()
};

// Follows every record that is written and decides when a keyframe is due.
class KeyframeMaker {
 public:
  explicit KeyframeMaker(const BlockLimits& limits) : tables_(limits), blocks_(limits.num_blocks) {}

  // Applies the step's changes. Returns the keyframes that are due at this step, of what was before
  // the step. Valid until the next call.
  const Keyframes& add(const StepRecord& record);

 private:
  struct Pace {
    std::int64_t num_changes = 0;  // since the last keyframe
    std::int64_t due_after = 0;
    bool is_due();
  };
  SessionTables tables_;
  HeldBlocks blocks_;
  Pace tables_pace_{.due_after = kKeyframeChanges};
  Pace blocks_pace_{.due_after = kKeyframeWrites};
  Keyframes keyframes_;
};

// Finds the keyframe to start from.

class KeyframeQuery {
 public:
  // Keyframes are blobs in `column` of `table`.
  KeyframeQuery(ReadContext& context, const std::string& table, const std::string& column)
      : context_(context),
        name_(table + "." + column),
        statement_(context, fmt::format("SELECT step, {} FROM {} WHERE session = ? AND step > ? "
                                        "AND step <= ? ORDER BY step DESC LIMIT 1",
                                        column, table)) {}

  template <class Content>
  struct Found {
    std::int64_t step = 0;
    Content content;
  };
  // The last keyframe of the steps after `after` up to `step`. `decode` makes a Result of the blob.
  // Empty: there is none, or an error, which goes to the context.
  template <class Decode>
  auto last(std::int64_t after, std::int64_t step, const Decode& decode) {
    using Content = std::remove_cvref_t<decltype(decode({}).value())>;
    std::optional<Found<Content>> found;
    statement_.start({context_.session, after, step});
    if (!statement_.step()) return found;
    const auto* bytes = static_cast<const std::uint8_t*>(sqlite3_column_blob(statement_.get(), 1));
    const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), 1));
    const std::int64_t number = sqlite3_column_int64(statement_.get(), 0);
    auto decoded = decode(std::span(bytes, size));
    statement_.stop();
    if (decoded.ok())
      found.emplace(Found<Content>{number, std::move(decoded).value()});
    else
      context_.fail(ErrorKind::corrupt,
                    fmt::format("step {}: {}: {}", number, name_, decoded.error().message));
    return found;
  }

 private:
  ReadContext& context_;
  std::string name_;
  ReadStatement statement_;
};

// How keyframes are coded: numbers of varying length (LEB128) in a zstd frame.

class VarintWriter {
 public:
  void put(std::uint64_t value);
  // Zigzag: small numbers of either sign are short.
  void put_signed(std::int64_t value);
  // Always 8 bytes, little-endian: for numbers without a pattern.
  void put_word(std::uint64_t value);
  // The number of ids, then each minus the one before.
  void put_ids(std::span<const std::int32_t> ids);
  const std::vector<std::uint8_t>& bytes() const { return bytes_; }

 private:
  std::vector<std::uint8_t> bytes_;
};

// Reads numbers as long as they are valid; after the first invalid one all are 0.
class VarintReader {
 public:
  explicit VarintReader(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

  std::uint64_t take();
  // From 0 to below `end`.
  std::int64_t take_below(std::int64_t end);
  // From -limit to limit.
  std::int64_t take_signed(std::int64_t limit);
  std::uint64_t take_word();
  // What put_ids() wrote: ids from `least` to below `end`.
  void take_ids(std::int64_t least, std::int64_t end, std::vector<std::int32_t>& ids);
  bool ok() const { return ok_; }
  bool at_end() const { return ok_ && next_ == bytes_.size(); }

 private:
  std::int64_t left_bytes() const { return static_cast<std::int64_t>(bytes_.size() - next_); }

  std::span<const std::uint8_t> bytes_;
  std::size_t next_ = 0;
  bool ok_ = true;
};

std::vector<std::uint8_t> pack_blob(std::span<const std::uint8_t> bytes);
// Error corrupt: not a blob of pack_blob().
Result<std::vector<std::uint8_t>> unpack_blob(std::span<const std::uint8_t> blob);
Error damaged_keyframe(const std::string& what);

// What the blocks held at the end of any step of a session: from the nearest keyframe and the rows
// since.

class HeldBlocksReader {
 public:
  HeldBlocksReader(ReadContext& context, const BlockLimits& limits);

  // At the end of the step; valid until the next call. Going on from the last call's step reads
  // only the steps between. Errors go to the context.
  const HeldBlocks& at(std::int64_t step);

 private:
  void forget();
  void take_keyframe(std::int64_t step);
  void take_step(std::int64_t number);

  ReadContext& context_;
  BlockLimits limits_;
  KeyframeQuery keyframes_;
  TableCursor events_;
  TableCursor writes_;
  HeldBlocks blocks_;      // at the end of the step before next_
  std::int64_t next_ = 0;  // 0: nothing was read
};

}  // namespace hybridscope
