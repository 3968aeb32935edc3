#include "sessions/plan/plan_figures.h"

#include <algorithm>
#include <bit>

namespace hybridscope {
namespace {

constexpr int kClassBits = 6;

// The smallest duration of its class.
std::int64_t class_of(std::int64_t us) {
  const auto value = static_cast<std::uint64_t>(std::max<std::int64_t>(us, 0));
  const int dropped = std::max(0, static_cast<int>(std::bit_width(value)) - 1 - kClassBits);
  return static_cast<std::int64_t>(value >> dropped << dropped);
}

Percentiles percentiles_of(const DurationCounts& counts) {
  return {counts.percentile(50), counts.percentile(90), counts.percentile(99)};
}

}  // namespace

void DurationCounts::add(std::int64_t us, std::int64_t count) {
  counts_[class_of(us)] += count;
  num_ += count;
}

std::int64_t DurationCounts::percentile(std::int32_t percent) const {
  std::int64_t below = 0;
  for (const auto& [us, count] : counts_) {
    below += count;
    if (below * 100 >= num_ * percent) return us;
  }
  return 0;
}

LatencyMeter::LatencyMeter(std::span<const ArrivingRequest> requests) {
  for (const ArrivingRequest& arriving : requests) {
    arrivals_[arriving.request.name] = &arriving;
    for (const std::string& name : arriving.after) ends_us_[name] = 0;
  }
}

// A request that waits for others arrives when the last of them has ended and its delay is over.
std::int64_t LatencyMeter::arrival_of(const ArrivingRequest& arriving) const {
  std::int64_t us = arriving.arrival_us;
  for (const std::string& name : arriving.after)
    us = std::max(us, ends_us_.at(name) + arriving.delay_us);
  return us;
}

LatencyMeter::Request& LatencyMeter::request(RequestId id) {
  const auto index = static_cast<std::size_t>(id.value);
  if (index >= requests_.size()) requests_.resize(index + 1);
  return requests_[index];
}

void LatencyMeter::add(const StepTrace& trace, const Engine& engine) {
  for (const CommandTrace& command : trace.commands) {
    if (command.command != CommandKind::add_request) continue;
    const std::int64_t arrival = arrival_of(*arrivals_.at(engine.name_of(command.request)));
    request(command.request).arrival_us = arrival;
    if (first_arrival_us_ < 0) first_arrival_us_ = arrival;
  }
  end_us_ = trace.time_us + trace.duration_us;
  queue_.add(trace.num_waiting, most_waiting_, trace.time_us - first_arrival_us_);
  most_waiting_ = std::max<std::int64_t>(most_waiting_, trace.num_waiting);
  for (const CommitTrace& commit : trace.committed) {
    if (commit.finished)
      if (const auto end = ends_us_.find(engine.name_of(commit.request)); end != ends_us_.end())
        end->second = end_us_;
    if (commit.num_appended_tokens < 1) continue;
    Request& of = request(commit.request);
    if (of.last_token_us < 0)
      first_token_.add(end_us_ - of.arrival_us);
    else
      between_tokens_.add((end_us_ - of.last_token_us) / commit.num_appended_tokens,
                          commit.num_appended_tokens);
    of.last_token_us = end_us_;
  }
}

PlanLatency LatencyMeter::latency() const {
  return {.span_us = end_us_ - std::max<std::int64_t>(first_arrival_us_, 0),
          .queue = queue_,
          .first_token = percentiles_of(first_token_),
          .between_tokens = percentiles_of(between_tokens_)};
}

namespace {

using F = PlanFigures;
using Value = std::int64_t& (*)(F&);

template <std::int64_t F::*kMember>
std::int64_t& plain(F& figures) {
  return figures.*kMember;
}
template <CountOverSteps F::*kCount>
std::int64_t& most_of(F& figures) {
  return (figures.*kCount).most;
}
template <CountOverSteps F::*kCount>
std::int64_t& sum_of(F& figures) {
  return (figures.*kCount).sum;
}
template <BlockKind kKind>
std::int64_t& most_blocks(F& figures) {
  return figures.blocks[static_cast<std::size_t>(kKind)].most;
}
template <BlockKind kKind>
std::int64_t& sum_blocks(F& figures) {
  return figures.blocks[static_cast<std::size_t>(kKind)].sum;
}

template <std::int64_t Percentiles::*kPercentile>
std::int64_t& first_token(F& figures) {
  return figures.latency.first_token.*kPercentile;
}
template <std::int64_t Percentiles::*kPercentile>
std::int64_t& between_tokens(F& figures) {
  return figures.latency.between_tokens.*kPercentile;
}

constexpr PlanFigure kFigures[] = {
    {"steps", &plain<&F::steps>},
    {"request_steps", &plain<&F::request_steps>},
    {"requests_finished", &plain<&F::requests_finished>},
    {"prompt_tokens", &plain<&F::prompt_tokens>},
    {"hit_tokens", &plain<&F::hit_tokens>},
    {"computed_prompt_tokens", &plain<&F::computed_prompt_tokens>},
    {"output_tokens", &plain<&F::output_tokens>},
    {"preemptions", &plain<&F::preemptions>},
    {"lost_tokens", &plain<&F::lost_tokens>},
    {"state_copies", &plain<&F::state_copies>},
    {"state_copy_bytes", &plain<&F::state_copy_bytes>},
    {"graph_padded_tokens", &plain<&F::graph_padded_tokens>},
    {"most_running", &most_of<&F::running>},
    {"running_sum", &sum_of<&F::running>},
    {"most_waiting", &most_of<&F::waiting>},
    {"waiting_sum", &sum_of<&F::waiting>},
    {"longest_queue_step", [](F& f) -> std::int64_t& { return f.queue.at; }},
    {"queue_empty_step", [](F& f) -> std::int64_t& { return f.queue.empty; }},
    {"last_arrival_step", &plain<&F::last_arrival_step>},
    {"most_attention_blocks", &most_blocks<BlockKind::attention>},
    {"attention_blocks_sum", &sum_blocks<BlockKind::attention>},
    {"most_running_state_blocks", &most_blocks<BlockKind::running_state>},
    {"running_state_blocks_sum", &sum_blocks<BlockKind::running_state>},
    {"most_draft_blocks", &most_blocks<BlockKind::draft>},
    {"draft_blocks_sum", &sum_blocks<BlockKind::draft>},
    {"most_snapshot_blocks", &most_blocks<BlockKind::snapshot>},
    {"snapshot_blocks_sum", &sum_blocks<BlockKind::snapshot>},
    {"most_used_blocks", &most_of<&F::used_blocks>},
    {"used_blocks_sum", &sum_of<&F::used_blocks>},
    {"most_cached_blocks", &most_of<&F::cached_blocks>},
    {"cached_blocks_sum", &sum_of<&F::cached_blocks>},
    {"worst_step", &plain<&F::worst_step>},
    {"span_us", [](F& f) -> std::int64_t& { return f.latency.span_us; }, true},
    {"longest_queue_us", [](F& f) -> std::int64_t& { return f.latency.queue.at; }, true},
    {"queue_empty_us", [](F& f) -> std::int64_t& { return f.latency.queue.empty; }, true},
    {"first_token_p50_us", &first_token<&Percentiles::p50_us>, true},
    {"first_token_p90_us", &first_token<&Percentiles::p90_us>, true},
    {"first_token_p99_us", &first_token<&Percentiles::p99_us>, true},
    {"between_tokens_p50_us", &between_tokens<&Percentiles::p50_us>, true},
    {"between_tokens_p90_us", &between_tokens<&Percentiles::p90_us>, true},
    {"between_tokens_p99_us", &between_tokens<&Percentiles::p99_us>, true},
};

}  // namespace

std::span<const PlanFigure> plan_figures() { return kFigures; }

void PlanPoint::append(const PlanPoint& next) {
  steps += next.steps;
  running += next.running;
  waiting += next.waiting;
  for (std::size_t kind = 0; kind < kNumBlockKinds; ++kind) blocks[kind] += next.blocks[kind];
  cached_blocks += next.cached_blocks;
  hit_tokens = next.hit_tokens;
  prompt_tokens = next.prompt_tokens;
}

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
    case CacheEventKind::registered: set_hashed(event.block, true); return;
    case CacheEventKind::withdrawn: set_hashed(event.block, event.num_tokens > 0); return;
    case CacheEventKind::evicted: set_hashed(event.block, false); return;
    default: return;
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
        points_[i] = points_[2 * i];
        points_[i].append(points_[2 * i + 1]);
      }
      points_.resize(points_.size() / 2);
      steps_of_point_ *= 2;
    }
    points_.push_back({.first_step = trace.step, .time_us = trace.time_us});
  }
  PlanPoint step{.steps = 1,
                 .running = trace.num_running,
                 .waiting = trace.num_waiting,
                 .cached_blocks = blocks_.num_cached(),
                 .hit_tokens = figures_.hit_tokens,
                 .prompt_tokens = figures_.prompt_tokens};
  for (std::size_t kind = 0; kind < kNumBlockKinds; ++kind)
    step.blocks[kind] = blocks_.blocks(static_cast<BlockKind>(kind));
  points_.back().append(step);
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
  figures_.queue.add(trace.num_waiting, figures_.waiting.most, trace.step);
  figures_.waiting.add(trace.num_waiting);
  for (const CommandTrace& command : trace.commands)
    if (command.command == CommandKind::add_request) figures_.last_arrival_step = trace.step;
  count_blocks(trace);
  add_point(trace);
  for (const CacheEvent& event : trace.commit_events) blocks_.take(event);
}

}  // namespace hybridscope
