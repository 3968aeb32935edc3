// Whole runs of a release's scheduler, call by call: what each call decided, and what it changed.
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "core/caching/manager_policies.h"
#include "core/engine/releases.h"
#include "core/engine/scheduler_policies.h"
#include "sessions/conformance/answer_json.h"
#include "sessions/conformance/recompute.h"
#include "sessions/replay/scheduler_replay.h"
#include "sessions/text/json_value.h"

namespace hybridscope {
namespace {

using nlohmann::json;

constexpr std::int32_t kMaxReleaseTokens = 1 << 26;
constexpr std::int32_t kLargestListedPool = 40;

std::string_view end_name(EndOfRequest end) {
  return end == EndOfRequest::stop ? "stop" : "length";
}

// The state that a call may change, member by member as the vectors name them.
class StateView {
 public:
  explicit StateView(const SchedulerReplay& replay) : replay_(replay) {}

  json of_request(const std::string& name) const {
    const Request* request = replay_.find(name);
    if (request == nullptr) return nullptr;
    json counts = {request->num_computed_tokens, request->num_tokens,
                   request->num_output_placeholders};
    const PolicySet& policies = replay_.config().policies;
    if (policies.is(SkippedBasis::processed)) counts.push_back(request->num_in_flight_tokens);
    if (policies.is(StaleFrame::drained_by_scheduled_tokens))
      counts.push_back(request->num_stale_output_tokens);
    while (counts.size() > 2 && counts.back() == 0) counts.erase(counts.size() - 1);
    return counts;
  }

  // Null without blocks.
  json table(const std::string& name) const {
    const GroupBlockIds blocks = replay_.block_ids(name);
    const bool any = std::ranges::any_of(blocks, [](const auto& list) { return !list.empty(); });
    return any ? json(blocks) : json();
  }

  json running() const { return replay_.running(); }
  // A list, but while the second queue has requests an object with both.
  json waiting() const {
    const std::vector<std::string> skipped = replay_.skipped_waiting();
    if (skipped.empty()) return replay_.waiting();
    return {{"waiting", replay_.waiting()}, {"skipped_waiting", skipped}};
  }
  json free() const { return replay_.kv_cache().num_free_blocks(); }
  json free_queue() const { return replay_.kv_cache().pool().free_queue(); }

 private:
  const SchedulerReplay& replay_;
};

// Adds to each answer what changed since the one before.
class Changes {
 public:
  void add(SchedulerReplay& replay, const std::string& op, json& answer) {
    const StateView state(replay);
    if (op == "add") names_.push_back(replay.live().back());
    add_requests(state, answer);
    if (op != "add") add_blocks(replay, answer);
    add_if_changed("running", state.running(), answer);
    add_if_changed("waiting", state.waiting(), answer);
    add_if_changed("free", state.free(), answer);
    if (op != "add" && replay.kv_cache().pool().num_blocks() <= kLargestListedPool)
      add_if_changed("free_queue", state.free_queue(), answer);
  }

 private:
  void add_if_changed(const std::string& member, json value, json& answer) {
    if (seen_.contains(member) && seen_[member] == value) return;
    answer[member] = value;
    seen_[member] = std::move(value);
  }

  void add_requests(const StateView& state, json& answer) {
    std::vector<std::string> left;
    for (const std::string& name : names_) {
      note("req", name, state.of_request(name), answer);
      note("tables", name, state.table(name), answer);
      if (state.of_request(name).is_null()) left.push_back(name);
    }
    for (const std::string& name : left) std::erase(names_, name);
  }

  void note(const std::string& member, const std::string& name, json value, json& answer) {
    json& before = of_requests_[member][name];
    if (before == value) return;
    answer[member][name] = value;
    before = std::move(value);
  }

  // Keys that blocks got, and those that they had before the call and lost.
  void add_blocks(SchedulerReplay& replay, json& answer) {
    const auto before = keys_;
    std::int32_t evicted = kNullBlock;  // the block that lost its keys last
    for (const CacheEvent& event : replay.take_cache_events()) {
      if (event.kind == CacheEventKind::registered && event.column < 0) {
        const json moved = {evicted, event.block};
        if (!answer.contains("moved") || answer["moved"].back() != moved)
          answer["moved"].push_back(moved);
      } else if (event.kind == CacheEventKind::registered) {
        answer["put"].push_back({replay.name_of(event.request), event.group, event.column,
                                 event.block, event.num_tokens});
      } else if (event.kind == CacheEventKind::evicted) {
        evicted = event.block;
        keys_.erase(event.block);
      }
      if (event.kind == CacheEventKind::registered)
        keys_[event.block].insert({event.group, event.num_tokens, event.block_hash});
    }
    for (const auto& [block, keys] : before)
      for (const auto& key : keys)
        if (!keys_[block].contains(key))
          answer["gone"].push_back({block, std::get<0>(key), std::get<1>(key)});
  }

  std::vector<std::string> names_;  // of requests that are alive
  std::map<std::string, json> seen_;
  std::map<std::string, std::map<std::string, json>> of_requests_;
  using Key = std::tuple<std::int32_t, std::int32_t, BlockHash>;  // group, tokens, hash
  std::map<std::int32_t, std::set<Key>> keys_;                    // of each block
};

class ReleaseRun {
 public:
  static Result<ReleaseRun> create(const VectorCase& vector) {
    Result<SchedulerReplay> replay = SchedulerReplay::create(read_release_config(vector));
    if (!replay) return replay.error();
    return ReleaseRun(std::move(replay).value(), vector.config);
  }

  json answer(const JsonValue& call) {
    json result = json::object();
    switch (call["op"].one_of({"add", "abort", "reset", "schedule", "update", "drafts"})) {
      case 0: add(call); break;
      case 1: replay_.abort(call["id"].string()); break;
      case 2:
        result["result"] = replay_.reset_prefix_cache(call["reset_running_requests"].boolean());
        break;
      case 3: result = schedule(); break;
      case 4: result = update(call); break;
      default: result = drafts(call["drafts"]); break;
    }
    changes_.add(replay_, call["op"].string(), result);
    return result;
  }

 private:
  ReleaseRun(SchedulerReplay replay, const JsonValue& config) : replay_(std::move(replay)) {
    replay_.set_stop_token(config["stop_token"].int64());
    replay_.keep_cache_events();
    resumed_are_new_ = read_runner(config) == ModelRunner::v2;
  }

  void add(const JsonValue& call) {
    TokenIds prompt;
    for (const JsonValue& range : call["prompt"].elements()) {
      const std::int64_t first = range[std::size_t{0}].int64({0, std::int64_t{1} << 40});
      const std::int32_t count = range[std::size_t{1}].int32({0, kMaxReleaseTokens});
      for (std::int32_t i = 0; i < count; ++i) prompt.push_back(first + i);
    }
    const JsonValue id = call["id"];
    const Status added =
        replay_.add_request({.name = id.string(),
                             .prompt_token_ids = prompt,
                             .max_tokens = call["max_tokens"].int32({0, kMaxReleaseTokens}),
                             .priority = call["priority"].int32(),
                             .arrival_time = call["arrival"].int64()});
    if (!added) id.fail(added.error().message);
  }

  json schedule() {
    const Result<ReplayedSchedule> scheduled = replay_.schedule();
    if (!scheduled) return error_json(scheduled.error());
    const ReplayedSchedule& schedule = scheduled.value();
    json answer = {{"rows", json::array()}};
    add_lookups(schedule, answer);
    for (const ReplayedRequest& request : schedule.scheduled) add_row(request, answer);
    add_admitted(schedule, answer);
    add_names("preempted", schedule.preempted, answer);
    add_names("finished", schedule.finished, answer);
    if (!schedule.new_attention_block_ids.empty())
      answer["zero"] = schedule.new_attention_block_ids;
    for (const PendingCopy& copy : schedule.block_copies)
      answer["copies"].push_back({copy.source_block, copy.block});
    for (const ReplayedRequest& request : schedule.scheduled)
      if (const auto& [position, column] = request.checkpoint; position > 0)
        answer["checkpoints"][request.name] = {position, column};
    if (schedule.skip_drafts) answer["skip_drafts"] = true;
    const auto& common = schedule.num_common_prefix_blocks;
    if (std::ranges::any_of(common, [](std::int32_t count) { return count != 0; }))
      answer["common_prefix"] = common;
    return answer;
  }

  static void add_lookups(const ReplayedSchedule& schedule, json& answer) {
    for (const ReplayedLookup& lookup : schedule.lookups) {
      json shown = {lookup.name, lookup.num_hit_tokens, lookup.shared_prefix_boundary};
      if (lookup.num_hit_tokens > 0) shown.push_back(lookup.block_ids);
      answer["lookups"].push_back(shown);
    }
  }

  void add_row(const ReplayedRequest& request, json& answer) const {
    const bool padded = request.admission != Admission::running && !request.draft_token_ids.empty();
    answer["rows"].push_back({request.name, request.num_computed_tokens,
                              request.num_scheduled_tokens, request.draft_token_ids.size(),
                              padded ? 1 : 0});
    const GroupBlockIds blocks = request.new_block_ids();
    if (request.admission != Admission::running) {
      answer["new_blocks"][request.name] = request.block_ids;
    } else if (std::ranges::any_of(blocks, [](const auto& list) { return !list.empty(); })) {
      answer["new_blocks"][request.name] = blocks;
    }
  }

  // V2 reports resumed requests as new ones, behind them.
  void add_admitted(const ReplayedSchedule& schedule, json& answer) const {
    std::vector<std::string> added;
    std::vector<std::string> resumed;
    for (const ReplayedRequest& request : schedule.scheduled) {
      if (request.admission == Admission::new_request) added.push_back(request.name);
      if (request.admission == Admission::resumed) resumed.push_back(request.name);
    }
    if (resumed_are_new_) added.insert(added.end(), resumed.begin(), resumed.end());
    if (!added.empty()) answer["new"] = added;
    if (!resumed_are_new_) add_names("resumed", resumed, answer);
  }

  static void add_names(const std::string& member, std::vector<std::string> names, json& answer) {
    if (names.empty()) return;
    std::ranges::sort(names);
    answer[member] = names;
  }

  json update(const JsonValue& call) {
    std::map<std::string, TokenIds> sampled;
    for (const std::string& name : replay_.awaiting_output()) sampled[name] = {};
    if (const auto given = call.find_non_null("sampled"))
      for (const auto& [name, ids] : given->members()) sampled[name] = ids.int64s();
    const Status updated = replay_.update_from_output(sampled);
    if (!updated) call.fail(updated.error().message);
    json answer = json::object();
    for (const auto& [name, output] : replay_.delivered())
      answer["out"][name] = {output.num_tokens, output.end == EndOfRequest::none
                                                    ? json()
                                                    : json(end_name(output.end))};
    return answer;
  }

  json drafts(const JsonValue& given) {
    std::map<std::string, TokenIds> drafts;
    for (const auto& [name, count] : given.members()) {
      TokenIds& ids = drafts[name];
      for (std::int32_t i = 0; i < count.int32({0, 1 << 8}); ++i) ids.push_back(900 + i);
    }
    replay_.update_draft_token_ids(drafts);
    json stored = json::object();
    for (const std::string& name : replay_.live())
      if (const std::int32_t count = replay_.find(name)->num_draft_tokens; count > 0)
        stored[name] = count;
    return {{"stored", stored}};
  }

  SchedulerReplay replay_;
  bool resumed_are_new_ = false;
  Changes changes_;
};

}  // namespace

json recompute_release_scheduler(const VectorCase& vector, const VectorKernels&) {
  check_pool_size(vector.config, vector.input);
  return answer_calls(ReleaseRun::create(vector), vector.input);
}

}  // namespace hybridscope
