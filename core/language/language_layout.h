// The pools of a language model's blocks: how many elements a block of each layer has, and which
// group each layer runs in.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/result.h"
#include "core/model/kv_cache_spec.h"
#include "core/numeric/hybrid_model.h"

namespace hybridscope {

// [layers] the group that each of the model's layers runs in. Groups of another model take them in
// turn: attention layers go to attention groups, recurrent ones to recurrent groups. Error: no
// group of a layer's kind.
Result<std::vector<std::int32_t>> groups_of_layers(const HybridModel& model,
                                                   const KVCacheConfig& config);

// Elements of one block of one layer, float32; 0: the layer has no such pool.
struct BlockElements {
  std::int64_t conv = 0;  // [W - 1 + K, channels]
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

// `num_drafts`: K, which makes conv blocks longer. Errors: those of groups_of_layers.
Result<LanguageLayout> make_language_layout(const HybridModel& model, const KVCacheConfig& config,
                                            std::int32_t num_drafts);

}  // namespace hybridscope
