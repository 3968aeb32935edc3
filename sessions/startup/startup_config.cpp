#include "sessions/startup/layer_spec.h"

#include <fmt/core.h>

#include <algorithm>

namespace hybridscope {
namespace {

// vLLM's length of a model whose file has none.
constexpr std::int64_t kMaxModelLenNotTold = 2048;

bool has_states(const StartupModel& model) {
  return std::ranges::any_of(model.layers, &CachedLayer::is_state);
}

// What the classes of Nemotron-H and Qwen3.5 say when they take the dtype from the file.
void say_ssm_dtype(const StartupModel& model, const StartupSettings& settings,
                   std::vector<std::string>& lines) {
  if (model.ssm_dtype_rule != SsmDtypeRule::from_config) return;
  const std::string& asked = settings.mamba_ssm_cache_dtype;
  if (model.architecture.starts_with("NemotronH") && asked == "auto")
    lines.push_back(
        fmt::format("Updating mamba_ssm_cache_dtype to '{}' for NemotronH model", model.ssm_dtype));
  if (model.architecture.starts_with("Qwen3_5") && asked != "auto" && asked != model.ssm_dtype)
    lines.push_back(
        fmt::format("Qwen3.5 model specifies mamba_ssm_dtype='{}' in its config, but "
                    "--mamba-ssm-cache-dtype='{}' was passed. Using the user-specified value.",
                    model.ssm_dtype, asked));
}

// Prefix caching and the mode that states are cached in (vLLM model_executor/models/config.py,
// MambaModelConfig.verify_and_update_config).
void choose_mode(const StartupModel& model, const StartupSettings& settings, StartupConfig& config,
                 std::vector<std::string>& lines) {
  const Release release = settings.release;
  const auto asked = settings.mamba_cache_mode.value_or(MambaCacheMode::none);
  if (settings.mamba_cache_mode && release >= since::kModeFollowsCaching)
    lines.emplace_back(
        "--mamba-cache-mode is deprecated and will be removed in v0.33.0. It has no effect: Mamba "
        "prefix caching follows --enable-prefix-caching.");
  if (asked == MambaCacheMode::all && release >= since::kModeAllDeprecated &&
      release < since::kNoModeAll)
    lines.emplace_back(
        "Mamba cache mode 'all' is deprecated and will be removed in an upcoming release. If this "
        "is a problem, please open an issue at https://github.com/vllm-project/vllm/issues.");
  say_ssm_dtype(model, settings, lines);
  const bool states = has_states(model);
  const bool by_default =
      !states || (!model.has_inner_state_only && release >= since::kHybridsCache);
  config.enable_prefix_caching = settings.enable_prefix_caching.value_or(by_default);
  if (!states || !config.enable_prefix_caching) return;
  if (asked == MambaCacheMode::none || release >= since::kModeFollowsCaching) {
    const bool all = release < since::kHybridsCache && model.supports_mode_all;
    config.mamba_cache_mode = all ? MambaCacheMode::all : MambaCacheMode::align;
    lines.push_back(fmt::format(
        "Mamba cache mode is set to '{}' for {} by default when prefix caching is enabled",
        all ? "all" : "align", model.architecture));
    return;
  }
  config.mamba_cache_mode = asked;
  if (asked != MambaCacheMode::all) return;
  if (!model.supports_mode_all) {
    config.mamba_cache_mode = MambaCacheMode::align;
    lines.emplace_back(
        "Hybrid or mamba-based model detected without support for prefix caching with Mamba cache "
        "'all' mode: falling back to 'align' mode.");
  } else if (release >= since::kModeAllDeprecated) {
    lines.emplace_back(
        "Model Runner V2 does not yet support mamba cache mode 'all'; using the V1 model runner "
        "instead.");
  }
}

std::string ssm_dtype(const StartupModel& model, const StartupSettings& settings) {
  if (settings.mamba_ssm_cache_dtype != "auto") return settings.mamba_ssm_cache_dtype;
  return model.ssm_dtype_rule == SsmDtypeRule::from_config ? model.ssm_dtype : "auto";
}

}  // namespace

StartupConfig startup_config(const StartupModel& model, const StartupSettings& settings,
                             std::vector<std::string>& lines) {
  StartupConfig config;
  config.fits_max_model_len = settings.max_model_len == -1;
  const std::int64_t told = model.max_model_len > 0 ? model.max_model_len : kMaxModelLenNotTold;
  config.max_model_len = config.fits_max_model_len ? told : settings.max_model_len.value_or(told);
  config.mamba_ssm_cache_dtype = ssm_dtype(model, settings);
  choose_mode(model, settings, config, lines);

  const BatchDefaults defaults =
      batch_defaults(settings.release, *settings.gpu, settings.entry_point);
  config.max_num_seqs = settings.max_num_seqs.value_or(defaults.max_num_seqs);
  config.max_num_batched_tokens = settings.max_num_batched_tokens.value_or(
      std::min(defaults.max_num_batched_tokens, config.max_num_seqs * config.max_model_len));
  if (!settings.max_num_seqs)
    config.max_num_seqs = std::min(config.max_num_seqs, config.max_num_batched_tokens);
  if (settings.release >= since::kInFlightTokens)
    config.max_in_flight_tokens =
        config.max_num_batched_tokens * (settings.async_scheduling ? 2 : 1);
  return config;
}

}  // namespace hybridscope
