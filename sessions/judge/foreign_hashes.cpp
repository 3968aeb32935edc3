// The part of ForeignBlockTables that follows what a trace says beyond block tables: copies of
// whole blocks, and which hashes blocks got and lost.
#include <fmt/core.h>

#include <algorithm>
#include <vector>

#include "core/base/math.h"
#include "sessions/judge/foreign_block_tables.h"

namespace hybridscope {
namespace {

// Did the request lose its blocks in this step, and was it not admitted again?
bool is_preempted(const ForeignStep& step, const ForeignHash& hash, ForeignRequests& requests) {
  return std::ranges::find(step.preempted_req_ids, hash.request) != step.preempted_req_ids.end() &&
         requests.holds(hash.request) && requests[hash.request].scheduled < 0;
}

// Where a copy belongs: the request that it is made for, the group of the block, and the column in
// which the request holds the destination or, if only the prefix cache holds that, the source.
struct CopyPlace {
  RequestId request{};
  std::int32_t group = -1;
  std::int32_t column = -1;
};

bool may_be(const ForeignBlockCopy& copy, RequestId request, std::int32_t group) {
  return (copy.request == RequestId{} || copy.request == request) &&
         (copy.group < 0 || copy.group == group);
}

CopyPlace place_of_block(const ForeignBlockCopy& copy, std::int32_t block, const StepTrace& trace,
                         const BlockTableMirror& tables) {
  for (const ScheduledTrace& scheduled : trace.scheduled)
    for (const GroupTrace& group : trace.groups) {
      if (!may_be(copy, scheduled.request, group.group)) continue;
      const auto ids = tables.block_ids(scheduled.request, group.group);
      const auto found = std::ranges::find(ids, block);
      if (found != ids.end())
        return {scheduled.request, group.group, static_cast<std::int32_t>(found - ids.begin())};
    }
  return {};
}

// The scheduled request and group whose list holds the destination, else the source; else what the
// copy names itself, and no group if it does not.
CopyPlace place_of(const ForeignBlockCopy& copy, const StepTrace& trace,
                   const BlockTableMirror& tables) {
  for (const std::int32_t block : {copy.dst_block_id, copy.src_block_id})
    if (const CopyPlace place = place_of_block(copy, block, trace, tables); place.group >= 0)
      return place;
  return copy.request == RequestId{} ? CopyPlace{} : CopyPlace{copy.request, copy.group, -1};
}

Status check_depth(const ForeignBlockCopy& copy, std::size_t index, const CopyPlace& place,
                   std::int32_t block_size) {
  const std::int32_t first = place.column * block_size;
  if (copy.num_tokens < 0 || place.column < 0 ||
      (copy.num_tokens > first && copy.num_tokens <= first + block_size))
    return Ok{};
  return invalid_input(fmt::format(
      "/scheduler_output/kv_cache_block_copies/{}/num_tokens: {} for a block in column {} of group "
      "{}, expected {} to {}",
      index, copy.num_tokens, place.column, place.group, first + 1, first + block_size));
}

}  // namespace

Status ForeignBlockTables::take_block_copies(const ForeignStep& step, StepTrace& trace) {
  std::vector<BlockCopy> copies;
  for (std::size_t i = 0; i < step.kv_cache_block_copies.size(); ++i) {
    const ForeignBlockCopy& copy = step.kv_cache_block_copies[i];
    const CopyPlace place = place_of(copy, trace, tables_);
    if (place.group < 0)
      return invalid_input(
          fmt::format("/scheduler_output/kv_cache_block_copies/{}: no scheduled request holds "
                      "block {} or block {}, expected req_id and group",
                      i, copy.src_block_id, copy.dst_block_id));
    const KVCacheGroup& group =
        config_.kv_cache_config.groups[static_cast<std::size_t>(place.group)];
    if (Status checked = check_depth(copy, i, place, group.block_size()); !checked) return checked;
    copies.push_back({.request = place.request,
                      .group = place.group,
                      .source_block = copy.src_block_id,
                      .block = copy.dst_block_id});
  }
  copy_blocks(copies, trace);
  return Ok{};
}

// A destination that no list holds is given out for the copy and afterwards held by the prefix
// cache alone.
void ForeignBlockTables::copy_blocks(std::span<const BlockCopy> copies, StepTrace& trace) {
  const auto is_unheld = [this](const BlockCopy& copy) { return tables_.holders(copy.block) == 0; };
  for (const BlockCopy& copy : copies)
    if (is_unheld(copy))
      give_block(copy.request, copy.group, {.column = 0, .block = copy.block}, 0, trace);
  for (const BlockCopy& copy : copies) {
    CacheEvent event{.kind = CacheEventKind::copied_from,
                     .group = copy.group,
                     .request = copy.request,
                     .block = copy.source_block};
    record(trace.cache_events, event);
    event.kind = CacheEventKind::copied_to;
    event.block = copy.block;
    record(trace.cache_events, event);
  }
  for (const BlockCopy& copy : copies)
    if (is_unheld(copy)) free_block(copy.request, copy.group, copy.block, trace);
}

// A block without a hash has none to lose: what implies the loss may be in the trace as well.
void ForeignBlockTables::lose_hashes(std::span<const ForeignLostHash> lost,
                                     std::vector<CacheEvent>& events) {
  for (const ForeignLostHash& hash : lost)
    if (labelled_[static_cast<std::size_t>(hash.block_id)] != 0)
      record(events,
             {.kind = hash.num_tokens > 0 ? CacheEventKind::withdrawn : CacheEventKind::evicted,
              .request = {},
              .block = hash.block_id,
              .num_tokens = hash.num_tokens});
}

// A block that the request's list holds has a column also where the trace gives none: older
// recorders looked for the block of a state inside a prefill in the column of its last token.
void ForeignBlockTables::register_traced(const ForeignHash& hash, ForeignRequests& requests,
                                         const Registrations& registrations) {
  const std::int32_t column =
      hash.column >= 0 ? hash.column
                       : column_of(tables_.block_ids(hash.request, hash.group), hash.block_id);
  register_block({.kind = CacheEventKind::registered,
                  .group = hash.group,
                  .request = hash.request,
                  .column = column,
                  .block = hash.block_id,
                  .num_tokens = hash.num_tokens},
                 requests[hash.request], registrations);
}

void ForeignBlockTables::take_hashes(const ForeignStep& step, ForeignRequests& requests,
                                     StepTrace& trace) {
  for (const ForeignHash& hash : step.block_hashes->registered)
    if (!is_preempted(step, hash, requests))
      register_traced(hash, requests, {trace.cache_events, trace.label_history});
}

// The request's lists lose the block, which it gets anew.
void ForeignBlockTables::release(RequestId request, std::int32_t block, StepTrace& trace) {
  for (std::int32_t group = 0; group < coordinator_.num_groups(); ++group) {
    const std::span<const std::int32_t> ids = tables_.block_ids(request, group);
    const auto held = std::ranges::find(ids, block);
    if (held == ids.end()) continue;
    const auto column = static_cast<std::int32_t>(held - ids.begin());
    free_block(request, group, block, trace);
    record(trace.cache_events, {.kind = CacheEventKind::column_set,
                                .group = group,
                                .request = request,
                                .column = column,
                                .block = kNullBlock});
  }
}

// A request that got blocks in this step and was then preempted for another one: its blocks keep
// the hashes that they got (known bug 49), but no list of the line has them.
void ForeignBlockTables::take_hashes_of_preempted(const ForeignStep& step,
                                                  ForeignRequests& requests, StepTrace& trace) {
  for (const ForeignHash& hash : step.block_hashes->registered) {
    if (!is_preempted(step, hash, requests)) continue;
    if (hash.column >= 0 &&
        tables_.block_at(hash.request, hash.group, hash.column) != hash.block_id) {
      release(hash.request, hash.block_id, trace);
      give_block(hash.request, hash.group, {.column = hash.column, .block = hash.block_id}, 0,
                 trace);
      record(trace.cache_events, {.kind = CacheEventKind::column_set,
                                  .group = hash.group,
                                  .request = hash.request,
                                  .column = hash.column,
                                  .block = hash.block_id});
    }
    register_traced(hash, requests, {trace.cache_events, trace.label_history});
  }
}

void ForeignBlockTables::take_hashes_after_output(const ForeignStep& step,
                                                  ForeignRequests& requests, StepTrace& trace) {
  lose_hashes(step.block_hashes_after_output.lost, trace.commit_events);
  for (const ForeignHash& hash : step.block_hashes_after_output.registered)
    register_traced(hash, requests, {trace.commit_events, trace.commit_label_history});
}

}  // namespace hybridscope
