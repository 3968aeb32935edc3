#include "sessions/plan/size_answer.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/base/math.h"
#include "core/engine/engine.h"
#include "sessions/cache_report/cacheable_prefix.h"

namespace hybridscope {
namespace {

// Where none is asked for.
RequestShape example_shape(const EngineConfig& config) {
  const std::int32_t prompt = std::clamp(config.max_model_len / 2, 1, 1000);
  return {.prompt = prompt, .output = std::clamp(config.max_model_len - prompt, 1, 100)};
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
  answer.shape = shape.value_or(example_shape(config));
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

}  // namespace hybridscope
