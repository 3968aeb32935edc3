// The pool of physical blocks at the end of a step: what each block is, and which are allocated
// next.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "gui/model/block_cell.h"
#include "gui/model/picture.h"
#include "gui/model/shown_run.h"
#include "gui/model/view_state.h"

namespace hybridscope {

class Workbench;

inline constexpr std::size_t kMaxQueueShown = 200;

// A place in a block table.
struct PoolOwner {
  RequestId request{};  // -1: there is none
  std::int32_t group = -1;
  std::int32_t column = -1;
  friend bool operator==(const PoolOwner&, const PoolOwner&) = default;
};

struct PoolModel {
  std::vector<BlockCell> cells;          // [num_blocks] by block id; of states only "wrong" is set
  std::vector<std::int32_t> references;  // [num_blocks] tables that hold it, plus deferred frees
  std::vector<PoolOwner> first_owner;    // [num_blocks] the first table that has it
  std::vector<std::int32_t> num_owners;  // [num_blocks] places in tables
  std::array<std::int32_t, kNumCellRoles> num_by_role{};
  // Blocks with a reference, and blocks without, which are in the free queue.
  std::int32_t num_held = 0;
  std::int32_t num_held_cached = 0;  // registered ones among them
  std::int32_t num_free = 0;
  std::int32_t num_free_cached = 0;  // can be hit until they are allocated
  bool labels_known = true;          // false: the session's labels are still being read
  std::string not_kept;              // why everything else is missing; empty: nothing is
  bool queue_known = false;
  std::vector<std::int32_t> queue;  // the first kMaxQueueShown, next one first
  std::size_t queue_length = 0;
};

// Requires: run.step() > 0.
PoolModel make_pool_model(ShownRun& run);

// "3 held (1 cached, 0 shared), 12 free (2 cached)".
std::string counts_words(const PoolModel& pool);
// The roles that blocks of a pool can have, for legends.
inline constexpr std::array<CellRole, 4> kPoolRoles = {CellRole::held, CellRole::shared,
                                                       CellRole::cached, CellRole::free_block};
// The words before the queue, or in its place.
std::string queue_words(const PoolModel& pool);

// "... 12 more": after the shown part of the queue.
std::string left_out_words(std::size_t count);
// How many of `kept` blocks are shown of a queue of `length` in so much room, in cells, if what is
// left out takes `words` cells.
std::size_t queue_shown(std::size_t kept, std::size_t length, float room, float words);

inline constexpr std::string_view kOwnerWords =
    "All blocks: number, and below it whose it is (request, group:column, and how many more have "
    "it)";

// The first table that has a block: its request, and "1:0 +2", group and column and how many more
// places have it. Both empty: no owner.
struct OwnerWords {
  std::string request;
  std::string place;
};
OwnerWords owner_words(const PoolModel& pool, const Names& names, std::int32_t block);
// "A 1:0 +2"; empty: no owner.
std::string to_text(const OwnerWords& owner);

// The tooltip of a block. Requires: it is one of the pool's cells.
std::vector<Fact> describe_block(ShownRun& run, const PoolModel& pool, std::int32_t block);

// What the panel shows. Requires: a step is shown.
Picture physical_blocks_picture(Workbench& workbench);

}  // namespace hybridscope
