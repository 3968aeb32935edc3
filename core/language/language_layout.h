// The pools of a language model's blocks: how many elements a block of each layer has, and which
// group each layer runs in.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/result.h"
#include "core/model/kv_cache_spec.h"
#include "core/numeric/hybrid_model.h"

namespace hybridscope {

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

}  // namespace hybridscope
