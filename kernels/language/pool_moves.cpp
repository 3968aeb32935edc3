#include "kernels/language/pool_moves.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

namespace hybridscope {
namespace {

class MovesOf {
 public:
  // Floats from `shift` on of a block (below 0: poison) go to the front of another one.
  struct Move {
    std::int32_t from = 0;
    std::int32_t to = 0;
    std::int64_t shift = 0;
  };
  void begin_read() { moves.reads.emplace_back(); }
  // `elements`: of a block, that copies move.
  void add(const StatePool& pool, std::int64_t elements, const Move& move) {
    const std::int64_t shift = std::min(move.shift, elements);
    const std::int64_t count = elements - shift;
    if (count == 0) return;
    moves.reads.back().floats.push_back(
        {.place = move.from < 0 ? nullptr : pool.block(move.from).data() + shift,
         .offset = moves.num_floats,
         .count = count});
    moves.writes.push_back(
        {.place = pool.block(move.to).data(), .offset = moves.num_floats, .count = count});
    moves.num_floats += count;
  }

  PoolMoves moves;
};

}  // namespace

PoolMoves meeting_state_moves(const LanguageLayout& layout, std::span<const LayerMemory> layers,
                              std::span<const StateCopyOp> copies,
                              bool shifts_last_position_first) {
  MovesOf made;
  for (const StateCopyOp& copy : copies) {
    made.begin_read();
    const std::int32_t group = layout.mamba_groups[static_cast<std::size_t>(copy.group_index)];
    const bool shifts = shifts_last_position_first && copy.conv_src_block == copy.dst_block &&
                        copy.accept_token_bias > 0;
    for (std::size_t i = 0; i < layers.size(); ++i) {
      if (layout.group_of_layer[i] != group) continue;
      if (!shifts)
        made.add(layers[i].conv, layout.blocks[i].conv,
                 {copy.conv_src_block, copy.dst_block,
                  std::int64_t{copy.accept_token_bias} * layout.conv_dim[i]});
      made.add(layers[i].temporal, layout.blocks[i].temporal,
               {copy.temporal_src_block, copy.dst_block, 0});
    }
    if (shifts) made.moves.reads.back().shift = copy;
  }
  return std::move(made.moves);
}

PoolMoves meeting_block_moves(const LanguageLayout& layout, std::span<const LayerMemory> layers,
                              std::span<const BlockCopy> copies) {
  MovesOf made;
  made.begin_read();
  for (const BlockCopy& copy : copies)
    for (std::size_t i = 0; i < layers.size(); ++i) {
      if (layout.group_of_layer[i] != copy.group) continue;
      const std::int64_t elements = layout.blocks[i].keys_or_values;
      for (const std::span<float> pool : {layers[i].kv.keys, layers[i].kv.values})
        made.add({pool, elements}, elements, {copy.source_block, copy.block, 0});
    }
  return std::move(made.moves);
}

std::vector<BlockCopy> copies_of_blocks(const LanguageLayout& layout,
                                        std::span<const BlockCopy> copies) {
  const auto is_block = [&](std::int32_t block) { return block > 0 && block < layout.num_blocks; };
  std::vector<BlockCopy> there;
  std::ranges::copy_if(copies, std::back_inserter(there), [&](const BlockCopy& copy) {
    return is_block(copy.block) && is_block(copy.source_block);
  });
  return there;
}

bool do_meet(std::span<const BlockCopy> copies) {
  std::set<std::int32_t> written;
  for (const BlockCopy& copy : copies)
    if (!written.insert(copy.block).second) return true;
  return std::ranges::any_of(
      copies, [&](const BlockCopy& copy) { return written.contains(copy.source_block); });
}

}  // namespace hybridscope
