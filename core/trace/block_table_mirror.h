// The scheduler's block tables, rebuilt from cache events alone.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/ids.h"
#include "core/caching/cache_events.h"

namespace hybridscope {

class BlockTableMirror {
 public:
  BlockTableMirror(std::int32_t num_groups, std::int32_t num_blocks);

  void apply(const CacheEvent& event);

  // Restore the contents of another mirror: the whole table of a request in one group, [columns];
  // the references to a block that no table holds.
  void set_block_ids(RequestId request, std::int32_t group, std::span<const std::int32_t> ids);
  void set_deferred(std::int32_t block, std::int32_t count);

  std::int32_t num_groups() const { return static_cast<std::int32_t>(num_groups_); }
  std::int32_t num_blocks() const { return static_cast<std::int32_t>(holders_.size()); }
  // Requests that have a column in any group, ascending.
  std::vector<RequestId> requests() const;

  // [columns] empty for a request without blocks.
  std::span<const std::int32_t> block_ids(RequestId request, std::int32_t group) const {
    const auto id = static_cast<std::size_t>(request.value);
    if (request.value < 0 || id >= slot_of_request_.size() || slot_of_request_[id] < 0) return {};
    if (group < 0 || static_cast<std::size_t>(group) >= num_groups_) return {};
    return tables_[static_cast<std::size_t>(slot_of_request_[id]) * num_groups_ +
                   static_cast<std::size_t>(group)];
  }
  // The block in one column; the null block beyond the list.
  std::int32_t block_at(RequestId request, std::int32_t group, std::int32_t column) const {
    const std::span<const std::int32_t> ids = block_ids(request, group);
    return column >= 0 && static_cast<std::size_t>(column) < ids.size()
               ? ids[static_cast<std::size_t>(column)]
               : kNullBlock;
  }
  // Does any column hold the block? Looks from the last column on: live state is at the end.
  bool holds(RequestId request, std::int32_t group, std::int32_t block) const;
  // Columns of all tables that hold the block.
  std::int32_t holders(std::int32_t block) const {
    return holders_[static_cast<std::size_t>(block)];
  }
  // References to the block that no table holds: its free is deferred and not due yet.
  std::int32_t deferred(std::int32_t block) const {
    return deferred_[static_cast<std::size_t>(block)];
  }
  std::int32_t num_held_blocks() const { return num_held_blocks_; }
  std::int32_t num_deferred() const { return num_deferred_; }  // sum of deferred() over all blocks

 private:
  std::vector<std::int32_t>& table(RequestId request, std::int32_t group);
  void hold(std::int32_t block, std::int32_t change);

  std::size_t num_groups_;
  std::vector<std::int32_t> slot_of_request_;  // -1: no tables
  std::vector<std::int32_t> free_slots_;
  std::vector<std::vector<std::int32_t>> tables_;  // [slots * num_groups]
  std::vector<std::int32_t> holders_;              // [num_blocks]
  std::vector<std::int32_t> deferred_;             // [num_blocks]
  std::int32_t num_held_blocks_ = 0;
  std::int32_t num_deferred_ = 0;
};

}  // namespace hybridscope
