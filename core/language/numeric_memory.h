// The blocks of a model's layers as floats: what copies and the forward pass move between
// (numerics: which array says what).
#pragma once

#include <bit>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/base/result.h"
#include "core/caching/cache_events.h"
#include "core/model/kv_cache_spec.h"
#include "core/numeric/hybrid_model.h"
#include "core/numeric/model_forward.h"
#include "core/state/state_ops.h"

namespace hybridscope {

// The pools of a language model's blocks: how many elements a block of each layer has, and which
// group each layer runs in.

// Positions of a conv block behind the last W - 1 tokens.
struct ConvRoom {
  std::int32_t num_drafts = 0;  // K, as many as verify rows use
  // So many of them are not there: rows write into the temporal state, which lies behind the window
  // in the block's page (known bug 25).
  std::int32_t missing = 0;
};

// [layers] the group that each of the model's layers runs in. Groups of another model take them in
// turn: attention layers go to attention groups, recurrent ones to recurrent groups. Error: no
// group of a layer's kind.
Result<std::vector<std::int32_t>> groups_of_layers(const HybridModel& model,
                                                   const KVCacheConfig& config);

// Elements of one block of one layer, float32; 0: the layer has no such pool.
struct BlockElements {
  std::int64_t conv = 0;  // [positions, channels]
  std::int64_t temporal = 0;
  std::int64_t keys_or_values = 0;  // of each of the two
  std::int64_t total() const { return conv + temporal + 2 * keys_or_values; }
};

struct LanguageLayout {
  std::int32_t num_blocks = 0;
  std::vector<std::int32_t> group_of_layer;
  std::vector<std::int32_t> mamba_groups;  // which of the groups are recurrent
  std::vector<BlockElements> blocks;       // [layers]
  std::vector<std::int32_t> conv_dim;      // [layers] elements of a conv position; 0: none

  std::size_t num_layers() const { return blocks.size(); }
  std::int64_t bytes_per_block() const;  // over all layers
};

// Errors: those of groups_of_layers.
Result<LanguageLayout> make_language_layout(const HybridModel& model, const KVCacheConfig& config,
                                            const ConvRoom& room);

// What a block that was given to a new owner holds: the halves of kPoison, read as a float
// (-8.02e18).
inline constexpr float kPoisonFloat = std::bit_cast<float>(static_cast<std::uint32_t>(kPoison));

class NumericMemory {
 public:
  // Pages are taken from the machine when a block is first given out. Errors: those of
  // make_language_layout; memory that cannot be had.
  static Result<NumericMemory> create(const HybridModel& model, const KVCacheConfig& config,
                                      const ConvRoom& room);

  const LanguageLayout& layout() const { return layout_; }
  // [layers] views of the pools.
  std::span<const LayerMemory> layers() const { return views_; }

  // The block was given to a new owner: every element becomes a number that must show when it is
  // read (a poison of the byte backends, read as a float).
  void poison(std::int32_t block);
  void zero(std::int32_t block);
  // Copies of one launch: every source is read before anything is written. Conv positions move by
  // accept_token_bias; what does not exist behind the source's end stays.
  // `shifts_last_position_first`: a window that moves inside its block loses positions before they
  // are read (known bug 4).
  void copy(std::span<const StateCopyOp> copies, bool shifts_last_position_first = false);
  // Keys and values of whole blocks, of attention groups.
  void copy_blocks(std::span<const BlockCopy> copies);

 private:
  struct Release {
    void operator()(float* data) const;
  };
  struct Pool {
    std::unique_ptr<float, Release> owned;  // empty: a part of another pool's pages
    float* data = nullptr;
    std::int64_t elements = 0;  // of a block
    std::int64_t stride = 0;    // from a block to the next
  };
  struct Layer {
    Pool conv, temporal, keys, values;
  };
  // What a copy writes, read before anything is written.
  struct Moved {
    std::span<float> to;
    std::vector<float> values;
  };
  struct Move {
    std::int32_t from = 0;  // below 0: cannot be read
    std::int32_t to = 0;
    std::int64_t shift = 0;  // elements of the source that are left out in front
  };
  NumericMemory() = default;
  void shift_last_position_first(const StateCopyOp& copy, std::size_t layer);
  void read(const Pool& pool, const Move& move, std::vector<Moved>& moved) const;
  Status allocate(Pool& pool, std::int64_t elements);
  static void share_pages(Pool& conv, Pool& temporal, std::int64_t window);
  StatePool view_of(const Pool& pool, std::int64_t elements) const;
  std::span<float> block_of(const Pool& pool, std::int32_t block) const;
  void fill(std::int32_t block, float value);

  LanguageLayout layout_;
  std::vector<Layer> layers_;
  std::vector<LayerMemory> views_;
};

}  // namespace hybridscope
