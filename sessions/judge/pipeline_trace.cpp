#include "sessions/judge/trace_writer.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "sessions/text/json_reader.h"
#include "sessions/text/json_value.h"

namespace hybridscope {
namespace {

using Json = nlohmann::ordered_json;

Json group_json(const JsonValue& group) {
  const bool mamba = group["type"].one_of({"full", "mamba"}) == 1;
  Json json = {{"type", mamba ? "mamba" : "full_attention"},
               {"block_size", group["block_size"].json()}};
  if (mamba) json["mamba_type"] = "mamba2";  // no vector says which; none has a layer's metadata
  if (group.has_non_null("is_eagle_group")) json["is_eagle_group"] = group["is_eagle_group"].json();
  return json;
}

Json header_json(const std::string& id, const JsonValue& config) {
  const bool eagle = config["use_eagle"].boolean();
  Json settings = {{"mamba_cache_mode", config["mamba_cache_mode"].json()},
                   {"num_gpu_blocks", config["num_blocks"].json()},
                   {"enable_prefix_caching", config["enable_caching"].json()},
                   {"num_speculative_tokens", config["num_spec_tokens"].json()},
                   {"use_eagle", eagle},
                   {"scheduling_policy", config["policy"].json()},
                   {"scheduler_reserve_full_isl", config["reserve_full_isl"].json()},
                   {"reorder_batch_threshold", nullptr},
                   {"async_scheduling", false},
                   {"runner", "v1"}};
  for (const char* same : {"block_size", "hash_block_size", "scheduler_block_size", "max_model_len",
                           "max_num_seqs", "max_num_batched_tokens", "enable_chunked_prefill",
                           "long_prefill_token_threshold", "watermark"})
    settings[same] = config[same].json();
  settings["kv_cache_groups"] = Json::array();
  for (const JsonValue& group : config["groups"].elements())
    settings["kv_cache_groups"].push_back(group_json(group));
  return {{"hybridscope_trace", 1},
          {"engine", "the reference implementation"},
          {"name", id},
          {"config", settings}};
}

// The layout of one kind of state in memory, to map byte offsets to blocks; all layers of a group
// agree.
struct TracedState {
  std::int64_t block_stride = 0;  // bytes
  std::int64_t row_stride = 0;    // bytes per conv position (SD layout)
};

class PipelineCase {
 public:
  explicit PipelineCase(const JsonValue& vector)
      : vector_(vector), kinds_(vector["config"]["memory"]["state_kinds"].strings()) {
    for (const JsonValue& layer : vector["config"]["memory"]["layers"].elements()) {
      auto& states = groups_[layer["group_id"].int32()];
      states.resize(kinds_.size());
      for (std::size_t i = 0; i < kinds_.size(); ++i) {
        const JsonValue state = layer["states"][i];
        const std::int64_t size = state["elem_size"].int64({1, 8});
        const auto stride_of = [&](std::size_t dimension) {
          return state["stride"][dimension].int64({1, std::int64_t{1} << 40}) * size;
        };
        states[i].block_stride = stride_of(0);
        if (kinds_[i] == "conv") states[i].row_stride = stride_of(1);
      }
    }
  }

  std::vector<std::string> lines() {
    std::vector<std::string> lines = {
        header_json(vector_["id"].string(), vector_["config"]).dump()};
    const JsonValue results = vector_["output"]["results"];
    const std::size_t count = std::min(results.size(), vector_["calls"].size());
    for (std::size_t i = 0; i < count; ++i) {
      const JsonValue call = vector_["calls"][i];
      if (results[i].has_non_null("error")) break;
      take(call["op"].string(), call, results[i]);
      if (finished_) lines.push_back(std::exchange(finished_, std::nullopt)->dump());
    }
    if (!step_.empty()) lines.push_back(step_.dump());
    return lines;
  }

 private:
  void take(const std::string& op, const JsonValue& call, const JsonValue& result) {
    if (op == "add_request") {
      added_.emplace(call["id"].string(), call);
    } else if (op == "reset_prefix_cache") {
      reset_ = reset_ || result["result"].boolean();
    } else if (op == "schedule") {
      if (!step_.empty()) finished_ = std::move(step_);
      schedule(result);
    } else if (op == "worker_step") {
      worker_step(call, result);
    } else if (op == "update_from_output") {
      Json ids = Json::array();
      Json tokens = Json::array();
      for (const auto& [id, sampled] : call["sampled_token_ids"].members()) {
        ids.push_back(id);
        tokens.push_back(Json(sampled.json()));
      }
      step_["model_runner_output"] = {{"req_ids", ids}, {"sampled_token_ids", tokens}};
    }
  }

  void schedule(const JsonValue& result) {
    Json new_requests = Json::array();
    for (const JsonValue& traced : result["scheduled_new_reqs"].elements()) {
      const auto added = added_.find(traced["id"].string());
      if (added == added_.end()) traced["id"].fail("expected a request that was added");
      new_requests.push_back({{"req_id", traced["id"].json()},
                              {"prompt_token_ids", added->second["prompt_token_ids"].json()},
                              {"block_ids", traced["block_ids"].json()},
                              {"num_computed_tokens", traced["num_computed_tokens"].json()},
                              {"max_tokens", added->second["max_tokens"].json()},
                              {"priority", added->second["priority"].json()}});
    }
    step_ = {{"step", ++number_},
             {"scheduler_output",
              {{"scheduled_new_reqs", new_requests},
               {"scheduled_cached_reqs", result["scheduled_cached_reqs"].json()}}},
             {"scheduler_block_ids", known_block_ids(result["block_ids"])},
             {"input_batch", {{"req_ids", Json::array()}}}};
    for (const char* same : {"num_scheduled_tokens", "scheduled_spec_decode_tokens",
                             "finished_req_ids", "preempted_req_ids"})
      step_["scheduler_output"][same] = result[same].json();
    if (vector_["config"]["num_spec_tokens"].int32() > 0)
      step_["input_batch"]["num_accepted_tokens_cpu"] = Json::array();
    if (std::exchange(reset_, false)) step_["reset_prefix_cache"] = true;
  }

  // The block ids of requests that were scheduled before. Requests that still wait have empty lists
  // and are left out.
  Json known_block_ids(const JsonValue& block_ids) {
    Json known = Json::object();
    for (const auto& [id, lists] : block_ids.members()) {
      for (const JsonValue& list : lists.elements())
        if (list.size() > 0) introduced_.insert(id);
      if (introduced_.contains(id)) known[id] = lists.json();
    }
    return known;
  }

  void worker_step(const JsonValue& call, const JsonValue& result) {
    Json& batch = step_["input_batch"];
    Json block_ids = Json::array();
    const std::vector<std::string> ids = call["req_ids"].strings();
    std::vector<std::int32_t> before = call["num_accepted_tokens_cpu"].int32s();
    std::vector<std::int32_t> after = result["num_accepted_tokens_after_preprocess"].int32s();
    before.resize(ids.size(), 1);
    after.resize(ids.size(), 1);
    batch = {{"req_ids", ids},
             {"num_accepted_tokens_cpu", before},
             {"num_accepted_tokens_after_preprocess", after}};
    Json computed = Json::array();
    Json columns = Json::array();
    for (const std::string& id : ids) {
      computed.push_back(Json(call["num_computed_tokens"][id].json()));
      columns.push_back(Json(result["mamba_state_idx"][id].json()));
    }
    batch["num_computed_tokens_cpu"] = computed;
    batch["mamba_state_idx"] = columns;
    step_["preprocess_copies"] = preprocess_copies(call, result);
    if (const auto copies = result.find_non_null("postprocess_copies"))
      step_["postprocess_copies"] = postprocess_copies(ids, *copies);
  }

  // Each entry is [kv group id, layer, state, src, dst, bytes]. The layers of a group agree, so the
  // conv copy and the temporal copy to one destination block become one copy of ours.
  Json preprocess_copies(const JsonValue& call, const JsonValue& result) const {
    std::map<std::pair<std::int32_t, std::int64_t>, Json> by_destination;
    for (const JsonValue& copy : result["preprocess_copies"].elements()) {
      const std::int32_t group = copy[0].int32();
      const std::size_t state = static_cast<std::size_t>(
          copy[2].int32({0, static_cast<std::int32_t>(kinds_.size()) - 1}));
      const std::int64_t block = block_of(copy[4], group, state);
      Json& made = by_destination[{group, block}];
      fill(made, copy, {group, state, 3});
      made["req_id"] = owner_of(call, result, group, copy, block);
    }
    return values(by_destination);
  }

  // Each entry is [row, flat state index, src, dst, row bytes, rows, row stride].
  Json postprocess_copies(const std::vector<std::string>& ids, const JsonValue& copies) const {
    std::map<std::pair<std::int32_t, std::int64_t>, Json> by_row;
    const JsonValue layers = vector_["config"]["memory"]["layers"];
    for (const JsonValue& copy : copies.elements()) {
      const auto flat = static_cast<std::size_t>(copy[1].int32({0, INT32_MAX}));
      const std::int32_t group = layers[flat / kinds_.size()]["group_id"].int32();
      const std::int32_t row = copy[0].int32({0, static_cast<std::int32_t>(ids.size()) - 1});
      Json& made = by_row[{group, row}];
      fill(made, copy, {group, flat % kinds_.size(), 2});
      made["req_id"] = ids[static_cast<std::size_t>(row)];
    }
    return values(by_row);
  }

  struct CopyPlace {
    std::int32_t group = 0;
    std::size_t state = 0;
    std::size_t source = 0;  // index of the source offset; the destination's follows
  };

  void fill(Json& made, const JsonValue& copy, const CopyPlace& place) const {
    if (made.is_null()) made = {{"group", place.group}};
    const JsonValue source = copy[place.source];
    const std::int64_t block = block_of(source, place.group, place.state);
    made["dest_block_id"] = block_of(copy[place.source + 1], place.group, place.state);
    if (kinds_[place.state] != "conv") {
      made["temporal_src_block_id"] = block;
      return;
    }
    const TracedState& conv = groups_.at(place.group)[place.state];
    made["conv_src_block_id"] = block;
    made["accept_token_bias"] = (source.int64() - block * conv.block_stride) / conv.row_stride;
  }

  std::int64_t block_of(const JsonValue& offset, std::int32_t group, std::size_t state) const {
    const auto states = groups_.find(group);
    if (states == groups_.end() || offset.int64() < 0)
      offset.fail("expected an offset into a state of a mamba group");
    return offset.int64() / states->second[state].block_stride;
  }

  // The request that has the block as its running column now.
  static std::string owner_of(const JsonValue& call, const JsonValue& result, std::int32_t group,
                              const JsonValue& copy, std::int64_t block) {
    for (const auto& [id, lists] : call["block_ids"].members()) {
      const auto ids = lists[static_cast<std::size_t>(group)].int64s();
      const auto column =
          static_cast<std::size_t>(result["mamba_state_idx"][id].int32({0, INT32_MAX}));
      if (column < ids.size() && ids[column] == block) return id;
    }
    copy.fail(fmt::format("no request of the batch runs in block {}", block));
  }

  template <class Key>
  static Json values(const std::map<Key, Json>& map) {
    Json list = Json::array();
    for (const auto& [key, value] : map) list.push_back(value);
    return list;
  }

  const JsonValue& vector_;
  std::vector<std::string> kinds_;
  std::map<std::int32_t, std::vector<TracedState>> groups_;
  std::map<std::string, JsonValue> added_;
  std::set<std::string> introduced_;  // requests that had blocks
  Json step_;                         // the current step; empty before the first schedule
  std::optional<Json> finished_;      // the previous step, set when a new one begins
  std::int64_t number_ = 0;
  bool reset_ = false;
};

}  // namespace

Result<std::vector<std::string>> pipeline_trace(const std::string& line, const std::string& file,
                                                std::int64_t line_number) {
  const auto json = parse_json({.text = line, .file = file, .line = static_cast<int>(line_number)});
  if (!json.ok()) return json.error();
  const JsonValue vector(json.value());
  try {
    return PipelineCase(vector).lines();
  } catch (const JsonFault& error) {
    return invalid_input(fmt::format("{}:{}: {}", file, line_number, error.what()));
  }
}

}  // namespace hybridscope
