#include "sessions/judge/trace_writer.h"

#include <algorithm>
#include <vector>

#include "core/base/math.h"
#include "core/trace/step_trace.h"

namespace hybridscope {

void HashChanges::apply(std::span<const CacheEvent> events) {
  for (const CacheEvent& event : events) {
    const bool lost =
        event.kind == CacheEventKind::evicted || event.kind == CacheEventKind::withdrawn;
    if (!lost && event.kind != CacheEventKind::registered) continue;
    Hashes& hashes = hashes_[event.block];
    before_.try_emplace(event.block, hashes);
    if (!lost)
      hashes.push_back({event, num_registered_++});
    else if (event.kind == CacheEventKind::withdrawn && event.num_tokens > 0)
      std::erase_if(hashes,
                    [&](const Hash& hash) { return hash.event.num_tokens == event.num_tokens; });
    else
      hashes.clear();
  }
}

HashDifference HashChanges::take(bool all_lost) {
  HashDifference difference;
  Hashes registered;
  for (const auto& [block, before] : before_)
    add_lost(block, all_lost ? Hashes{} : before, hashes_[block], registered, difference.lost);
  std::ranges::sort(registered, {}, &Hash::number);
  for (const Hash& hash : registered) difference.registered.push_back(hash.event);
  before_.clear();
  return difference;
}

// Each registration has its own number, so a hash that was lost and registered again is a new one.
void HashChanges::add_lost(std::int32_t block, const Hashes& before, const Hashes& now,
                           Hashes& registered, std::vector<CacheEvent>& lost) const {
  const auto has = [](const Hashes& hashes, const Hash& hash) {
    return std::ranges::find(hashes, hash.number, &Hash::number) != hashes.end();
  };
  const bool kept_any =
      std::ranges::any_of(before, [&](const Hash& hash) { return has(now, hash); });
  if (!before.empty() && !kept_any)
    lost.push_back({.kind = CacheEventKind::evicted, .request = {}, .block = block});
  for (const Hash& hash : before)
    if (kept_any && !has(now, hash))
      lost.push_back({.kind = CacheEventKind::withdrawn,
                      .request = {},
                      .block = block,
                      .num_tokens = hash.event.num_tokens});
  for (const Hash& hash : now)
    if (!has(before, hash)) registered.push_back(hash);
}

namespace {

using Json = nlohmann::ordered_json;

struct Checkpoint {
  RequestId request{};
  std::int32_t group = -1;
  std::int32_t column = -1;
  std::int32_t block = 0;
  std::int32_t num_tokens = 0;
  bool reserved = false;
  bool written = false;
};

// Adds the states that the scheduler has reserved, in every recurrent group (semantics:
// prefill-checkpoint).
void add_reserved(const StepTrace& trace, const BlockTableMirror& tables,
                  std::vector<Checkpoint>& out) {
  for (const ScheduledTrace& scheduled : trace.scheduled) {
    if (scheduled.checkpoint_position <= 0) continue;
    for (const GroupTrace& group : trace.groups)
      if (group.is_mamba)
        out.push_back(
            {.request = scheduled.request,
             .group = group.group,
             .column = scheduled.checkpoint_column,
             .block = tables.block_at(scheduled.request, group.group, scheduled.checkpoint_column),
             .num_tokens = scheduled.checkpoint_position,
             .reserved = true});
  }
}

// A layer stores the state in the column before the chunk's last one (semantics:
// checkpoint-metadata).
void add_written(const StepTrace& trace, const GroupTrace& group, const StateAccess& access,
                 std::vector<Checkpoint>& out) {
  const RowTrace& row = trace.rows[static_cast<std::size_t>(access.row)];
  const std::int32_t end = row.num_computed_tokens + trace.scheduled_of(row).num_scheduled_tokens;
  const Checkpoint written{.request = row.request,
                           .group = group.group,
                           .column = cdiv(end, group.block_size) - 2,
                           .block = access.checkpoint_block,
                           .num_tokens = row.num_computed_tokens + access.checkpoint_tokens,
                           .written = true};
  const auto reserved = std::ranges::find_if(out, [&](const Checkpoint& other) {
    return other.request == written.request && other.group == written.group &&
           other.column == written.column && other.block == written.block &&
           other.num_tokens == written.num_tokens;
  });
  if (reserved == out.end())
    out.push_back(written);
  else
    reserved->written = true;
}

std::vector<Checkpoint> checkpoints_of(const StepTrace& trace, MambaCacheMode mamba_cache_mode,
                                       const BlockTableMirror& tables) {
  std::vector<Checkpoint> checkpoints;
  add_reserved(trace, tables, checkpoints);
  std::vector<StateAccess> accesses;
  for (const GroupTrace& group : trace.groups) {
    if (!group.metadata) continue;
    accesses.clear();
    append_state_accesses(*group.metadata, forward_context(trace, group, mamba_cache_mode),
                          accesses);
    for (const StateAccess& access : accesses)
      if (access.checkpoint_tokens > 0 && access.row >= 0 &&
          static_cast<std::size_t>(access.row) < trace.rows.size())
        add_written(trace, group, access, checkpoints);
  }
  return checkpoints;
}

}  // namespace

Json block_copies_json(const StepTrace& trace, const NameOfRequest& name_of) {
  Json list = Json::array();
  for (const BlockCopy& copy : block_copies_of(trace.cache_events)) {
    Json& entry = list.emplace_back(Json{{"src_block_id", copy.source_block},
                                         {"dst_block_id", copy.block},
                                         {"req_id", name_of(copy.request)},
                                         {"group", copy.group}});
    if (const std::int32_t tokens = copied_tokens(trace, copy); tokens > 0)
      entry["num_tokens"] = tokens;
  }
  return list;
}

Json prefill_checkpoints_json(const StepTrace& trace, MambaCacheMode mamba_cache_mode,
                              const BlockTableMirror& tables, const NameOfRequest& name_of) {
  Json list = Json::array();
  for (const Checkpoint& checkpoint : checkpoints_of(trace, mamba_cache_mode, tables)) {
    Json& entry = list.emplace_back(Json{{"req_id", name_of(checkpoint.request)},
                                         {"group", checkpoint.group},
                                         {"column", checkpoint.column},
                                         {"block_id", checkpoint.block},
                                         {"num_tokens", checkpoint.num_tokens}});
    if (!checkpoint.reserved) entry["reserved"] = false;
    if (!checkpoint.written) entry["written"] = false;
  }
  return list;
}

Json block_hashes_json(const HashDifference& difference, const NameOfRequest& name_of) {
  Json json = Json::object();
  for (const CacheEvent& event : difference.lost) {
    Json& entry = json["lost"].emplace_back(Json{{"block_id", event.block}});
    if (event.num_tokens > 0) entry["num_tokens"] = event.num_tokens;
  }
  for (const CacheEvent& event : difference.registered) {
    Json& entry = json["registered"].emplace_back(
        Json{{"req_id", name_of(event.request)}, {"group", event.group}});
    if (event.column >= 0) entry["column"] = event.column;
    entry["block_id"] = event.block;
    entry["num_tokens"] = event.num_tokens;
  }
  return json;
}

}  // namespace hybridscope
