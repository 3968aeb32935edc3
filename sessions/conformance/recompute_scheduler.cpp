// scheduler and pipeline: whole runs, call by call; and the engine settings of vectors with a
// scheduler.

#include <fmt/core.h>

#include <array>
#include <bit>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "core/engine/policy_table.h"
#include "sessions/conformance/answer_json.h"
#include "sessions/conformance/pipeline_worker.h"
#include "sessions/conformance/recompute.h"
#include "sessions/conformance/vector_states.h"
#include "sessions/replay/scheduler_replay.h"
#include "sessions/text/json_value.h"

namespace hybridscope {
namespace {

using nlohmann::json;

// {name: [token ids]}.
std::map<std::string, TokenIds> read_token_ids_by_name(const JsonValue& object) {
  std::map<std::string, TokenIds> result;
  for (const auto& [name, ids] : object.members()) result[name] = ids.int64s();
  return result;
}

constexpr std::int32_t kMaxRequestTokens = 1 << 26;

// A time as an integer of the same order. Negative doubles, whose bits sort backwards, are
// mirrored.
std::int64_t ordered(double time) {
  const auto bits = std::bit_cast<std::int64_t>(time);
  return bits < 0 ? std::numeric_limits<std::int64_t>::min() - bits : bits;
}

class SchedulerCalls {
 public:
  // Reads `config` of the vector. Errors: those of SchedulerReplay::create.
  static Result<SchedulerCalls> create(const JsonValue& config) {
    Result<SchedulerReplay> replay = SchedulerReplay::create(read_scheduler_config(config));
    if (!replay) return replay.error();
    const bool v2 = config["use_v2_model_runner"].boolean();
    return SchedulerCalls(std::move(replay).value(),
                          v2 ? ResumedRequests::as_new : ResumedRequests::cached);
  }

  // The call's result. Throws for an op that the scheduler does not have and for arguments that
  // contradict the schedule.
  json answer(const JsonValue& call) {
    switch (call["op"].one_of({"add_request", "abort", "reset_prefix_cache", "schedule",
                               "update_from_output", "update_draft_token_ids"})) {
      case 0: return add_request(call);
      case 1:
        replay_.abort(call["id"].string());
        return {{"num_free", replay_.kv_cache().num_free_blocks()}};
      case 2:
        return {{"result", replay_.reset_prefix_cache(call["reset_running_requests"].boolean())}};
      case 3: return schedule();
      case 4: {
        const JsonValue sampled = call["sampled_token_ids"];
        const Status updated = replay_.update_from_output(read_token_ids_by_name(sampled));
        if (!updated) sampled.fail(updated.error().message);
        return update_json(replay_);
      }
      default:
        replay_.update_draft_token_ids(read_token_ids_by_name(call["draft_token_ids"]));
        return draft_counts_json(replay_);
    }
  }

  const EngineConfig& config() const { return replay_.config(); }
  ResumedRequests resumed_requests() const { return resumed_requests_; }
  // What the last `schedule` call decided.
  const std::optional<ReplayedSchedule>& last_schedule() const { return last_schedule_; }

 private:
  SchedulerCalls(SchedulerReplay replay, ResumedRequests resumed_requests)
      : replay_(std::move(replay)), resumed_requests_(resumed_requests) {}

  json add_request(const JsonValue& call) {
    const JsonValue id = call["id"];
    const Status added =
        replay_.add_request({.name = id.string(),
                             .prompt_token_ids = call["prompt_token_ids"].int64s(),
                             .max_tokens = call["max_tokens"].int32({0, kMaxRequestTokens}),
                             .priority = call["priority"].int32(),
                             .arrival_time = ordered(call["arrival_time"].number())});
    if (!added) id.fail(added.error().message);
    return json::object();
  }

  json schedule() {
    Result<ReplayedSchedule> schedule = replay_.schedule();
    if (!schedule) return error_json(schedule.error());
    last_schedule_ = std::move(schedule).value();
    return schedule_json(*last_schedule_, replay_, resumed_requests_);
  }

  SchedulerReplay replay_;
  ResumedRequests resumed_requests_;
  std::optional<ReplayedSchedule> last_schedule_;
};

// Scheduler and worker: each scheduled step runs on the worker before its output is returned.
class PipelineCalls {
 public:
  PipelineCalls(SchedulerCalls scheduler, const VectorCase& vector, const VectorKernels& kernels)
      : scheduler_(std::move(scheduler)), worker_(vector.config, scheduler_.config(), kernels) {}

  const VectorMemory& memory() const { return worker_.memory(); }

  json answer(const JsonValue& call) {
    const JsonValue op = call["op"];
    const std::string name = op.string();
    if (name == "worker_step") {
      if (!step_is_due_) op.fail("no step was scheduled since the last worker_step");
      step_is_due_ = false;
      return worker_.step(call, *scheduler_.last_schedule(), scheduler_.resumed_requests());
    }
    if (step_is_due_ && (name == "schedule" || name == "update_from_output"))
      op.fail("expected a worker_step for the step that was scheduled");
    json result = scheduler_.answer(call);
    if (name == "schedule") step_is_due_ = !result.contains("error");
    return result;
  }

 private:
  SchedulerCalls scheduler_;
  PipelineWorker worker_;
  bool step_is_due_ = false;
};

}  // namespace

json recompute_scheduler(const VectorCase& vector, const VectorKernels&) {
  check_pool_size(vector.config, vector.input);
  return answer_calls(SchedulerCalls::create(vector.config), vector.input);
}

json recompute_pipeline(const VectorCase& vector, const VectorKernels& kernels) {
  check_pool_size(vector.config, vector.input);
  auto scheduler = SchedulerCalls::create(vector.config);
  if (!scheduler) return error_json(scheduler.error());
  PipelineCalls calls(std::move(scheduler).value(), vector, kernels);
  json answer{{"raw_crc32_before", calls.memory().raw_crc32()}};
  answer["results"] =
      answer_until_error(vector.input, [&](const JsonValue& call) { return calls.answer(call); });
  answer["final_state_crc32"] = calls.memory().state_crc32();
  return answer;
}

namespace {

// Products and sums of block counts up to this fit 32 bits.
constexpr std::int32_t kMaxBlocks = 1 << 20;
constexpr std::int32_t kMaxBlockSize = 1 << 22;
constexpr std::int32_t kMaxSpeculation = 1 << 8;
constexpr std::int32_t kMaxConfigTokens = 1 << 26;
constexpr std::size_t kMaxGroups = 64;
// A worker keeps tables of so many tokens for so many rows.
constexpr std::int32_t kMaxWorkerTokens = 1 << 14;
constexpr std::int32_t kMaxWorkerRows = 1 << 8;

KVCacheGroup read_group(const JsonValue& group, MambaCacheMode mode,
                        std::int32_t num_speculative_blocks) {
  KVCacheGroup result;
  const auto is_eagle = group.find_non_null("is_eagle_group");
  result.is_eagle_group = is_eagle && is_eagle->boolean();
  const std::int32_t block_size = group["block_size"].int32({1, kMaxBlockSize});
  if (group["type"].one_of({"full", "mamba"}) == 0) {
    result.spec = FullAttentionSpec{.block_size = block_size};
    return result;
  }
  MambaSpec spec;
  spec.block_size = block_size;
  spec.mamba_cache_mode = mode;
  spec.num_speculative_blocks = num_speculative_blocks;
  result.spec = spec;
  return result;
}

KVCacheConfig read_kv_cache_config(const JsonValue& config, MambaCacheMode mode,
                                   std::int32_t num_speculative_blocks) {
  KVCacheConfig result;
  result.num_blocks = config["num_blocks"].int32({1, kMaxBlocks});
  const JsonValue groups = config["groups"];
  for (const JsonValue& group : groups.elements())
    result.groups.push_back(read_group(group, mode, num_speculative_blocks));
  if (result.groups.size() > kMaxGroups)
    groups.fail(fmt::format("expected at most {} groups, found {}", kMaxGroups, groups.size()));
  return result;
}

}  // namespace

EngineConfig read_cache_config(const JsonValue& config) {
  EngineConfig result;
  result.mamba_cache_mode = read_mamba_cache_mode(config["mamba_cache_mode"]);
  result.kv_cache_config =
      read_kv_cache_config(config, result.mamba_cache_mode,
                           config["num_speculative_blocks"].int32({0, kMaxSpeculation}));
  result.scheduler_block_size = config["scheduler_block_size"].int32({1, kMaxConfigTokens});
  result.hash_block_size = config["hash_block_size"].int32({1, kMaxConfigTokens});
  result.speculative_method =
      config["use_eagle"].boolean() ? SpeculativeMethod::mtp : SpeculativeMethod::none;
  const auto max_model_len = config.find_non_null("max_model_len");
  result.max_model_len =
      max_model_len ? max_model_len->int32({1, kMaxConfigTokens}) : kMaxConfigTokens;
  const auto enable_caching = config.find_non_null("enable_caching");
  result.enable_prefix_caching = !enable_caching || enable_caching->boolean();
  const auto watermark = config.find_non_null("watermark");
  result.watermark = watermark ? watermark->number() : 0.0;
  result.policies = reference_policies();
  return result;
}

namespace {

void read_scheduler_settings(const JsonValue& config, EngineConfig& result) {
  result.block_size = config["block_size"].int32({1, kMaxBlockSize});
  result.max_num_seqs = config["max_num_seqs"].int32({1, kMaxBlocks});
  result.max_num_batched_tokens = config["max_num_batched_tokens"].int32({0, kMaxConfigTokens});
  result.long_prefill_token_threshold =
      config["long_prefill_token_threshold"].int32({0, kMaxConfigTokens});
  result.enable_chunked_prefill = config["enable_chunked_prefill"].boolean();
  result.scheduler_reserve_full_isl = config["reserve_full_isl"].boolean();
  result.scheduling_policy = config["policy"].one_of({"fcfs", "priority"}) == 0
                                 ? SchedulingPolicy::fcfs
                                 : SchedulingPolicy::priority;
}

SpeculativeMethod read_method(const JsonValue& config) {
  const auto method = config.find_non_null("method");
  if (!method) return SpeculativeMethod::none;
  return std::array{
      SpeculativeMethod::mtp, SpeculativeMethod::mtp, SpeculativeMethod::ngram,
      SpeculativeMethod::draft_model}[method->one_of({"mtp", "eagle3", "ngram", "draft_model"})];
}

// Mode, K and the groups of blocks, as the vectors of releases have them.
EngineConfig read_release_groups(const JsonValue& config) {
  EngineConfig result;
  result.mamba_cache_mode = read_mamba_cache_mode(config["mamba_cache_mode"]);
  result.num_speculative_tokens = config["num_spec_tokens"].int32({0, kMaxSpeculation});
  result.kv_cache_config =
      read_kv_cache_config(config, result.mamba_cache_mode, result.num_speculative_tokens);
  return result;
}

}  // namespace

ModelRunner read_runner(const JsonValue& config) {
  return config["runner"].one_of({"v1", "v2"}) == 0 ? ModelRunner::v1 : ModelRunner::v2;
}

EngineConfig read_scheduler_config(const JsonValue& config) {
  EngineConfig result = read_cache_config(config);
  read_scheduler_settings(config, result);
  result.num_speculative_tokens = config["num_spec_tokens"].int32({0, kMaxSpeculation});
  if (result.num_speculative_tokens > 0 && result.speculative_method == SpeculativeMethod::none)
    result.speculative_method = SpeculativeMethod::ngram;
  return result;
}

EngineConfig read_release_config(const VectorCase& vector) {
  const JsonValue& config = vector.config;
  EngineConfig result = read_release_groups(config);
  result.scheduler_block_size = config["scheduler_block_size"].int32({1, kMaxConfigTokens});
  result.hash_block_size = config["hash_block_size"].int32({1, kMaxConfigTokens});
  result.max_model_len = config["max_model_len"].int32({1, kMaxConfigTokens});
  result.enable_prefix_caching = config["enable_caching"].boolean();
  result.watermark = config["watermark"].number();
  result.speculative_method = read_method(config);
  read_scheduler_settings(config, result);
  result.async_scheduling = config["async"].boolean();
  result.runner = read_runner(config);
  if (const auto interval = config.find_non_null("retention_interval"))
    result.prefix_cache_retention_interval = interval->int32({0, kMaxConfigTokens});
  if (const auto disabled = config.find_non_null("disable_eagle_block_drop"))
    result.disable_eagle_block_drop = disabled->boolean();
  if (const auto shared = config.find_non_null("shared_prefix_checkpoint"))
    result.enable_mamba_shared_prefix_checkpoint = shared->boolean();
  // The vectors give what the settings come to.
  if (const auto lookahead = config.find_non_null("num_hash_lookahead_tokens"))
    result.disable_lookahead_block_hashes = lookahead->int32() == 0;
  for (KVCacheGroup& group : result.kv_cache_config.groups)
    if (auto* mamba = std::get_if<MambaSpec>(&group.spec)) {
      if (const auto blocks = config.find_non_null("num_prefill_checkpoint_blocks"))
        mamba->num_prefill_checkpoint_blocks = blocks->int32({0, 1});
      if (const auto alignment = config.find_non_null("prefill_checkpoint_alignment"))
        mamba->prefill_checkpoint_alignment = alignment->int32({0, kMaxConfigTokens});
    }
  result.policies = vector.policies_of(result.runner);
  return result;
}

EngineConfig read_release_worker_config(const VectorCase& vector) {
  const JsonValue& config = vector.config;
  EngineConfig result = read_release_groups(config);
  result.block_size = config["block_size"].int32({1, kMaxBlockSize});
  result.max_model_len = config["max_model_len"].int32({1, kMaxWorkerTokens});
  result.max_num_seqs = config["max_num_seqs"].int32({1, kMaxWorkerRows});
  result.max_num_batched_tokens = config["max_num_batched_tokens"].int32({1, kMaxConfigTokens});
  result.enable_prefix_caching = result.mamba_cache_mode != MambaCacheMode::none;
  result.speculative_method = read_method(config);
  result.async_scheduling = config["async"].boolean();
  result.runner = read_runner(config);
  result.cudagraph_mode = CUDAGraphMode::none;  // no question is about graphs
  result.policies = vector.policies_of(result.runner);
  return result;
}

void check_pool_size(const JsonValue& config, const JsonValue& calls) {
  const JsonValue num_blocks = config["num_blocks"];
  const auto num_calls = static_cast<std::int64_t>(calls.size());
  if (num_blocks.int32({1, kMaxBlocks}) * num_calls > kMaxVectorElements)
    num_blocks.fail(fmt::format("{} calls are too many for so many blocks", num_calls));
}

}  // namespace hybridscope
