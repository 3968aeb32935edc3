// Compares what another engine's memory held with what its decisions should have left there:
// follows the operations that the checker executed, and keeps for each block the hash that its last
// write left (semantics: memory-hashes). A write makes the hash unknown until it is told again; a
// copy passes the hash of its source on.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "core/check/step_checker.h"

namespace hybridscope {

// What the memory of another engine held, as hashes of its recurrent state blocks
// (docs/trace-format.md, States). Equal bytes have equal hashes; what else they are made of does
// not matter here.

// Larger than any told hash.
inline constexpr std::uint64_t kUnknownHash = UINT64_MAX;
inline constexpr std::int64_t kMostHash = (std::int64_t{1} << 48) - 1;

// At one time of a step. Empty where the layers have no such state.
struct ToldHashes {
  std::vector<std::uint64_t> temporal;  // [blocks]
  std::vector<std::uint64_t> conv;      // [blocks, num_positions]
};

// One mamba group's hashes of a step.
struct ToldGroup {
  std::int32_t group = -1;
  std::int32_t num_positions = 0;       // of a conv window; 1: one hash for the whole window
  std::vector<std::int32_t> block_ids;  // [blocks] others than blocks of the pool are ignored
  ToldHashes before_forward;            // after the pre-copies
  ToldHashes after_forward;             // before the post-copies
};

class StateHashCheck {
 public:
  explicit StateHashCheck(const CheckConfig& config);

  // Follows the last step of `checker`, `trace`, whose operations it logged, and compares the
  // hashes told of it. Findings of the rules with Evidence::memory, valid until the next call; each
  // step must be followed, told or not. Requires: mamba groups, arrays of the sizes that
  // state_hash_check.h gives them, num_positions 1 or W - 1 + K, 0 where no
  // window is told.
  std::span<const Finding> follow(const StepChecker& checker, const StepTrace& trace,
                                  std::span<const ToldGroup> told);

 private:
  enum class Moment : std::uint8_t { before_forward, after_forward };
  static constexpr std::int32_t kNotCopied = -1;
  // One kind of state of a block.
  struct Content {
    std::int32_t copied_from = kNotCopied;  // whose bytes it should have, until it is told
    bool written_by_forward = false;        // in this step
    WriteEvent event;                       // that left it
  };
  struct Block {
    std::int32_t group_index = -1;  // whose layers wrote it since it was given out; -1: none did
    std::uint64_t temporal = kUnknownHash;
    std::array<Content, 2> contents;    // by StateKind
    std::uint64_t held = kUnknownHash;  // temporal, as told last; stays when the block is given out
    Fingerprint holds = kPoison;        // the symbolic content when it was last written
    bool is_copied_after_forward = false;  // in this step
  };

  Block& block(std::int32_t number) { return blocks_[static_cast<std::size_t>(number)]; }
  std::span<std::uint64_t> conv(std::int32_t number);
  bool is_block(std::int32_t number) const;
  Block& touch(std::int32_t number, std::int32_t group_index);
  void forget(std::int32_t number);
  // To a new owner, or filled with zeros for it.
  void give_out(std::int32_t number);

  void take_positions(std::span<const ToldGroup> told);
  void apply(const StateOps& ops, std::size_t first_batch, std::size_t end_batch);
  void apply_copies(std::span<const StateCopyOp> copies);
  void copy_conv(const StateCopyOp& copy, std::span<const std::uint64_t> source);
  void apply_row(const StateOps& ops, const ForwardRow& row);
  void note_later_copies(const StateOps& ops, std::size_t first_batch);

  void compare(std::span<const ToldGroup> told, Moment moment);
  void compare(const ToldGroup& told, Moment moment);
  void compare_conv(const ToldGroup& told, std::span<const std::uint64_t> seen, std::int32_t number,
                    Moment moment);
  bool is_what_it_held(const ToldGroup& told, std::size_t i) const;
  void find_missing_writes(const ToldGroup& told);
  Finding finding_of(const ToldGroup& told, StateKind kind, std::int32_t number) const;
  void report(const ToldGroup& told, StateKind kind, std::int32_t number, std::uint64_t expected,
              std::uint64_t seen, Moment moment);
  Fingerprint content_now(std::int32_t number) const;
  void end_step();

  std::int32_t conv_state_len_;
  const StepChecker* checker_ = nullptr;  // of the step that is followed
  std::int64_t step_ = 0;
  std::vector<std::int32_t> group_indices_;  // [groups] number among the mamba groups, else -1
  std::vector<std::int32_t> num_positions_;  // [mamba groups] as told last
  std::vector<Block> blocks_;                // [num_blocks]
  std::vector<std::uint64_t> conv_;          // [num_blocks, conv_state_len]
  std::vector<std::int32_t> touched_;        // blocks that the step writes
  std::vector<Finding> findings_;
};

}  // namespace hybridscope
