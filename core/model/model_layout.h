// Turns a model and the user's cache settings into the KVCacheConfig that everything else works on,
// with the reasons: effective mode, state tensors, block and page size, groups, blocks.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/model/kv_cache_spec.h"
#include "core/model/model_spec.h"
#include "core/model/page_size.h"
#include "core/model/state_shape.h"

namespace hybridscope {

// Puts layers of equal spec into groups of equal size, because one block id stands for the same
// page in every layer of a group (semantics: layer-groups).

// The layers of one kind, as numbers in the model, ascending.
using LayersOfKind = std::vector<std::int32_t>;

struct LayerGroup {
  std::int32_t kind = 0;                  // index into the kinds given
  std::vector<std::int32_t> layers = {};  // ascending
  friend bool operator==(const LayerGroup&, const LayerGroup&) = default;
};

struct LayerGroups {
  std::int32_t group_size = 0;          // g: layer slots of each group
  std::int32_t n_min = 0;               // fewest layers of a kind
  std::int32_t n_max = 0;               // most layers of a kind
  std::int32_t num_padding_layers = 0;  // slots that no layer uses, over all groups
  std::vector<LayerGroup> groups = {};  // kind by kind, in the order given
  friend bool operator==(const LayerGroups&, const LayerGroups&) = default;
};

// g = n_min, but n_max when n_max < 1.5 * n_min; a kind of n layers makes m = ceil(n/g) groups, and
// group i holds its layers i, i+m, i+2m, ... Kinds without layers are left out.
// Error: no kind has a layer.
Result<LayerGroups> make_layer_groups(std::span<const LayersOfKind> kinds);

enum class ConvStateSizing : std::uint8_t;   // model_policies.h
enum class CheckpointLayers : std::uint8_t;  // model_policies.h

struct KVCacheSettings {
  std::optional<MambaCacheMode> mamba_cache_mode = {};  // absent: choose_mamba_cache_mode
  std::optional<bool> enable_prefix_caching = {};       // absent: on, in mode none off
  // A model that supports mode all runs in it where no mode is chosen; false: in align.
  bool all_by_default = true;
  std::int64_t num_speculative_tokens = 0;
  std::int64_t tensor_parallel_size = 1;
  ConvStateLayout conv_state_layout = ConvStateLayout::SD;
  ConvStateSizing conv_state_sizing{};   // kernel_plus_spec
  CheckpointLayers checkpoint_layers{};  // none
  GdnPrefillBackend gdn_prefill_backend = GdnPrefillBackend::triton;
  std::optional<std::int64_t> block_size = {};
  std::optional<std::int64_t> mamba_block_size = {};
  std::optional<std::int64_t> hash_block_size = {};
  std::string cache_dtype = "auto";  // of the attention cache
  std::string mamba_cache_dtype = "auto";
  std::string mamba_ssm_cache_dtype = "auto";
  std::int64_t kv_cache_memory_bytes = 0;  // used without num_gpu_blocks_override
  std::optional<std::int64_t> num_gpu_blocks_override = {};
  std::optional<std::int64_t> max_model_len = {};  // absent: the model's
  std::int64_t max_num_batched_tokens = 8192;
  std::int64_t long_prefill_token_threshold = 0;  // 0: off
  bool needs_block_in_batch = true;               // check_align_limits
};

// Why the effective mode is what it is.
enum class ModeReason : std::uint8_t {
  requested,           // the user's choice is used
  default_all,         // prefix caching on, the model supports all
  default_align,       // prefix caching on, no all by default or the model does not support it
  none_with_caching,   // none was requested with prefix caching on: the default
  all_unsupported,     // all was requested, the model does not support it: align
  prefix_caching_off,  // no prefix caching: none
};

struct ModeChoice {
  MambaCacheMode mode = MambaCacheMode::none;  // none: prefix caching is off
  ModeReason reason = ModeReason::requested;
  friend bool operator==(const ModeChoice&, const ModeChoice&) = default;
};

// The mode that an engine runs in, as MambaModelConfig.verify_and_update_config of vLLM chooses it
// (semantics: cache-mode-choice). Mode none without a word on prefix caching turns that off.
ModeChoice choose_mamba_cache_mode(const KVCacheSettings& settings, MambaAllMode all_mode);

// What one request can need in one mode, at this model's sizes.
struct ModeNeeds {
  MambaCacheMode mamba_cache_mode = MambaCacheMode::none;
  bool supported = true;  // false: the model falls back to align
  std::int64_t block_size = 0;
  std::int64_t attention_blocks = 0;  // per attention group, at max_model_len
  std::int64_t mamba_blocks = 0;      // per mamba group, at max_model_len
  std::int64_t total_blocks = 0;      // over all groups
  friend bool operator==(const ModeNeeds&, const ModeNeeds&) = default;
};

struct PageSizeExplanation {
  std::int64_t num_kv_heads_per_rank = 0;  // 0 for MLA and without attention
  std::int64_t attn_dtype_size = 0;        // bytes
  BlockSizeChoice choice = {};
  LayerGroups layer_groups = {};           // attention is kind 0 where the model has it
  std::int64_t kv_cache_memory_bytes = 0;  // 0: num_gpu_blocks_override was used
  std::vector<ModeNeeds> needs = {};       // none, align, all
};

struct ModelLayout {
  ModelSpec model = {};
  KVCacheSettings settings = {};       // as given
  KVCacheConfig kv_cache_config = {};  // attention groups first, then mamba groups
  MambaCacheMode mamba_cache_mode = MambaCacheMode::none;  // effective
  ModeReason mode_reason = ModeReason::requested;
  bool enable_prefix_caching = false;  // effective: mode none turns it off
  std::int64_t max_model_len = 0;      // effective
  SchedulerBlockSizes block_sizes = {};
  PageSizeExplanation page_size = {};

  // The mamba groups' common spec.
  const MambaSpec& mamba_spec() const;
};

// Error: a setting out of range, indivisible tensor parallelism, an unknown dtype, no recurrent
// layer, limits of mode align or all (page_size.h), K+1 above the mamba block size, fewer than 2
// blocks. The message has the numbers.
Result<ModelLayout> build_kv_cache_config(const ModelSpec& model, const KVCacheSettings& settings);

// "none", "all", "align".
std::string_view mamba_cache_mode_name(MambaCacheMode mode);
// "mamba1", "mamba2", "linear_attention", "short_conv", "gdn_attention", "kda".
std::string_view mamba_type_name(MambaType mamba_type);

// Checks that a model's dimensions and a user's cache settings are in the supported range.

// The largest dimension allowed, so that products of three of them can be guarded.
inline constexpr std::int64_t kMaxModelDim = std::int64_t{1} << 24;

// Dimensions must be 1 .. kMaxModelDim (conv kernels from 2; chunk_size and qk_rope_head_dim from
// 0), max_model_len 1 .. 2^31-1; at most 100,000 layers, at least one recurrent. Error: the first
// violation, with the name and value of the field.
Status check_model(const ModelSpec& model);

// check_model, and each setting within its range.
Status check_model_and_settings(const ModelSpec& model, const KVCacheSettings& settings);

}  // namespace hybridscope
