// release_worker: what a runner of a release makes of what its scheduler gave out, step by step.
#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/engine/releases.h"
#include "core/engine/worker.h"
#include "sessions/conformance/answer_json.h"
#include "sessions/conformance/recompute.h"
#include "sessions/text/json_value.h"

namespace hybridscope {
namespace {

using nlohmann::json;

constexpr std::int32_t kMaxReleaseWorkerTokens = 1 << 20;
constexpr std::int32_t kMaxDrafts = 1 << 8;

// The worker with the requests that it has seen.
class WorkerRun {
 public:
  static Result<WorkerRun> create(const VectorCase& vector) {
    auto config = std::make_unique<const EngineConfig>(read_release_worker_config(vector));
    Result<Worker> worker = Worker::create(*config);
    if (!worker) return worker.error();
    return WorkerRun(std::move(config), std::move(worker).value());
  }

  json answer(const JsonValue& call) {
    read_step(call);
    worker_.prepare(trace_, new_blocks_, finished_, requests_);
    for (const RequestId id : finished_) requests_.release(id);
    if (trace_.rows.empty()) return {{"rows", json::array()}};
    json answer = rows();
    add_counts(answer);
    add_columns(answer);
    answer["uniform"] = trace_.uniform_decode ? 1 : 0;
    worker_.sample(trace_, requests_);
    answer["after"] = counts_after();
    if (is_v2()) add_moves(answer);
    return answer;
  }

 private:
  WorkerRun(std::unique_ptr<const EngineConfig> config, Worker worker)
      : config_(std::move(config)), worker_(std::move(worker)) {
    trace_.groups = make_group_traces(config_->kv_cache_config);
  }

  // -- what the scheduler gave out --

  void read_step(const JsonValue& call) {
    trace_.clear();
    ++trace_.step;
    new_blocks_.ids.clear();
    new_blocks_.starts.assign(1, 0);
    const JsonValue scheduled = call["scheduled"];
    if (scheduled.size() > static_cast<std::size_t>(config_->max_num_seqs))
      scheduled.fail("expected at most max_num_seqs requests");
    for (const JsonValue& entry : scheduled.elements()) read_scheduled(entry, call);
    trace_.preempted = ids_of(call, "preempted");
    finished_ = ids_of(call, "finished");
    if (is_v2()) check_slots(scheduled);
    for (const auto& [name, count] : call["accepted"].members())
      requests_[id_of(name, count)].scripted_num_accepted_tokens = count.int32({1, kMaxDrafts});
  }

  // V2: does every running request have a slot, and every admitted one a free slot?
  void check_slots(const JsonValue& scheduled) {
    for (const RequestId id : finished_) with_slot_.erase(id.value);
    for (const RequestId id : trace_.preempted) with_slot_.erase(id.value);
    std::set<std::int32_t> rows;
    for (std::size_t i = 0; i < trace_.scheduled.size(); ++i) {
      const ScheduledTrace& one = trace_.scheduled[i];
      const bool ends = std::ranges::find(finished_, one.request) != finished_.end();
      if (ends || !rows.insert(one.request.value).second)
        scheduled[i].fail("expected a request that goes on, once");
      if (one.admission != Admission::running)
        with_slot_.insert(one.request.value);
      else if (!with_slot_.contains(one.request.value))
        scheduled[i].fail("a running request that has no slot");
    }
    if (with_slot_.size() > static_cast<std::size_t>(config_->max_num_seqs))
      scheduled.fail("more requests than there are slots");
  }

  void read_scheduled(const JsonValue& entry, const JsonValue& call) {
    const auto number = [&](std::size_t i) { return entry[i].int32({0, kMaxReleaseWorkerTokens}); };
    ScheduledTrace scheduled{
        .admission =
            std::array{
                Admission::running, Admission::new_request,
                Admission::resumed}[static_cast<std::size_t>(entry[std::size_t{1}].int32({0, 2}))],
        .num_computed_tokens = number(2),
        .num_scheduled_tokens = entry[std::size_t{3}].int32({1, kMaxReleaseWorkerTokens}),
        .num_draft_tokens = entry[std::size_t{4}].int32({0, config_->num_speculative_tokens}),
        .num_tokens = number(6),
        .num_prompt_tokens = entry[std::size_t{7}].int32({1, kMaxReleaseWorkerTokens}),
        .placeholder_drafts = entry[std::size_t{5}].int32({0, 1}) == 1};
    const std::int32_t end = scheduled.num_computed_tokens + scheduled.num_scheduled_tokens;
    if (end > config_->max_model_len + config_->num_speculative_tokens ||
        scheduled.num_draft_tokens >= scheduled.num_scheduled_tokens)
      entry.fail("expected a row that fits max_model_len and has a token that is no draft");
    const std::string name = entry[std::size_t{0}].string();
    scheduled.request = scheduled.admission == Admission::new_request
                            ? add(name, scheduled.num_prompt_tokens, entry)
                            : id_of(name, entry);
    const auto accepted = call["accepted"].find_non_null(name);
    // A row that samples computes all known tokens and those in flight, its drafts aside.
    const std::int32_t last = end - scheduled.num_draft_tokens;
    scheduled.num_output_placeholders = accepted ? std::max(last - scheduled.num_tokens, 0) : 0;
    if (scheduled.samples() != accepted.has_value())
      entry.fail("expected an accepted count for a row that samples, and only for that");
    trace_.scheduled.push_back(scheduled);
    read_blocks(name, scheduled, call);
  }

  void read_blocks(const std::string& name, const ScheduledTrace& scheduled,
                   const JsonValue& call) {
    const std::size_t groups = config_->kv_cache_config.groups.size();
    std::vector<std::size_t>& held = num_blocks_[scheduled.request.value];
    if (scheduled.admission != Admission::running) held.clear();
    held.resize(groups);
    std::optional<JsonValue> given;
    if (const auto all = call.find_non_null("new_blocks")) given = all->find_non_null(name);
    for (std::size_t g = 0; g < groups; ++g) {
      if (given) {
        const std::vector<std::int32_t> ids = (*given)[g].int32s();
        new_blocks_.ids.insert(new_blocks_.ids.end(), ids.begin(), ids.end());
        held[g] += ids.size();
        if (held[g] > static_cast<std::size_t>(
                          block_table_columns(*config_, config_->kv_cache_config.groups[g])))
          (*given)[g].fail("more blocks than the block table has columns");
      }
      new_blocks_.starts.push_back(new_blocks_.ids.size());
    }
  }

  RequestId add(const std::string& name, std::int32_t num_prompt_tokens, const JsonValue& place) {
    if (const auto known = ids_.find(name); known != ids_.end() && requests_.holds(known->second))
      place.fail("the request is there already");
    EngineRequest& request = requests_.add(name);
    request.key = static_cast<std::uint64_t>(request.scheduling.id.value);
    request.tokens = TokenSequence({{.content = request.key, .length = num_prompt_tokens}},
                                   config_->seed, request.key);
    request.prefix = PrefixFingerprints(0, config_->hash_block_size, config_->conv_kernel - 2);
    return ids_[name] = request.scheduling.id;
  }

  RequestId id_of(const std::string& name, const JsonValue& place) const {
    const auto known = ids_.find(name);
    if (known == ids_.end() || !requests_.holds(known->second))
      place.fail("a request that was not scheduled before");
    return known->second;
  }

  // The ids of the named requests that the worker has seen.
  std::vector<RequestId> ids_of(const JsonValue& call, std::string_view member) const {
    std::vector<RequestId> result;
    if (const auto names = call.find_non_null(member))
      for (const std::string& name : names->strings())
        if (const auto known = ids_.find(name);
            known != ids_.end() && requests_.holds(known->second))
          result.push_back(known->second);
    return result;
  }

  // -- what the runner made of it --

  bool is_v2() const { return config_->runner == ModelRunner::v2; }

  json rows() const {
    json answer = {{"rows", json::array()},
                   {"computed", json::array()},
                   {"prefilling", json::array()},
                   {"tables", json::array()}};
    for (std::size_t r = 0; r < trace_.rows.size(); ++r) {
      const RowTrace& row = trace_.rows[r];
      answer["rows"].push_back(requests_.name_of(row.request));
      if (is_v2()) answer["slots"].push_back(row.slot);
      answer["computed"].push_back(row.num_computed_tokens);
      answer["prefilling"].push_back(trace_.common.is_prefilling[r] != 0 ? 1 : 0);
      for (std::size_t g = 0; g < trace_.groups.size(); ++g) {
        json blocks = json::array();
        const std::size_t held = num_blocks_.at(row.request.value)[g];
        for (std::size_t c = 0; c < held; ++c)
          blocks.push_back(trace_.groups[g].block_table.at(static_cast<std::int32_t>(r),
                                                           static_cast<std::int32_t>(c)));
        answer["tables"].push_back(blocks);
      }
    }
    return answer;
  }

  void add_counts(json& answer) const {
    const auto mamba = std::ranges::find_if(trace_.groups, &GroupTrace::is_mamba);
    if (mamba == trace_.groups.end() || !mamba->accepted_counts_given) return;
    for (const RowTrace& row : trace_.rows) {
      answer["counts"].push_back(row.num_accepted_tokens);
      answer["draft_counts"].push_back(row.num_draft_count);
    }
  }

  void add_columns(json& answer) const {
    const bool align = config_->mamba_cache_mode == MambaCacheMode::align;
    if (!is_v2() || align) answer["copies"] = json::array();
    if (!align) return;
    for (const CopyDecisionTrace& made : trace_.pre_copies.decisions) {
      answer["columns"].push_back(made.decision.dst_col);
      if (made.decision.copies())
        answer["copies"].push_back({made.row, made.decision.src_col, made.decision.dst_col,
                                    made.decision.accept_token_bias});
    }
  }

  void add_moves(json& answer) const {
    if (config_->mamba_cache_mode != MambaCacheMode::align) return;
    answer["moved"] = moves(trace_.pre_copies);
    answer["moved_after"] = moves(trace_.post_copies);
  }

  // The copies that change something, by group, then by destination.
  static json moves(const CopyLaunch& launch) {
    std::set<std::array<std::int32_t, 5>> found;
    for (const StateCopyTrace& copy : launch.copies)
      if (copy.temporal_src_block != copy.dst_block || copy.accept_token_bias != 0)
        found.insert({copy.group, copy.dst_block, copy.temporal_src_block, copy.conv_src_block,
                      copy.accept_token_bias});
    return found;
  }

  // The counts that the next step may find, behind the copies.
  json counts_after() const {
    json counts = json::array();
    for (std::size_t r = 0; r < trace_.rows.size(); ++r) {
      const auto& decisions = trace_.post_copies.decisions;
      counts.push_back(r < decisions.size()
                           ? decisions[r].decision.num_accepted_tokens_after()
                           : accepted_count_after(trace_.rows[r]).num_accepted_tokens);
    }
    return counts;
  }

  std::unique_ptr<const EngineConfig> config_;
  Worker worker_;
  RequestList requests_;
  std::map<std::string, RequestId> ids_;
  std::map<std::int32_t, std::vector<std::size_t>> num_blocks_;  // by request, by group
  StepTrace trace_;
  NewBlocks new_blocks_;
  std::vector<RequestId> finished_;
  std::set<std::int32_t> with_slot_;  // V2: requests
};

}  // namespace

json recompute_release_worker(const VectorCase& vector, const VectorKernels&) {
  check_pool_size(vector.config, vector.input);
  return answer_calls(WorkerRun::create(vector), vector.input);
}

}  // namespace hybridscope
