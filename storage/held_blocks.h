// What the blocks of a session hold at the end of a step, and what they are registered as; with the
// rows of the session file that say so.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/fingerprint.h"
#include "core/base/result.h"
#include "core/caching/cache_events.h"
#include "core/check/state_write.h"
#include "core/engine/engine_config.h"
#include "sessions/record/step_record.h"
#include "storage/table_cursor.h"

namespace hybridscope {

// Reads rows that change block tables, and checks them so that they can be applied.

// Far more columns than any block table has; keeps a damaged file from causing huge allocations.
inline constexpr std::int32_t kMaxTableColumns = 1 << 22;

// The sizes of a session's block tables.
struct BlockLimits {
  std::int32_t num_groups = 0;
  std::int32_t num_blocks = 0;
};
BlockLimits block_limits(const EngineConfig& config);

struct BlockEventRow {
  bool at_commit = false;
  CacheEvent event;
};

// Requires: at_row(). Errors go to the cursor's context; the result must not be used then.
TableCursor make_event_cursor(ReadContext& context);
BlockEventRow read_block_event(const TableCursor& cursor, const BlockLimits& limits);
TableCursor make_change_cursor(ReadContext& context);
WorkerTableChange read_worker_change(const TableCursor& cursor, const BlockLimits& limits);

// The prefix that a block is registered under.
struct RegisteredLabel {
  std::int32_t step = 0;  // step that registered it
  RequestId request{};    // for which
  std::int32_t group = -1;
  std::int32_t num_tokens = 0;
  Fingerprint block_hash = 0;
  friend bool operator==(const RegisteredLabel&, const RegisteredLabel&) = default;
};

struct HeldBlock {
  // Needs level full.
  HeldContent temporal;
  HeldContent conv;
  HeldContent attention;
  // The first registration first; with hits inside blocks it can be several prefixes.
  std::vector<RegisteredLabel> labels;
  friend bool operator==(const HeldBlock&, const HeldBlock&) = default;
};

class HeldBlocks {
 public:
  explicit HeldBlocks(std::int32_t num_blocks);

  // Apply in the order of a step: its events, also those of its commits, then its writes. Blocks
  // are allocated by the schedule, before the writes of the step. Requires: a block of the session.
  void apply(const CacheEvent& event, std::int32_t step);
  void apply(const StateWrite& write);

  std::int32_t num_blocks() const { return static_cast<std::int32_t>(blocks_.size()); }
  // Requires: 0 <= block < num_blocks().
  HeldBlock& at(std::int32_t block);
  const HeldBlock& at(std::int32_t block) const;
  // Contents and labels of all blocks.
  std::int64_t num_held() const;

 private:
  std::vector<HeldBlock> blocks_;  // [num_blocks]
};

std::vector<std::uint8_t> encode_blocks(const HeldBlocks& blocks);
// Error corrupt: not such a blob, or blocks that cannot be; request ids must be below
// `num_requests`.
Result<HeldBlocks> decode_blocks(std::span<const std::uint8_t> blob, const BlockLimits& limits,
                                 std::int32_t num_requests);

}  // namespace hybridscope
