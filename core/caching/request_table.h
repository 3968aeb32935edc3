// The block list of one request in one KV-cache group (semantics: cache-blocks), and the
// two ways to change it. Every change is recorded, so that a log mirrors the list exactly.
#pragma once

#include <cstdint>
#include <vector>

#include "core/caching/block_pool.h"

namespace hybridscope {

struct RequestTable {
  std::vector<std::int32_t> block_ids;
  std::int32_t num_cached = -1;  // leading blocks considered cached; -1: not a running request
  std::int32_t last_state_block_idx = -1;  // align: column of the previous state; -1: not set
  bool got_blocks = false;                 // align: allocate_new has served the request before
  // The block that a hit or the prompt's end shares only in part, until it is copied (semantics:
  // hits-inside-blocks); -1: none.
  std::int32_t partial_column = -1;
  std::int32_t num_retired = 0;  // align: columns before this one hold no state any more
  // The chunk being scheduled stores a state after so many tokens (0: none) in this column.
  std::int32_t checkpoint_position = 0;
  std::int32_t checkpoint_column = -1;

  std::int32_t size() const { return static_cast<std::int32_t>(block_ids.size()); }
  // Is there a block in the column? Does not read the list's retired part, which is long and cold.
  bool holds_block(std::int32_t column) const {
    return column >= num_retired && column < size() &&
           block_ids[static_cast<std::size_t>(column)] != kNullBlock;
  }
};

// One request's list in one group, together with the pool its blocks come from.
struct TableEdit {
  BlockPool& pool;
  RequestTable& table;
  BlockOwner owner;

  void append(std::int32_t block) {
    table.block_ids.push_back(block);
    record(table.size() - 1, block);
  }
  void set(std::int32_t column, std::int32_t block) {
    table.block_ids[static_cast<std::size_t>(column)] = block;
    record(column, block);
  }
  std::int32_t operator[](std::int32_t column) const {
    return table.block_ids[static_cast<std::size_t>(column)];
  }

 private:
  void record(std::int32_t column, std::int32_t block) {
    pool.record({.kind = CacheEventKind::column_set,
                 .group = owner.group,
                 .request = owner.request,
                 .column = column,
                 .block = block});
  }
};

}  // namespace hybridscope
