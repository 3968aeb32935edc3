// The history of a session's blocks: what they were registered as (LabelHistory), and which writes
// made their content (WriteHistory, from the log of writes that level full keeps).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "core/base/fingerprint.h"
#include "core/check/state_write.h"
#include "storage/block_rows.h"
#include "storage/table_cursor.h"

namespace hybridscope {

// The prefix that a block is registered under.
struct RegisteredLabel {
  std::int32_t step = 0;  // step that registered it
  std::int32_t group = -1;
  std::int32_t num_tokens = 0;
  Fingerprint block_hash = 0;
  friend bool operator==(const RegisteredLabel&, const RegisteredLabel&) = default;
};

class LabelHistory {
 public:
  LabelHistory(ReadContext& context, const BlockLimits& limits);

  // Reads at most `max_rows` more changes. False: all have been read, or an error occurred, which
  // goes to the context.
  bool read_on(std::int64_t max_rows);
  bool complete() const { return complete_; }
  // Rows may have been added: read_on() continues after the last row that it read.
  void expect_more();

  // What the block is registered as at the end of the step, the first registration first; with hits
  // inside blocks it can be several prefixes. Requires: complete().
  std::vector<RegisteredLabel> labels(std::int32_t block, std::int64_t step) const;

 private:
  ReadContext& context_;
  BlockLimits limits_;
  ReadStatement rows_;
  bool started_ = false;
  bool complete_ = false;
  std::int64_t last_step_ = -1;  // of the last row that was read
  std::int64_t last_ordinal_ = -1;
  // [num_blocks] in order. A group below 0: labels were lost, all of them (kAllLost) or those
  // besides the first that have `num_tokens` (kOneLost).
  static constexpr std::int32_t kAllLost = -1;
  static constexpr std::int32_t kOneLost = -2;
  std::vector<std::vector<RegisteredLabel>> changes_;
};

class WriteHistory {
 public:
  explicit WriteHistory(ReadContext& context);

  // The write whose result the block held at the end of the step; empty: nothing was written since
  // the block was allocated. Errors go to the context.
  std::optional<StateWrite> last(std::int32_t block, ContentKind content, std::int64_t step);
  // That write, the write of the block it was made from (`source` returns the block, empty for
  // none), and so on, latest first; at most `limit` + 1 writes.
  using Source = std::function<std::optional<std::int32_t>(const StateWrite&)>;
  std::vector<StateWrite> chain(std::int32_t block, ContentKind content, std::int64_t step,
                                const Source& source, std::size_t limit);

 private:
  struct PlacedWrite {
    StateWrite write;
    std::int64_t place = 0;
  };
  // Limits a search to writes before `place` of `step`, without those of kind `except` in that
  // step: the copies of one launch, and the rows of one forward pass, all read before any of them
  // writes.
  struct Moment {
    std::int64_t step = 0;
    std::int64_t place = 0;
    WriteKind except = WriteKind::never;
  };
  std::optional<PlacedWrite> before(std::int32_t block, ContentKind content, const Moment& moment);

  ReadContext& context_;
  ReadStatement places_;
  ReadStatement given_out_;
  TableCursor writes_;
};

}  // namespace hybridscope
