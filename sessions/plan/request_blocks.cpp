#include "sessions/plan/request_blocks.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/caching/block_hash.h"
#include "core/caching/kv_cache_manager.h"
#include "core/engine/engine.h"
#include "core/engine/scheduler_setup.h"
#include "core/engine/token_sequence.h"
#include "core/trace/block_table_mirror.h"

namespace hybridscope {
namespace {

constexpr std::uint64_t kSharedText = 0x5a17;
constexpr std::uint64_t kFirstKey = 1;

AddRequest request_of(const RequestShape& shape, std::uint64_t key) {
  AddRequest request{.name = fmt::format("r{}", key), .prompt = {}, .max_tokens = shape.output};
  request.key = key;
  if (shape.shared > 0)
    request.prompt.push_back({.content = kSharedText, .first = 0, .length = shape.shared});
  if (shape.prompt > shape.shared)
    request.prompt.push_back({.content = kSharedText + 1 + key,
                              .first = shape.shared,
                              .length = shape.prompt - shape.shared});
  return request;
}

Status check_shape(const RequestShape& shape) {
  if (shape.prompt < 1 || shape.output < 1)
    return invalid_input(
        fmt::format("a request has {} prompt and {} output tokens, expected at least 1 each",
                    shape.prompt, shape.output));
  if (shape.shared < 0 || shape.shared > shape.prompt)
    return invalid_input(fmt::format("{} shared tokens, expected 0 to the {} of the prompt",
                                     shape.shared, shape.prompt));
  return Ok{};
}

std::int64_t whole_length(const EngineConfig& config, const RequestShape& shape) {
  return std::min<std::int64_t>(std::int64_t{shape.prompt} + shape.output, config.max_model_len);
}

// `count` requests share a step, each with at most the tokens that one may have.
EngineConfig for_requests(EngineConfig config, std::int64_t count) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  const std::int32_t budget = config.max_num_batched_tokens;
  if (config.enable_chunked_prefill) {
    const std::int32_t threshold = config.long_prefill_token_threshold;
    config.long_prefill_token_threshold = threshold > 0 ? std::min(threshold, budget) : budget;
  }
  config.max_num_batched_tokens = static_cast<std::int32_t>(std::min(count * budget, kMost));
  config.max_num_seqs = static_cast<std::int32_t>(count);
  config.acceptance_rate = 0.0;
  config.max_cudagraph_capture_size.reset();
  config.cudagraph_capture_sizes.clear();
  config.cudagraph_mode = CUDAGraphMode::none;
  return config;
}

EngineConfig in_pool(EngineConfig config, std::int64_t num_blocks) {
  config.kv_cache_config.num_blocks = static_cast<std::int32_t>(
      std::min<std::int64_t>(num_blocks, std::numeric_limits<std::int32_t>::max()));
  return config;
}

// An engine with the block lists that its requests hold while a step runs.
struct WatchedEngine {
  Engine engine;
  BlockTableMirror tables;

  // `look` sees the trace with the lists as they are once everything is scheduled.
  template <class Look>
  void step(const Look& look) {
    const StepTrace& trace = engine.step();
    for (const CacheEvent& event : trace.cache_events) tables.apply(event);
    look(trace);
    for (const CacheEvent& event : trace.commit_events) tables.apply(event);
  }
  std::vector<std::int64_t> blocks_by_group(RequestId request) const {
    std::vector<std::int64_t> counts;
    for (std::int32_t g = 0; g < tables.num_groups(); ++g)
      counts.push_back(std::ranges::count_if(
          tables.block_ids(request, g), [](std::int32_t block) { return block != kNullBlock; }));
    return counts;
  }
};

struct RunTogether {
  std::vector<std::int64_t> used;  // blocks in each step
  std::int32_t num_hit_tokens = 0;
};

void finish_all(WatchedEngine& watched) {
  const auto nothing = [](const StepTrace&) {};
  while (watched.engine.num_unfinished() > 0 || watched.engine.has_frame_in_flight())
    watched.step(nothing);
  watched.step(nothing);  // releases what has finished
}

// `count` requests that start together.
Result<RunTogether> run_together(WatchedEngine watched, const RequestShape& shape,
                                 std::int32_t count, std::uint64_t first_key) {
  for (std::int32_t i = 0; i < count; ++i) {
    const auto added =
        watched.engine.add_request(request_of(shape, first_key + static_cast<std::uint64_t>(i)));
    if (!added.ok()) return added.error();
  }
  RunTogether run;
  const std::int64_t usable = watched.engine.config().kv_cache_config.num_blocks - 1;
  while (watched.engine.num_unfinished() > 0) {
    const StepTrace& trace = watched.engine.step();
    if (trace.scheduled.empty()) continue;
    if (run.used.empty()) run.num_hit_tokens = trace.scheduled.front().num_hit_tokens;
    run.used.push_back(usable - trace.num_free_blocks);
  }
  return run;
}

// The blocks of a request by group in its step number `wanted`, counted from 0.
void look_at_step(WatchedEngine watched, const RequestShape& shape, std::uint64_t key,
                  std::size_t wanted, RequestBlocks& held) {
  const auto added = watched.engine.add_request(request_of(shape, key));
  if (!added.ok()) return;
  std::size_t number = 0;
  while (watched.engine.num_unfinished() > 0 && number <= wanted)
    watched.step([&](const StepTrace& trace) {
      if (trace.scheduled.empty() || number++ != wanted) return;
      held.by_group = watched.blocks_by_group(added.value());
    });
}

Status warm_up(WatchedEngine& watched, const RequestShape& shape, WarmCache warm,
               std::uint64_t& key) {
  if (warm == WarmCache::nothing) return Ok{};
  // A second request of the shape may leave a state where the shared tokens end.
  const bool whole = warm == WarmCache::whole_request;
  const RequestShape before =
      whole ? shape : RequestShape{.prompt = shape.shared, .output = 1, .shared = shape.shared};
  for (int i = 0; i < (whole ? 2 : 1); ++i) {
    const auto added = watched.engine.add_request(request_of(before, key++));
    if (!added.ok()) return added.error();
    finish_all(watched);
  }
  return Ok{};
}

Result<WatchedEngine> warm_engine(const EngineConfig& config, const RequestShape& shape,
                                  WarmCache warm, std::uint64_t& key) {
  auto engine = Engine::create(config);
  if (!engine.ok()) return engine.error();
  WatchedEngine watched{
      std::move(engine).value(),
      BlockTableMirror(static_cast<std::int32_t>(config.kv_cache_config.groups.size()),
                       config.kv_cache_config.num_blocks)};
  if (Status warmed = warm_up(watched, shape, warm, key); !warmed.ok()) return warmed.error();
  return watched;
}

// Do `count` requests that start together run without ever waiting for a block?
bool run_freely(const EngineConfig& config, const RequestShape& shape, WarmCache warm,
                std::int64_t count) {
  std::uint64_t key = kFirstKey;
  auto warmed = warm_engine(for_requests(config, count), shape, warm, key);
  if (!warmed.ok()) return false;
  Engine& engine = warmed.value().engine;
  for (std::int64_t i = 0; i < count; ++i)
    if (!engine.add_request(request_of(shape, key++)).ok()) return false;
  while (engine.num_unfinished() > 0) {
    const StepTrace& trace = engine.step();
    if (trace.num_waiting > 0 || !trace.preempted.empty()) return false;
  }
  return true;
}

// What allocate_slots asks for before it admits a request besides another that is running: from a
// cache of which all is watermark, it refuses and says so.
Result<std::int64_t> admission_need(const EngineConfig& config, const RequestShape& shape,
                                    WarmCache warm) {
  EngineConfig guarded = config;
  guarded.watermark = 1.0;
  std::uint64_t key = kFirstKey;
  auto warmed = warm_engine(guarded, shape, warm, key);
  if (!warmed.ok()) return warmed.error();
  Engine& engine = warmed.value().engine;
  RequestShape longer = shape;  // than a step
  longer.output += 1 + config.num_speculative_tokens;
  if (const auto added = engine.add_request(request_of(longer, key++)); !added.ok())
    return added.error();
  const StepTrace& trace = engine.step();
  const std::int32_t chunk =
      trace.scheduled.empty() ? 1 : trace.scheduled.front().num_scheduled_tokens;
  KVCacheManager cache = engine.kv_cache();
  cache.set_event_log(nullptr);
  cache.new_step_starts();
  cache.publish();

  const AddRequest request = request_of(shape, key);
  const TokenSequence tokens(request.prompt, config.seed, request.key);
  std::vector<TokenContent> contents(static_cast<std::size_t>(shape.prompt));
  tokens.copy_tokens(0, shape.prompt, contents.data());
  BlockHashChain hashes =
      start_block_hashes(config.hash_block_size, 0, num_hash_lookahead_tokens(config));
  extend_block_hashes(hashes, contents);
  const RequestCacheView view{.id = RequestId{engine.num_requests()},
                              .block_hashes = hashes.block_hashes,
                              .num_tokens = shape.prompt,
                              .prompt = {.num_prompt_tokens = shape.prompt}};
  const auto hit = cache.get_computed_blocks(view);
  if (!hit.ok()) return hit.error();
  const auto allocation = cache.allocate_slots(
      view, {.num_new_tokens = chunk,
             .num_new_computed_tokens = hit.value().num_hit_tokens,
             .new_computed_blocks = &hit.value(),
             .num_lookahead_tokens = scheduler_config(config).num_lookahead_tokens,
             .full_sequence_must_fit = config.scheduler_reserve_full_isl,
             .has_scheduled_reqs = true});
  if (!allocation.ok()) return allocation.error();
  return allocation.value().num_blocks_to_allocate;
}

std::int64_t held_by(const RequestBlocks& held, std::int64_t requests) {
  std::int64_t most = 0;
  for (const HeldInStep& step : held.steps)
    most = std::max(most, step.shared + requests * step.own);
  return most;
}

// How many more blocks than they hold must be in a pool in which a few run freely.
std::int64_t measure_margin(const EngineConfig& config, const RequestShape& shape,
                            const RequestBlocks& held) {
  constexpr std::int64_t kMostMargin = 16;
  const std::int64_t least = blocks_one_request_needs(config, whole_length(config, shape));
  const std::int64_t slower = held.most.own - held.first.own;
  std::int64_t count =
      std::max<std::int64_t>(3, 1 + least / std::max<std::int64_t>(held.most.own, 1));
  // Admission must not be what the pool is too small for.
  if (slower > 0)
    count =
        std::clamp(1 + (held.needed_to_be_admitted - held.first.own) / slower, count, count + 8);
  for (std::int64_t margin = 0; margin < kMostMargin; ++margin) {
    const std::int64_t blocks = 1 + held_by(held, count) + margin;
    if (run_freely(in_pool(config, blocks), shape, held.warm, count)) return margin;
  }
  return kMostMargin;
}

// What they hold in each step, from one and two of them that run in step.
void compare_steps(const RunTogether& one, const RunTogether& two, RequestBlocks& held,
                   std::size_t& peak) {
  for (std::size_t i = 0; i < std::min(one.used.size(), two.used.size()); ++i) {
    const std::int64_t own = two.used[i] - one.used[i];
    const HeldInStep step{.own = own, .shared = one.used[i] - own};
    if (i == 0) held.first = held.most = step;
    if (std::pair(step.own, step.shared) > std::pair(held.most.own, held.most.shared)) {
      held.most = step;
      peak = i;
    }
    if (std::ranges::find(held.steps, step) == held.steps.end()) held.steps.push_back(step);
  }
}

}  // namespace

Result<RequestBlocks> measure_request_blocks(const EngineConfig& config, const RequestShape& given,
                                             WarmCache warm) {
  if (Status status = check_shape(given); !status.ok()) return status.error();
  RequestShape shape = given;
  if (warm == WarmCache::nothing || given.shared == 0) {
    shape.shared = 0;
    warm = WarmCache::nothing;
  }
  EngineConfig room = config;
  room.watermark = 0.0;
  room = in_pool(room, 1 + 4 * (blocks_one_request_needs(config, whole_length(config, shape)) + 8));
  if (Status fits = check_request_fits(room, request_of(shape, kFirstKey)); !fits.ok())
    return fits.error();
  std::uint64_t key = kFirstKey;
  const auto for_one = warm_engine(for_requests(room, 1), shape, warm, key);
  if (!for_one.ok()) return for_one.error();
  key = kFirstKey;
  auto for_two = warm_engine(for_requests(room, 2), shape, warm, key);
  if (!for_two.ok()) return for_two.error();
  const auto copy_for_one = [&] {
    return WatchedEngine{for_one.value().engine, for_one.value().tables};
  };
  const auto one = run_together(copy_for_one(), shape, 1, key);
  if (!one.ok()) return one.error();
  const auto two = run_together(std::move(for_two).value(), shape, 2, key);
  if (!two.ok()) return two.error();
  RequestBlocks held{.warm = warm};
  held.num_hit_tokens = one.value().num_hit_tokens;
  std::size_t peak = 0;
  compare_steps(one.value(), two.value(), held, peak);
  look_at_step(copy_for_one(), shape, key, peak, held);
  const auto need = admission_need(for_requests(room, 1), shape, warm);
  if (!need.ok()) return need.error();
  held.needed_to_be_admitted = need.value();
  held.margin = measure_margin(room, shape, held);
  return held;
}

std::int64_t requests_at_once(const RequestBlocks& held, const BlockPoolSize& pool) {
  const std::int64_t usable = pool.num_blocks - 1;
  const auto watermark =
      static_cast<std::int64_t>(std::floor(pool.watermark * static_cast<double>(pool.num_blocks)));
  std::int64_t most = std::numeric_limits<std::int32_t>::max();
  for (const HeldInStep& step : held.steps)
    if (step.own > 0) most = std::min(most, (usable - held.margin - step.shared) / step.own);
  // Each after the first also needs its whole prompt to fit, and the watermark.
  const std::int64_t left = usable - held.first.shared - held.needed_to_be_admitted;
  if (most < 1 || left < 0) return 0;
  if (held.first.own > 0)
    most = std::min(most, left < watermark ? 1 : 1 + (left - watermark) / held.first.own);
  return most;
}

std::int64_t try_requests_at_once(const EngineConfig& config, const RequestShape& shape,
                                  const RequestBlocks& held) {
  std::int64_t count = requests_at_once(
      held, {.num_blocks = config.kv_cache_config.num_blocks, .watermark = config.watermark});
  const auto may_try = [&](std::int64_t requests) {
    const std::int64_t steps = shape.output + shape.prompt / config.max_num_batched_tokens + 2;
    return requests * steps <= kMostTriedRows && requests * held.most.own <= kMostTriedBlocks;
  };
  RequestShape alike = shape;
  if (held.warm == WarmCache::nothing) alike.shared = 0;
  while (count > 0 && may_try(count) && !run_freely(config, alike, held.warm, count)) --count;
  while (may_try(count + 1) && run_freely(config, alike, held.warm, count + 1)) ++count;
  return count;
}

std::int64_t blocks_for_requests(const RequestBlocks& held, std::int64_t requests) {
  const std::int64_t admitting =
      held.first.shared + (requests - 1) * held.first.own + held.needed_to_be_admitted;
  return 1 + std::max(held_by(held, requests) + held.margin, admitting);
}

}  // namespace hybridscope
