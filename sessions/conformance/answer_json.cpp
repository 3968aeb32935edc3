#include "sessions/conformance/answer_json.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

namespace hybridscope {

nlohmann::json error_json(const Error& error) { return {{"error", error.message}}; }

nlohmann::json list_json(const TensorView<std::int32_t>& view) {
  return std::vector<std::int32_t>(view.data, view.data + view.size());
}

nlohmann::json rows_json(const TensorView<std::int32_t>& view) {
  nlohmann::json rows = nlohmann::json::array();
  for (std::int32_t row = 0; row < view.rows; ++row) {
    const std::int32_t* begin = view.data + static_cast<std::int64_t>(row) * view.cols;
    rows.push_back(std::vector<std::int32_t>(begin, begin + view.cols));
  }
  return rows;
}

nlohmann::json answer_until_error(const JsonValue& array,
                                  const std::function<nlohmann::json(const JsonValue&)>& answer) {
  nlohmann::json answers = nlohmann::json::array();
  for (const JsonValue& element : array.elements()) {
    answers.push_back(answer(element));
    if (answers.back().contains("error")) break;
  }
  return answers;
}

namespace {

using nlohmann::json;

// A set of the reference as an ascending list.
json sorted(const std::vector<std::string>& names) {
  return std::set<std::string>(names.begin(), names.end());
}

json as_new(const ReplayedRequest& request) {
  return {{"id", request.name},
          {"block_ids", request.block_ids},
          {"num_computed_tokens", request.num_computed_tokens}};
}

struct RequestLists {
  json new_reqs = json::array();
  json resumed_as_new = json::array();
  json cached = {{"req_ids", json::array()},
                 {"resumed_req_ids", json::array()},
                 {"new_block_ids", json::array()},
                 {"num_computed_tokens", json::array()},
                 {"num_output_tokens", json::array()}};
  std::vector<std::string> resumed;

  void add_cached(const ReplayedRequest& request, const GroupBlockIds& new_block_ids) {
    const bool any =
        std::ranges::any_of(new_block_ids, [](const auto& group) { return !group.empty(); });
    cached["req_ids"].push_back(request.name);
    cached["new_block_ids"].push_back(any ? json(new_block_ids) : json());
    cached["num_computed_tokens"].push_back(request.num_computed_tokens);
    cached["num_output_tokens"].push_back(request.num_output_tokens);
  }

  void add(const ReplayedRequest& request, ResumedRequests resumed_requests) {
    if (request.admission == Admission::running) {
      add_cached(request, request.new_block_ids());
    } else if (request.admission == Admission::new_request) {
      new_reqs.push_back(as_new(request));
    } else if (resumed_requests == ResumedRequests::as_new) {
      resumed_as_new.push_back(as_new(request));
    } else {
      resumed.push_back(request.name);
      add_cached(request, request.block_ids);
    }
  }
};

void add_requests(const ReplayedSchedule& schedule, ResumedRequests resumed_requests,
                  json& answer) {
  RequestLists lists;
  answer["num_scheduled_tokens"] = json::object();
  answer["scheduled_spec_decode_tokens"] = json::object();
  for (const ReplayedRequest& request : schedule.scheduled) {
    answer["num_scheduled_tokens"][request.name] = request.num_scheduled_tokens;
    if (!request.draft_token_ids.empty())
      answer["scheduled_spec_decode_tokens"][request.name] = request.draft_token_ids;
    lists.add(request, resumed_requests);
  }
  lists.cached["resumed_req_ids"] = sorted(lists.resumed);
  for (const json& request : lists.resumed_as_new) lists.new_reqs.push_back(request);
  answer["scheduled_new_reqs"] = lists.new_reqs;
  answer["scheduled_cached_reqs"] = lists.cached;
}

// Only models with recurrent layers report them: their KV pages share memory with states.
json blocks_to_zero(const ReplayedSchedule& schedule, const EngineConfig& config) {
  const bool has_mamba = std::ranges::any_of(
      config.kv_cache_config.groups, [](const KVCacheGroup& group) { return group.is_mamba(); });
  return has_mamba && !schedule.new_attention_block_ids.empty()
             ? json(schedule.new_attention_block_ids)
             : json();
}

}  // namespace

json schedule_json(const ReplayedSchedule& schedule, const SchedulerReplay& replay,
                   ResumedRequests resumed_requests) {
  json answer = {{"total_num_scheduled_tokens", schedule.total_num_scheduled_tokens},
                 {"num_common_prefix_blocks", schedule.num_common_prefix_blocks},
                 {"preempted_req_ids", sorted(schedule.preempted)},
                 {"finished_req_ids", sorted(schedule.finished)},
                 {"new_block_ids_to_zero", blocks_to_zero(schedule, replay.config())},
                 {"running", replay.running()},
                 {"waiting", replay.waiting()},
                 {"block_ids", json::object()},
                 {"free_queue", replay.kv_cache().pool().free_queue()}};
  add_requests(schedule, resumed_requests, answer);
  for (const std::string& name : replay.live()) answer["block_ids"][name] = replay.block_ids(name);
  return answer;
}

json update_json(const SchedulerReplay& replay) {
  json requests = json::object();
  for (const std::string& name : replay.live()) {
    const Request& request = *replay.find(name);
    requests[name] = {{"num_computed_tokens", request.num_computed_tokens},
                      {"num_tokens", request.num_tokens}};
  }
  return {{"requests", requests},
          {"running", replay.running()},
          {"waiting", replay.waiting()},
          {"num_free", replay.kv_cache().num_free_blocks()}};
}

json draft_counts_json(const SchedulerReplay& replay) {
  json counts = json::object();
  for (const std::string& name : replay.live()) counts[name] = replay.find(name)->num_draft_tokens;
  return {{"spec_token_ids", counts}};
}

}  // namespace hybridscope
