#include "tests/core/engine/scheduler_replay.h"

#include <algorithm>
#include <utility>

namespace hybridscope::test {
namespace {

SchedulerConfig scheduler_config(const Json& config) {
  bool has_mamba = false;
  for (const Json& group : config.at("groups")) has_mamba |= group.at("type") == "mamba";
  return {.max_num_seqs = config.at("max_num_seqs"),
          .max_model_len = config.at("max_model_len"),
          .long_prefill_token_threshold = config.at("long_prefill_token_threshold"),
          .enable_chunked_prefill = config.at("enable_chunked_prefill"),
          .scheduler_reserve_full_isl = config.at("reserve_full_isl"),
          .policy = config.at("policy") == "priority" ? SchedulingPolicy::priority
                                                      : SchedulingPolicy::fcfs,
          .num_speculative_tokens = config.at("num_spec_tokens"),
          .use_eagle = config.at("use_eagle"),
          .block_aligned_split = has_mamba && config.at("mamba_cache_mode") == "align",
          .has_mamba_groups = has_mamba,
          .block_size = config.at("block_size"),
          .aligned_split = AlignedSplit::until_last_cache_position,
          .one_token_prompt = OneTokenPrompt::padded_with_placeholders};
}

std::vector<TokenContent> tokens_of(const Json& ids) {
  return ids.get<std::vector<TokenContent>>();
}

bool is_live(const Request& request) { return request.status != RequestStatus::finished; }

}  // namespace

SchedulerReplay::SchedulerReplay(const Json& config, KVCacheManager manager)
    : manager_(std::move(manager)),
      scheduler_(scheduler_config(config), manager_),
      use_v2_model_runner_(config.at("use_v2_model_runner")),
      max_num_batched_tokens_(config.at("max_num_batched_tokens")),
      hash_block_size_(config.at("hash_block_size")) {
  manager_.set_event_log(&log_);
  for (const Json& group : config.at("groups")) is_mamba_.push_back(group.at("type") == "mamba");
}

Json SchedulerReplay::run(const Json& call) {
  const std::string op = call.at("op");
  if (op == "add_request") return add_request(call), Json::object();
  if (op == "schedule") return schedule();
  if (op == "update_from_output") return update_from_output(call.at("sampled_token_ids"));
  if (op == "update_draft_token_ids") return update_draft_token_ids(call.at("draft_token_ids"));
  if (op == "abort") {
    scheduler_.abort(known(call.at("id").get<std::string>()).state);
    return {{"num_free", manager_.num_free_blocks()}};
  }
  if (op == "reset_prefix_cache")
    return {{"result", scheduler_.reset_prefix_cache(call.at("reset_running_requests"))}};
  return {{"error", "unknown op " + op}};
}

void SchedulerReplay::append(Known& request, const std::vector<TokenContent>& tokens) {
  extend_block_hashes(request.hashes, tokens);
  request.state.block_hashes = request.hashes.block_hashes;
}

void SchedulerReplay::add_request(const Json& call) {
  const RequestId id{static_cast<std::int32_t>(requests_.size())};
  ids_[call.at("id")] = id;
  const auto prompt = tokens_of(call.at("prompt_token_ids"));
  Known& added = requests_.emplace_back();
  added.name = call.at("id");
  added.hashes = start_block_hashes(hash_block_size_);
  added.state.id = id;
  added.state.num_prompt_tokens = added.state.num_tokens = static_cast<std::int32_t>(prompt.size());
  added.state.max_tokens = call.at("max_tokens");
  added.state.priority = call.at("priority");
  added.state.arrival_time = static_cast<std::int64_t>(call.at("arrival_time").get<double>() * 1e6);
  append(added, prompt);
  scheduler_.add_request(added.state);
}

Json SchedulerReplay::schedule() {
  const ScheduleOutput& output = scheduler_.schedule(max_num_batched_tokens_);
  last_scheduled_.clear();
  Json result = {{"num_scheduled_tokens", Json::object()},
                 {"total_num_scheduled_tokens", output.total_num_scheduled_tokens}};
  for (const ScheduledRequest& entry : output.scheduled) {
    result["num_scheduled_tokens"][name(entry.request->id)] = entry.num_scheduled_tokens;
    last_scheduled_.push_back(&entry);
  }
  add_new_and_cached(output, result);
  result["scheduled_spec_decode_tokens"] = scheduled_drafts(output);
  result["num_common_prefix_blocks"] =
      scheduler_.running().empty()
          ? std::vector<std::int32_t>(static_cast<std::size_t>(manager_.num_groups()), 0)
          : manager_.get_num_common_prefix_blocks(scheduler_.running().front()->id);
  std::vector<RequestId> preempted;
  for (const Request* request : output.preempted) preempted.push_back(request->id);
  result["preempted_req_ids"] = names(preempted);
  result["finished_req_ids"] = names(output.finished_req_ids);
  result["new_block_ids_to_zero"] = new_block_ids_to_zero();
  add_queues(result);
  result["block_ids"] = Json::object();
  for (const Known& request : requests_)
    if (is_live(request.state)) result["block_ids"][request.name] = block_ids(request.state.id, {});
  result["free_queue"] = manager_.pool().free_queue();
  return result;
}

void SchedulerReplay::add_new_and_cached(const ScheduleOutput& output, Json& result) {
  Json new_reqs = Json::array();
  Json resumed_reqs = Json::array();
  Json cached = {{"req_ids", Json::array()},
                 {"resumed_req_ids", Json::array()},
                 {"new_block_ids", Json::array()},
                 {"num_computed_tokens", Json::array()},
                 {"num_output_tokens", Json::array()}};
  const auto groups = static_cast<std::size_t>(manager_.num_groups());
  std::vector<RequestId> resumed;
  for (std::size_t i = 0; i < output.scheduled.size(); ++i) {
    const ScheduledRequest& entry = output.scheduled[i];
    if (entry.admission == Admission::running) {
      const auto first = std::span(output.first_new_column).subspan(i * groups, groups);
      add_cached(entry, block_ids(entry.request->id, first), cached);
      continue;
    }
    const Json full = block_ids(entry.request->id, {});
    const Json as_new = {{"id", name(entry.request->id)},
                         {"block_ids", full},
                         {"num_computed_tokens", entry.num_computed_tokens}};
    if (entry.admission == Admission::new_request) {
      new_reqs.push_back(as_new);
    } else if (use_v2_model_runner_) {
      resumed_reqs.push_back(as_new);
    } else {
      resumed.push_back(entry.request->id);
      add_cached(entry, full, cached);
    }
  }
  for (const Json& entry : resumed_reqs) new_reqs.push_back(entry);
  cached["resumed_req_ids"] = names(resumed);
  result["scheduled_new_reqs"] = new_reqs;
  result["scheduled_cached_reqs"] = cached;
}

void SchedulerReplay::add_cached(const ScheduledRequest& entry, const Json& new_block_ids,
                                 Json& cached) {
  const bool any =
      std::ranges::any_of(new_block_ids, [](const Json& group) { return !group.empty(); });
  cached["req_ids"].push_back(name(entry.request->id));
  cached["new_block_ids"].push_back(any ? new_block_ids : Json());
  cached["num_computed_tokens"].push_back(entry.num_computed_tokens);
  cached["num_output_tokens"].push_back(entry.request->num_output_tokens());
}

Json SchedulerReplay::scheduled_drafts(const ScheduleOutput& output) {
  Json result = Json::object();
  for (const ScheduledRequest& entry : output.scheduled) {
    if (entry.num_draft_tokens == 0) continue;
    const auto count = static_cast<std::size_t>(entry.num_draft_tokens);
    std::vector<std::int64_t> drafts = known(entry.request->id).drafts;
    if (entry.placeholder_drafts) drafts.assign(count, -1);
    drafts.resize(std::min(count, drafts.size()));
    result[name(entry.request->id)] = drafts;
  }
  return result;
}

// [groups] block ids from `first_column` of each group on; empty: whole lists.
Json SchedulerReplay::block_ids(RequestId request,
                                std::span<const std::int32_t> first_column) const {
  Json result = Json::array();
  for (std::int32_t group = 0; group < manager_.num_groups(); ++group) {
    auto ids = manager_.block_ids(request, group);
    if (!first_column.empty())
      ids = ids.subspan(static_cast<std::size_t>(first_column[static_cast<std::size_t>(group)]));
    result.push_back(std::vector<std::int32_t>(ids.begin(), ids.end()));
  }
  return result;
}

Json SchedulerReplay::names(const std::vector<RequestId>& ids) {
  std::vector<std::string> result;
  for (const RequestId id : ids) result.push_back(name(id));
  std::ranges::sort(result);
  return result;
}

// Attention blocks popped since the last call, group by group. Only models with recurrent layers
// ask for it: their pages share memory with states.
Json SchedulerReplay::new_block_ids_to_zero() {
  Json result;
  if (std::ranges::find(is_mamba_, true) == is_mamba_.end()) return result;
  for (std::int32_t group = 0; group < manager_.num_groups(); ++group) {
    if (is_mamba_[static_cast<std::size_t>(group)]) continue;
    for (const CacheEvent& event : log_)
      if (event.kind == CacheEventKind::allocated && event.group == group)
        result.push_back(event.block);
  }
  log_.clear();
  return result;
}

void SchedulerReplay::add_queues(Json& result) const {
  result["running"] = Json::array();
  result["waiting"] = Json::array();
  const auto name_of = [&](const Request* request) {
    return requests_[static_cast<std::size_t>(request->id.value)].name;
  };
  for (const Request* request : scheduler_.running()) result["running"].push_back(name_of(request));
  for (const Request* request : scheduler_.waiting()) result["waiting"].push_back(name_of(request));
}

Json SchedulerReplay::update_from_output(const Json& sampled_token_ids) {
  for (const ScheduledRequest* entry : last_scheduled_) {
    Known& request = known(entry->request->id);
    if (!is_live(request.state)) continue;
    auto sampled = tokens_of(sampled_token_ids.at(request.name));
    const std::int32_t appended = scheduler_.update_from_output(
        request.state, entry->num_draft_tokens, static_cast<std::int32_t>(sampled.size()));
    sampled.resize(static_cast<std::size_t>(appended));
    append(request, sampled);
  }
  Json result = {{"requests", Json::object()}, {"num_free", manager_.num_free_blocks()}};
  for (const Known& request : requests_)
    if (is_live(request.state))
      result["requests"][request.name] = {
          {"num_computed_tokens", request.state.num_computed_tokens},
          {"num_tokens", request.state.num_tokens}};
  add_queues(result);
  return result;
}

Json SchedulerReplay::update_draft_token_ids(const Json& draft_token_ids) {
  for (const auto& [id, drafts] : draft_token_ids.items()) {
    Known& request = known(id);
    if (!is_live(request.state)) continue;
    request.drafts = drafts.get<std::vector<std::int64_t>>();
    scheduler_.update_draft_tokens(request.state, static_cast<std::int32_t>(drafts.size()));
  }
  Json result = {{"spec_token_ids", Json::object()}};
  for (const Known& request : requests_)
    if (is_live(request.state))
      result["spec_token_ids"][request.name] = request.state.num_draft_tokens;
  return result;
}

}  // namespace hybridscope::test
