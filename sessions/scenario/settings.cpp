#include "sessions/scenario/settings.h"

#include <fmt/core.h>
#include <cmath>

#include "core/caching/hybrid_coordinator_policies.h"
#include "core/caching/manager_policies.h"
#include "core/engine/policy_table.h"
#include "sessions/scenario/engine_setup.h"
#include "sessions/scenario/known_bug_table.h"

namespace hybridscope {
namespace {

std::optional<SettingConflict> speculation_conflict(const EngineSettings& settings) {
  const std::int32_t k = resolved_num_speculative_tokens(settings);
  const bool method_given =
      settings.speculative_method && *settings.speculative_method != SpeculativeMethod::none;
  if (settings.speculative_method == SpeculativeMethod::none && k > 0)
    return SettingConflict{"speculative_config/method",
                           fmt::format("method is none but num_speculative_tokens is {} (expected "
                                       "mtp, ngram or draft_model, or 0 tokens)",
                                       k)};
  if (method_given && k == 0)
    return SettingConflict{
        "speculative_config/method",
        "method drafts tokens but num_speculative_tokens is 0 (expected at least 1)"};
  const std::int32_t threshold = settings.long_prefill_token_threshold.value_or(0);
  if (threshold > 0 && threshold < k + 1)
    return SettingConflict{"long_prefill_token_threshold",
                           fmt::format("long_prefill_token_threshold is {}, less than the 1 + {} "
                                       "tokens of a decode with drafts (expected 0 or at least {})",
                                       threshold, k, k + 1)};
  return std::nullopt;
}

// A setting of the GPU's memory that is set without the one that it needs.
std::optional<SettingConflict> incomplete_memory(const EngineSettings& settings) {
  const auto needs = [](const char* setting, const char* other) {
    return SettingConflict{setting,
                           fmt::format("{} is set without {}, which it needs", setting, other)};
  };
  if (settings.gpu_memory_bytes) {
    if (settings.weights_memory_bytes) return std::nullopt;
    return needs("gpu_memory_bytes", "weights_memory_bytes");
  }
  // vLLM ignores it beside kv_cache_memory_bytes, and so do we.
  if (settings.gpu_memory_utilization && !settings.kv_cache_memory_bytes)
    return needs("gpu_memory_utilization", "gpu_memory_bytes");
  if (settings.weights_memory_bytes) return needs("weights_memory_bytes", "gpu_memory_bytes");
  if (settings.activation_memory_bytes) return needs("activation_memory_bytes", "gpu_memory_bytes");
  return std::nullopt;
}

std::optional<SettingConflict> memory_conflict(const EngineSettings& settings) {
  if (auto incomplete = incomplete_memory(settings)) return incomplete;
  const std::optional<GpuMemory> memory = resolved_gpu_memory(settings);
  if (!memory) return std::nullopt;
  if (settings.kv_cache_memory_bytes)
    return SettingConflict{"kv_cache_memory_bytes",
                           "kv_cache_memory_bytes and gpu_memory_bytes are both set (expected one: "
                           "with the first, vLLM ignores gpu_memory_utilization)"};
  if (memory->left() <= 0)
    return SettingConflict{
        "gpu_memory_bytes",
        fmt::format("gpu_memory_bytes {} * gpu_memory_utilization {} is {}, of which weights take "
                    "{} and activations {}: nothing is left for blocks",
                    memory->total, memory->utilization, memory->requested, memory->weights,
                    memory->activations)};
  return std::nullopt;
}

// The release whose rules for drafters hold: the profile's, for safe and the profiles of days the
// newest. Empty for the reference, whose runner V2 has no method ngram.
std::optional<Release> release_of_drafters(const EngineSettings& settings) {
  if (settings.engine == EngineProfile::reference) return std::nullopt;
  return release_of(settings).value_or(kNewestRelease);
}

// Runner V1 drafts n-grams on the host from tokens that have returned, V2 on the device (semantics:
// draft-methods). What the V2 of a release lacks is in runner_conflict.
std::optional<SettingConflict> method_conflict(const EngineSettings& settings) {
  if (resolved_speculative_method(settings) != SpeculativeMethod::ngram) return std::nullopt;
  const ModelRunner runner = resolved_runner(settings);
  if (runner == ModelRunner::v2 && !release_of_drafters(settings))
    return SettingConflict{"runner",
                           "runner is v2 with method ngram, which runner v2 of profile reference "
                           "does not have (expected v1)"};
  if (settings.async_scheduling == true && runner == ModelRunner::v1)
    return SettingConflict{"async_scheduling",
                           "async_scheduling is on with method ngram on runner v1, which drafts on "
                           "the host from tokens that have returned (expected false, method mtp, "
                           "or runner v2, which has it from vllm-0.33.0 on)"};
  return std::nullopt;
}

// Is scheduling asynchronous where nothing is set?
bool async_by_default(const EngineSettings& settings) {
  const SpeculativeMethod method = resolved_speculative_method(settings);
  const bool is_ngram = method == SpeculativeMethod::ngram;
  const auto release = is_ngram ? release_of_drafters(settings) : release_of(settings);
  if (release) return default_async_scheduling(*release, resolved_runner(settings), method);
  // draft_model supports it only when the user asks for it.
  return !is_ngram && method != SpeculativeMethod::draft_model;
}

// Known bug 20: V2's copies of conv states handle only the SD layout when there are drafts.
std::optional<SettingConflict> layout_conflict(const EngineSettings& settings) {
  if (settings.runner != ModelRunner::v2 || settings.ssm_conv_state_layout != ConvStateLayout::DS ||
      resolved_num_speculative_tokens(settings) == 0)
    return std::nullopt;
  return SettingConflict{"ssm_conv_state_layout",
                         "ssm_conv_state_layout is DS with speculative tokens on runner v2, which "
                         "refuses it at start-up (expected SD, or runner v1)"};
}

std::optional<SettingConflict> block_size_conflict(const EngineSettings& settings) {
  if (!settings.block_size || settings.mamba_cache_mode == MambaCacheMode::none ||
      settings.enable_prefix_caching == false)
    return std::nullopt;
  const std::int32_t block_size = *settings.block_size;
  const std::int32_t k = resolved_num_speculative_tokens(settings);
  if (k + 1 > block_size)
    return SettingConflict{"speculative_config/num_speculative_tokens",
                           fmt::format("num_speculative_tokens is {}, but 1 + {} tokens do not fit "
                                       "a block of {} (expected at most {})",
                                       k, k, block_size, block_size - 1)};
  if (settings.mamba_cache_mode != MambaCacheMode::align) return std::nullopt;
  if (!needs_block_in_batch(settings)) return std::nullopt;
  const std::int32_t budget = settings.max_num_batched_tokens.value_or(8192);
  if (block_size > budget)
    return SettingConflict{
        "max_num_batched_tokens",
        fmt::format("max_num_batched_tokens is {}, less than one block of {} tokens, so mode align "
                    "could never finish a block (expected at least {})",
                    budget, block_size, block_size)};
  const std::int32_t threshold = settings.long_prefill_token_threshold.value_or(0);
  if (threshold > 0 && threshold < block_size)
    return SettingConflict{
        "long_prefill_token_threshold",
        fmt::format("long_prefill_token_threshold is {}, less than one block of {} tokens, so mode "
                    "align could never finish a block (expected 0 or at least {})",
                    threshold, block_size, block_size)};
  return std::nullopt;
}

std::optional<SettingConflict> length_conflict(const EngineSettings& settings) {
  const std::int32_t threshold = settings.long_prefill_token_threshold.value_or(0);
  if (settings.max_model_len && threshold > *settings.max_model_len)
    return SettingConflict{
        "long_prefill_token_threshold",
        fmt::format("long_prefill_token_threshold is {}, more than max_model_len {}", threshold,
                    *settings.max_model_len)};
  if (settings.cudagraph_capture_sizes && settings.cudagraph_capture_sizes->empty())
    return SettingConflict{"cudagraph_capture_sizes",
                           "cudagraph_capture_sizes is empty (expected at least one size)"};
  return std::nullopt;
}

PolicySet policies_of_profile(const EngineProfile& profile, ModelRunner runner) {
  switch (profile.kind) {
    case EngineProfile::Kind::safe: return safe_policies();
    case EngineProfile::Kind::reference: return reference_policies();
    case EngineProfile::Kind::vllm_release: return release_policies(profile.release, runner);
    case EngineProfile::Kind::vllm_day: {
      // What a day's name has always meant: without what later releases added.
      PolicyOverrides policies = policies_of(bugs_of(profile, runner));
      policies.set(HitsInsideBlocks::never);
      policies.set(PromptTailKey::never);
      policies.set(PrefillCheckpoint::never);
      return with_overrides(safe_policies(), policies);
    }
  }
  return {};
}

}  // namespace

PolicySet resolve_policies(const EngineSettings& settings) {
  const EngineProfile profile = settings.engine.value_or(EngineProfile::safe);
  return with_overrides(policies_of_profile(profile, resolved_runner(settings)), settings.policies);
}

std::string profile_name(const EngineSettings& settings) {
  EngineSettings profile = settings;
  profile.policies = {};
  const PolicySet policies = resolve_policies(settings);
  if (policies == resolve_policies(profile))
    return engine_profile_name(settings.engine.value_or(EngineProfile::safe));
  if (policies == safe_policies()) return "safe";
  return policies == reference_policies() ? "reference" : "mixed";
}

std::optional<Release> release_of(const EngineSettings& settings) {
  const EngineProfile profile = settings.engine.value_or(EngineProfile::safe);
  if (profile.kind != EngineProfile::Kind::vllm_release) return std::nullopt;
  return profile.release;
}

const Gpu& resolved_gpu(const EngineSettings& settings) {
  return kGpus[static_cast<std::size_t>(settings.gpu.value_or(GpuChoice{}))];
}

bool needs_block_in_batch(const EngineSettings& settings) {
  const std::optional<Release> release = release_of(settings);
  return !release || *release < since::kWideAlignBlocks;
}

std::optional<bool> resolved_prefix_caching(const EngineSettings& settings) {
  const std::optional<Release> release = release_of(settings);
  if (settings.enable_prefix_caching || !release || default_prefix_caching(*release))
    return settings.enable_prefix_caching;
  return false;
}

bool resolved_all_by_default(const EngineSettings& settings) {
  const std::optional<Release> release = release_of(settings);
  return !release || default_to_mode_all(*release);
}

std::optional<std::int32_t> resolved_retention_interval(const EngineSettings& settings) {
  const std::optional<Release> release = release_of(settings);
  if (settings.prefix_cache_retention_interval == kRetainsAll) return std::nullopt;
  if (settings.prefix_cache_retention_interval || !release)
    return settings.prefix_cache_retention_interval;
  return default_retention_interval(*release, resolved_speculative_method(settings));
}

std::int32_t resolved_num_speculative_tokens(const EngineSettings& settings) {
  return settings.num_speculative_tokens.value_or(0);
}

SpeculativeMethod resolved_speculative_method(const EngineSettings& settings) {
  if (resolved_num_speculative_tokens(settings) == 0) return SpeculativeMethod::none;
  return settings.speculative_method.value_or(SpeculativeMethod::mtp);
}

AsyncChoice resolved_async_scheduling(const EngineSettings& settings) {
  if (settings.async_scheduling) return {*settings.async_scheduling, AsyncReason::requested};
  const bool on = async_by_default(settings);
  return {on, on ? AsyncReason::supported : AsyncReason::method_not_supported};
}

ModelRunner resolved_runner(const EngineSettings& settings) {
  if (settings.runner) return *settings.runner;
  const std::optional<Release> release = release_of(settings);
  return release ? default_runner(*release, resolved_speculative_method(settings),
                                  settings.mamba_cache_mode.value_or(MambaCacheMode::align))
                 : ModelRunner::v1;
}

OptimizationLevel resolved_optimization_level(const EngineSettings& settings) {
  return settings.optimization_level.value_or(OptimizationLevel::O2);
}

std::optional<GpuMemory> resolved_gpu_memory(const EngineSettings& settings) {
  if (!settings.gpu_memory_bytes) return std::nullopt;
  GpuMemory memory{.total = *settings.gpu_memory_bytes};
  memory.utilization = settings.gpu_memory_utilization.value_or(memory.utilization);
  memory.requested =
      static_cast<std::int64_t>(std::ceil(static_cast<double>(memory.total) * memory.utilization));
  memory.weights = settings.weights_memory_bytes.value_or(0);
  memory.activations = settings.activation_memory_bytes.value_or(0);
  return memory;
}

std::optional<SettingConflict> find_setting_conflict(const EngineSettings& settings) {
  if (auto conflict = memory_conflict(settings)) return conflict;
  if (auto conflict = speculation_conflict(settings)) return conflict;
  if (auto conflict = method_conflict(settings)) return conflict;
  if (auto conflict = layout_conflict(settings)) return conflict;
  if (auto conflict = release_conflict(settings)) return conflict;
  if (auto conflict = block_size_conflict(settings)) return conflict;
  return length_conflict(settings);
}

}  // namespace hybridscope
