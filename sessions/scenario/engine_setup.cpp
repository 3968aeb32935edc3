#include "sessions/scenario/engine_setup.h"

#include <fmt/core.h>

#include <algorithm>
#include <compare>
#include <utility>

#include "core/engine/engine.h"
#include "core/engine/scheduler_setup.h"
#include "core/model/model_policies.h"
#include "sessions/scenario/hf_config.h"
#include "sessions/scenario/settings_table.h"
#include "sessions/scenario/start_plan.h"

namespace hybridscope {
namespace {

// vLLM mamba_utils.py kda_state_shape, models/kimi_k3.
bool kda_shape_has_drafts(const ModelSpec& model, const EngineSettings& settings) {
  const std::optional<Release> release = release_of(settings);
  return release && *release >= since::kKdaShapeHasDrafts &&
         std::holds_alternative<KdaDims>(model.recurrent);
}

KVCacheSettings kv_cache_settings(const ModelSpec& model, const EngineSettings& settings) {
  const EngineConfig defaults;
  KVCacheSettings kv;
  kv.mamba_cache_mode = settings.mamba_cache_mode;
  kv.all_by_default = resolved_all_by_default(settings);
  kv.enable_prefix_caching = resolved_prefix_caching(settings);
  kv.num_speculative_tokens = resolved_num_speculative_tokens(settings);
  kv.tensor_parallel_size = settings.tensor_parallel_size.value_or(1);
  kv.conv_state_layout = settings.ssm_conv_state_layout.value_or(ConvStateLayout::SD);
  const PolicySet policies = resolve_policies(settings);
  kv.conv_state_sizing = policies.get<ConvStateSizing>();
  kv.checkpoint_layers = policies.get<CheckpointLayers>();
  kv.gdn_prefill_backend = settings.gdn_prefill_backend.value_or(GdnPrefillBackend::triton);
  kv.block_size = settings.block_size;
  kv.mamba_block_size = settings.mamba_block_size;
  kv.hash_block_size = settings.prefix_match_unit;
  kv.cache_dtype = dtype_text(settings, "kv_cache_dtype");
  kv.mamba_cache_dtype = dtype_text(settings, "mamba_cache_dtype");
  kv.mamba_ssm_cache_dtype = dtype_text(settings, "mamba_ssm_cache_dtype");
  kv.kv_cache_memory_bytes = resolved_pool_memory(settings);
  kv.num_gpu_blocks_override = settings.num_gpu_blocks_override;
  kv.max_model_len = settings.max_model_len;
  kv.max_num_batched_tokens =
      settings.max_num_batched_tokens.value_or(defaults.max_num_batched_tokens);
  kv.long_prefill_token_threshold = settings.long_prefill_token_threshold.value_or(0);
  kv.needs_block_in_batch = needs_block_in_batch(settings);
  if (kda_shape_has_drafts(model, settings))
    kv.conv_state_sizing = ConvStateSizing::kernel_plus_spec;
  return kv;
}

// Did the user set the size of the pool?
bool sets_pool(const EngineSettings& settings) {
  return settings.num_gpu_blocks_override || settings.kv_cache_memory_bytes ||
         settings.gpu_memory_bytes;
}

Result<ModelLayout> with_bounded_pool(const ModelSpec& model, KVCacheSettings kv,
                                      const EngineSettings& settings) {
  Result<ModelLayout> layout = build_kv_cache_config(model, kv);
  if (!layout.ok() || sets_pool(settings) ||
      layout.value().kv_cache_config.num_blocks <= kMaxDefaultBlocks)
    return layout;
  kv.num_gpu_blocks_override = kMaxDefaultBlocks;
  return build_kv_cache_config(model, kv);
}

Error only_planned(const ModelSpec& model, std::string_view why) {
  return {ErrorKind::not_available, fmt::format("{} is planned and not run: {}", model.name, why)};
}

// The model as the release starts it: with the draft layers that share groups with its own, and
// blocks as its kernels want them.
Result<ModelSpec> started_model(ModelSpec model, const StartPlan& start) {
  const CachedLayer* attention = nullptr;
  for (const CachedLayer& layer : start.model.layers) {
    if (!layer.is_state() && !layer.is_draft) attention = &layer;
    if (!layer.is_draft) continue;
    if (attention == nullptr || layer.cache != attention->cache)
      return only_planned(model, "its draft layers attend in another way");
    model.layers.push_back(LayerKind::attention);
  }
  model.kernel_block_alignment = start.plan.layers.kernel_alignment;
  if (layers_of_kind(model, LayerKind::attention).empty())
    model.default_block_size = start.plan.layers.block_size;
  return model;
}

// A group as far as a plan and a layout have to agree on it.
struct ComparedGroup {
  bool is_mamba = false;
  std::int64_t block_size = 0;
  std::size_t num_layers = 0;
  bool has_checkpoint_block = false;
  friend auto operator<=>(const ComparedGroup&, const ComparedGroup&) = default;
};

ComparedGroup compared(const KVCacheGroup& group) {
  return {
      .is_mamba = group.is_mamba(),
      .block_size = group.block_size(),
      .num_layers = group.layers.size(),
      .has_checkpoint_block =
          group.is_mamba() && std::get<MambaSpec>(group.spec).num_prefill_checkpoint_blocks > 0};
}

// Only mode align counts a checkpoint block.
ComparedGroup compared(const StartupGroup& group, MambaCacheMode mode) {
  return {.is_mamba = group.spec.kind == SpecKind::mamba,
          .block_size = group.spec.block_size,
          .num_layers = group.layers.size(),
          .has_checkpoint_block =
              mode == MambaCacheMode::align && group.spec.num_prefill_checkpoint_blocks > 0};
}

// Do block, page and groups agree with what the release plans? The engine has the groups of
// attention first, a release the group of the first layer.
bool agrees(const ModelLayout& layout, const StartupPlan& plan) {
  std::vector<ComparedGroup> ours;
  std::vector<ComparedGroup> planned;
  for (const KVCacheGroup& group : layout.kv_cache_config.groups) ours.push_back(compared(group));
  for (const StartupGroup& group : plan.groups.groups)
    planned.push_back(compared(group, plan.config.mamba_cache_mode));
  std::ranges::sort(ours);
  std::ranges::sort(planned);
  const PageSizeExplanation& page = layout.page_size;
  return ours == planned && layout.mamba_cache_mode == plan.config.mamba_cache_mode &&
         page.choice.block_size == plan.layers.block_size &&
         page.choice.page_size * page.layer_groups.group_size == plan.groups.bytes_per_block &&
         layout.max_model_len == plan.config.max_model_len;
}

// No policy is laid over the profile that makes states or blocks of other sizes.
bool has_sizes_of_release(const EngineSettings& settings) {
  return !settings.policies.values[kPolicyPlace<ConvStateSizing>] &&
         !settings.policies.values[kPolicyPlace<CheckpointLayers>];
}

GdnPrefillBackend gdn_backend(const StartPlan& start) {
  const bool checkpoints = std::ranges::any_of(start.plan.layers.specs, [](const LayerSpec& spec) {
    return spec.num_prefill_checkpoint_blocks > 0;
  });
  return checkpoints ? GdnPrefillBackend::flashinfer : GdnPrefillBackend::triton;
}

Result<ModelLayout> make_release_layout(const ModelSpec& model, const EngineSettings& settings,
                                        const StartPlan& start) {
  const StartupPlan& plan = start.plan;
  if (plan.refused_at == RefusalStage::block_size ||
      plan.refused_at == RefusalStage::validate_block_size)
    return invalid_input(plan.refusal);
  const auto started = started_model(model, start);
  if (!started.ok()) return started.error();
  KVCacheSettings kv = kv_cache_settings(model, settings);
  // Models without attention do not cache unless they are told to.
  if (!kv.enable_prefix_caching && kv.mamba_cache_mode != MambaCacheMode::none)
    kv.enable_prefix_caching = plan.config.enable_prefix_caching;
  kv.gdn_prefill_backend = gdn_backend(start);
  kv.max_model_len = plan.config.max_model_len;
  kv.max_num_batched_tokens = plan.config.max_num_batched_tokens;
  Result<ModelLayout> layout = with_bounded_pool(started.value(), kv, settings);
  if (!layout.ok()) return layout;
  if (has_sizes_of_release(settings) && !agrees(layout.value(), plan))
    return only_planned(model, "the engine groups its layers in another way than the release");
  layout.value().model.layers = model.layers;
  return layout;
}

// The reference accepts the sizes in any order.
std::vector<std::int32_t> ascending(std::vector<std::int32_t> sizes) {
  std::ranges::sort(sizes);
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  return sizes;
}

void set_graphs(EngineConfig& config, const EngineSettings& settings) {
  const OptimizationLevel level = resolved_optimization_level(settings);
  config.cudagraph_mode = settings.cudagraph_mode.value_or(default_cudagraph_mode(level));
  config.compiled_piecewise = level != OptimizationLevel::O0;
  if (settings.cudagraph_capture_sizes)
    config.cudagraph_capture_sizes = ascending(*settings.cudagraph_capture_sizes);
}

// Positions of a conv block; 0: no layer has one.
std::int32_t conv_window_len(const ModelLayout& layout) {
  const std::size_t axis = layout.settings.conv_state_layout == ConvStateLayout::DS ? 1 : 0;
  for (const StateTensorSpec& state : layout.mamba_spec().states)
    if (state.kind == StateKind::conv && state.shape.size() == 2)
      return static_cast<std::int32_t>(state.shape[axis]);
  return 0;
}

// `start`: null without the profile of a release.
EngineConfig make_config(const ModelLayout& layout, const EngineSettings& settings,
                         const StartPlan* start) {
  EngineConfig config;
  if (start != nullptr)
    config.max_num_seqs = static_cast<std::int32_t>(start->plan.config.max_num_seqs);
  store_in_config(settings, config);
  // Sets the members that depend on the model or on other settings.
  config.kv_cache_config = layout.kv_cache_config;
  config.mamba_cache_mode = layout.mamba_cache_mode;
  if (const auto kernel = conv_kernel_of(layout.model.recurrent); kernel > 0)
    config.conv_kernel = static_cast<std::int32_t>(kernel);
  config.conv_window_len = conv_window_len(layout);
  if (layout.model.chunk_size > 0)
    config.chunk_size = static_cast<std::int32_t>(layout.model.chunk_size);
  config.block_size = static_cast<std::int32_t>(layout.page_size.choice.block_size);
  config.scheduler_block_size = static_cast<std::int32_t>(layout.block_sizes.scheduler_block_size);
  config.hash_block_size = static_cast<std::int32_t>(layout.block_sizes.hash_block_size);
  config.max_model_len = static_cast<std::int32_t>(layout.max_model_len);
  config.enable_prefix_caching = layout.enable_prefix_caching;

  // Not more requests than blocks; full graphs hold one state per request (semantics:
  // resolve-cudagraph-mode).
  config.max_num_batched_tokens = static_cast<std::int32_t>(layout.settings.max_num_batched_tokens);
  if (!settings.max_num_seqs)
    config.max_num_seqs = std::min(config.max_num_seqs, config.kv_cache_config.num_blocks);
  config.async_scheduling = resolved_async_scheduling(settings).async_scheduling;
  config.runner = resolved_runner(settings);
  config.prefix_cache_retention_interval = resolved_retention_interval(settings);
  config.speculative_method = resolved_speculative_method(settings);
  set_graphs(config, settings);
  config.policies = resolve_policies(settings);
  return config;
}

// Attention kernels read blocks in pieces of theirs, so vLLM takes no backend for another block
// size (AttentionBackend.supports_block_size, select_common_block_size). The teaching models have
// kernels that take any.
Status check_block_size(const ModelSpec& model, const EngineSettings& settings) {
  const std::int64_t kernel = model.kernel_block_alignment;
  if (!settings.block_size || layers_of_kind(model, LayerKind::attention).empty()) return Ok{};
  const std::int64_t asked = *settings.block_size;
  if (asked % kernel == 0) return Ok{};
  const std::int64_t above = (asked / kernel + 1) * kernel;
  const std::string below = asked > kernel ? fmt::format("{} or ", above - kernel) : "";
  return invalid_input(
      fmt::format("block_size is {}, which is no multiple of {}, the attention kernels' smallest "
                  "block: vLLM finds no valid attention backend (\"block_size not supported\") and "
                  "does not start (expected a multiple of {}, such as {}{})",
                  asked, kernel, kernel, below, above));
}

std::string on_or_off(bool on) { return on ? "on" : "off"; }

// What a release chose by itself, in the order of the start-up report.
std::vector<std::string> chosen_by_release(const EngineSettings& settings,
                                           const EngineConfig& config) {
  std::vector<std::string> chosen;
  if (!settings.runner)
    chosen.push_back(config.runner == ModelRunner::v1 ? "runner v1" : "runner v2");
  if (!settings.enable_prefix_caching && settings.mamba_cache_mode != MambaCacheMode::none)
    chosen.push_back("prefix caching " + on_or_off(config.enable_prefix_caching));
  if (!settings.mamba_cache_mode)
    chosen.push_back(fmt::format("mode {}", mamba_cache_mode_name(config.mamba_cache_mode)));
  if (!settings.prefix_cache_retention_interval)
    chosen.push_back(
        config.prefix_cache_retention_interval
            ? fmt::format("retention interval {}", *config.prefix_cache_retention_interval)
            : "every state kept");
  if (!settings.async_scheduling)
    chosen.push_back("asynchronous scheduling " + on_or_off(config.async_scheduling));
  return chosen;
}

}  // namespace

Result<EngineSetup> make_engine_setup(const ModelSpec& model, const EngineSettings& settings) {
  if (const auto conflict = find_setting_conflict(settings))
    return invalid_input(conflict->message);
  if (Status block_size = check_block_size(model, settings); !block_size.ok())
    return block_size.error();
  if (!model.not_run_because.empty()) return only_planned(model, model.not_run_because);
  std::optional<StartPlan> start;
  if (release_of(settings) && !model.config.empty()) {
    auto planned = plan_start(model, settings);
    if (!planned.ok()) return planned.error();
    start = std::move(planned).value();
  }
  Result<ModelLayout> layout =
      start ? make_release_layout(model, settings, *start)
            : with_bounded_pool(model, kv_cache_settings(model, settings), settings);
  if (!layout.ok()) return layout.error();
  EngineSetup setup{.layout = std::move(layout).value(),
                    .config = {},
                    .cudagraphs = {},
                    .async_reason = resolved_async_scheduling(settings).reason,
                    .gpu_memory = resolved_gpu_memory(settings)};
  setup.config = make_config(setup.layout, settings, start ? &*start : nullptr);
  if (const std::optional<Release> release = release_of(settings)) {
    const EngineConfig& config = setup.config;
    if (const auto conflict =
            runner_conflict(*release, {.runner = config.runner,
                                       .mode = config.mamba_cache_mode,
                                       .method = config.speculative_method,
                                       .async_scheduling = config.async_scheduling}))
      return invalid_input(conflict->message);
    setup.release_profile = engine_profile_name(*settings.engine);
    setup.chosen_by_release = chosen_by_release(settings, setup.config);
  }
  auto cudagraphs = resolve_cudagraphs(setup.config);
  if (!cudagraphs.ok()) return cudagraphs.error();
  setup.cudagraphs = std::move(cudagraphs).value();
  return setup;
}

Result<EngineSetup> make_engine_setup(const std::string& model, const EngineSettings& settings) {
  const Result<ModelSpec> spec = resolve_model(model);
  if (!spec.ok()) return spec.error();
  return make_engine_setup(spec.value(), settings);
}

std::int64_t blocks_reserved(const ModelLayout& layout, std::int64_t num_tokens) {
  std::int64_t total = 0;
  for (const KVCacheGroup& group : layout.kv_cache_config.groups) {
    const BlocksPerRequest request{
        .mamba_cache_mode = layout.mamba_cache_mode,
        .num_tokens = num_tokens,
        .block_size = group.block_size(),
        .num_speculative_tokens = layout.settings.num_speculative_tokens};
    total += group.is_mamba() ? mamba_blocks_per_request(request) +
                                    std::get<MambaSpec>(group.spec).num_prefill_checkpoint_blocks
                              : attention_blocks_per_request(request);
  }
  return total;
}

Status check_release_starts(const EngineSetup& setup, std::int64_t num_tokens) {
  const auto profile = parse_engine_profile(setup.release_profile);
  if (!profile) return Ok{};
  const std::int64_t reserved = blocks_reserved(setup.layout, num_tokens);
  const bool counts_null_block = pool_check_counts_null_block(profile->release);
  const std::int64_t capacity =
      setup.config.kv_cache_config.num_blocks - (counts_null_block ? 0 : 1);
  if (reserved <= capacity) return Ok{};
  return invalid_input(
      fmt::format("{} does not start: its pool must hold the {} blocks of a request of {} tokens "
                  "and has {}, {} the null block",
                  setup.release_profile, reserved, num_tokens, capacity,
                  counts_null_block ? "with" : "without"));
}

Status check_release_starts(const EngineSetup& setup) {
  return check_release_starts(setup, setup.config.max_model_len);
}

Status check_request_fits(const EngineSetup& setup, const AddRequest& request) {
  const EngineConfig& config = setup.config;
  Status fits = check_request_fits(config, request);
  if (fits.ok() || setup.release_profile.empty()) return fits;
  if (Status taken = check_request(config, request); !taken.ok()) return taken;
  const Status starts = check_release_starts(setup, longest_length(config, request));
  if (starts.ok()) return starts;
  return invalid_input(fmt::format("request \"{}\": {}", request.name, starts.error().message));
}

Status check_requests_fit(const Scenario& scenario, std::span<const ArrivingRequest> requests,
                          const EngineSetup& setup) {
  if (const auto engine = Engine::create(setup.config); !engine.ok()) return engine.error();
  for (const ArrivingRequest& arriving : requests) {
    const Status fits = check_request_fits(setup, arriving.request);
    if (fits.ok()) continue;
    const auto named =
        std::ranges::find(scenario.requests, arriving.request.name, &ScenarioRequest::id);
    return invalid_input(
        fmt::format("/requests/{}: {}", named - scenario.requests.begin(), fits.error().message));
  }
  return Ok{};
}

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
