// Which writes made the content of a session's blocks, from the log of writes that level full
// keeps.
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

  // The write whose result the block held at the end of the step, the write of the block it was
  // made from (`source` returns the block, empty for none), and so on, latest first; at most
  // `limit` + 1 writes. Empty: nothing was written since the block was allocated. Errors go to the
  // context.
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
