#include "sessions/live/write_log.h"

#include <algorithm>

#include "core/base/result.h"
#include "sessions/explain/forward_rows.h"

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

std::size_t WriteLog::capacity_for(std::size_t bytes) {
  return std::max<std::size_t>(bytes / (sizeof(Entry) + kNumberBytes), 2);
}

// What was reserved for more is given back.
void WriteLog::set_capacity(std::size_t capacity) {
  if (capacity == capacity_) return;
  capacity_ = std::max<std::size_t>(capacity, 2);
  if (entries_.size() > capacity_) drop_oldest();
  entries_.shrink_to_fit();
}

// Drops whole steps, but not the last one.
void WriteLog::drop_oldest() {
  const std::size_t least = entries_.size() - capacity_ / 2;
  const std::int32_t last = entries_.back().write.event.step;
  first_step_ = std::min(entries_[least - 1].write.event.step + 1, last);
  const auto kept = std::partition_point(entries_.begin(), entries_.end(), [&](const Entry& entry) {
    return entry.write.event.step < first_step_;
  });
  const auto dropped = static_cast<std::size_t>(kept - entries_.begin());
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
  first_step_ = std::min(first_step_, step + 1);
  const std::size_t end = first_ + entries_.size();
  for (std::vector<std::size_t>& numbers : of_block_)
    numbers.erase(std::lower_bound(numbers.begin(), numbers.end(), end), numbers.end());
}

std::size_t WriteLog::find(const Search& search) const {
  if (search.block < 0 || static_cast<std::size_t>(search.block) >= of_block_.size()) return npos;
  const std::vector<std::size_t>& numbers = of_block_[static_cast<std::size_t>(search.block)];
  auto place = std::lower_bound(numbers.begin(), numbers.end(), search.end);
  while (place != numbers.begin()) {
    const std::size_t index = *--place - first_;
    const StateWrite& write = entries_[index].write;
    if (write.event.step > search.step) continue;
    if (write.event.kind == WriteKind::never) return index;
    const bool excepted = write.event.step == search.step && write.event.kind == search.except;
    if (write.content == search.content && !excepted) return index;
  }
  return npos;
}

WriteLog::Search WriteLog::last(std::int32_t block, ContentKind content, std::int64_t step) const {
  const auto end = std::partition_point(entries_.begin(), entries_.end(), [&](const Entry& entry) {
    return entry.write.event.step <= step;
  });
  return {.block = block,
          .content = content,
          .step = step,
          .end = first_ + static_cast<std::size_t>(end - entries_.begin())};
}

void WriteLog::follow(Search& from, WriteChain& chain) const {
  chain.end = ChainEnd::beginning;
  for (;;) {
    const std::size_t found = find(from);
    if (found == npos) {
      if (first_step_ > 1) chain.end = ChainEnd::cut;
      from.end = npos;  // numbers of another log are others, and its steps come before
      return;
    }
    const Entry& entry = entries_[found];
    if (entry.write.event.kind == WriteKind::never) return;
    if (chain.writes.size() == kMaxChainLinks) {
      chain.end = ChainEnd::limit;
      return;
    }
    chain.writes.push_back(entry.write);
    if (entry.source_block < 0) return;
    from = {.block = entry.source_block,
            .content = from.content,
            .step = entry.write.event.step,
            .end = first_ + found,
            .except = entry.write.event.kind};
  }
}

}  // namespace hybridscope
