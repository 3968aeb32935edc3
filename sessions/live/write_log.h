// Every write to state of a run that is made while it is shown, and where copies took it from:
// answers "why is this here?" without running anything again. Bounded: when it is full, the oldest
// half goes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/check/state_write.h"
#include "core/model/kv_cache_spec.h"
#include "core/trace/step_trace.h"

namespace hybridscope {

// Where a block's content came from, latest write first: each was made from what the next one left.
enum class ChainEnd : std::uint8_t {
  beginning,  // the last of them was made from nothing that was there before
  cut,        // older writes are not known any more
  limit,      // there are more than were asked for
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
    std::size_t capacity = 4'000'000;  // writes kept, about 60 bytes each
  };
  explicit WriteLog(const Options& options);

  // Takes over what a step did; steps come in order.
  void take(const StepTrace& trace, std::span<const StateWrite> writes);
  // Forgets the steps behind `step`.
  void forget_after(std::int64_t step);

  // The write whose result the block held of this content when the step was over, the write whose
  // result that one copied or went on from, and so on; at most kMaxChainLinks. Empty and not cut:
  // nothing was written since the block was given out.
  WriteChain chain(std::int32_t block, ContentKind content, std::int64_t step) const;

  std::size_t size() const { return entries_.size(); }

 private:
  // A write, or (kind never) the block being given out, which ends its history.
  struct Entry {
    StateWrite write;
    std::int32_t source_block = -1;  // what it was made from (WriteSources), -1: nothing
  };
  // Entries count that are older than index `end`, without those of kind `except` in `step`: copies
  // of one launch, and rows of one forward pass, read before any of them writes.
  struct Moment {
    std::size_t end = 0;
    std::int64_t step = 0;
    WriteKind except = WriteKind::never;
  };

  void add(std::int32_t block, const Entry& entry);
  void drop_oldest();
  // npos: there is none.
  std::size_t before(std::int32_t block, ContentKind content, const Moment& moment) const;

  static constexpr std::size_t npos = static_cast<std::size_t>(-1);

  MambaCacheMode mode_;
  std::size_t capacity_;
  std::size_t first_ = 0;       // number of entries_[0] among all there ever were
  std::vector<Entry> entries_;  // in their order
  std::vector<std::vector<std::size_t>> of_block_;  // [num_blocks] numbers of entries, ascending
};

}  // namespace hybridscope
