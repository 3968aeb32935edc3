#include "sessions/plan/size_answer.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "core/base/math.h"
#include "core/engine/engine.h"
#include "sessions/cache_report/lookup_report.h"
#include "sessions/scenario/settings_table.h"

namespace hybridscope {
namespace {

// Where none is asked for: the longest one, as in the line of vLLM's log about concurrency.
RequestShape longest_shape(const EngineConfig& config) {
  return {.prompt = std::max(config.max_model_len - 1, 1), .output = 1};
}

std::int64_t longest_request(const EngineConfig& config) {
  const std::int64_t usable = config.kv_cache_config.num_blocks - 1;
  std::int64_t fits = 0;
  std::int64_t too_long = std::int64_t{config.max_model_len} + 1;
  while (too_long - fits > 1) {
    const std::int64_t length = std::midpoint(fits, too_long);
    (blocks_one_request_needs(config, length) <= usable ? fits : too_long) = length;
  }
  return fits;
}

HitRules hit_rules(const EngineConfig& config) {
  const CacheRules rules = cache_rules(config);
  return {.caching = rules.caching,
          .grid = rules.grid,
          .smallest_prefix = smallest_cacheable_prefix(rules),
          .smallest_prompt = smallest_cacheable_prompt(rules),
          .computed_again = rules.eagle_block};
}

// Bytes of one block of the group that hold nothing.
std::int64_t padding_of(const ModelLayout& layout, const KVCacheGroup& group) {
  const BlockSizeChoice& choice = layout.page_size.choice;
  const auto layers = static_cast<std::int64_t>(group.layers.size());
  const std::int64_t missing = layout.page_size.layer_groups.group_size - layers;
  return missing * choice.page_size + (group.is_mamba() ? layers * choice.padding : 0);
}

void add_use(SizeAnswer& answer, PoolUse use) {
  if (use.blocks == 0) return;
  use.bytes = use.blocks * answer.block_bytes;
  answer.pool.push_back(std::move(use));
}

void count_pool(SizeAnswer& answer) {
  const ModelLayout& layout = answer.setup.layout;
  const RequestsAtOnce& most = answer.at_once.front();
  const std::int64_t requests = most.by_blocks;
  PoolUse attention{.kind = "attention"};
  PoolUse running{.kind = "running states"};
  PoolUse snapshots{.kind = "snapshots"};
  PoolUse drafts{.kind = "states for drafts"};
  const std::int64_t spec = answer.setup.config.num_speculative_tokens;
  std::int64_t counted = 0;
  for (std::size_t g = 0; g < most.held.by_group.size(); ++g) {
    const KVCacheGroup& group = layout.kv_cache_config.groups[g];
    const std::int64_t blocks = most.held.by_group[g];
    const std::int64_t padding = padding_of(layout, group);
    counted += blocks;
    const auto add = [&](PoolUse& use, std::int64_t count) {
      use.blocks += requests * count;
      use.padding_bytes += requests * count * padding;
    };
    if (!group.is_mamba()) {
      add(attention, blocks);
      continue;
    }
    const std::int64_t states = std::max<std::int64_t>(blocks - spec, 0);
    add(drafts, blocks - states);
    add(running, std::min<std::int64_t>(states, 1));
    add(snapshots, std::max<std::int64_t>(states - 1, 0));
  }
  for (PoolUse* use : {&attention, &running, &snapshots, &drafts}) add_use(answer, *use);
  add_use(answer,
          {.kind = "blocks in flight", .blocks = requests * (most.held.most.own - counted)});
  add_use(answer, {.kind = "null block", .blocks = 1, .padding_bytes = answer.block_bytes});
  add_use(answer, {.kind = "free", .blocks = answer.usable_blocks - requests * most.held.most.own});
}

void find_limits(SizeAnswer& answer) {
  const EngineConfig& config = answer.setup.config;
  answer.limits = {
      {.name = "blocks", .requests = answer.at_once.front().by_blocks},
      {.name = "max_num_seqs", .requests = config.max_num_seqs},
      {.name = "max_num_batched_tokens",
       .requests = config.max_num_batched_tokens / (1 + config.num_speculative_tokens)}};
  const std::int64_t least = requests_that_run(answer);
  for (SizeLimit& limit : answer.limits) limit.binds = limit.requests == least;
}

Status measure(SizeAnswer& answer) {
  const EngineConfig& config = answer.setup.config;
  std::vector<WarmCache> kinds = {WarmCache::nothing};
  if (answer.shape.shared > 0 && config.enable_prefix_caching) {
    kinds.push_back(WarmCache::whole_request);
    kinds.push_back(WarmCache::shared_prompt);
  }
  for (const WarmCache warm : kinds) {
    auto held = measure_request_blocks(config, answer.shape, warm);
    if (!held.ok()) return held.error();
    const std::int64_t count = try_requests_at_once(config, answer.shape, held.value());
    answer.at_once.push_back({.held = std::move(held).value(), .by_blocks = count});
  }
  return Ok{};
}

}  // namespace

std::int64_t requests_that_run(const SizeAnswer& answer) {
  std::int64_t least = answer.limits.front().requests;
  for (const SizeLimit& limit : answer.limits) least = std::min(least, limit.requests);
  return least;
}

Result<SizeAnswer> answer_sizes(const ModelSpec& model, const EngineSettings& settings,
                                const std::optional<RequestShape>& shape) {
  auto setup = make_engine_setup(model, settings);
  std::optional<std::int32_t> refused;
  if (!setup.ok() && settings.max_num_seqs) {
    EngineSettings fewer = settings;
    fewer.max_num_seqs.reset();
    auto other = make_engine_setup(model, fewer);
    if (other.ok() && *settings.max_num_seqs > other.value().config.kv_cache_config.num_blocks) {
      setup = std::move(other);
      refused = settings.max_num_seqs;
    }
  }
  if (!setup.ok()) return setup.error();
  SizeAnswer answer{.setup = std::move(setup).value()};
  answer.refused_max_num_seqs = refused;
  const EngineConfig& config = answer.setup.config;
  const ModelLayout& layout = answer.setup.layout;
  answer.shape_given = shape.has_value();
  answer.shape = shape.value_or(longest_shape(config));
  answer.block_bytes = layout.page_size.choice.page_size * layout.page_size.layer_groups.group_size;
  answer.usable_blocks = config.kv_cache_config.num_blocks - 1;
  answer.memory_bytes = layout.page_size.kv_cache_memory_bytes;
  if (Status measured = measure(answer); !measured.ok()) return measured.error();
  answer.longest_request = longest_request(config);
  answer.hits = hit_rules(config);
  count_pool(answer);
  find_limits(answer);
  const RequestsAtOnce& most = answer.at_once.front();
  if (config.watermark == 0.0)
    answer.next_request_bytes =
        blocks_for_requests(most.held, most.by_blocks + 1) * answer.block_bytes -
        std::max(answer.memory_bytes, config.kv_cache_config.num_blocks * answer.block_bytes);
  return answer;
}

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
