// What the blocks held at the end of any step of a session: from the nearest keyframe and the rows
// since.
#pragma once

#include <cstdint>

#include "storage/held_blocks.h"
#include "storage/keyframe.h"
#include "storage/table_cursor.h"

namespace hybridscope {

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
