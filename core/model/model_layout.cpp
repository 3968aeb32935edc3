#include "core/model/model_layout.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "core/base/math.h"
#include "core/model/model_policies.h"

namespace hybridscope {

Result<LayerGroups> make_layer_groups(std::span<const LayersOfKind> kinds) {
  LayerGroups result;
  for (const LayersOfKind& layers : kinds) {
    const auto n = static_cast<std::int32_t>(layers.size());
    if (n == 0) continue;
    result.n_min = result.n_max == 0 ? n : std::min(result.n_min, n);
    result.n_max = std::max(result.n_max, n);
  }
  if (result.n_max == 0) return invalid_input("the model has no layer that caches anything");

  // n_max < 1.5 * n_min, in integers.
  const bool nearly_equal = 2 * std::int64_t{result.n_max} < 3 * std::int64_t{result.n_min};
  result.group_size = nearly_equal ? result.n_max : result.n_min;

  for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
    const LayersOfKind& layers = kinds[kind];
    const auto n = static_cast<std::int32_t>(layers.size());
    const std::int32_t num_groups = cdiv(n, result.group_size);
    result.num_padding_layers += num_groups * result.group_size - n;
    for (std::int32_t first = 0; first < num_groups; ++first) {
      LayerGroup group{static_cast<std::int32_t>(kind), {}};
      for (std::int32_t i = first; i < n; i += num_groups)
        group.layers.push_back(layers[static_cast<std::size_t>(i)]);
      result.groups.push_back(std::move(group));
    }
  }
  return result;
}

namespace {

constexpr MambaCacheMode kModes[] = {MambaCacheMode::none, MambaCacheMode::align,
                                     MambaCacheMode::all};

// A kernel K wider has K more positions in its conv state.
struct WidenConvKernel {
  std::int64_t by = 0;
  void operator()(Mamba1Dims& dims) const { dims.conv_kernel += by; }
  void operator()(ShortConvDims& dims) const { dims.conv_kernel += by; }
  void operator()(KdaDims& dims) const { dims.conv_kernel_size += by; }
  void operator()(Mamba2Dims&) const {}
  void operator()(LinearAttentionDims&) const {}
  void operator()(GatedDeltaNetDims&) const {}
};

Result<std::vector<StateTensorSpec>> make_states(const ModelSpec& model,
                                                 const KVCacheSettings& settings) {
  RecurrentDims dims = model.recurrent;
  StateShapeOptions options{.tp_world_size = settings.tensor_parallel_size,
                            .conv_state_layout = settings.conv_state_layout};
  if (settings.conv_state_sizing == ConvStateSizing::kernel_plus_spec) {
    std::visit(WidenConvKernel{settings.num_speculative_tokens}, dims);
    options.num_spec = settings.num_speculative_tokens;
  } else if (settings.conv_state_sizing == ConvStateSizing::by_state_shape ||
             model.spec_in_state_shape == SpecInStateShape::passed) {
    options.num_spec = settings.num_speculative_tokens;
  }
  auto shapes = state_shapes(dims, options);
  if (!shapes) return shapes.error();
  const MambaType mamba_type = mamba_type_of(dims);
  const bool ssm_dtype_set = settings.mamba_ssm_cache_dtype != "auto";
  const auto dtypes = state_dtypes(
      mamba_type, {.model_dtype = model.dtype,
                   .mamba_cache_dtype = settings.mamba_cache_dtype,
                   .mamba_ssm_cache_dtype =
                       ssm_dtype_set ? settings.mamba_ssm_cache_dtype : model.mamba_ssm_dtype});
  if (!dtypes) return dtypes.error();
  const std::vector<StateKind> kinds = state_copy_funcs(mamba_type);
  std::vector<StateTensorSpec> states;
  for (std::size_t i = 0; i < kinds.size(); ++i)
    states.push_back({kinds[i], shapes.value()[i], dtypes.value()[i]});
  return states;
}

// Tokens between two places where the layers' kernels can store a state, counted from the chunk's
// start; 0: they cannot. All recurrent layers of a model are alike (semantics: prefill-checkpoint).
std::int64_t kernel_checkpoint_alignment(const ModelLayout& layout) {
  constexpr std::int64_t kFlashInferGdn = 64;
  const KVCacheSettings& settings = layout.settings;
  if (layout.mamba_cache_mode != MambaCacheMode::align) return 0;
  switch (mamba_type_of(layout.model.recurrent)) {
    case MambaType::mamba2: return settings.checkpoint_layers == CheckpointLayers::none ? 0 : 1;
    case MambaType::gdn_attention:
      return settings.checkpoint_layers == CheckpointLayers::mamba2_and_gdn &&
                     settings.gdn_prefill_backend == GdnPrefillBackend::flashinfer
                 ? kFlashInferGdn
                 : 0;
    default: return 0;
  }
}

// The grid that the spec asks for: GatedDeltaNet also keeps to the places where hits can end, since
// its kernel stores states at one stride for the whole batch.
std::int64_t prefill_checkpoint_alignment(const ModelLayout& layout) {
  const std::int64_t kernel = kernel_checkpoint_alignment(layout);
  if (kernel == 0 || mamba_type_of(layout.model.recurrent) != MambaType::gdn_attention)
    return kernel;
  const auto unit = layout.settings.hash_block_size;
  return unit ? std::lcm(*unit, kernel) : layout.page_size.choice.mamba_block_size;
}

// All inputs of the block size except the mode.
Result<BlockSizeInput> make_block_size_input(const ModelLayout& layout,
                                             PageSizeExplanation& explanation) {
  const ModelSpec& model = layout.model;
  const KVCacheSettings& settings = layout.settings;
  BlockSizeInput input{
      .kernel_block_alignment = model.kernel_block_alignment,
      .checkpoint_alignment = std::max<std::int64_t>(kernel_checkpoint_alignment(layout), 1),
      .block_size = settings.block_size ? settings.block_size : model.default_block_size,
      .mamba_block_size = settings.mamba_block_size,
      .chunk_size = model.chunk_size,
      .max_model_len = layout.max_model_len};
  if (layers_of_kind(model, LayerKind::attention).empty()) return input;
  const auto dtype_size =
      attention_dtype_size_bytes({.model_dtype = model.dtype, .cache_dtype = settings.cache_dtype});
  if (!dtype_size) return dtype_size.error();
  const AttentionShard shard{model.attention, settings.tensor_parallel_size, dtype_size.value()};
  const auto bytes = attn_bytes_per_token(shard);
  if (!bytes) return bytes.error();
  if (bytes.value() < 1)
    return invalid_input(model.name + ": an attention layer would keep " +
                         std::to_string(bytes.value()) + " bytes a token");
  input.attn_bytes_per_token = bytes.value();
  explanation.attn_dtype_size = dtype_size.value();
  if (model.attention.attention_type == AttentionType::full)
    explanation.num_kv_heads_per_rank = num_kv_heads_per_rank(shard).value();
  return input;
}

std::vector<ModeNeeds> make_needs(const ModelLayout& layout, BlockSizeInput input) {
  std::vector<ModeNeeds> needs;
  for (const MambaCacheMode mode : kModes) {
    ModeNeeds need{.mamba_cache_mode = mode};
    input.mamba_cache_mode = mode;
    const auto choice = choose_block_size(input);
    need.supported = choice.ok() && (mode != MambaCacheMode::all ||
                                     layout.model.mamba_all_mode == MambaAllMode::supported);
    if (need.supported) {
      const BlocksPerRequest request{
          .mamba_cache_mode = mode,
          .num_tokens = layout.max_model_len,
          .block_size = choice.value().block_size,
          .num_speculative_tokens = layout.settings.num_speculative_tokens};
      need.block_size = choice.value().block_size;
      need.mamba_blocks = mamba_blocks_per_request(request);
      for (const KVCacheGroup& group : layout.kv_cache_config.groups) {
        if (!group.is_mamba()) need.attention_blocks = attention_blocks_per_request(request);
        need.total_blocks +=
            group.is_mamba() ? need.mamba_blocks : attention_blocks_per_request(request);
      }
    }
    needs.push_back(need);
  }
  return needs;
}

Result<LayerGroups> make_groups(const ModelSpec& model) {
  std::vector<LayersOfKind> kinds;
  if (auto attention = layers_of_kind(model, LayerKind::attention); !attention.empty())
    kinds.push_back(std::move(attention));
  kinds.push_back(layers_of_kind(model, LayerKind::recurrent));
  return make_layer_groups(kinds);
}

std::vector<KVCacheGroup> make_kv_cache_groups(const ModelLayout& layout,
                                               std::vector<StateTensorSpec> states) {
  const BlockSizeChoice& choice = layout.page_size.choice;
  const FullAttentionSpec attention{static_cast<std::int32_t>(choice.block_size), choice.page_size};
  const std::int64_t checkpoints = prefill_checkpoint_alignment(layout);
  const MambaSpec mamba{
      .block_size = static_cast<std::int32_t>(choice.mamba_block_size),
      .states = std::move(states),
      .mamba_type = mamba_type_of(layout.model.recurrent),
      .mamba_cache_mode = layout.mamba_cache_mode,
      .num_speculative_blocks = static_cast<std::int32_t>(layout.settings.num_speculative_tokens),
      .num_prefill_checkpoint_blocks = checkpoints > 0 ? 1 : 0,
      .prefill_checkpoint_alignment = static_cast<std::int32_t>(checkpoints),
      .page_size_bytes = choice.page_size};
  const bool has_attention = choice.attn_bytes_per_token > 0;
  std::vector<KVCacheGroup> groups;
  for (const LayerGroup& group : layout.page_size.layer_groups.groups) {
    if (has_attention && group.kind == 0)
      groups.push_back({.spec = attention, .layers = group.layers});
    else
      groups.push_back({.spec = mamba, .layers = group.layers});
  }
  return groups;
}

Result<std::int32_t> choose_num_blocks(const ModelLayout& layout) {
  const KVCacheSettings& settings = layout.settings;
  std::int64_t num_blocks = 0;
  if (settings.num_gpu_blocks_override) {
    num_blocks = *settings.num_gpu_blocks_override;
    if (num_blocks < 2)
      return invalid_input("num_gpu_blocks_override is " + std::to_string(num_blocks) +
                           "; at least 2 are needed, the null block and one more");
  } else {
    const auto from_memory =
        num_blocks_from_memory({.kv_cache_memory_bytes = settings.kv_cache_memory_bytes,
                                .page_size = layout.page_size.choice.page_size,
                                .group_size = layout.page_size.layer_groups.group_size});
    if (!from_memory) return from_memory.error();
    num_blocks = from_memory.value();
  }
  if (num_blocks > std::numeric_limits<std::int32_t>::max())
    return invalid_input(std::to_string(num_blocks) + " blocks do not fit in 32-bit block ids");
  return static_cast<std::int32_t>(num_blocks);
}

Status check_speculation_fits(const ModelLayout& layout) {
  const std::int64_t window = 1 + layout.settings.num_speculative_tokens;
  const std::int64_t block = layout.page_size.choice.mamba_block_size;
  if (layout.mamba_cache_mode == MambaCacheMode::none || window <= block) return Ok{};
  return invalid_input("1 + num_speculative_tokens is " + std::to_string(window) +
                       ", above the mamba block size " + std::to_string(block) +
                       ": one step could cross two block boundaries and only the last would be "
                       "saved");
}

Result<SchedulerBlockSizes> make_block_sizes(const ModelLayout& layout) {
  std::vector<GroupBlockSize> groups;
  for (const KVCacheGroup& group : layout.kv_cache_config.groups)
    groups.push_back({group.is_mamba() ? GroupType::mamba : GroupType::full, group.block_size()});
  return resolve_block_sizes({.block_size = layout.page_size.choice.block_size,
                              .enable_prefix_caching = layout.enable_prefix_caching,
                              .hash_block_size = layout.settings.hash_block_size,
                              .groups = groups});
}

}  // namespace

std::string_view mamba_cache_mode_name(MambaCacheMode mode) {
  constexpr std::string_view kNames[] = {"none", "all", "align"};
  return kNames[static_cast<std::size_t>(mode)];
}

std::string_view mamba_type_name(MambaType mamba_type) {
  constexpr std::string_view kNames[] = {"mamba1",     "mamba2",        "linear_attention",
                                         "short_conv", "gdn_attention", "kda"};
  return kNames[static_cast<std::size_t>(mamba_type)];
}

// Without prefix caching there is nothing to keep states for, and with it there has to be a state
// to start from.
ModeChoice choose_mamba_cache_mode(const KVCacheSettings& settings, MambaAllMode all_mode) {
  const auto requested = settings.mamba_cache_mode;
  const bool wants_none = requested == MambaCacheMode::none;
  if (!settings.enable_prefix_caching.value_or(!wants_none))
    return {MambaCacheMode::none,
            wants_none ? ModeReason::requested : ModeReason::prefix_caching_off};
  const bool supports_all = all_mode == MambaAllMode::supported;
  if (requested == MambaCacheMode::all && !supports_all)
    return {MambaCacheMode::align, ModeReason::all_unsupported};
  if (requested && !wants_none) return {*requested, ModeReason::requested};
  const bool runs_all = supports_all && settings.all_by_default;
  const ModeReason by_default = runs_all ? ModeReason::default_all : ModeReason::default_align;
  return {runs_all ? MambaCacheMode::all : MambaCacheMode::align,
          wants_none ? ModeReason::none_with_caching : by_default};
}

const MambaSpec& ModelLayout::mamba_spec() const {
  for (const KVCacheGroup& group : kv_cache_config.groups)
    if (group.is_mamba()) return std::get<MambaSpec>(group.spec);
  contract_violation("a ModelLayout has a mamba group", __FILE__, __LINE__);
}

Result<ModelLayout> build_kv_cache_config(const ModelSpec& model, const KVCacheSettings& settings) {
  if (const Status status = check_model_and_settings(model, settings); !status)
    return status.error();
  ModelLayout layout{.model = model, .settings = settings};
  const ModeChoice mode = choose_mamba_cache_mode(settings, model.mamba_all_mode);
  layout.mamba_cache_mode = mode.mode;
  layout.mode_reason = mode.reason;
  layout.enable_prefix_caching = mode.mode != MambaCacheMode::none;
  layout.max_model_len = settings.max_model_len.value_or(model.max_model_len);

  auto states = make_states(model, settings);
  if (!states) return states.error();
  auto input = make_block_size_input(layout, layout.page_size);
  if (!input) return input.error();
  input.value().mamba_cache_mode = mode.mode;
  input.value().mamba_page = mamba_page_bytes(states.value());
  const auto choice = choose_block_size(input.value());
  if (!choice) return choice.error();
  layout.page_size.choice = choice.value();
  if (Status status = check_align_limits(
          {.mamba_cache_mode = mode.mode,
           .block_size = choice.value().block_size,
           .max_num_batched_tokens = settings.max_num_batched_tokens,
           .long_prefill_token_threshold = settings.long_prefill_token_threshold});
      !status && settings.needs_block_in_batch)
    return status.error();
  if (Status status = check_speculation_fits(layout); !status) return status.error();

  auto groups = make_groups(model);
  if (!groups) return groups.error();
  layout.page_size.layer_groups = std::move(groups).value();
  layout.kv_cache_config.groups = make_kv_cache_groups(layout, std::move(states).value());
  const auto num_blocks = choose_num_blocks(layout);
  if (!num_blocks) return num_blocks.error();
  layout.kv_cache_config.num_blocks = num_blocks.value();
  if (!settings.num_gpu_blocks_override)
    layout.page_size.kv_cache_memory_bytes = settings.kv_cache_memory_bytes;
  layout.page_size.needs = make_needs(layout, input.value());
  const auto block_sizes = make_block_sizes(layout);
  if (!block_sizes) return block_sizes.error();
  layout.block_sizes = block_sizes.value();
  return layout;
}

}  // namespace hybridscope
