#include "sessions/cache_report/cache_report.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "core/base/math.h"

namespace hybridscope {
namespace {

std::int64_t& at(LostTokens& lost, MissReason reason) {
  return lost[static_cast<std::size_t>(reason)];
}

// The event after an eviction says why the block lost its hash (BlockPool::get_new_block,
// cache_full_block, move_keys). Else a checkpoint was not kept, if the block is one of a request,
// or everything was reset.
Eviction eviction_of(std::span<const CacheEvent> events, std::size_t index, std::int64_t step,
                     bool is_checkpoint) {
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
  return because(is_checkpoint ? EvictionCause::not_kept : EvictionCause::reset);
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
    case CacheEventKind::column_set:
      return event.request == request;
    default:
      return false;
  }
}

}  // namespace

// Prefixes are hashed only when the cache has to be searched, and only as far as needed.
struct CacheReport::Admitting {
  std::int64_t step = 0;
  const AdmissionLookup& lookup;
  TokenSequence tokens;
  PrefixFingerprints prefix;
  std::int32_t hash_block_size = 1;
  std::int32_t hash_lookahead = 0;

  // The key of a prefix of `num_tokens` tokens in a group.
  BlockKey key(std::int32_t num_tokens, std::int32_t group) {
    prefix.extend_to(tokens, num_tokens + hash_lookahead);
    const auto index = static_cast<std::size_t>(num_tokens / hash_block_size - 1);
    return {.block_hash = prefix.cache_keys()[index], .group = group};
  }
};

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
  checkpoints_.clear();
  for (const ScheduledTrace& scheduled : trace.scheduled)
    if (scheduled.checkpoint_position > 0) checkpoints_.push_back(scheduled.request);
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
    history_.registered(event, step);
    if (!mamba_groups_.empty() && event.group == mamba_groups_.front().group)
      states_[static_cast<std::size_t>(event.request.value)].push_back(event.num_tokens);
  } else if (event.kind == CacheEventKind::withdrawn) {
    history_.withdrawn(event, step);
  } else if (event.kind == CacheEventKind::evicted) {
    history_.evicted(event, eviction_of(events, index, step, !checkpoints_.empty()));
  }
}

void CacheReport::take_lookup(const StepTrace& trace, const AdmissionLookup& lookup) {
  const AddRequest& request = request_of_(lookup.request);
  const auto scheduled =
      std::find_if(trace.scheduled.begin(), trace.scheduled.end(),
                   [&](const ScheduledTrace& entry) { return entry.request == lookup.request; });
  HS_EXPECT(scheduled != trace.scheduled.end());
  std::vector<PromptSegment> sequence = request.prompt;
  sequence.push_back({.source = PromptSegment::Source::output,
                      .content = request.key,
                      .first = scheduled->num_prompt_tokens,
                      .length = request.max_tokens});
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
  Admitting admitting{
      .step = trace.step,
      .lookup = lookup,
      .tokens = TokenSequence(request.prompt, seed_, request.key),
      .prefix = PrefixFingerprints(request.cache_salt, hash_block_size_, 0, rules_.hash_lookahead),
      .hash_block_size = hash_block_size_,
      .hash_lookahead = rules_.hash_lookahead};
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

// What limited the hit: tokens that no request had computed, then a state that was not kept, then
// evictions.
void CacheReport::look_into_cache(Admitting& admitting, LookupReport& report) const {
  const std::int32_t hit = report.num_hit_tokens;
  const std::int32_t possible = report.num_possible_tokens;
  std::int32_t computed = possible;
  if (!attention_groups_.empty()) {
    const std::int32_t extent =
        attention_extent(admitting, std::min(possible + rules_.eagle_block, report.num_tokens - 1));
    computed = round_down(std::max(extent - rules_.eagle_block, 0), rules_.grid);
  } else {
    // Another request with the same prefix may have gone further; then a state did exist.
    const auto other = static_cast<std::size_t>(report.common.request.value);
    const std::int32_t by_other = round_down(num_computed_[other], rules_.grid);
    while (computed > by_other && !had_state(admitting, computed)) computed -= rules_.grid;
  }
  computed = std::clamp(computed, hit, possible);
  const bool inside = ends_inside_block_of_other(report, computed);
  std::int32_t with_state = computed;
  if (!mamba_groups_.empty())
    while (with_state > hit && !had_state(admitting, with_state)) with_state -= rules_.grid;
  report.num_computed_tokens = computed;
  report.last_state = rules_.has_states ? with_state : 0;
  at(report.lost, inside ? MissReason::block_granularity : MissReason::not_computed) +=
      possible - computed;
  at(report.lost, MissReason::state_missing) = computed - with_state;
  at(report.lost, MissReason::evicted) = with_state - hit;
  if (computed > with_state) {
    report.unkept_state = stored_.last_unkept(report.common.request, with_state, computed);
    for (const std::int32_t state : states_[static_cast<std::size_t>(report.common.request.value)])
      if (state > computed && (report.next_state < 0 || state < report.next_state))
        report.next_state = state;
  }
  if (with_state > hit) find_evictions(admitting, report);
}

// Did the other request compute the common prefix further than `num_tokens`, into a block that can
// be hit as a whole only? Its keys inside blocks are at the end of its prompt alone.
bool CacheReport::ends_inside_block_of_other(const LookupReport& report,
                                             std::int32_t num_tokens) const {
  const std::int32_t possible = report.num_possible_tokens;
  const auto other = static_cast<std::size_t>(report.common.request.value);
  return rules_.grid < rules_.block_size && report.lost_to(MissReason::eagle_drop) == 0 &&
         num_tokens < possible && num_computed_[other] >= possible &&
         possible < round_down(num_tokens, rules_.block_size) + rules_.block_size;
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
                                      report.num_tokens - 1);
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
  }
}

}  // namespace hybridscope
