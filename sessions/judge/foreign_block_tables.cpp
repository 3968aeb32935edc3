#include "sessions/judge/foreign_block_tables.h"

#include "core/base/math.h"
#include "core/engine/policy_table.h"

namespace hybridscope {

Result<ForeignBlockTables> ForeignBlockTables::create(const ForeignHeader& header) {
  auto coordinator =
      HybridCoordinator::create({.groups = header.config.kv_cache_config.groups,
                                 .enable_caching = header.config.enable_prefix_caching,
                                 .use_eagle = header.use_eagle,
                                 .scheduler_block_size = header.config.scheduler_block_size,
                                 .hash_block_size = header.config.hash_block_size,
                                 .policies = reference_policies()});
  if (!coordinator.ok()) return coordinator.error();
  return ForeignBlockTables(header, std::move(coordinator).value());
}

ForeignBlockTables::ForeignBlockTables(const ForeignHeader& header, HybridCoordinator coordinator)
    : config_(header.config),
      retention_unknown_(header.retention_unknown),
      coordinator_(std::move(coordinator)),
      tables_(static_cast<std::int32_t>(config_.kv_cache_config.groups.size()),
              config_.kv_cache_config.num_blocks),
      ref_cnt_(static_cast<std::size_t>(config_.kv_cache_config.num_blocks), 0),
      labelled_(static_cast<std::size_t>(config_.kv_cache_config.num_blocks), 0) {}

void ForeignBlockTables::record(std::vector<CacheEvent>& events, const CacheEvent& event) {
  const auto block = static_cast<std::size_t>(event.block);
  switch (event.kind) {
    case CacheEventKind::allocated:
    case CacheEventKind::touched:
    case CacheEventKind::freed: ref_cnt_[block] = event.ref_cnt; break;
    case CacheEventKind::registered: labelled_[block] = 1; break;
    case CacheEventKind::evicted: labelled_[block] = 0; break;
    case CacheEventKind::withdrawn:  // one of several hashes
      break;
    case CacheEventKind::column_set:
    case CacheEventKind::table_dropped:
    case CacheEventKind::free_deferred:
    case CacheEventKind::free_due: tables_.apply(event); break;
    case CacheEventKind::copied_from:
    case CacheEventKind::copied_to: break;
  }
  events.push_back(event);
}

void ForeignBlockTables::follow(const ForeignStep& step, ForeignRequests& requests,
                                StepTrace& trace) {
  tells_hashes_ = step.block_hashes.has_value();
  counts_columns_ = !tells_hashes_ && !step.num_cached_block.empty();
  hit_without_hash_ = 0;
  if (step.reset_prefix_cache) drop_all_labels(trace);
  if (step.block_hashes) {
    lose_hashes(step.block_hashes->lost, trace.cache_events);
    take_hashes_of_preempted(step, requests, trace);
  }
  for (const RequestId id : step.finished_req_ids) drop_tables(id, trace);
  for (const RequestId id : step.preempted_req_ids) drop_tables(id, trace);
  // A request may be preempted and admitted again between two steps; the trace then only says that
  // it resumed.
  for (const ScheduledTrace& scheduled : trace.scheduled)
    if (scheduled.admission != Admission::running) drop_tables(scheduled.request, trace);
  // Frees blocks before it allocates any: a block may change owners within a step.
  take_left_blocks(step, trace);
  take_new_lists(step, requests, trace);
}

void ForeignBlockTables::drop_all_labels(StepTrace& trace) {
  for (std::size_t block = 0; block < labelled_.size(); ++block)
    if (labelled_[block] != 0)
      record(trace.cache_events, {.kind = CacheEventKind::evicted,
                                  .request = {},
                                  .block = static_cast<std::int32_t>(block)});
}

void ForeignBlockTables::free_block(RequestId request, std::int32_t group, std::int32_t block,
                                    StepTrace& trace) {
  record(trace.cache_events, {.kind = CacheEventKind::freed,
                              .group = group,
                              .request = request,
                              .block = block,
                              .ref_cnt = ref_cnt_[static_cast<std::size_t>(block)] - 1});
}

void ForeignBlockTables::drop_tables(RequestId request, StepTrace& trace) {
  for (std::int32_t group = 0; group < coordinator_.num_groups(); ++group) {
    const std::span<const std::int32_t> ids = tables_.block_ids(request, group);
    if (ids.empty()) continue;
    for (const std::int32_t block : ids)
      if (block != kNullBlock) free_block(request, group, block, trace);
    record(trace.cache_events,
           {.kind = CacheEventKind::table_dropped, .group = group, .request = request, .block = 0});
  }
}

// Fills leaving_ and entering_ with the columns whose block changes, except for speculative blocks
// that the request moves to another column. A moved block carries no hash; a block with a hash was
// freed and allocated again.
void ForeignBlockTables::collect_changes(RequestId request, std::int32_t group,
                                         std::span<const std::int32_t> now) {
  leaving_.clear();
  entering_.clear();
  const std::span<const std::int32_t> before = tables_.block_ids(request, group);
  const std::size_t columns = std::max(before.size(), now.size());
  for (std::size_t c = 0; c < columns; ++c) {
    const std::int32_t was = c < before.size() ? before[c] : kNullBlock;
    const std::int32_t is = c < now.size() ? now[c] : kNullBlock;
    if (was == is) continue;
    if (was != kNullBlock) leaving_.push_back({static_cast<std::int32_t>(c), was});
    if (is != kNullBlock) entering_.push_back({static_cast<std::int32_t>(c), is});
  }
  std::erase_if(leaving_, [this](const Change& left) {
    if (labelled_[static_cast<std::size_t>(left.block)] != 0) return false;
    const auto moved = std::ranges::find(entering_, left.block, &Change::block);
    if (moved == entering_.end()) return false;
    entering_.erase(moved);
    return true;
  });
}

void ForeignBlockTables::take_left_blocks(const ForeignStep& step, StepTrace& trace) {
  for (const ForeignBlockIds& traced : step.scheduler_block_ids)
    for (std::int32_t group = 0; group < coordinator_.num_groups(); ++group) {
      collect_changes(traced.request, group,
                      step.list(traced.block_ids, static_cast<std::size_t>(group)));
      // From the last column to the first, as the reference frees.
      for (auto left = leaving_.rbegin(); left != leaving_.rend(); ++left)
        free_block(traced.request, group, left->block, trace);
    }
}

void ForeignBlockTables::give_block(RequestId request, std::int32_t group, const Change& entering,
                                    std::int32_t num_hit_columns, StepTrace& trace) {
  const auto block = static_cast<std::size_t>(entering.block);
  CacheEvent event{.kind = CacheEventKind::touched,
                   .group = group,
                   .request = request,
                   .column = entering.column,
                   .block = entering.block,
                   .ref_cnt = ref_cnt_[block] + 1};
  if (entering.column >= num_hit_columns) {
    if (labelled_[block] != 0)
      record(trace.cache_events, {.kind = CacheEventKind::evicted,
                                  .group = group,
                                  .request = request,
                                  .block = entering.block});
    event.kind = CacheEventKind::allocated;
    event.ref_cnt = 1;
  } else if (tells_hashes_ && labelled_[block] == 0) {
    hit_without_hash_ = entering.block;
  }
  record(trace.cache_events, event);
}

bool ForeignBlockTables::keys_unknown(std::int32_t group) const {
  return counts_columns_ && (retention_unknown_ || config_.prefix_cache_retention_interval) &&
         config_.kv_cache_config.groups[static_cast<std::size_t>(group)].is_mamba();
}

// A hit shows that the block has a hash.
void ForeignBlockTables::note_hit_key(RequestId request, std::int32_t group, const Change& hit,
                                      const ForeignRequest& known, StepTrace& trace) {
  if (labelled_[static_cast<std::size_t>(hit.block)] != 0) return;
  const KVCacheGroup& spec = config_.kv_cache_config.groups[static_cast<std::size_t>(group)];
  register_block({.kind = CacheEventKind::registered,
                  .group = group,
                  .request = request,
                  .column = hit.column,
                  .block = hit.block,
                  .num_tokens = (hit.column + 1) * spec.block_size()},
                 known, {trace.cache_events, trace.label_history});
}

void ForeignBlockTables::take_new_lists(const ForeignStep& step, ForeignRequests& requests,
                                        StepTrace& trace) {
  for (const ForeignBlockIds& traced : step.scheduler_block_ids) {
    const std::int32_t scheduled = requests[traced.request].scheduled;
    const std::int32_t hit =
        scheduled < 0 ? 0 : trace.scheduled[static_cast<std::size_t>(scheduled)].num_hit_tokens;
    for (std::int32_t group = 0; group < coordinator_.num_groups(); ++group) {
      const auto g = static_cast<std::size_t>(group);
      const std::span<const std::int32_t> now = step.list(traced.block_ids, g);
      collect_changes(traced.request, group, now);
      const std::int32_t num_hit_columns = hit / config_.kv_cache_config.groups[g].block_size();
      for (const Change& entering : entering_)
        give_block(traced.request, group, entering, num_hit_columns, trace);
      // Events only add columns to a table, so a table that lost columns is written anew.
      if (now.size() < tables_.block_ids(traced.request, group).size())
        record(trace.cache_events, {.kind = CacheEventKind::table_dropped,
                                    .group = group,
                                    .request = traced.request,
                                    .block = 0});
      for (std::size_t c = 0; c < now.size(); ++c) {
        const auto before = tables_.block_ids(traced.request, group);
        if (c < before.size() && before[c] == now[c]) continue;
        record(trace.cache_events, {.kind = CacheEventKind::column_set,
                                    .group = group,
                                    .request = traced.request,
                                    .column = static_cast<std::int32_t>(c),
                                    .block = now[c]});
      }
      if (!keys_unknown(group)) continue;
      for (const Change& entering : entering_)
        if (entering.column < num_hit_columns)
          note_hit_key(traced.request, group, entering, requests[traced.request], trace);
    }
  }
}

void ForeignBlockTables::register_blocks(const ForeignStep& step, ForeignRequests& requests,
                                         StepTrace& trace) {
  if (step.block_hashes) return take_hashes(step, requests, trace);
  if (coordinator_.kind() == CoordinatorKind::no_prefix_cache) return;
  for (const ScheduledTrace& scheduled : trace.scheduled) {
    ForeignRequest& known = requests[scheduled.request];
    std::vector<std::int32_t>& num_cached = num_cached_block(known);
    const std::int32_t num_tokens =
        std::min({scheduled.num_computed_tokens + scheduled.num_scheduled_tokens,
                  known.num_known_tokens, config_.max_model_len});
    const auto traced =
        std::ranges::find(step.num_cached_block, scheduled.request, &ForeignBlockIds::request);
    for (std::int32_t group = 0; group < coordinator_.num_groups(); ++group) {
      const auto g = static_cast<std::size_t>(group);
      const std::int32_t block_size = config_.kv_cache_config.groups[g].block_size();
      if (scheduled.admission != Admission::running)
        num_cached[g] = scheduled.num_hit_tokens / block_size;
      std::int32_t end = coordinator_.num_tokens_to_cache(group, num_tokens) / block_size;
      if (traced != step.num_cached_block.end())
        end = std::min(step.list(traced->block_ids, g)[0], known.num_known_tokens / block_size);
      register_columns(scheduled.request, group, end, known,
                       {trace.cache_events, trace.label_history});
    }
  }
}

void ForeignBlockTables::register_computed_blocks(RequestId request, std::int32_t num_tokens,
                                                  ForeignRequests& requests, StepTrace& trace) {
  if (coordinator_.kind() == CoordinatorKind::no_prefix_cache) return;
  ForeignRequest& known = requests[request];
  num_cached_block(known);
  const std::int32_t computed = std::clamp(num_tokens, 0, known.num_known_tokens);
  for (std::int32_t group = 0; group < coordinator_.num_groups(); ++group) {
    const KVCacheGroup& spec = config_.kv_cache_config.groups[static_cast<std::size_t>(group)];
    register_columns(request, group,
                     coordinator_.num_tokens_to_cache(group, computed) / spec.block_size(), known,
                     {trace.commit_events, trace.commit_label_history});
  }
}

std::vector<std::int32_t>& ForeignBlockTables::num_cached_block(ForeignRequest& known) const {
  known.num_cached_block.resize(static_cast<std::size_t>(coordinator_.num_groups()), 0);
  return known.num_cached_block;
}

void ForeignBlockTables::register_columns(RequestId request, std::int32_t group, std::int32_t end,
                                          ForeignRequest& known,
                                          const Registrations& registrations) {
  const KVCacheGroup& spec = config_.kv_cache_config.groups[static_cast<std::size_t>(group)];
  std::int32_t& num_cached = known.num_cached_block[static_cast<std::size_t>(group)];
  for (std::int32_t column = num_cached; column < end; ++column) {
    const std::int32_t block = tables_.block_at(request, group, column);
    if (block == kNullBlock || keys_unknown(group)) continue;
    register_block({.kind = CacheEventKind::registered,
                    .group = group,
                    .request = request,
                    .column = column,
                    .block = block,
                    .num_tokens = (column + 1) * spec.block_size()},
                   known, registrations);
  }
  num_cached = std::max(num_cached, end);
}

// Completes the event with the fingerprints that the tokens have.
void ForeignBlockTables::register_block(CacheEvent event, const ForeignRequest& known,
                                        const Registrations& registrations) {
  event.block_hash = known.prefix(event.num_tokens);
  record(registrations.events, event);
  if (!config_.kv_cache_config.groups[static_cast<std::size_t>(event.group)].is_mamba()) return;
  for (std::int32_t back = config_.conv_kernel - 2; back >= 0; --back) {
    const std::int32_t position = event.num_tokens - back;
    registrations.label_history.push_back(position > 0 ? known.prefix(position) : 0);
  }
}

ForeignRequest::ForeignRequest(std::uint64_t cache_salt)
    : prefixes_{seed_fingerprint(cache_salt)} {}

void ForeignRequest::append(std::span<const std::int32_t> token_ids) {
  for (const std::int32_t id : token_ids) {
    tokens_.push_back(foreign_token(id));
    prefixes_.push_back(extend_fingerprint(prefixes_.back(), tokens_.back()));
  }
}

void ForeignRequest::confirm(std::int32_t num_sampled_tokens) {
  num_known_tokens = std::min(num_known_tokens + num_sampled_tokens, num_tokens());
}

void ForeignRequest::forget_frames_in_flight() {
  const auto known = static_cast<std::size_t>(num_known_tokens);
  tokens_.resize(known);
  prefixes_.resize(known + 1);
  num_output_placeholders = 0;
  first_valid_run = run + 1;
}

void ForeignRequest::leave_run() {
  ++run;
  runs = false;
  num_computed_tokens = 0;
  exact_computed_tokens = -1;
}

Fingerprint ForeignRequest::prefix(std::int32_t position) const {
  if (position < 0) return 0;
  if (position <= num_tokens()) return prefixes_[static_cast<std::size_t>(position)];
  return mix(mix(prefixes_.back(), ~std::uint64_t{0}), static_cast<std::uint64_t>(position));
}

ForeignRequest& ForeignRequests::add(RequestId id, std::uint64_t cache_salt) {
  HS_EXPECT(id.value >= 0 && !holds(id));
  const auto index = static_cast<std::size_t>(id.value);
  if (index >= requests_.size()) requests_.resize(index + 1);
  requests_[index] = std::make_unique<ForeignRequest>(cache_salt);
  ++num_live_;
  return *requests_[index];
}

void ForeignRequests::release(RequestId id) {
  if (!holds(id)) return;
  requests_[static_cast<std::size_t>(id.value)].reset();
  --num_live_;
}

}  // namespace hybridscope
