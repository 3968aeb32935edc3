// What every block of the pool holds, as fingerprints: one temporal state, one conv window and one
// attention page per block (semantics: symbolic-state). A block id stands for one page in every
// layer of the group that owns it, so one representative layer stands for all.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/fingerprint.h"
#include "core/check/finding.h"
#include "core/state/state_ops.h"

namespace hybridscope {

struct TemporalSlot {
  Fingerprint fingerprint = kPoison;
  WriteEvent event;
};

struct AttentionSlots {
  std::int32_t filled = 0;  // slots [0, filled) of the block hold keys and values
  Fingerprint last = 0;     // fingerprint of the prefix that ends at slot filled - 1
  WriteEvent event;
};

class SymbolicState {
 public:
  // conv_state_len = W - 1 + K: positions of a conv block.
  SymbolicState(std::int32_t num_blocks, std::int32_t conv_state_len);

  std::int32_t num_blocks() const { return static_cast<std::int32_t>(temporal_.size()); }
  std::int32_t conv_state_len() const { return conv_state_len_; }

  TemporalSlot& temporal(std::int32_t block) { return temporal_[index(block)]; }
  const TemporalSlot& temporal(std::int32_t block) const { return temporal_[index(block)]; }
  AttentionSlots& attention(std::int32_t block) { return attention_[index(block)]; }
  const AttentionSlots& attention(std::int32_t block) const { return attention_[index(block)]; }
  // [conv_state_len] position i holds F(p) of the token number p (1-based) it keeps.
  std::span<Fingerprint> conv(std::int32_t block);
  std::span<const Fingerprint> conv(std::int32_t block) const;
  WriteEvent& conv_event(std::int32_t block) { return conv_event_[index(block)]; }
  const WriteEvent& conv_event(std::int32_t block) const { return conv_event_[index(block)]; }

  // The block was given to a new owner: nothing in it counts as written.
  void poison(std::int32_t block);

 private:
  std::size_t index(std::int32_t block) const;

  std::int32_t conv_state_len_ = 0;
  std::vector<TemporalSlot> temporal_;     // [num_blocks]
  std::vector<AttentionSlots> attention_;  // [num_blocks]
  std::vector<Fingerprint> conv_;          // [num_blocks, conv_state_len]
  std::vector<WriteEvent> conv_event_;     // [num_blocks]
};

}  // namespace hybridscope
