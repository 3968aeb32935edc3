#include "core/model/model_presets.h"

namespace hybridscope {
namespace {

constexpr MambaAllMode kAll = MambaAllMode::supported;
constexpr MambaAllMode kNoAll = MambaAllMode::unsupported;
constexpr SpecInStateShape kPassed = SpecInStateShape::passed;
constexpr SpecInStateShape kNotPassed = SpecInStateShape::not_passed;

constexpr AttentionDims kNoAttention = {};

constexpr AttentionDims gqa(std::int64_t num_kv_heads, std::int64_t head_size) {
  return {.num_kv_heads = num_kv_heads, .head_size = head_size};
}

struct Preset {
  const char* name;
  const char* source;
  const char* pattern;  // letters of layers_from_pattern, repeated `repeat` times
  int repeat;
  AttentionDims attention;
  RecurrentDims recurrent;
  std::int64_t chunk_size;  // 0: the kernels have no chunks
  std::int64_t max_model_len;
  MambaAllMode mamba_all_mode;
  SpecInStateShape spec_in_state_shape;
  std::int64_t kernel_block_alignment = 16;
  std::int64_t default_block_size = 0;  // 0: none
  const char* mamba_ssm_dtype = "auto";
};

// Dimensions were checked against the model's config.json: bamba (all), minimax (layers, heads,
// length); against config.json copies that name the model as their base: mamba (all), lfm2 (all);
// against a derived model: mamba2 (width, layers); against published quotations of config.json:
// nemotron (all but the chunk size and the length, which is in the name), granite (widths,
// attention heads, state; 4 of 40 layers are attention).

// Shared by both small Mamba2 models.
constexpr Mamba2Dims kTinyMamba2{.intermediate_size = 16,
                                 .n_groups = 1,
                                 .num_heads = 2,
                                 .head_dim = 8,
                                 .state_size = 8,
                                 .conv_kernel = 4};

// Mode all: the kernels of mamba1 and mamba2 save a state at every block boundary; those of GDN and
// KDA do not (semantics: cache-mode-choice). No source says that short_conv and linear attention
// do; they are assumed not to. (A later reference announced prefix caching for short convolutions.)
// spec_in_state_shape: whether the model code passes num_spec on (known bug 25); bamba's was not
// seen to.
constexpr Preset kPresets[] = {
    {"mamba-2.8b",
     "Hugging Face state-spaces/mamba-2.8b-hf config.json; neither the file nor the architecture "
     "has a length, hybridscope uses 262,144 (vLLM assumes 2,048)",
     "M", 64, kNoAttention,
     Mamba1Dims{.intermediate_size = 5120, .state_size = 16, .conv_kernel = 4}, 0, 262144, kAll,
     kNotPassed},
    {"mamba2-2.7b",
     "Hugging Face state-spaces/mamba2-2.7b config.json with the defaults of mamba_ssm; neither "
     "the file nor the architecture has a length, hybridscope uses 262,144 (vLLM assumes 2,048)",
     "M", 64, kNoAttention,
     Mamba2Dims{.intermediate_size = 5120,
                .n_groups = 1,
                .num_heads = 80,
                .head_dim = 64,
                .state_size = 128,
                .conv_kernel = 4},
     256, 262144, kAll, kPassed},
    {"bamba-9b",
     "Hugging Face ibm-fms/Bamba-9B config.json (attention layers 9, 18, 27); no length in the "
     "file, 262,144 is the default of transformers' BambaConfig",
     "MMMMMMMMM*MMMMMMMM*MMMMMMMM*MMMM", 1, gqa(8, 128),
     Mamba2Dims{.intermediate_size = 8192,
                .n_groups = 1,
                .num_heads = 128,
                .head_dim = 64,
                .state_size = 128,
                .conv_kernel = 4},
     256, 262144, kAll, kNotPassed},
    {"nemotron-h-8b",
     "Hugging Face nvidia/Nemotron-H-8B-Base-8K config.json (hybrid_override_pattern); chunk size "
     "128 is the default of NemotronHConfig, not checked against the file itself",
     "M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M-", 1, gqa(8, 128),
     Mamba2Dims{.intermediate_size = 8192,
                .n_groups = 8,
                .num_heads = 128,
                .head_dim = 64,
                .state_size = 128,
                .conv_kernel = 4},
     128, 8192, kAll, kPassed, 16, 0, "float32"},
    {"granite-4.0-h-small",
     "Hugging Face ibm-granite/granite-4.0-h-small config.json; Mamba heads of 64, one group and "
     "chunks of 256 are those of its smaller siblings, not checked against the file itself",
     "MMMMM*MMMM", 4, gqa(8, 128),
     Mamba2Dims{.intermediate_size = 8192,
                .n_groups = 1,
                .num_heads = 128,
                .head_dim = 64,
                .state_size = 128,
                .conv_kernel = 4},
     256, 131072, kAll, kNotPassed},
    {"qwen3-next-80b-a3b", "Hugging Face Qwen/Qwen3-Next-80B-A3B-Instruct config.json", "MMM*", 12,
     gqa(2, 256),
     GatedDeltaNetDims{.num_k_heads = 16,
                       .num_v_heads = 32,
                       .head_k_dim = 128,
                       .head_v_dim = 128,
                       .conv_kernel_size = 4},
     64, 262144, kNoAll, kPassed},
    {"kimi-linear-48b-a3b",
     "Hugging Face moonshotai/Kimi-Linear-48B-A3B-Instruct config.json (linear_attn_config; MLA "
     "layers 4, 8, .., 24, 27 counted from 1)",
     "MMM*MMM*MMM*MMM*MMM*MMM*MM*", 1,
     AttentionDims{
         .attention_type = AttentionType::mla, .kv_lora_rank = 512, .qk_rope_head_dim = 64},
     KdaDims{.num_heads = 32, .head_dim = 128}, 64, 1048576, kNoAll, kPassed},
    {"lfm2-1.2b",
     "Hugging Face LiquidAI/LFM2-1.2B config.json (full_attn_idxs 2, 5, 8, 10, 12, 14)",
     "MM*MM*MM*M*M*M*M", 1, gqa(8, 64), ShortConvDims{.intermediate_size = 2048, .conv_kernel = 3},
     0, 128000, kNoAll, kNotPassed},
    {"minimax-text-01",
     "Hugging Face MiniMaxAI/MiniMax-Text-01 config.json (attn_type_list); 8 key-value heads and "
     "chunks of 256 are defaults of its configuration class, not checked against the file itself",
     "MMMMMMM*", 10, gqa(8, 128), LinearAttentionDims{.num_heads = 64, .head_dim = 128}, 256,
     10240000, kNoAll, kNotPassed},
    {"tiny-mamba2",
     "made for hybridscope: a page of 4 tokens holds a state with 3 drafts (896 of 2,048 bytes "
     "with float32 temporal state)",
     "M*", 2, gqa(2, 64), kTinyMamba2, 4, 262144, kAll, kPassed, 1, 128},
    {"tiny-mamba2-groups",
     "made for hybridscope: tiny-mamba2 with twice as many recurrent layers, in two groups", "MM*",
     2, gqa(2, 64), kTinyMamba2, 4, 262144, kAll, kPassed, 1, 128},
    {"tiny-gdn",
     "made for hybridscope: a page of 4 tokens holds a state with 3 drafts (640 of 2,048 bytes "
     "with float32 temporal state)",
     "MM*", 2, gqa(2, 64),
     GatedDeltaNetDims{.num_k_heads = 2,
                       .num_v_heads = 4,
                       .head_k_dim = 4,
                       .head_v_dim = 4,
                       .conv_kernel_size = 4},
     4, 262144, kNoAll, kPassed, 1, 128},
};

ModelSpec to_model_spec(const Preset& preset) {
  std::string pattern;
  for (int i = 0; i < preset.repeat; ++i) pattern += preset.pattern;
  auto layers = layers_from_pattern(pattern);
  HS_EXPECT(layers.ok());
  ModelSpec model{.name = preset.name,
                  .source = preset.source,
                  .layers = std::move(layers).value(),
                  .attention = preset.attention,
                  .recurrent = preset.recurrent,
                  .chunk_size = preset.chunk_size,
                  .max_model_len = preset.max_model_len,
                  .mamba_all_mode = preset.mamba_all_mode,
                  .spec_in_state_shape = preset.spec_in_state_shape,
                  .kernel_block_alignment = preset.kernel_block_alignment};
  model.mamba_ssm_dtype = preset.mamba_ssm_dtype;
  if (preset.default_block_size > 0) model.default_block_size = preset.default_block_size;
  return model;
}

}  // namespace

std::vector<std::string> model_preset_names() {
  std::vector<std::string> names;
  for (const Preset& preset : kPresets) names.emplace_back(preset.name);
  return names;
}

Result<ModelSpec> model_preset(std::string_view name) {
  std::string known;
  for (const Preset& preset : kPresets) {
    if (name == preset.name) return to_model_spec(preset);
    known += (known.empty() ? "" : ", ") + std::string(preset.name);
  }
  return Error{ErrorKind::not_found,
               "no model preset is called \"" + std::string(name) + "\"; known: " + known};
}

}  // namespace hybridscope
