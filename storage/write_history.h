// Who wrote what a block holds, from the log of writes that level full keeps.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "core/check/state_write.h"
#include "storage/table_cursor.h"

namespace hybridscope {

class WriteHistory {
 public:
  explicit WriteHistory(ReadContext& context);

  // The write whose result the block held when the step was over; empty: nothing was written since
  // the block was given out. Errors go to the context.
  std::optional<StateWrite> last(std::int32_t block, ContentKind content, std::int64_t step);
  // That write, the write of what it was made from (`source`: the block, empty for nothing), and so
  // on, latest first; at most `limit` and one more.
  using Source = std::function<std::optional<std::int32_t>(const StateWrite&)>;
  std::vector<StateWrite> chain(std::int32_t block, ContentKind content, std::int64_t step,
                                const Source& source, std::size_t limit);

 private:
  struct PlacedWrite {
    StateWrite write;
    std::int64_t place = 0;
  };
  // Writes count up to `place` of `step`, that one not included, and none of kind `except` in that
  // step: copies of one launch, and rows of one forward pass, read before any of them writes.
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
