// Logs every write to state of a run while it is shown, and the source of each write, to answer
// "why is this here?" without running anything again. Bounded: when the log is full, the steps of
// its older half are dropped; a log of those steps can go on with a chain.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/check/state_write.h"
#include "core/model/kv_cache_spec.h"
#include "core/trace/step_trace.h"

namespace hybridscope {

// Why a chain of writes ends. A chain starts at a block's last write; each later element is the
// write, often of another block, that the one before it copied or continued.
enum class ChainEnd : std::uint8_t {
  beginning,  // its oldest write did not use any earlier content
  cut,        // older writes are no longer in the log
  limit,      // there are more writes than were asked for
};
struct WriteChain {
  std::vector<StateWrite> writes;
  ChainEnd end = ChainEnd::beginning;
};
inline constexpr std::size_t kMaxChainLinks = 40;

class WriteLog {
 public:
  struct Options {
    std::int32_t num_blocks = 0;
    MambaCacheMode mamba_cache_mode = MambaCacheMode::align;
    std::size_t capacity = 4'000'000;  // in writes, about 60 bytes each
  };
  explicit WriteLog(const Options& options);
  // Keeps at most so many writes from now on, at least 2; those of one step even if they are more.
  void set_capacity(std::size_t capacity);

  // Adds the writes of a step; steps come in order.
  void take(const StepTrace& trace, std::span<const StateWrite> writes);
  // Forgets the steps after `step`.
  void forget_after(std::int64_t step);

  // Where a chain goes on: with the last write of a content to a block before a moment.
  struct Search {
    std::int32_t block = 0;
    ContentKind content = ContentKind::none;
    std::int64_t step = 0;  // up to this one
    // It counts, of the writes in `step`, those before this number of an entry, but none of kind
    // `except`: the copies of one launch, and the rows of one forward pass, all read before any of
    // them writes.
    std::size_t end = static_cast<std::size_t>(-1);
    WriteKind except = WriteKind::never;
  };

  // The last write of the content to the block up to the end of the step.
  Search last(std::int32_t block, ContentKind content, std::int64_t step) const;
  // The write whose result of this content kind the block held at the end of the step, the write
  // whose result that one copied or continued, and so on; at most kMaxChainLinks. Empty and not
  // cut: nothing was written since the block was allocated.
  WriteChain chain(std::int32_t block, ContentKind content, std::int64_t step) const {
    WriteChain chain;
    Search from = last(block, content, step);
    follow(from, chain);
    return chain;
  }
  // Goes on with a chain. Where that ends as `cut`, `from` is where a log of earlier steps goes on.
  void follow(Search& from, WriteChain& chain) const;

  // Nothing of this step and later ones was dropped; 1: nothing at all.
  std::int64_t first_step() const { return first_step_; }
  std::size_t size() const { return entries_.size(); }
  std::size_t capacity() const { return capacity_; }
  // What it takes in memory.
  std::size_t bytes() const { return entries_.capacity() * sizeof(Entry) + size() * kNumberBytes; }
  // How many writes take so many bytes.
  static std::size_t capacity_for(std::size_t bytes);

 private:
  // A write, or (kind never) the allocation of a block, which ends its history.
  struct Entry {
    StateWrite write;
    std::int32_t source_block = -1;  // block that the write was made from (WriteSources); -1: none
  };
  void add(std::int32_t block, const Entry& entry);
  void drop_oldest();
  // The index of the entry; npos: not found.
  std::size_t find(const Search& search) const;

  static constexpr std::size_t npos = static_cast<std::size_t>(-1);
  static constexpr std::size_t kNumberBytes = 2 * sizeof(std::size_t);  // in of_block_, with slack

  MambaCacheMode mode_;
  std::size_t capacity_;
  std::int64_t first_step_ = 1;
  std::size_t first_ = 0;       // number of entries_[0], counted over all entries ever added
  std::vector<Entry> entries_;  // in the order of the writes
  std::vector<std::vector<std::size_t>> of_block_;  // [num_blocks] entry numbers, ascending
};

}  // namespace hybridscope
