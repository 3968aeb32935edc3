#include "storage/held_blocks_reader.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "storage/table_fields.h"

namespace hybridscope {

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
