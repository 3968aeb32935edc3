#include "sessions/startup/layer_spec.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <string>

#include <fmt/core.h>

#include "core/base/math.h"
#include "core/model/page_size.h"

namespace hybridscope {
namespace {

constexpr std::int64_t kSmallestBlock = 16;
constexpr std::int64_t kMostPageBytes = std::int64_t{1} << 40;
constexpr std::int64_t kChunkSizeNotTold = 2048;

std::int64_t element_size(const std::string& name, const std::string& model_dtype) {
  const auto size = attention_dtype_size_bytes({.model_dtype = model_dtype, .cache_dtype = name});
  return size.ok() ? size.value() : 2;
}

// The target's first attention layer; null: there is none.
const AttentionCache* target_attention(const StartupModel& model) {
  for (const CachedLayer& layer : model.layers)
    if (const auto* attention = std::get_if<AttentionCache>(&layer.cache);
        attention != nullptr && !layer.is_draft)
      return attention;
  return nullptr;
}

std::int64_t heads_per_rank(const AttentionCache& attention, const StartupSettings& settings) {
  if (attention.kind == AttentionKind::mla) return 1;
  return std::max<std::int64_t>(1, attention.num_kv_heads / settings.tensor_parallel_size);
}

std::int64_t bytes_per_token(const AttentionCache& attention, const StartupModel& model,
                             const StartupSettings& settings) {
  return heads_per_rank(attention, settings) * (attention.head_size + attention.head_size_v) *
         element_size(settings.kv_cache_dtype, model.dtype);
}

// Does the GPU have FlashInfer's prefill kernel of GatedDeltaNet, or FlashKDA?
bool has_checkpoint_kernel(const StartupModel& model, const StartupSettings& settings) {
  const std::int32_t capability = settings.gpu->compute_capability;
  const bool is_blackwell = capability / 10 == 10 || capability / 10 == 12;
  switch (model.checkpoint_kernel) {
    case CheckpointKernel::none: return false;
    case CheckpointKernel::mamba2: return settings.release >= since::kMamba2Checkpoints;
    case CheckpointKernel::gdn_flashinfer:
      return settings.gdn_prefill_backend != GdnPrefillBackend::triton &&
             settings.release >= since::kGdnCheckpoints &&
             (capability == 90 || (is_blackwell && model.head_k_dim == 128));
    case CheckpointKernel::kda_flash:
      return settings.release >= since::kFreeKdaDtype && model.head_k_dim == 128 &&
             (capability == 90 || is_blackwell);
  }
  return false;
}

// Tokens between two places at which the kernels can store a state.
std::int64_t checkpoint_alignment(const StartupModel& model, const StartupSettings& settings) {
  if (settings.release < since::kGdnCheckpoints || !has_checkpoint_kernel(model, settings))
    return 1;
  if (model.checkpoint_kernel == CheckpointKernel::gdn_flashinfer) return 64;
  return model.checkpoint_kernel == CheckpointKernel::kda_flash ? 16 : 1;
}

std::int64_t num_checkpoint_blocks(const StartupModel& model, const StartupSettings& settings,
                                   const StartupConfig& config) {
  if (!has_checkpoint_kernel(model, settings)) return 0;
  // Mamba2's layers ask for it in every mode; only in mode align it counts.
  const bool asks = model.checkpoint_kernel == CheckpointKernel::mamba2 ||
                    config.mamba_cache_mode == MambaCacheMode::align;
  return asks ? 1 : 0;
}

struct States {
  std::vector<StateTensorSpec> tensors;
  MambaType mamba_type = MambaType::mamba2;
};

// Drafts that the model's class tells the shape function of (known bug 25).
std::int64_t told_drafts(const StateCache& cache, const StartupModel& model,
                         const StartupSettings& settings) {
  const bool is_kda = std::holds_alternative<KdaDims>(cache);
  const bool passes = is_kda ? settings.release >= since::kKdaShapeHasDrafts
                             : model.passes_num_spec || settings.release >= since::kAllPassNumSpec;
  return passes ? settings.num_speculative_tokens : 0;
}

// With K drafts a conv window is K rows longer, but that of Mamba1 and of short convolutions.
Result<std::vector<StateShape>> shapes_of(const StateCache& cache, const StartupModel& model,
                                          const StartupSettings& settings) {
  const StateShapeOptions options{.tp_world_size = settings.tensor_parallel_size,
                                  .num_spec = told_drafts(cache, model, settings)};
  if (const auto* dims = std::get_if<Mamba1Dims>(&cache)) return mamba1_state_shape(*dims, options);
  if (const auto* dims = std::get_if<Mamba2Dims>(&cache)) return mamba2_state_shape(*dims, options);
  if (const auto* dims = std::get_if<LinearAttentionDims>(&cache))
    return linear_attention_state_shape(*dims, options);
  if (const auto* dims = std::get_if<ShortConvDims>(&cache))
    return short_conv_state_shape(*dims, options);
  if (const auto* dims = std::get_if<GatedDeltaNetDims>(&cache))
    return gated_delta_net_state_shape(*dims, options);
  // Queries, keys and values share one window.
  const auto& dims = std::get<KdaDims>(cache);
  const std::int64_t tp = settings.tensor_parallel_size;
  return std::vector<StateShape>{
      {dims.conv_kernel_size - 1 + options.num_spec, 3 * dims.num_heads * dims.head_dim / tp},
      {dims.num_heads / tp, dims.head_dim, dims.head_dim}};
}

Result<States> states_of(const CachedLayer& layer, const StartupModel& model,
                         const StartupSettings& settings, const StartupConfig& config) {
  const auto model_dtype = parse_dtype(model.dtype);
  const auto conv =
      settings.mamba_cache_dtype == "auto" ? model_dtype : parse_dtype(settings.mamba_cache_dtype);
  if (!conv.ok()) return conv.error();
  if (const auto* ple = std::get_if<PleShortConvCache>(&layer.cache))
    return States{{{.kind = StateKind::conv,
                    .shape = {ple->num_rows + settings.num_speculative_tokens, ple->width},
                    .dtype = conv.value()}},
                  MambaType::short_conv};
  const auto& cache = std::get<StateCache>(layer.cache);
  const auto shapes = shapes_of(cache, model, settings);
  if (!shapes.ok()) return shapes.error();
  const auto mamba_type = static_cast<MambaType>(cache.index());
  Dtype temporal = conv.value();
  if (config.mamba_ssm_cache_dtype != "auto") {
    const auto asked = parse_dtype(config.mamba_ssm_cache_dtype);
    if (!asked.ok()) return asked.error();
    temporal = asked.value();
  }
  if (mamba_type == MambaType::kda) {
    const bool is_free =
        model.ssm_dtype_rule == SsmDtypeRule::kda && settings.release >= since::kFreeKdaDtype;
    if (is_free && temporal == Dtype::float16 && settings.mamba_ssm_cache_dtype != "auto")
      return invalid_input(fmt::format(
          "ValueError: KDA recurrent state supports only auto, float32, and bfloat16; got {}",
          settings.mamba_ssm_cache_dtype));
    if (!is_free || settings.mamba_ssm_cache_dtype == "auto") temporal = Dtype::float32;
  }
  const bool conv_dtype_only =
      mamba_type == MambaType::short_conv || mamba_type == MambaType::linear_attention;
  const std::vector<StateKind> kinds = mamba_type == MambaType::kda
                                           ? std::vector{StateKind::conv, StateKind::temporal}
                                           : state_copy_funcs(mamba_type);
  States states{{}, mamba_type};
  for (std::size_t i = 0; i < shapes.value().size(); ++i)
    states.tensors.push_back(
        {.kind = kinds[i],
         .shape = shapes.value()[i],
         .dtype = kinds[i] == StateKind::conv || conv_dtype_only ? conv.value() : temporal});
  return states;
}

struct Pages {
  std::int64_t block_size = kSmallestBlock;
  std::int64_t mamba_block_size = 0;
  std::int64_t mamba_page = 0;         // the largest state
  std::int64_t padded_mamba_page = 0;  // 0: not padded
};

// The smallest block of the attention kernels where it is above 16: of sparse attention, and of
// FlashMLA, which runs FP8 caches on a compute capability of 9.0.
std::int64_t kernel_block_size(const StartupModel& model, const StartupSettings& settings) {
  if (model.sparse_block_multiple > 0) return model.sparse_block_multiple;
  const AttentionCache* attention = target_attention(model);
  const bool is_flash_mla = attention != nullptr && attention->kind == AttentionKind::mla &&
                            settings.kv_cache_dtype.starts_with("fp8") &&
                            settings.gpu->compute_capability == 90;
  return is_flash_mla ? 64 : kSmallestBlock;
}

// What the attention kernels want the blocks of a hybrid model to be a multiple of.
std::int64_t kernel_alignment(const StartupModel& model, const StartupSettings& settings) {
  const AttentionCache* attention = target_attention(model);
  const bool splits_mla = attention != nullptr && attention->kind == AttentionKind::mla &&
                          settings.release >= since::kMlaBlocksOf128;
  return std::max<std::int64_t>(splits_mla ? 128 : 1, kernel_block_size(model, settings));
}

// The unit that the block size of a hybrid model is a multiple of.
std::int64_t block_alignment(const StartupModel& model, const StartupSettings& settings,
                             const StartupConfig& config) {
  std::int64_t alignment =
      std::max(kernel_alignment(model, settings), settings.block_size.value_or(kSmallestBlock));
  if (config.mamba_cache_mode == MambaCacheMode::align)
    alignment = std::lcm(alignment, checkpoint_alignment(model, settings));
  return alignment;
}

Pages size_pages(const StartupModel& model, const StartupSettings& settings,
                 const StartupConfig& config, std::int64_t mamba_page,
                 std::vector<std::string>& lines) {
  const std::int64_t asked = settings.block_size.value_or(kSmallestBlock);
  const std::int64_t kernel_block = kernel_block_size(model, settings);
  Pages pages{.block_size = std::max(asked, kernel_block), .mamba_page = mamba_page};
  if (pages.block_size != asked)
    lines.push_back(fmt::format(
        "Setting kv cache block size to {} for {} backend(s).", pages.block_size,
        model.sparse_block_multiple > 0 ? "DEEPSEEK_V32_INDEXER/KPOOL_TAIL/FLASH_ATTN_MLA_SPARSE"
                                        : "FLASHMLA"));
  if (mamba_page == 0) return pages;
  const AttentionCache* attention = target_attention(model);
  if (attention != nullptr) {
    const std::int64_t token = bytes_per_token(*attention, model, settings);
    std::int64_t step = block_alignment(model, settings, config);
    if (config.mamba_cache_mode == MambaCacheMode::all)
      step = std::lcm(model.chunk_size > 0 ? model.chunk_size : kChunkSizeNotTold, step);
    const std::int64_t aligned = step * cdiv(cdiv(mamba_page, token), step);
    if (aligned > pages.block_size)
      lines.push_back(
          fmt::format("Setting attention block size to {} tokens to ensure that "
                      "attention page size is >= mamba page size.",
                      aligned));
    pages.block_size = std::max(pages.block_size, aligned);
    const std::int64_t page = pages.block_size * token;
    if (page != mamba_page) {
      pages.padded_mamba_page = page;
      lines.push_back(fmt::format(
          "Padding mamba page size by {:.2f}% to ensure that mamba page size and attention page "
          "size are exactly equal.",
          100.0 * static_cast<double>(page - mamba_page) / static_cast<double>(mamba_page)));
    }
  }
  pages.mamba_block_size =
      config.mamba_cache_mode == MambaCacheMode::none ? config.max_model_len : pages.block_size;
  return pages;
}

LayerSpec attention_spec(const CachedLayer& layer, const AttentionCache& attention,
                         const StartupModel& model, const StartupSettings& settings,
                         std::int64_t block_size) {
  // In 0.24.0 a DFlash draft's windows are not looked at.
  const bool ignores_window = layer.is_draft && settings.release < since::kDraftWindows;
  LayerSpec spec{.kind = SpecKind::full,
                 .block_size = block_size,
                 .num_kv_heads = heads_per_rank(attention, settings),
                 .head_size = attention.head_size,
                 .head_size_v = attention.head_size_v,
                 .element_size = element_size(settings.kv_cache_dtype, model.dtype)};
  switch (attention.kind) {
    case AttentionKind::full: break;
    case AttentionKind::mla: spec.kind = SpecKind::mla; break;
    case AttentionKind::sliding_window:
      if (!ignores_window) spec.kind = SpecKind::sliding_window;
      break;
    case AttentionKind::chunked_local: spec.kind = SpecKind::chunked_local; break;
  }
  if (spec.kind == SpecKind::sliding_window || spec.kind == SpecKind::chunked_local)
    spec.window = attention.window;
  if (spec.kind == SpecKind::sliding_window && layer.is_draft &&
      settings.release < since::kDraftBlocks)
    spec.block_size = settings.block_size.value_or(kSmallestBlock);
  spec.page_size_bytes = spec.unpadded_page_bytes =
      spec.block_size * bytes_per_token(attention, model, settings);
  return spec;
}

// An index key of several tokens; what is kept of it does not depend on the cache's dtype.
LayerSpec index_spec(const IndexKeyCache& cache, std::int64_t block_size) {
  const std::int64_t page =
      block_size / cache.tokens_per_key * cache.head_size * cache.element_size;
  return {.kind = SpecKind::mla,
          .block_size = block_size,
          .page_size_bytes = page,
          .unpadded_page_bytes = page,
          .num_kv_heads = 1,
          .head_size = cache.head_size,
          .element_size = cache.element_size};
}

// vLLM models/glm5next/common/attention.py and models/qwen4_exp/common/qsa_cache.py,
// get_kv_cache_spec.
std::int64_t ring_tokens(const RingCache& ring, const StartupSettings& settings) {
  const std::int64_t keys =
      cdiv(ring.tokens_per_key + settings.num_speculative_tokens, ring.tokens_per_key);
  const auto whole = static_cast<std::uint64_t>(keys);
  return ring.tokens_per_key *
         (ring.is_power_of_two ? static_cast<std::int64_t>(std::bit_ceil(whole)) : keys);
}

LayerSpec ring_spec(const RingCache& ring, const StartupSettings& settings) {
  const std::int64_t tokens = ring_tokens(ring, settings);
  const std::int64_t page = tokens * ring.num_kv_heads * ring.head_size * 2;
  return {.kind = SpecKind::circular_buffer,
          .block_size = tokens,
          .page_size_bytes = page,
          .unpadded_page_bytes = page,
          .num_kv_heads = ring.num_kv_heads,
          .head_size = ring.head_size,
          .element_size = 2};
}

}  // namespace

std::string_view spec_kind_name(SpecKind kind) {
  switch (kind) {
    case SpecKind::full: return "full";
    case SpecKind::mla: return "mla";
    case SpecKind::sliding_window: return "sliding_window";
    case SpecKind::chunked_local: return "chunked_local";
    case SpecKind::circular_buffer: return "circular_buffer";
    case SpecKind::mamba: return "mamba";
  }
  return "";
}

Result<SpecifiedModel> specify_layers(const StartupModel& model, const StartupSettings& settings,
                                      const StartupConfig& config,
                                      std::vector<std::string>& lines) {
  std::vector<States> states(model.layers.size());
  std::int64_t mamba_page = 0;
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    if (!model.layers[i].is_state()) continue;
    auto made = states_of(model.layers[i], model, settings, config);
    if (!made.ok()) return made.error();
    states[i] = std::move(made).value();
    mamba_page = std::max(mamba_page, mamba_page_bytes(states[i].tensors));
  }
  const Pages pages = size_pages(model, settings, config, mamba_page, lines);
  SpecifiedModel specified{.block_size = pages.block_size,
                           .kernel_alignment = kernel_alignment(model, settings),
                           .mamba_block_size = pages.mamba_block_size,
                           .mamba_page_bytes = pages.padded_mamba_page};
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    const CachedLayer& layer = model.layers[i];
    if (const auto* attention = std::get_if<AttentionCache>(&layer.cache)) {
      specified.specs.push_back(
          attention_spec(layer, *attention, model, settings, pages.block_size));
    } else if (const auto* index = std::get_if<IndexKeyCache>(&layer.cache)) {
      specified.specs.push_back(index_spec(*index, pages.block_size));
    } else if (const auto* ring = std::get_if<RingCache>(&layer.cache)) {
      const std::int64_t tokens = ring_tokens(*ring, settings);
      if (pages.block_size % tokens != 0)
        return invalid_input(
            fmt::format("AssertionError: QSA ring capacity {} must divide the attention block size "
                        "{}",
                        tokens, pages.block_size));
      specified.specs.push_back(ring_spec(*ring, settings));
    } else {
      const std::int64_t page = mamba_page_bytes(states[i].tensors);
      specified.specs.push_back(
          {.kind = SpecKind::mamba,
           .block_size = pages.mamba_block_size,
           .page_size_bytes = pages.padded_mamba_page > 0 ? pages.padded_mamba_page : page,
           .unpadded_page_bytes = page,
           .states = std::move(states[i].tensors),
           .mamba_type = states[i].mamba_type,
           .is_ple = std::holds_alternative<PleShortConvCache>(layer.cache),
           .num_speculative_blocks = settings.num_speculative_tokens,
           .num_prefill_checkpoint_blocks = num_checkpoint_blocks(model, settings, config)});
    }
  }
  for (const LayerSpec& spec : specified.specs)
    if (spec.page_size_bytes > kMostPageBytes)
      return invalid_input(fmt::format("a block takes {} bytes in one layer, expected at most {}",
                                       spec.page_size_bytes, kMostPageBytes));
  return specified;
}

}  // namespace hybridscope
