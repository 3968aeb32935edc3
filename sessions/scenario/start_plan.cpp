#include "sessions/scenario/start_plan.h"

#include <utility>
#include <variant>

#include "sessions/scenario/settings_table.h"
#include "sessions/startup/architectures.h"

namespace hybridscope {
namespace {

// A draft model has no name of its own among the methods that run: eagle3 stands for all of them.
std::string method_name(const ModelSpec& model, const EngineSettings& settings) {
  switch (resolved_speculative_method(settings)) {
    case SpeculativeMethod::none: return {};
    case SpeculativeMethod::mtp: return model.draft_config.empty() ? "mtp" : "eagle3";
    case SpeculativeMethod::ngram: return "ngram";
    case SpeculativeMethod::draft_model: return "draft_model";
  }
  return {};
}

StartupSettings startup_settings(const ModelSpec& model, const EngineSettings& settings) {
  StartupSettings startup{.release = release_of(settings).value_or(kNewestRelease),
                          .gpu = &resolved_gpu(settings),
                          .entry_point = settings.entry_point.value_or(EntryPoint::serve),
                          .kv_cache_memory_bytes = resolved_pool_memory(settings),
                          .tensor_parallel_size = settings.tensor_parallel_size.value_or(1)};
  startup.kv_cache_dtype = dtype_text(settings, "kv_cache_dtype");
  startup.mamba_cache_dtype = dtype_text(settings, "mamba_cache_dtype");
  startup.mamba_ssm_cache_dtype = dtype_text(settings, "mamba_ssm_cache_dtype");
  startup.enable_prefix_caching = settings.enable_prefix_caching;
  // Mode none alone turns caching off here; a release needs to be told so.
  if (settings.mamba_cache_mode == MambaCacheMode::none && !settings.enable_prefix_caching)
    startup.enable_prefix_caching = false;
  startup.mamba_cache_mode = settings.mamba_cache_mode;
  startup.gdn_prefill_backend = settings.gdn_prefill_backend;
  startup.block_size = settings.block_size;
  startup.max_model_len = settings.max_model_len;
  startup.max_num_seqs = settings.max_num_seqs;
  startup.max_num_batched_tokens = settings.max_num_batched_tokens;
  startup.num_gpu_blocks_override = settings.num_gpu_blocks_override;
  startup.speculative_method = method_name(model, settings);
  startup.num_speculative_tokens = resolved_num_speculative_tokens(settings);
  const OptimizationLevel level = resolved_optimization_level(settings);
  const CUDAGraphMode mode = settings.cudagraph_mode.value_or(default_cudagraph_mode(level));
  startup.cudagraph_mode = kCudagraphModeWords[static_cast<std::size_t>(mode)];
  startup.async_scheduling = resolved_async_scheduling(settings).async_scheduling;
  return startup;
}

}  // namespace

std::string dtype_text(const EngineSettings& settings, std::string_view name) {
  const auto value = get_setting(settings, *find_setting("", name));
  return value ? std::get<std::string>(*value) : "auto";
}

std::int64_t resolved_pool_memory(const EngineSettings& settings) {
  const std::optional<GpuMemory> gpu = resolved_gpu_memory(settings);
  return gpu ? gpu->left() : settings.kv_cache_memory_bytes.value_or(kDefaultMemoryBytes);
}

Result<StartPlan> plan_start(const ModelSpec& model, const EngineSettings& settings,
                             WantedLength length) {
  if (model.config.empty())
    return invalid_input(model.name + ": a model made for hybridscope, which no release serves");
  StartupSettings startup = startup_settings(model, settings);
  if (length == WantedLength::longest_that_fits) startup.max_model_len = -1;
  std::optional<ConfigText> draft;
  if (!model.draft_config.empty())
    draft = ConfigText{.text = model.draft_config, .file = "the draft model"};
  auto read = read_startup_model({.text = model.config, .file = model.name}, draft, startup);
  if (!read.ok()) return read.error();
  StartPlan start{.model = std::move(read).value(), .settings = startup, .plan = {}};
  start.plan = plan_startup(start.model, start.settings);
  return start;
}

}  // namespace hybridscope
