#include "sessions/plan/size_changes.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "sessions/scenario/settings_table.h"

namespace hybridscope {
namespace {

struct Candidate {
  std::string setting;
  std::string value;
};

std::vector<Candidate> candidates(const SizeAnswer& answer) {
  const EngineConfig& config = answer.setup.config;
  const ModelLayout& layout = answer.setup.layout;
  std::vector<Candidate> all;
  const std::int64_t by_blocks = answer.at_once.front().by_blocks;
  if (by_blocks > config.max_num_seqs)
    all.push_back({"max_num_seqs", std::to_string(std::min<std::int64_t>(by_blocks, 65536))});
  if (answer.memory_bytes > 0 && answer.next_request_bytes > 0 && !answer.setup.gpu_memory)
    all.push_back(
        {"kv_cache_memory_bytes", std::to_string(answer.memory_bytes + answer.next_request_bytes)});
  if (layout.page_size.attn_dtype_size > 1) all.push_back({"kv_cache_dtype", "fp8"});
  const StateTensorSpec& last = layout.mamba_spec().states.back();
  if (last.kind == StateKind::temporal && last.dtype == Dtype::float32)
    all.push_back({"mamba_ssm_cache_dtype", "bfloat16"});
  for (const MambaCacheMode mode :
       {MambaCacheMode::none, MambaCacheMode::align, MambaCacheMode::all})
    if (mode != config.mamba_cache_mode)
      all.push_back({"mamba_cache_mode", std::string(mamba_cache_mode_name(mode))});
  if (config.enable_prefix_caching && layout.page_size.choice.attn_bytes_per_token > 0)
    all.push_back({"prefix_match_unit", std::to_string(layout.model.kernel_block_alignment)});
  if (config.num_speculative_tokens > 0)
    all.push_back({"speculative_config/num_speculative_tokens", "0"});
  all.push_back({"tensor_parallel_size", std::to_string(2 * layout.settings.tensor_parallel_size)});
  return all;
}

const Setting* setting_at(const std::string& path) {
  for (const Setting& setting : settings_table())
    if (setting_path(setting) == path) return &setting;
  return nullptr;
}

std::int64_t shortest(const std::optional<std::int32_t>& prefix) {
  return prefix.value_or(std::numeric_limits<std::int32_t>::max());
}

}  // namespace

std::vector<SizeChange> useful_changes(const ModelSpec& model, const EngineSettings& settings,
                                       const SizeAnswer& answer) {
  std::vector<SizeChange> useful;
  const std::int64_t requests = requests_that_run(answer);
  for (const Candidate& candidate : candidates(answer)) {
    EngineSettings changed = settings;
    const Setting* setting = setting_at(candidate.setting);
    if (setting == nullptr || !set_setting_text(changed, *setting, candidate.value).ok()) continue;
    if (candidate.value == "0") changed.speculative_method.reset();
    if (candidate.value == "none") changed.enable_prefix_caching = false;
    const auto tried = answer_sizes(model, changed, answer.shape);
    if (!tried.ok() || tried.value().refused_max_num_seqs ||
        !check_release_starts(tried.value().setup).ok())
      continue;
    const SizeAnswer& now = tried.value();
    if (setting->name == "mamba_cache_mode" &&
        mamba_cache_mode_name(now.setup.config.mamba_cache_mode) != candidate.value)
      continue;  // the model falls back to another
    const bool more = requests_that_run(now) > requests ||
                      now.at_once.front().by_blocks > answer.at_once.front().by_blocks;
    if (!more && shortest(now.hits.smallest_prefix) >= shortest(answer.hits.smallest_prefix))
      continue;
    useful.push_back({.setting = candidate.setting,
                      .value = candidate.value,
                      .settings = std::move(changed),
                      .requests = requests_that_run(now),
                      .by_blocks = now.at_once.front().by_blocks,
                      .block_size = now.setup.layout.page_size.choice.block_size,
                      .smallest_prefix = now.hits.smallest_prefix});
  }
  return useful;
}

}  // namespace hybridscope
