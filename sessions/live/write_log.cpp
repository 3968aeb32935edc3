#include "sessions/live/write_log.h"

#include <algorithm>

#include "core/base/check.h"
#include "sessions/explain/write_source.h"

namespace hybridscope {
WriteLog::WriteLog(const Options& options)
    : mode_(options.mamba_cache_mode),
      capacity_(options.capacity),
      of_block_(static_cast<std::size_t>(options.num_blocks)) {
  HS_EXPECT(options.num_blocks >= 0 && options.capacity >= 2);
}

void WriteLog::add(std::int32_t block, const Entry& entry) {
  if (block < 0 || static_cast<std::size_t>(block) >= of_block_.size()) return;
  of_block_[static_cast<std::size_t>(block)].push_back(first_ + entries_.size());
  entries_.push_back(entry);
}

void WriteLog::take(const StepTrace& trace, std::span<const StateWrite> writes) {
  // Blocks are allocated by the schedule, before the writes of the step.
  for (const CacheEvent& event : trace.cache_events) {
    if (event.kind != CacheEventKind::allocated) continue;
    Entry entry;
    entry.write.block = event.block;
    entry.write.event.step = static_cast<std::int32_t>(trace.step);
    add(event.block, entry);
  }
  const WriteSources sources(trace, mode_);
  for (const StateWrite& write : writes) add(write.block, {write, sources.of(write).value_or(-1)});
  if (entries_.size() > capacity_) drop_oldest();
}

void WriteLog::drop_oldest() {
  const std::size_t dropped = entries_.size() - capacity_ / 2;
  entries_.erase(entries_.begin(), entries_.begin() + static_cast<std::ptrdiff_t>(dropped));
  first_ += dropped;
  for (std::vector<std::size_t>& numbers : of_block_)
    numbers.erase(numbers.begin(), std::lower_bound(numbers.begin(), numbers.end(), first_));
}

void WriteLog::forget_after(std::int64_t step) {
  const auto kept = std::partition_point(entries_.begin(), entries_.end(), [&](const Entry& entry) {
    return entry.write.event.step <= step;
  });
  entries_.erase(kept, entries_.end());
  const std::size_t end = first_ + entries_.size();
  for (std::vector<std::size_t>& numbers : of_block_)
    numbers.erase(std::lower_bound(numbers.begin(), numbers.end(), end), numbers.end());
}

std::size_t WriteLog::before(std::int32_t block, ContentKind content, const Moment& moment) const {
  if (block < 0 || static_cast<std::size_t>(block) >= of_block_.size()) return npos;
  const std::vector<std::size_t>& numbers = of_block_[static_cast<std::size_t>(block)];
  auto place = std::lower_bound(numbers.begin(), numbers.end(), first_ + moment.end);
  while (place != numbers.begin()) {
    const std::size_t index = *--place - first_;
    const StateWrite& write = entries_[index].write;
    if (write.event.kind == WriteKind::never) return index;
    const bool excepted = write.event.step == moment.step && write.event.kind == moment.except;
    if (write.content == content && !excepted) return index;
  }
  return npos;
}

WriteChain WriteLog::chain(std::int32_t block, ContentKind content, std::int64_t step) const {
  WriteChain chain;
  const auto end = std::partition_point(entries_.begin(), entries_.end(), [&](const Entry& entry) {
    return entry.write.event.step <= step;
  });
  Moment moment{.end = static_cast<std::size_t>(end - entries_.begin()), .step = step};
  for (;;) {
    const std::size_t found = before(block, content, moment);
    if (found == npos) {
      if (first_ > 0) chain.end = ChainEnd::cut;
      return chain;
    }
    const Entry& entry = entries_[found];
    if (entry.write.event.kind == WriteKind::never) return chain;
    if (chain.writes.size() == kMaxChainLinks) {
      chain.end = ChainEnd::limit;
      return chain;
    }
    chain.writes.push_back(entry.write);
    if (entry.source_block < 0) return chain;
    block = entry.source_block;
    moment = {.end = found, .step = entry.write.event.step, .except = entry.write.event.kind};
  }
}

}  // namespace hybridscope
