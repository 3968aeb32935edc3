// Which rows of a batch can run at the same time. On the host rows run one after the other; where
// one row writes a block that another one reads or writes, which only a fault makes, a device has
// to run them in that order too.
#pragma once

#include <cstdint>
#include <vector>

#include "core/numeric/dense_layers.h"
#include "core/numeric/state_rows.h"

namespace hybridscope {

// Rows of a part, cut where a row meets one before it: [first, ends[0]), [ends[0], ends[1]), ...;
// always one range, of all rows if none meets another.
using RowRanges = std::vector<std::int32_t>;  // ends

class RowMeetings {
 public:
  explicit RowMeetings(std::int32_t num_blocks);

  RowRanges ranges(const DecodeRows& rows);
  RowRanges ranges(const PrefillRows& rows);
  // The ranges of rows whose writes of keys and values do not meet; `block_size`: tokens.
  RowRanges ranges(const AttentionRows& rows, std::int32_t block_size);

 private:
  // One row: false if it meets a row of the range that was begun; `begin` begins another one.
  void begin() { ++range_; }
  bool take(std::int32_t row, const std::vector<std::int32_t>& reads,
            const std::vector<std::int32_t>& writes);
  template <class Places>
  RowRanges cut(std::int32_t num_rows, Places&& places);

  struct Use {
    std::int64_t range = 0;  // that the rest is of
    std::int32_t writer = -1;
    std::int32_t reader = -1;  // the only one, or kSeveral
  };
  static constexpr std::int32_t kSeveral = -2;
  Use& use_of(std::int32_t block);

  std::vector<Use> uses_;  // [num_blocks]
  std::int64_t range_ = 0;
  std::vector<std::int32_t> reads_, writes_;  // of the row in question
};

// Rows [first, end) alone, with the same tokens of the batch.
DecodeRows rows_between(DecodeRows rows, std::int32_t first, std::int32_t end);
PrefillRows rows_between(PrefillRows rows, std::int32_t first, std::int32_t end);
AttentionRows rows_between(AttentionRows rows, std::int32_t first, std::int32_t end);

}  // namespace hybridscope
