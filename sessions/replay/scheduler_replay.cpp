#include "sessions/replay/scheduler_replay.h"

#include <algorithm>
#include <utility>

#include "core/engine/scheduler_policies.h"
#include "core/engine/scheduler_setup.h"

namespace hybridscope {
namespace {

bool is_live(const Request& request) { return request.status != RequestStatus::finished; }

std::vector<TokenContent> contents(std::span<const std::int64_t> token_ids) {
  std::vector<TokenContent> tokens;
  for (const std::int64_t id : token_ids) tokens.push_back(static_cast<TokenContent>(id));
  return tokens;
}

SchedulerConfig counting_common_prefix(SchedulerConfig config) {
  config.counts_common_prefix = true;
  return config;
}

}  // namespace

GroupBlockIds ReplayedRequest::new_block_ids() const {
  GroupBlockIds result;
  for (std::size_t group = 0; group < block_ids.size(); ++group)
    result.emplace_back(block_ids[group].begin() + first_new_column[group], block_ids[group].end());
  return result;
}

Result<SchedulerReplay> SchedulerReplay::create(const EngineConfig& config) {
  if (config.max_num_seqs < 1 || config.block_size < 1)
    return invalid_input("max_num_seqs " + std::to_string(config.max_num_seqs) +
                         " and block_size " + std::to_string(config.block_size) +
                         " must be at least 1");
  Result<KVCacheManager> manager = KVCacheManager::create(kv_cache_manager_config(config), nullptr);
  if (!manager) return manager.error();
  return SchedulerReplay(config, std::move(manager).value());
}

SchedulerReplay::SchedulerReplay(const EngineConfig& config, KVCacheManager manager)
    : cache_(std::make_unique<Cache>(Cache{config, std::move(manager), {}})),
      scheduler_(counting_common_prefix(scheduler_config(config)),
                 {.policies = cache_->config.policies, .kv_cache = cache_->manager}) {
  cache_->manager.set_event_log(&cache_->log);
}

const SchedulerReplay::Known* SchedulerReplay::known(const std::string& name) const {
  const auto found = ids_.find(name);
  return found == ids_.end() ? nullptr : &known(found->second);
}

void SchedulerReplay::append(Known& request, std::span<const std::int64_t> token_ids) {
  extend_block_hashes(request.hashes, contents(token_ids));
  request.state.block_hashes = request.hashes.block_hashes;
}

Status SchedulerReplay::add_request(const ReplayRequest& request) {
  const RequestId id{static_cast<std::int32_t>(requests_.size())};
  if (!ids_.try_emplace(request.name, id).second)
    return invalid_input("request \"" + request.name + "\" is alive already");
  Known& added = requests_.emplace_back();
  added.name = request.name;
  added.hashes = start_block_hashes(config().hash_block_size, request.cache_salt,
                                    num_hash_lookahead_tokens(config()));
  added.state.id = id;
  added.state.num_prompt_tokens = static_cast<std::int32_t>(request.prompt_token_ids.size());
  added.state.num_tokens = added.state.num_prompt_tokens;
  added.state.max_tokens = request.max_tokens;
  added.state.priority = request.priority;
  added.state.arrival_time = request.arrival_time;
  append(added, request.prompt_token_ids);
  live_.push_back(id);
  scheduler_.add_request(added.state);
  return Ok{};
}

ReplayedLookup SchedulerReplay::lookup(const ReplayRequest& request) const {
  BlockHashChain chain = start_block_hashes(config().hash_block_size, request.cache_salt,
                                            num_hash_lookahead_tokens(config()));
  extend_block_hashes(chain, contents(request.prompt_token_ids));
  const auto hit = cache_->manager.get_computed_blocks(
      {.id = RequestId{0},
       .block_hashes = chain.block_hashes,
       .num_tokens = static_cast<std::int32_t>(request.prompt_token_ids.size())});
  ReplayedLookup answer{.name = request.name, .block_ids = {}};
  if (!hit.ok()) return answer;
  answer.num_hit_tokens = hit.value().num_hit_tokens;
  for (std::size_t group = 0; group + 1 < hit.value().group_start.size(); ++group) {
    const std::span<const std::int32_t> blocks = hit.value().blocks(group);
    answer.block_ids.emplace_back(blocks.begin(), blocks.end());
  }
  return answer;
}

void SchedulerReplay::abort(const std::string& name) {
  const auto found = ids_.find(name);
  if (found == ids_.end()) return;
  scheduler_.abort(known(found->second).state);
  forget_finished();
}

bool SchedulerReplay::reset_prefix_cache(bool reset_running_requests) {
  const std::vector<Request*>& running = scheduler_.running();
  if (reset_running_requests && config().policies.is(ResetPreemptions::reported))
    for (auto request = running.rbegin(); request != running.rend(); ++request)
      reset_preempted_.push_back(name_of((*request)->id));
  return scheduler_.reset_prefix_cache(reset_running_requests);
}

bool SchedulerReplay::preempt(const std::string& name) {
  const auto found = ids_.find(name);
  return found != ids_.end() && scheduler_.preempt(known(found->second).state);
}

Result<ReplayedSchedule> SchedulerReplay::schedule(std::optional<std::int32_t> token_budget) {
  try {
    const ScheduleOutput& output =
        scheduler_.schedule(token_budget.value_or(config().max_num_batched_tokens));
    if (!config().async_scheduling) steps_.clear();
    std::vector<PendingRow>& step = steps_.emplace_back();
    for (const ScheduledRequest& entry : output.scheduled)
      step.push_back({entry, entry.request->run});
    // The step runs before any later one, so its blocks count as written, although its samples are
    // not known yet.
    if (config().async_scheduling) cache_->manager.publish();
    return describe(output);
  } catch (const ContractViolation& violation) {
    return invalid_input(violation.what());
  }
}

ReplayedSchedule SchedulerReplay::describe(const ScheduleOutput& output) {
  const auto groups = static_cast<std::size_t>(cache_->manager.num_groups());
  ReplayedSchedule result;
  for (std::size_t i = 0; i < output.lookups.size(); ++i)
    result.lookups.push_back(describe(output.lookups[i], output.hits[i]));
  for (std::size_t i = 0; i < output.scheduled.size(); ++i)
    result.scheduled.push_back(describe(
        output.scheduled[i], std::span(output.first_new_column).subspan(i * groups, groups)));
  result.total_num_scheduled_tokens = output.total_num_scheduled_tokens;
  result.preempted = std::exchange(reset_preempted_, {});
  for (const Request* request : output.preempted)
    result.preempted.push_back(known(request->id).name);
  for (const RequestId id : output.finished_req_ids) result.finished.push_back(known(id).name);
  result.num_common_prefix_blocks = output.num_common_prefix_blocks;
  result.num_common_prefix_blocks.resize(groups, 0);
  result.new_attention_block_ids = take_new_attention_block_ids();
  result.block_copies = output.block_copies;
  result.skip_drafts = output.skip_drafts;
  return result;
}

ReplayedRequest SchedulerReplay::describe(const ScheduledRequest& entry,
                                          std::span<const std::int32_t> first_new_column) const {
  const Known& request = known(entry.request->id);
  ReplayedRequest result{.name = request.name,
                         .admission = entry.admission,
                         .num_scheduled_tokens = entry.num_scheduled_tokens,
                         .num_computed_tokens = entry.num_computed_tokens,
                         .num_output_tokens = request.state.num_output_tokens(),
                         .num_output_placeholders = entry.num_output_placeholders,
                         .draft_token_ids = {},
                         .block_ids = block_ids(request.state.id),
                         .first_new_column = {first_new_column.begin(), first_new_column.end()},
                         .checkpoint = {}};
  for (std::int32_t group = 0; group < cache_->manager.num_groups(); ++group) {
    if (!config().kv_cache_config.groups[static_cast<std::size_t>(group)].is_mamba()) continue;
    result.checkpoint = cache_->manager.checkpoint(request.state.id, group);
    break;
  }
  const auto num_drafts = static_cast<std::size_t>(entry.num_draft_tokens);
  if (entry.placeholder_drafts)
    result.draft_token_ids.assign(num_drafts, -1);
  else if (config().async_scheduling)  // the scheduler does not know their ids
    result.draft_token_ids.assign(num_drafts, 0);
  else
    result.draft_token_ids.assign(request.drafts.begin(),
                                  request.drafts.begin() + entry.num_draft_tokens);
  return result;
}

ReplayedLookup SchedulerReplay::describe(const AdmissionLookup& lookup, const CacheHit& hit) const {
  ReplayedLookup result{.name = known(lookup.request).name,
                        .num_hit_tokens = hit.num_hit_tokens,
                        .shared_prefix_boundary = hit.shared_prefix_boundary(),
                        .block_ids = {}};
  for (std::size_t group = 0; group + 1 < hit.group_start.size(); ++group) {
    const auto blocks = hit.blocks(group);
    result.block_ids.emplace_back(blocks.begin(), blocks.end());
  }
  return result;
}

std::vector<CacheEvent> SchedulerReplay::take_cache_events() {
  clear_log();
  return std::exchange(events_, {});
}

void SchedulerReplay::clear_log() {
  if (keeps_events_) events_.insert(events_.end(), cache_->log.begin(), cache_->log.end());
  cache_->log.clear();
}

std::vector<std::int32_t> SchedulerReplay::take_new_attention_block_ids() {
  std::vector<std::int32_t> blocks;
  for (std::int32_t group = 0; group < cache_->manager.num_groups(); ++group) {
    if (config().kv_cache_config.groups[static_cast<std::size_t>(group)].is_mamba()) continue;
    for (const CacheEvent& event : cache_->log)
      if (event.kind == CacheEventKind::allocated && event.group == group)
        blocks.push_back(event.block);
  }
  clear_log();
  return blocks;
}

Status SchedulerReplay::check_sampled(
    const std::map<std::string, TokenIds>& sampled_token_ids) const {
  if (steps_.empty()) return invalid_input("no step was scheduled since the last output");
  for (const PendingRow& row : steps_.front()) {
    const ScheduledRequest& entry = row.entry;
    const Known& request = known(entry.request->id);
    const auto sampled = sampled_token_ids.find(request.name);
    const std::string place = "request \"" + request.name + "\": ";
    if (sampled == sampled_token_ids.end()) {
      if (is_live(request.state))
        return invalid_input(place + "scheduled, but nothing says what it sampled");
    } else if (std::ssize(sampled->second) > entry.num_draft_tokens + 1) {
      return invalid_input(place + std::to_string(sampled->second.size()) +
                           " sampled tokens with " + std::to_string(entry.num_draft_tokens) +
                           " drafts, expected at most one more than drafts");
    }
  }
  for (const auto& [name, sampled] : sampled_token_ids)
    if (std::ranges::none_of(steps_.front(), [&, &name = name](const PendingRow& row) {
          return known(row.entry.request->id).name == name;
        }))
      return invalid_input("request \"" + name + "\" was not scheduled in the last step");
  return Ok{};
}

// With asynchronous scheduling blocks are cached in the update, so their hashes are needed first.
// Tokens of a stale frame are removed again.
void SchedulerReplay::take_row(const PendingRow& row, const TokenIds& sampled) {
  Known& request = known(row.entry.request->id);
  const bool early =
      config().async_scheduling || config().policies.is(CommitRegistration::asynchronous_or_drafts);
  const bool may_be_stale = row.run != request.state.run ||
                            request.state.async_tokens_to_discard > 0 ||
                            request.state.num_stale_output_tokens > 0;
  const BlockHashChain before = early && may_be_stale ? request.hashes : BlockHashChain{};
  if (early) append(request, sampled);
  const auto stop = stop_token_ ? std::ranges::find(sampled, *stop_token_) : sampled.end();
  const UpdatedRequest updated = scheduler_.update_from_output(
      request.state,
      {.run = row.run,
       .num_scheduled_tokens = row.entry.num_scheduled_tokens,
       .num_draft_tokens = row.entry.num_draft_tokens,
       .num_sampled_tokens = static_cast<std::int32_t>(sampled.size()),
       .stop_token =
           stop == sampled.end() ? 0 : static_cast<std::int32_t>(stop - sampled.begin()) + 1});
  if (updated.num_appended_tokens > 0)
    delivered_[request.name] = {updated.num_appended_tokens, updated.end};
  const auto appended =
      std::span(sampled).first(static_cast<std::size_t>(updated.num_appended_tokens));
  if (!early) append(request, appended);
  if (early && updated.outcome == CommitOutcome::stale_run) {
    request.hashes = before;
    request.state.block_hashes = request.hashes.block_hashes;
  }
}

Status SchedulerReplay::update_from_output(const std::map<std::string, TokenIds>& sampled_token_ids,
                                           const std::set<std::string>& stopped) {
  if (Status checked = check_sampled(sampled_token_ids); !checked) return checked;
  delivered_.clear();
  cache_->manager.publish();  // the step has run, so the blocks it registered are written
  std::int32_t num_scheduled_tokens = 0;
  for (const PendingRow& row : steps_.front())
    num_scheduled_tokens += row.entry.num_scheduled_tokens;
  scheduler_.frame_returned(num_scheduled_tokens);
  for (const PendingRow& row : steps_.front()) {
    Known& request = known(row.entry.request->id);
    if (!is_live(request.state)) continue;
    take_row(row, sampled_token_ids.at(request.name));
    if (stopped.contains(request.name)) scheduler_.abort(request.state);
  }
  steps_.pop_front();
  forget_finished();
  return Ok{};
}

std::vector<std::string> SchedulerReplay::awaiting_output() const {
  std::vector<std::string> names;
  if (!steps_.empty())
    for (const PendingRow& row : steps_.front()) names.push_back(name_of(row.entry.request->id));
  return names;
}

void SchedulerReplay::update_draft_token_ids(
    const std::map<std::string, TokenIds>& draft_token_ids) {
  for (const auto& [name, drafts] : draft_token_ids) {
    const auto found = ids_.find(name);
    if (found == ids_.end()) continue;
    Known& request = known(found->second);
    request.drafts = drafts;
    scheduler_.update_draft_tokens(request.state, static_cast<std::int32_t>(drafts.size()));
  }
}

// Forgets ended requests, except for their names, which the next schedule's `finished` reports.
void SchedulerReplay::forget_finished() {
  std::erase_if(live_, [&](RequestId id) {
    Known& request = known(id);
    if (is_live(request.state)) return false;
    request.state.block_hashes = {};
    request.hashes = {};
    request.drafts = {};
    ids_.erase(request.name);
    return true;
  });
}

std::vector<std::string> SchedulerReplay::live() const {
  std::vector<std::string> names;
  for (const RequestId id : live_) names.push_back(known(id).name);
  return names;
}

std::vector<std::string> SchedulerReplay::running() const {
  std::vector<std::string> names;
  for (const Request* request : scheduler_.running()) names.push_back(known(request->id).name);
  return names;
}

std::vector<std::string> SchedulerReplay::waiting() const {
  std::vector<std::string> names;
  for (const Request* request : scheduler_.waiting()) names.push_back(known(request->id).name);
  return names;
}

std::vector<std::string> SchedulerReplay::skipped_waiting() const {
  std::vector<std::string> names;
  for (const Request* request : scheduler_.skipped_waiting())
    names.push_back(known(request->id).name);
  return names;
}

const Request* SchedulerReplay::find(const std::string& name) const {
  const Known* request = known(name);
  return request == nullptr ? nullptr : &request->state;
}

GroupBlockIds SchedulerReplay::block_ids(const std::string& name) const {
  const Known* request = known(name);
  return block_ids(request == nullptr ? RequestId{} : request->state.id);
}

GroupBlockIds SchedulerReplay::block_ids(RequestId request) const {
  GroupBlockIds result;
  for (std::int32_t group = 0; group < cache_->manager.num_groups(); ++group) {
    const auto ids = cache_->manager.block_ids(request, group);
    result.emplace_back(ids.begin(), ids.end());
  }
  return result;
}

}  // namespace hybridscope
