#include "core/trace/block_table_mirror.h"

#include <algorithm>

#include "core/base/result.h"

namespace hybridscope {

BlockTableMirror::BlockTableMirror(std::int32_t num_groups, std::int32_t num_blocks)
    : num_groups_(static_cast<std::size_t>(num_groups)),
      holders_(static_cast<std::size_t>(num_blocks), 0),
      deferred_(static_cast<std::size_t>(num_blocks), 0) {}

void BlockTableMirror::hold(std::int32_t block, std::int32_t change) {
  if (block == kNullBlock) return;
  HS_EXPECT(block > 0 && static_cast<std::size_t>(block) < holders_.size());
  std::int32_t& count = holders_[static_cast<std::size_t>(block)];
  if (count == 0) ++num_held_blocks_;
  count += change;
  if (count == 0) --num_held_blocks_;
}

std::vector<std::int32_t>& BlockTableMirror::table(RequestId request, std::int32_t group) {
  HS_EXPECT(request.value >= 0 && group >= 0 && static_cast<std::size_t>(group) < num_groups_);
  const auto id = static_cast<std::size_t>(request.value);
  if (id >= slot_of_request_.size()) slot_of_request_.resize(id + 1, -1);
  std::int32_t& slot = slot_of_request_[id];
  if (slot < 0) {
    if (free_slots_.empty()) {
      slot = static_cast<std::int32_t>(tables_.size() / num_groups_);
      tables_.resize(tables_.size() + num_groups_);
    } else {
      slot = free_slots_.back();
      free_slots_.pop_back();
    }
  }
  return tables_[static_cast<std::size_t>(slot) * num_groups_ + static_cast<std::size_t>(group)];
}

void BlockTableMirror::apply(const CacheEvent& event) {
  if (event.kind == CacheEventKind::column_set) {
    std::vector<std::int32_t>& ids = table(event.request, event.group);
    const auto column = static_cast<std::size_t>(event.column);
    if (column >= ids.size()) ids.resize(column + 1, kNullBlock);
    hold(event.block, 1);
    hold(ids[column], -1);
    ids[column] = event.block;
  } else if (event.kind == CacheEventKind::table_dropped) {
    std::vector<std::int32_t>& ids = table(event.request, event.group);
    for (const std::int32_t block : ids) hold(block, -1);
    ids.clear();
    const auto id = static_cast<std::size_t>(event.request.value);
    const auto first = static_cast<std::size_t>(slot_of_request_[id]) * num_groups_;
    for (std::size_t g = 0; g < num_groups_; ++g)
      if (!tables_[first + g].empty()) return;
    free_slots_.push_back(slot_of_request_[id]);
    slot_of_request_[id] = -1;
  } else if (event.kind == CacheEventKind::free_deferred) {
    ++deferred_[static_cast<std::size_t>(event.block)];
    ++num_deferred_;
  } else if (event.kind == CacheEventKind::free_due) {
    --deferred_[static_cast<std::size_t>(event.block)];
    --num_deferred_;
  }
}

void BlockTableMirror::set_block_ids(RequestId request, std::int32_t group,
                                     std::span<const std::int32_t> ids) {
  std::vector<std::int32_t>& kept = table(request, group);
  for (const std::int32_t block : ids) hold(block, 1);
  for (const std::int32_t block : kept) hold(block, -1);
  kept.assign(ids.begin(), ids.end());
}

void BlockTableMirror::set_deferred(std::int32_t block, std::int32_t count) {
  HS_EXPECT(block >= 0 && static_cast<std::size_t>(block) < deferred_.size());
  std::int32_t& kept = deferred_[static_cast<std::size_t>(block)];
  num_deferred_ += count - kept;
  kept = count;
}

std::vector<RequestId> BlockTableMirror::requests() const {
  std::vector<RequestId> result;
  for (std::size_t id = 0; id < slot_of_request_.size(); ++id) {
    if (slot_of_request_[id] < 0) continue;
    const auto first =
        tables_.begin() +
        static_cast<std::ptrdiff_t>(static_cast<std::size_t>(slot_of_request_[id]) * num_groups_);
    if (std::any_of(first, first + static_cast<std::ptrdiff_t>(num_groups_),
                    [](const std::vector<std::int32_t>& ids) { return !ids.empty(); }))
      result.push_back(RequestId{static_cast<std::int32_t>(id)});
  }
  return result;
}

bool BlockTableMirror::holds(RequestId request, std::int32_t group, std::int32_t block) const {
  const std::span<const std::int32_t> ids = block_ids(request, group);
  return std::find(ids.rbegin(), ids.rend(), block) != ids.rend();
}

}  // namespace hybridscope
