// What every block of the pool holds, as fingerprints: one temporal state, one conv window and one
// attention page per block (semantics: symbolic-state). A block id stands for one page in every
// layer of the group that owns it, so one representative layer stands for all.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/fingerprint.h"
#include "core/base/result.h"
#include "core/check/finding.h"
#include "core/state/state_ops.h"
#include "core/trace/step_trace.h"

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

struct SymbolicStateSize {
  std::int32_t num_blocks = 0;
  std::int32_t conv_state_len = 0;         // W - 1 + K: positions of a conv block
  std::int32_t hash_block_size = 16;       // tokens
  std::int32_t num_inner_hash_blocks = 0;  // that end inside an attention block
};

class SymbolicState {
 public:
  explicit SymbolicState(const SymbolicStateSize& size);

  std::int32_t num_blocks() const { return static_cast<std::int32_t>(temporal_.size()); }
  std::int32_t conv_state_len() const { return conv_state_len_; }

  TemporalSlot& temporal(std::int32_t block) { return temporal_[index(block)]; }
  const TemporalSlot& temporal(std::int32_t block) const { return temporal_[index(block)]; }
  AttentionSlots& attention(std::int32_t block) { return attention_[index(block)]; }
  const AttentionSlots& attention(std::int32_t block) const { return attention_[index(block)]; }
  // [conv_state_len] position i holds F(p) of the token number p (1-based) it keeps.
  std::span<Fingerprint> conv(std::int32_t block) {
    const auto length = static_cast<std::size_t>(conv_state_len_);
    return std::span(conv_).subspan(index(block) * length, length);
  }
  std::span<const Fingerprint> conv(std::int32_t block) const {
    const auto length = static_cast<std::size_t>(conv_state_len_);
    return std::span(conv_).subspan(index(block) * length, length);
  }
  WriteEvent& conv_event(std::int32_t block) { return conv_event_[index(block)]; }
  const WriteEvent& conv_event(std::int32_t block) const { return conv_event_[index(block)]; }

  // Slots [first, end) of an attention block are written: `prefix_at(slot)` is the fingerprint of
  // the prefix that ends with the slot.
  template <class PrefixAt>
  void write_attention(std::int32_t block, std::int32_t first, std::int32_t end,
                       PrefixAt prefix_at) {
    for (std::int32_t inner = first / hash_block_size_; inner < num_inner_; ++inner) {
      const std::int32_t slot = (inner + 1) * hash_block_size_ - 1;
      if (slot >= end) break;
      inner_[inner_index(block, inner)] = prefix_at(slot);
    }
    attention(block).filled = end;
    attention(block).last = prefix_at(end - 1);
  }
  // Do the block's first num_slots slots hold this prefix? Only its filled end and the ends of hash
  // blocks can be asked for; elsewhere false.
  bool attention_holds(std::int32_t block, std::int32_t num_slots, Fingerprint prefix) const;
  // The prefix at the end of an inner hash block is known.
  bool ends_hash_block(std::int32_t num_slots) const {
    return num_slots % hash_block_size_ == 0 && num_slots / hash_block_size_ <= num_inner_;
  }

  // A hint that the block's recurrent state is needed soon.
  void prefetch(std::int32_t block) const {
    __builtin_prefetch(&temporal(block));
    __builtin_prefetch(&conv_event(block));
    __builtin_prefetch(conv(block).data());
  }

  // Everything that the block holds.
  void copy_block(std::int32_t source, std::int32_t destination);

  // The block was given to a new owner: nothing in it counts as written.
  void poison(std::int32_t block);
  // The engine filled the block with zeros: the state before the first token.
  void zero(std::int32_t block);

 private:
  std::size_t index(std::int32_t block) const {
    HS_EXPECT(block >= 0 && static_cast<std::size_t>(block) < temporal_.size());
    return static_cast<std::size_t>(block);
  }
  std::size_t inner_index(std::int32_t block, std::int32_t inner) const {
    return index(block) * static_cast<std::size_t>(num_inner_) + static_cast<std::size_t>(inner);
  }

  std::int32_t conv_state_len_ = 0;
  std::vector<TemporalSlot> temporal_;     // [num_blocks]
  std::vector<AttentionSlots> attention_;  // [num_blocks]
  std::vector<Fingerprint> conv_;          // [num_blocks, conv_state_len]
  std::vector<WriteEvent> conv_event_;     // [num_blocks]
  std::int32_t hash_block_size_ = 16;
  std::int32_t num_inner_ = 0;
  std::vector<Fingerprint> inner_;  // [num_blocks, num_inner_hash_blocks] of attention blocks
};

// What a batch's rows should find and leave behind: fingerprints of every prefix inside the step,
// folded from the tokens in the trace. Shared by all groups.

class RowTruth {
 public:
  // Reuses the storage of earlier steps.
  void fold(const StepTrace& trace, std::int32_t conv_kernel);

  // F(c + i) of row r for i = 0 .. q.
  std::span<const Fingerprint> prefixes(std::int32_t row) const;
  // F of token number c - (W - 2) .. c: the conv history before the row's first token.
  std::span<const Fingerprint> history(std::int32_t row) const;
  // F(p) of the row's request for c - (W - 2) <= p <= c + q; 0 before the first token.
  Fingerprint at(std::int32_t row, std::int32_t position) const;
  std::int32_t num_computed_tokens(std::int32_t row) const;
  std::int32_t num_query_tokens(std::int32_t row) const;

 private:
  struct Row {
    std::int64_t first = 0;  // of its W - 2 + 1 + q values in values_
    std::int32_t computed = 0;
    std::int32_t query = 0;
  };
  std::int32_t history_len_ = 0;  // W - 1
  std::vector<Row> rows_;         // [num_reqs]
  std::vector<Fingerprint>
      values_;  // row by row: history (its last is F(c)), then F(c+1) .. F(c+q)
};

}  // namespace hybridscope
