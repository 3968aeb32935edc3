#include "sessions/cache_report/cache_report.h"

#include <algorithm>
#include <utility>

#include "core/base/math.h"
#include "core/base/result.h"
#include "sessions/scenario/scenario_requests.h"

namespace hybridscope {
namespace {

std::int64_t& at(LostTokens& lost, MissReason reason) {
  return lost[static_cast<std::size_t>(reason)];
}

// Does the event come of scheduling, and not of a command before it?
bool is_of_schedule(const CacheEvent& event) {
  return event.kind == CacheEventKind::allocated || event.kind == CacheEventKind::touched ||
         event.kind == CacheEventKind::registered;
}

// The event after an eviction says why the block lost its hash (BlockPool::get_new_block,
// cache_full_block, move_keys). Else everything was reset, before anything was scheduled, or the
// block became that of a checkpoint that is not kept.
Eviction eviction_of(std::span<const CacheEvent> events, std::size_t index, std::int64_t step,
                     bool resets) {
  const auto because = [step](EvictionCause cause, RequestId by = {}) {
    return Eviction{.step = step, .by = by, .cause = cause};
  };
  if (index + 1 < events.size()) {
    const CacheEvent& next = events[index + 1];
    const bool same = next.block == events[index].block;
    if (same && next.kind == CacheEventKind::allocated)
      return because(EvictionCause::allocation, next.request);
    if (same && next.kind == CacheEventKind::registered)
      return because(EvictionCause::overwritten, next.request);
    if (!same && next.kind == CacheEventKind::registered && next.column < 0)
      return because(EvictionCause::moved, next.request);
  }
  const auto before = events.first(index);
  const bool is_reset = resets && std::none_of(before.begin(), before.end(), is_of_schedule);
  return because(is_reset ? EvictionCause::reset : EvictionCause::not_kept);
}

// Does the event give a block to the request? The first such event of an admission comes after its
// lookup.
bool gives_blocks_to(std::span<const CacheEvent> events, std::size_t index, RequestId request) {
  const CacheEvent& event = events[index];
  switch (event.kind) {
    case CacheEventKind::evicted:
      return index + 1 < events.size() && events[index + 1].kind == CacheEventKind::allocated &&
             events[index + 1].block == event.block && events[index + 1].request == request;
    case CacheEventKind::allocated:
    case CacheEventKind::touched:
    case CacheEventKind::column_set: return event.request == request;
    default: return false;
  }
}

}  // namespace

struct CacheReport::Admitting {
  std::int64_t step = 0;
  const AdmissionLookup& lookup;
  RequestKeys keys;
  std::int32_t most_computed = 0;  // of its tokens, by any request before it

  BlockKey key(std::int32_t num_tokens, std::int32_t group) { return keys.key(num_tokens, group); }
};

BlockKey CacheReport::RequestKeys::key(std::int32_t num_tokens, std::int32_t group) {
  prefix.extend_to(tokens, num_tokens + hash_lookahead);
  const auto index = static_cast<std::size_t>(num_tokens / hash_block_size - 1);
  return {.block_hash = prefix.cache_keys()[index], .group = group};
}

CacheReport::RequestKeys CacheReport::keys_of(const AddRequest& request) const {
  return {
      .tokens = TokenSequence(request.prompt, seed_, request.key),
      .prefix = PrefixFingerprints(request.cache_salt, hash_block_size_, 0, rules_.hash_lookahead),
      .hash_block_size = hash_block_size_,
      .hash_lookahead = rules_.hash_lookahead};
}

// A registration with the key that the cache knows it by. Where keys look ahead, the trace has the
// fingerprint of the prefix alone.
CacheEvent CacheReport::with_its_key(CacheEvent event) {
  if (rules_.hash_lookahead == 0) return event;
  auto keys = keys_.find(event.request.value);
  if (keys == keys_.end())
    keys = keys_.emplace(event.request.value, keys_of(request_of_(event.request))).first;
  event.block_hash = keys->second.key(event.num_tokens, event.group).block_hash;
  return event;
}

CacheReport::CacheReport(const EngineConfig& config, RequestOf request_of)
    : request_of_(std::move(request_of)),
      rules_(cache_rules(config)),
      seed_(config.seed),
      hash_block_size_(config.hash_block_size),
      history_(config.kv_cache_config.num_blocks),
      stored_(config) {
  const auto& groups = config.kv_cache_config.groups;
  for (std::size_t g = 0; g < groups.size(); ++g)
    (groups[g].is_mamba() ? mamba_groups_ : attention_groups_)
        .push_back({static_cast<std::int32_t>(g), groups[g].block_size()});
}

void CacheReport::make_room_for(RequestId request) {
  const auto size = static_cast<std::size_t>(request.value) + 1;
  if (num_computed_.size() >= size) return;
  num_computed_.resize(size);
  states_.resize(size);
}

void CacheReport::add(const StepTrace& trace) {
  for (const ScheduledTrace& scheduled : trace.scheduled) make_room_for(scheduled.request);
  stored_.step_begins(trace);
  resets_ = std::any_of(trace.commands.begin(), trace.commands.end(), [](const CommandTrace& c) {
    return c.command == CommandKind::reset_prefix_cache && c.outcome == CommandOutcome::done;
  });
  take_cache_events(trace);
  for (std::size_t i = 0; i < trace.commit_events.size(); ++i)
    take_event(trace.commit_events, i, trace.step);
  note_progress(trace);
  stored_.step_ends(trace);
}

// A lookup saw what the events before its request's first block had left behind.
void CacheReport::take_cache_events(const StepTrace& trace) {
  auto lookup = trace.lookups.begin();
  const auto to_admitted = [&] {
    while (lookup != trace.lookups.end() && !lookup->admitted) ++lookup;
  };
  to_admitted();
  for (std::size_t i = 0; i < trace.cache_events.size(); ++i) {
    while (lookup != trace.lookups.end() &&
           gives_blocks_to(trace.cache_events, i, lookup->request)) {
      take_lookup(trace, *lookup++);
      to_admitted();
    }
    take_event(trace.cache_events, i, trace.step);
  }
  HS_EXPECT(lookup == trace.lookups.end());
}

void CacheReport::take_event(std::span<const CacheEvent> events, std::size_t index,
                             std::int64_t step) {
  const CacheEvent& event = events[index];
  stored_.take(event);
  if (event.kind == CacheEventKind::registered) {
    history_.registered(with_its_key(event), step);
    if (!mamba_groups_.empty() && event.group == mamba_groups_.front().group)
      states_[static_cast<std::size_t>(event.request.value)].push_back(
          {.num_tokens = event.num_tokens, .block = event.block, .step = step});
  } else if (event.kind == CacheEventKind::withdrawn) {
    history_.withdrawn(event, step);
    forget_states(event, step);
  } else if (event.kind == CacheEventKind::evicted) {
    history_.evicted(event, eviction_of(events, index, step, resets_));
    forget_states(event, step);
  }
}

// What the block lost of this very step was never cached.
void CacheReport::forget_states(const CacheEvent& event, std::int64_t step) {
  if (event.request.value < 0) return;
  std::erase_if(states_[static_cast<std::size_t>(event.request.value)], [&](const CachedState& s) {
    return s.block == event.block && s.step == step &&
           (event.num_tokens == 0 || s.num_tokens == event.num_tokens);
  });
}

void CacheReport::take_lookup(const StepTrace& trace, const AdmissionLookup& lookup) {
  const AddRequest& request = request_of_(lookup.request);
  const auto scheduled =
      std::find_if(trace.scheduled.begin(), trace.scheduled.end(),
                   [&](const ScheduledTrace& entry) { return entry.request == lookup.request; });
  HS_EXPECT(scheduled != trace.scheduled.end());
  const std::vector<PromptSegment> sequence = sequence_of(request);
  const Fingerprint root = seed_fingerprint(request.cache_salt);
  LookupReport report{.step = trace.step,
                      .request = lookup.request,
                      .admission = scheduled->admission,
                      .run = scheduled->run,
                      .num_prompt_tokens = scheduled->num_prompt_tokens,
                      .num_tokens = lookup.explanation.max_cache_hit_length + 1,
                      .num_hit_tokens = lookup.num_hit_tokens};
  report.common = sequences_.longest(root, sequence, report.num_tokens);
  HS_EXPECT(report.num_hit_tokens <= report.common.num_tokens);
  Admitting admitting{.step = trace.step,
                      .lookup = lookup,
                      .keys = keys_of(request),
                      .most_computed = sequences_.most_computed(root, sequence, report.num_tokens)};
  cut_down(admitting, report);
  if (report.admission == Admission::new_request) sequences_.insert(root, sequence, lookup.request);
  totals_.add(report);
  lookups_.push_back(report);
}

// Cuts the common prefix down to the hit, one reason after the other; the losses add up to the
// total.
void CacheReport::cut_down(Admitting& admitting, LookupReport& report) const {
  const std::int32_t common = report.common.num_tokens;
  const std::int32_t hit = report.num_hit_tokens;
  if (!rules_.caching) {
    at(report.lost, MissReason::caching_off) = common;
    return;
  }
  const std::int32_t servable = std::min(common, report.num_tokens - 1);
  const std::int32_t on_grid = std::max(round_down(servable, rules_.grid), hit);
  const std::int32_t possible =
      std::max(longest_possible_hit(rules_, common, report.num_tokens), hit);
  report.num_possible_tokens = possible;
  at(report.lost, MissReason::last_token) = common - servable;
  at(report.lost, MissReason::block_granularity) = servable - on_grid;
  at(report.lost, MissReason::eagle_drop) = on_grid - possible;
  report.num_computed_tokens = hit;
  report.last_state = rules_.has_states ? hit : 0;
  if (possible > hit) look_into_cache(admitting, report);
}

// What limited the hit: tokens that no request had computed, or that have no key inside a block,
// then a state that was not kept, then evictions.
void CacheReport::look_into_cache(Admitting& admitting, LookupReport& report) const {
  const std::int32_t hit = report.num_hit_tokens;
  const std::int32_t possible = report.num_possible_tokens;
  std::int32_t keyed = possible;
  if (!attention_groups_.empty()) {
    const std::int32_t extent = attention_extent(
        admitting, std::min(possible + rules_.eagle_block, longest_key(rules_, report.num_tokens)));
    keyed = round_down(std::max(extent - rules_.eagle_block, 0), rules_.grid);
  } else {
    // Where another request has gone further, a state did exist.
    const std::int32_t by_other = round_down(admitting.most_computed, rules_.grid);
    while (keyed > by_other && !had_state(admitting, keyed)) keyed -= rules_.grid;
  }
  keyed = std::clamp(keyed, hit, possible);
  report.num_computed_tokens = keyed;
  const std::int32_t computed = end_of_computed(admitting, report, keyed);
  if (computed > keyed && !has_unpublished_block(admitting, report)) {
    report.num_unkeyed_tokens = computed - keyed;
    report.next_key = next_key(admitting, report);
  }
  std::int32_t with_state = keyed;
  if (!mamba_groups_.empty())
    while (with_state > hit && !had_state(admitting, with_state)) with_state -= rules_.grid;
  report.last_state = rules_.has_states ? with_state : 0;
  at(report.lost, MissReason::block_granularity) += report.num_unkeyed_tokens;
  at(report.lost, MissReason::not_computed) = possible - keyed - report.num_unkeyed_tokens;
  at(report.lost, MissReason::state_missing) = keyed - with_state;
  at(report.lost, MissReason::evicted) = with_state - hit;
  if (keyed > with_state) {
    report.unkept_state = stored_.last_unkept(report.common.request, with_state, keyed);
    for (const CachedState& state : states_[static_cast<std::size_t>(report.common.request.value)])
      if (state.num_tokens > keyed &&
          (report.next_state < 0 || state.num_tokens < report.next_state))
        report.next_state = state.num_tokens;
  }
  if (with_state > hit) find_evictions(admitting, report);
}

// The longest hit, inside a block too, for which some request had computed all that a hit needs.
std::int32_t CacheReport::end_of_computed(const Admitting& admitting, const LookupReport& report,
                                          std::int32_t num_keyed) const {
  if (rules_.grid >= rules_.block_size || attention_groups_.empty()) return num_keyed;
  const std::int32_t computed =
      round_down(std::max(admitting.most_computed - rules_.eagle_block, 0), rules_.grid);
  return std::clamp(computed, num_keyed, report.num_possible_tokens);
}

// Had a request computed a whole block behind what has keys, without its key being there yet?
bool CacheReport::has_unpublished_block(Admitting& admitting, const LookupReport& report) const {
  const std::int32_t end =
      std::min(admitting.most_computed, report.num_possible_tokens + rules_.eagle_block);
  return std::any_of(attention_groups_.begin(), attention_groups_.end(), [&](const Group& group) {
    const std::int32_t whole =
        round_down(report.num_computed_tokens + rules_.eagle_block, group.block_size) +
        group.block_size;
    return whole <= end && !history_.was_there(admitting.key(whole, group.group), admitting.step);
  });
}

std::int32_t CacheReport::next_key(Admitting& admitting, const LookupReport& report) const {
  const Group& group = attention_groups_.front();
  const std::int32_t keyed = report.num_computed_tokens + rules_.eagle_block;
  const std::int32_t end = std::min(round_down(keyed, group.block_size) + group.block_size,
                                    report.common.num_tokens - rules_.hash_lookahead);
  for (std::int32_t n = keyed + rules_.grid; n <= end; n += rules_.grid)
    if (history_.was_there(admitting.key(n, group.group), admitting.step)) return n;
  return 0;
}

// Tokens that every attention group has or once had without a gap, at most `limit`. With hits
// inside blocks the last block may be there in part.
std::int32_t CacheReport::attention_extent(Admitting& admitting, std::int32_t limit) const {
  std::int32_t shortest = limit;
  const auto was_there = [&](std::int32_t num_tokens, const Group& group) {
    return num_tokens <= limit &&
           history_.was_there(admitting.key(num_tokens, group.group), admitting.step);
  };
  for (const Group& group : attention_groups_) {
    const auto& lookup = admitting.lookup.explanation.groups[static_cast<std::size_t>(group.group)];
    std::int32_t extent = lookup.present_length;
    std::int32_t whole = round_down(extent, group.block_size);
    while (was_there(whole + group.block_size, group)) whole += group.block_size;
    extent = std::max(extent, whole);
    for (std::int32_t part = whole + group.block_size - rules_.grid; part > extent;
         part -= rules_.grid)
      if (was_there(part, group)) extent = part;
    shortest = std::min(shortest, extent);
  }
  return shortest;
}

bool CacheReport::had_state(Admitting& admitting, std::int32_t num_tokens) const {
  return std::all_of(mamba_groups_.begin(), mamba_groups_.end(), [&](const Group& group) {
    return history_.was_there(admitting.key(num_tokens, group.group), admitting.step);
  });
}

void CacheReport::find_evictions(Admitting& admitting, LookupReport& report) const {
  const auto look = [&](std::int32_t num_tokens, const Group& group, Eviction& eviction) {
    const BlockKey key = admitting.key(num_tokens, group.group);
    if (eviction.step == 0 && !history_.is_there(key)) eviction = history_.last_eviction(key);
  };
  const auto lost_to_eviction = static_cast<std::int32_t>(report.lost_to(MissReason::evicted));
  for (const Group& group : mamba_groups_) look(report.last_state, group, report.evicted_state);
  for (const Group& group : attention_groups_) {
    const std::int32_t end = std::min(report.num_hit_tokens + lost_to_eviction + rules_.eagle_block,
                                      longest_key(rules_, report.num_tokens));
    for (std::int32_t n = group.block_size; n + rules_.hash_lookahead <= report.common.num_tokens &&
                                            n <= end && report.evicted_attention.step == 0;
         n += group.block_size)
      look(n, group, report.evicted_attention);
  }
}

// Drafts count as computed only when a later step confirms them.
void CacheReport::note_progress(const StepTrace& trace) {
  for (const ScheduledTrace& scheduled : trace.scheduled) {
    std::int32_t& computed = num_computed_[static_cast<std::size_t>(scheduled.request.value)];
    computed = std::max(computed, scheduled.num_computed_tokens + scheduled.num_scheduled_tokens -
                                      scheduled.num_draft_tokens);
    sequences_.note_computed(scheduled.request, computed);
  }
  for (const CommitTrace& commit : trace.committed)
    if (commit.finished) keys_.erase(commit.request.value);
}

}  // namespace hybridscope
