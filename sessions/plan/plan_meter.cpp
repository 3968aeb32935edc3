#include "sessions/plan/plan_meter.h"

#include <algorithm>

namespace hybridscope {
namespace {

// How many of positions [first, first + count) lie before `end`.
std::int64_t tokens_before(std::int32_t first, std::int32_t count, std::int32_t end) {
  return std::clamp(end - first, 0, count);
}

}  // namespace

BlockUseMeter::BlockUseMeter(const EngineConfig& config)
    : num_drafts_(config.num_speculative_tokens),
      pool_(static_cast<std::size_t>(config.kv_cache_config.num_blocks)) {
  for (const KVCacheGroup& group : config.kv_cache_config.groups)
    is_mamba_.push_back(group.is_mamba());
}

BlockUseMeter::Table& BlockUseMeter::table(RequestId request, std::int32_t group) {
  const auto id = static_cast<std::size_t>(request.value);
  if (id >= tables_.size()) tables_.resize(id + 1);
  if (tables_[id].empty()) tables_[id].resize(is_mamba_.size());
  return tables_[id][static_cast<std::size_t>(group)];
}

// Distinct blocks are counted as snapshots first; those of states and drafts are taken off again.
void BlockUseMeter::use(std::int32_t block, std::int32_t group, std::int32_t change) {
  Block& of = pool_[static_cast<std::size_t>(block)];
  const bool was_cached = of.hashed && of.num_uses == 0;
  const std::int32_t before = of.num_uses;
  of.num_uses += change;
  num_cached_ += (of.hashed && of.num_uses == 0 ? 1 : 0) - (was_cached ? 1 : 0);
  const auto kind = static_cast<std::size_t>(
      is_mamba_[static_cast<std::size_t>(group)] ? BlockKind::snapshot : BlockKind::attention);
  blocks_[kind] += (of.num_uses > 0 ? 1 : 0) - (before > 0 ? 1 : 0);
}

void BlockUseMeter::recount_states(std::int32_t before, std::int32_t num_blocks) {
  const auto move = [&](BlockKind kind, std::int64_t change) {
    blocks_[static_cast<std::size_t>(kind)] += change;
    blocks_[static_cast<std::size_t>(BlockKind::snapshot)] -= change;
  };
  const auto running = [](std::int32_t blocks) { return std::min(blocks, 1); };
  const auto drafts = [this](std::int32_t blocks) {
    return std::clamp(blocks - 1, 0, num_drafts_);
  };
  move(BlockKind::running_state, running(num_blocks) - running(before));
  move(BlockKind::draft, drafts(num_blocks) - drafts(before));
}

void BlockUseMeter::set(Table& table, std::int32_t group, std::size_t column, std::int32_t block) {
  if (column >= table.columns.size()) table.columns.resize(column + 1, kNullBlock);
  std::int32_t& place = table.columns[column];
  const std::int32_t before = table.num_blocks;
  if (place != kNullBlock) {
    use(place, group, -1);
    --table.num_blocks;
  }
  if (block != kNullBlock) {
    use(block, group, 1);
    ++table.num_blocks;
  }
  place = block;
  if (is_mamba_[static_cast<std::size_t>(group)]) recount_states(before, table.num_blocks);
}

void BlockUseMeter::set_hashed(std::int32_t block, bool hashed) {
  Block& of = pool_[static_cast<std::size_t>(block)];
  if (of.hashed == hashed) return;
  of.hashed = hashed;
  if (of.num_uses == 0) num_cached_ += hashed ? 1 : -1;
}

void BlockUseMeter::take(const CacheEvent& event) {
  switch (event.kind) {
    case CacheEventKind::column_set:
      set(table(event.request, event.group), event.group, static_cast<std::size_t>(event.column),
          event.block);
      return;
    case CacheEventKind::table_dropped: {
      Table& dropped = table(event.request, event.group);
      for (std::size_t column = 0; column < dropped.columns.size(); ++column)
        if (dropped.columns[column] != kNullBlock) set(dropped, event.group, column, kNullBlock);
      dropped = {};
      return;
    }
    case CacheEventKind::registered:
      set_hashed(event.block, true);
      return;
    case CacheEventKind::withdrawn:
      set_hashed(event.block, event.num_tokens > 0);
      return;
    case CacheEventKind::evicted:
      set_hashed(event.block, false);
      return;
    default:
      return;
  }
}

PlanMeter::PlanMeter(const EngineConfig& config) : summary_(config), blocks_(config) {}

PlanMeter::Progress& PlanMeter::progress(RequestId request) {
  const auto id = static_cast<std::size_t>(request.value);
  if (id >= progress_.size()) progress_.resize(id + 1);
  return progress_[id];
}

void PlanMeter::count_tokens(const StepTrace& trace) {
  for (const RequestId request : trace.preempted) {
    Progress& of = progress(request);
    of.lost = std::max(of.lost, of.computed);
  }
  for (const ScheduledTrace& row : trace.scheduled) {
    if (row.admission == Admission::new_request) figures_.hit_tokens += row.num_hit_tokens;
    figures_.computed_prompt_tokens +=
        tokens_before(row.num_computed_tokens, row.num_scheduled_tokens, row.num_prompt_tokens);
    figures_.lost_tokens += tokens_before(row.num_computed_tokens, row.num_scheduled_tokens,
                                          progress(row.request).lost);
  }
  for (const RowTrace& row : trace.rows) {
    const ScheduledTrace& scheduled = trace.scheduled_of(row);
    const std::int32_t accepted =
        scheduled.num_draft_tokens > 0 ? std::max(row.num_sampled_tokens - 1, 0) : 0;
    progress(row.request).computed = row.num_computed_tokens + scheduled.num_scheduled_tokens -
                                     scheduled.num_draft_tokens + accepted;
  }
}

void PlanMeter::count_blocks(const StepTrace& trace) {
  for (const CacheEvent& event : trace.cache_events) blocks_.take(event);
  std::int64_t used = 0;
  for (std::size_t kind = 0; kind < kNumBlockKinds; ++kind) {
    const std::int64_t blocks = blocks_.blocks(static_cast<BlockKind>(kind));
    figures_.blocks[kind].add(blocks);
    used += blocks;
  }
  figures_.used_blocks.add(used);
  figures_.cached_blocks.add(blocks_.num_cached());
  if (fewest_free_ < 0 || trace.num_free_blocks < fewest_free_) {
    fewest_free_ = trace.num_free_blocks;
    figures_.worst_step = trace.step;
  }
}

void PlanMeter::add_point(const StepTrace& trace) {
  if (points_.empty() || points_.back().steps == steps_of_point_) {
    if (points_.size() == kMostPlanPoints) {
      for (std::size_t i = 0; i < points_.size() / 2; ++i) {
        const PlanPoint& second = points_[2 * i + 1];
        PlanPoint both = points_[2 * i];
        both.steps += second.steps;
        both.running += second.running;
        for (std::size_t kind = 0; kind < kNumBlockKinds; ++kind)
          both.blocks[kind] += second.blocks[kind];
        both.cached_blocks += second.cached_blocks;
        both.hit_tokens = second.hit_tokens;
        both.prompt_tokens = second.prompt_tokens;
        points_[i] = both;
      }
      points_.resize(points_.size() / 2);
      steps_of_point_ *= 2;
    }
    points_.push_back({.first_step = trace.step, .time_us = trace.time_us});
  }
  PlanPoint& point = points_.back();
  ++point.steps;
  point.running += trace.num_running;
  for (std::size_t kind = 0; kind < kNumBlockKinds; ++kind)
    point.blocks[kind] += blocks_.blocks(static_cast<BlockKind>(kind));
  point.cached_blocks += blocks_.num_cached();
  point.hit_tokens = figures_.hit_tokens;
  point.prompt_tokens = figures_.prompt_tokens;
}

void PlanMeter::add(const StepTrace& trace) {
  summary_.add(trace);
  const RunSummary& sums = summary_.summary();
  figures_.steps = sums.steps;
  figures_.request_steps = sums.request_steps;
  figures_.requests_finished = sums.requests_finished;
  figures_.prompt_tokens = sums.prompt_tokens;
  figures_.output_tokens = sums.output_tokens;
  figures_.preemptions = sums.preemptions;
  figures_.state_copies = sums.state_copies;
  figures_.state_copy_bytes = sums.state_copy_bytes;
  figures_.graph_padded_tokens = sums.graph_padded_tokens;
  count_tokens(trace);
  figures_.running.add(trace.num_running);
  figures_.waiting.add(trace.num_waiting);
  count_blocks(trace);
  add_point(trace);
  for (const CacheEvent& event : trace.commit_events) blocks_.take(event);
}

}  // namespace hybridscope
