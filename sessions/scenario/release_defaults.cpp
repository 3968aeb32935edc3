#include "sessions/scenario/release_defaults.h"

#include <fmt/core.h>

namespace hybridscope {
namespace {

std::string profile_of(Release release) {
  return engine_profile_name(EngineProfile::vllm(release));
}

std::optional<SettingConflict> not_yet(Release release, Release since, const char* setting,
                                       const char* words) {
  if (release >= since) return std::nullopt;
  return SettingConflict{setting, fmt::format("{} has no {} ({} brought it)", profile_of(release),
                                              words, profile_of(since))};
}

std::optional<SettingConflict> no_more(Release release, Release gone, const char* setting,
                                       const char* words) {
  if (release < gone) return std::nullopt;
  return SettingConflict{setting, fmt::format("{} has no {} any more ({} removed it)",
                                              profile_of(release), words, profile_of(gone))};
}

}  // namespace

bool default_prefix_caching(Release release) { return release >= Release::v0_28_0; }

bool default_to_mode_all(Release release) { return release < Release::v0_28_0; }

std::optional<std::int32_t> default_retention_interval(Release release, SpeculativeMethod method) {
  if (release < Release::v0_29_0) return std::nullopt;
  if (release == Release::v0_29_0 && method == SpeculativeMethod::mtp) return std::nullopt;
  return 0;
}

ModelRunner default_runner(Release release, SpeculativeMethod method, MambaCacheMode mode) {
  if (release < Release::v0_29_0) return ModelRunner::v1;
  if (method == SpeculativeMethod::ngram && release <= Release::v0_31_0) return ModelRunner::v1;
  if (method == SpeculativeMethod::draft_model && release <= Release::v0_30_0)
    return ModelRunner::v1;
  return mode == MambaCacheMode::all && release >= Release::v0_30_0 ? ModelRunner::v1
                                                                    : ModelRunner::v2;
}

bool default_async_scheduling(Release release, ModelRunner runner, SpeculativeMethod method) {
  if (method == SpeculativeMethod::draft_model) return release >= Release::v0_28_0;
  if (method == SpeculativeMethod::ngram)
    return release >= Release::v0_33_0 && runner == ModelRunner::v2;
  return true;
}

bool pool_check_counts_null_block(Release release) { return release < Release::v0_29_0; }

std::optional<SettingConflict> release_conflict(const EngineSettings& settings) {
  const std::optional<Release> release = release_of(settings);
  if (!release) return std::nullopt;
  std::optional<SettingConflict> conflict;
  if (settings.mamba_cache_mode == MambaCacheMode::all)
    conflict = no_more(*release, Release::v0_32_0, "mamba_cache_mode", "mode all");
  if (!conflict && settings.disable_eagle_block_drop)
    conflict =
        not_yet(*release, Release::v0_30_0, "disable_eagle_block_drop", "disable_eagle_block_drop");
  if (!conflict && settings.enable_mamba_shared_prefix_checkpoint)
    conflict = not_yet(*release, Release::v0_30_0, "enable_mamba_shared_prefix_checkpoint",
                       "enable_mamba_shared_prefix_checkpoint");
  if (!conflict && settings.disable_lookahead_block_hashes)
    conflict = not_yet(*release, Release::v0_33_0, "disable_lookahead_block_hashes",
                       "disable_lookahead_block_hashes");
  return conflict;
}

std::optional<SettingConflict> runner_conflict(Release release, const RunnerSettings& settings) {
  if (settings.runner == ModelRunner::v1) return std::nullopt;
  std::optional<SettingConflict> conflict;
  if (settings.mode == MambaCacheMode::align)
    conflict = not_yet(release, Release::v0_25_1, "runner", "mode align on runner v2");
  if (settings.mode == MambaCacheMode::all)
    conflict = no_more(release, Release::v0_30_0, "runner", "mode all on runner v2");
  // Kernels of mode all read the column of the previous step, which only runner V1 gives.
  if (!conflict && settings.mode == MambaCacheMode::all &&
      settings.method != SpeculativeMethod::none)
    conflict = SettingConflict{
        "runner", fmt::format("{} has no drafts in mode all on runner v2", profile_of(release))};
  if (!conflict && settings.method == SpeculativeMethod::ngram)
    conflict = not_yet(release, Release::v0_32_0, "runner", "method ngram on runner v2");
  if (!conflict && settings.method == SpeculativeMethod::ngram && settings.async_scheduling)
    conflict = not_yet(release, Release::v0_33_0, "async_scheduling",
                       "asynchronous scheduling with method ngram");
  if (!conflict && settings.method == SpeculativeMethod::draft_model)
    conflict = not_yet(release, Release::v0_31_0, "runner", "method draft_model on runner v2");
  return conflict;
}

}  // namespace hybridscope
