#include "core/engine/engine.h"

#include <algorithm>
#include <tuple>

#include "core/base/math.h"
#include "core/caching/manager_policies.h"
#include "core/engine/prefix_fingerprints.h"
#include "core/engine/scheduler_setup.h"

namespace hybridscope {
namespace {

template <class T>
std::string text(T value) {
  return std::to_string(value);
}

std::int64_t count_prompt_tokens(const AddRequest& request) {
  std::int64_t count = 0;
  for (const PromptSegment& segment : request.prompt) count += segment.length;
  return count;
}

// Limit of block tables and per-block data; everything else is small beside them.
constexpr std::int64_t kMaxMemoryBytes = std::int64_t{64} << 30;
constexpr std::int64_t kBytesABlock = 256;

Status check_memory(const EngineConfig& config) {
  std::int64_t columns = 0;
  for (const KVCacheGroup& group : config.kv_cache_config.groups)
    columns += cdiv<std::int64_t>(config.max_model_len, group.block_size()) + 1 +
               config.num_speculative_tokens;
  const std::int64_t bytes =
      columns * config.max_num_seqs * static_cast<std::int64_t>(sizeof(std::int32_t)) +
      config.kv_cache_config.num_blocks * kBytesABlock;
  if (bytes <= kMaxMemoryBytes) return Ok{};
  return invalid_input("max_num_seqs " + text(config.max_num_seqs) + ", max_model_len " +
                       text(config.max_model_len) + " and " +
                       text(config.kv_cache_config.num_blocks) + " blocks would take " +
                       text(bytes >> 30) + " GiB of this machine's memory, the limit is " +
                       text(kMaxMemoryBytes >> 30) + " GiB");
}

Status check_config(const EngineConfig& config) {
  const std::int32_t spec = config.num_speculative_tokens;
  if (config.kv_cache_config.groups.empty()) return invalid_input("the model caches nothing");
  if (config.max_num_seqs < 1 || config.max_num_batched_tokens < 1)
    return invalid_input("max_num_seqs " + text(config.max_num_seqs) +
                         " and max_num_batched_tokens " + text(config.max_num_batched_tokens) +
                         " must be at least 1");
  if (spec < 0 || (spec > 0) != (config.speculative_method != SpeculativeMethod::none))
    return invalid_input("num_speculative_tokens " + text(spec) +
                         " does not fit the speculative method");
  if (config.conv_kernel < 2 || config.conv_kernel > kMaxConvKernel)
    return invalid_input("conv_kernel " + text(config.conv_kernel) + ", expected 2.." +
                         text(kMaxConvKernel));
  if (!(config.acceptance_rate >= 0.0 && config.acceptance_rate <= 1.0))
    return invalid_input("acceptance_rate " + text(config.acceptance_rate) + ", expected 0..1");
  for (const KVCacheGroup& group : config.kv_cache_config.groups) {
    if (!group.is_mamba() || config.mamba_cache_mode == MambaCacheMode::none) continue;
    if (spec + 1 > group.block_size())
      return invalid_input("num_speculative_tokens + 1 = " + text(spec + 1) +
                           " tokens do not fit a mamba block of " + text(group.block_size()));
  }
  if (!std::ranges::is_sorted(config.cudagraph_capture_sizes))
    return invalid_input("cudagraph_capture_sizes are not ascending");
  return Ok{};
}

}  // namespace

std::int64_t blocks_one_request_needs(const EngineConfig& config, std::int64_t num_tokens) {
  const std::int64_t spec = config.num_speculative_tokens;
  const std::int64_t slots = std::min<std::int64_t>(num_tokens + spec, config.max_model_len);
  const bool copies = hits_end_inside_blocks(config);
  const bool waits_for_frames =
      config.async_scheduling && config.policies.is(SkippedBasis::processed);
  std::int64_t total = 0;
  for (const KVCacheGroup& group : config.kv_cache_config.groups) {
    const std::int64_t block_size = group.block_size();
    if (!group.is_mamba()) {
      total += cdiv(slots, block_size);
    } else if (config.mamba_cache_mode == MambaCacheMode::none) {
      total += 1 + spec;
    } else if (config.mamba_cache_mode == MambaCacheMode::all) {
      total += cdiv(slots, block_size) + spec;
    } else {
      // The state before the running column is freed K tokens late, which matters for small blocks,
      // or when its frame has returned.
      const std::int64_t states = waits_for_frames || 2 * spec >= block_size ? 3 : 2;
      total += std::min(cdiv(slots, block_size),
                        states + std::get<MambaSpec>(group.spec).num_prefill_checkpoint_blocks) +
               spec;
    }
    if (copies) ++total;  // the copy of a block that it shares in part
  }
  return total;
}

Result<Engine> Engine::create(const EngineConfig& config) {
  if (Status status = check_config(config); !status.ok()) return status.error();
  if (Status status = check_memory(config); !status.ok()) return status.error();
  auto kv_cache = KVCacheManager::create(kv_cache_manager_config(config), nullptr);
  if (!kv_cache.ok()) return kv_cache.error();
  auto own_config = std::make_unique<EngineConfig>(config);
  auto worker = Worker::create(*own_config);
  if (!worker.ok()) return worker.error();
  return Engine(std::move(own_config),
                std::make_unique<KVCacheManager>(std::move(kv_cache).value()),
                std::move(worker).value());
}

Engine::Engine(std::unique_ptr<EngineConfig> config, std::unique_ptr<KVCacheManager> kv_cache,
               Worker worker)
    : config_(std::move(config)),
      kv_cache_(std::move(kv_cache)),
      scheduler_(std::make_unique<Scheduler>(
          scheduler_config(*config_),
          Scheduler::Uses{.policies = config_->policies, .kv_cache = *kv_cache_})),
      worker_(std::move(worker)) {
  frame_.trace.groups = make_group_traces(config_->kv_cache_config);
}

Engine::Engine(const Engine& other)
    : config_(std::make_unique<EngineConfig>(*other.config_)),
      kv_cache_(std::make_unique<KVCacheManager>(*other.kv_cache_)),
      worker_(other.worker_, *config_),
      requests_(other.requests_),
      output_(other.output_),
      in_flight_(other.in_flight_),
      pending_(other.pending_),
      preempted_by_command_(other.preempted_by_command_),
      scripted_accepts_(other.scripted_accepts_),
      added_(other.added_),
      step_budget_(other.step_budget_),
      num_unfinished_(other.num_unfinished_),
      num_pending_commands_(other.num_pending_commands_),
      step_(other.step_),
      now_us_(other.now_us_),
      step_clock_(other.step_clock_) {
  kv_cache_->set_event_log(nullptr);  // schedule() sets our own
  scheduler_ = std::make_unique<Scheduler>(
      *other.scheduler_, Scheduler::Uses{.policies = config_->policies, .kv_cache = *kv_cache_},
      [this](RequestId id) -> Request& { return requests_[id].scheduling; });
  // The groups know in which step their persistent buffers were written last; the rest of the last
  // frame views `other`'s arrays and is not copied.
  frame_.trace.groups = other.frame_.trace.groups;
  frame_.trace.clear();
}

std::int64_t longest_length(const EngineConfig& config, const AddRequest& request) {
  return std::min<std::int64_t>(count_prompt_tokens(request) + request.max_tokens,
                                config.max_model_len);
}

Status check_request(const EngineConfig& config, const AddRequest& request) {
  const auto bad = [&](const std::string& message) {
    return invalid_input("request \"" + request.name + "\": " + message);
  };
  for (const PromptSegment& segment : request.prompt)
    if (segment.length < 1 || segment.first < 0)
      return bad("a prompt segment of " + text(segment.length) + " tokens from token " +
                 text(segment.first) + " on");
  const std::int64_t num_prompt_tokens = count_prompt_tokens(request);
  if (num_prompt_tokens < 1) return bad("the prompt has no token");
  if (request.max_tokens < 1)
    return bad("max_tokens is " + text(request.max_tokens) + ", expected at least 1");
  if (num_prompt_tokens >= config.max_model_len)
    return bad("the prompt has " + text(num_prompt_tokens) + " tokens, max_model_len is " +
               text(config.max_model_len));
  const std::int64_t length = longest_length(config, request);
  // A preempted request computes all but its last token again, at once.
  if (!config.enable_chunked_prefill && length - 1 > config.max_num_batched_tokens)
    return bad(
        "it can have " + text(length - 1) +
        " tokens to compute in one step without chunked prefill, max_num_batched_tokens is " +
        text(config.max_num_batched_tokens));
  return Ok{};
}

Status check_request_fits(const EngineConfig& config, const AddRequest& request) {
  if (Status status = check_request(config, request); !status.ok()) return status;
  const std::int64_t length = longest_length(config, request);
  const std::int64_t needed = blocks_one_request_needs(config, length);
  // The watermark does not apply to a request that runs alone.
  const std::int64_t usable = config.kv_cache_config.num_blocks - 1;
  if (needed > usable)
    return invalid_input("request \"" + request.name + "\": it can need " + text(needed) +
                         " blocks at " + text(length) + " tokens, the pool has " + text(usable));
  return Ok{};
}

Result<RequestId> Engine::add_request(const AddRequest& request, const PrefixFingerprints* folded) {
  if (Status status = check_request(*config_, request); !status.ok()) return status.error();
  EngineRequest& added = requests_.add(request.name);
  added.key = request.key;
  added.cache_salt = request.cache_salt;
  added.tokens = TokenSequence(request.prompt, config_->seed, request.key);
  added.prefix = folded != nullptr
                     ? *folded
                     : fold_prompt(prompt_folding(*config_), added.cache_salt, added.tokens);
  Request& scheduling = added.scheduling;
  scheduling.num_prompt_tokens = added.tokens.num_prompt_tokens();
  scheduling.num_tokens = scheduling.num_prompt_tokens;
  scheduling.max_tokens = request.max_tokens;
  scheduling.priority = request.priority;
  // Not the clock: requests of one step would tie, and ties under policy priority can preempt each
  // other forever.
  scheduling.arrival_time = scheduling.id.value;
  scheduling.block_hashes = added.prefix.cache_keys();
  scheduler_->add_request(scheduling);
  ++num_unfinished_;
  added_.push_back({.command = CommandKind::add_request,
                    .request = scheduling.id,
                    .value = scheduling.num_prompt_tokens});
  return scheduling.id;
}

void Engine::advance_to(std::int64_t time_us) { now_us_ = std::max(now_us_, time_us); }

void Engine::advance_to_step(std::int64_t step) { step_ = std::max(step_, step - 1); }

const StepTrace& Engine::step() {
  schedule(frame_);
  prepare(frame_);
  worker_.sample(frame_.trace, requests_);
  std::swap(output_, in_flight_);
  take_output(frame_.trace);
  commit(frame_.trace, config_->async_scheduling ? in_flight_ : output_);
  return frame_.trace;
}

void Engine::schedule(Frame& frame) {
  StepTrace& trace = frame.trace;
  trace.clear();
  trace.step = ++step_;
  trace.time_us = now_us_;
  kv_cache_->set_event_log(&trace.cache_events);
  trace.commands.swap(added_);
  apply_pending(trace);
  trace.budget_overridden = step_budget_ >= 0;
  const std::int32_t budget = step_budget_ >= 0 ? step_budget_ : config_->max_num_batched_tokens;
  step_budget_ = -1;
  describe_schedule(frame, scheduler_->schedule(budget));
  describe_labels(trace, trace.cache_events, trace.label_history);
}

void Engine::describe_schedule(Frame& frame, const ScheduleOutput& output) {
  StepTrace& trace = frame.trace;
  trace.token_budget = output.token_budget;
  trace.num_scheduled_tokens = output.total_num_scheduled_tokens;
  trace.skipped = output.skipped;
  trace.token_terms = output.token_terms;
  trace.lookups = output.lookups;
  trace.num_running = static_cast<std::int32_t>(scheduler_->running().size());
  trace.num_waiting = scheduler_->num_waiting();
  trace.num_free_blocks = kv_cache_->num_free_blocks();
  trace.preempted = preempted_by_command_;
  preempted_by_command_.clear();
  for (const Request* request : output.preempted) trace.preempted.push_back(request->id);
  frame.finished = output.finished_req_ids;

  const std::size_t groups = trace.groups.size();
  frame.new_blocks.ids.clear();
  frame.new_blocks.starts.assign(1, 0);
  for (std::size_t i = 0; i < output.scheduled.size(); ++i) {
    const ScheduledRequest& entry = output.scheduled[i];
    const bool admitted = entry.admission != Admission::running;
    const std::int32_t hit = admitted ? entry.num_computed_tokens : 0;
    trace.scheduled.push_back({.request = entry.request->id,
                               .admission = entry.admission,
                               .run = entry.request->run,
                               .num_computed_tokens = entry.num_computed_tokens,
                               .num_scheduled_tokens = entry.num_scheduled_tokens,
                               .num_draft_tokens = entry.num_draft_tokens,
                               .num_drafts_offered = entry.num_drafts_offered,
                               .num_tokens = entry.num_tokens,
                               .num_output_placeholders = entry.num_output_placeholders,
                               .num_prompt_tokens = entry.request->num_prompt_tokens,
                               .placeholder_drafts = entry.placeholder_drafts,
                               .num_hit_tokens = hit});
    describe_checkpoint(trace.scheduled.back());
    if (hit > 0) {
      const auto hashes = requests_[entry.request->id].prefix.block_hashes().first(
          static_cast<std::size_t>(hit / config_->hash_block_size));
      trace.hit_hashes.insert(trace.hit_hashes.end(), hashes.begin(), hashes.end());
    }
    for (std::size_t g = 0; g < groups; ++g) {
      const auto ids = kv_cache_->block_ids(entry.request->id, static_cast<std::int32_t>(g));
      const auto first =
          admitted ? 0 : static_cast<std::size_t>(output.first_new_column[i * groups + g]);
      frame.new_blocks.ids.insert(frame.new_blocks.ids.end(),
                                  ids.begin() + static_cast<std::ptrdiff_t>(first), ids.end());
      frame.new_blocks.starts.push_back(frame.new_blocks.ids.size());
    }
  }
}

void Engine::describe_checkpoint(ScheduledTrace& scheduled) const {
  for (const GroupTrace& group : frame_.trace.groups) {
    if (!group.is_mamba) continue;
    std::tie(scheduled.checkpoint_position, scheduled.checkpoint_column) =
        kv_cache_->checkpoint(scheduled.request, group.group);
    return;
  }
}

// What the conv window of a block registered for a mamba group has to hold. With look-ahead hashes
// the event gets the fingerprint of the prefix in place of the key.
void Engine::describe_labels(const StepTrace& trace, std::span<CacheEvent> events,
                             std::vector<Fingerprint>& history) {
  const std::int32_t length = config_->conv_kernel - 1;
  const bool keys_look_ahead = num_hash_lookahead_tokens(*config_) > 0;
  for (CacheEvent& event : events) {
    if (event.kind != CacheEventKind::registered) continue;
    EngineRequest& request = requests_[event.request];
    if (keys_look_ahead) event.block_hash = request.prefix.at(request.tokens, event.num_tokens);
    if (!trace.groups[static_cast<std::size_t>(event.group)].is_mamba) continue;
    for (std::int32_t i = 0; i < length; ++i) {
      const std::int32_t position = event.num_tokens - length + 1 + i;
      history.push_back(position > 0 ? request.prefix.at(request.tokens, position) : 0);
    }
  }
}

void Engine::prepare(Frame& frame) {
  worker_.prepare(frame.trace, frame.new_blocks, frame.finished, requests_);
  drop_unused_accepts(frame.trace);
  for (const RequestId id : frame.finished) requests_.release(id);
}

std::int32_t Engine::next_draft_count(const EngineRequest& request) const {
  if (config_->num_speculative_tokens == 0) return 0;
  if (!draft_lists_vary(*config_)) return config_->num_speculative_tokens;
  return ngram_num_draft_tokens({.seed = config_->seed, .rate = config_->acceptance_rate},
                                request.key, request.scheduling.num_tokens,
                                config_->num_speculative_tokens);
}

void Engine::take_output(const StepTrace& trace) {
  output_.step = trace.step;
  output_.num_scheduled_tokens = trace.num_scheduled_tokens;
  output_.rows.clear();
  for (const ScheduledTrace& scheduled : trace.scheduled)
    output_.rows.push_back({scheduled.request,
                            {.run = scheduled.run,
                             .num_scheduled_tokens = scheduled.num_scheduled_tokens,
                             .num_draft_tokens = scheduled.num_draft_tokens}});
  for (const RowTrace& row : trace.rows)
    output_.rows[static_cast<std::size_t>(row.scheduled)].returned.num_sampled_tokens =
        row.num_sampled_tokens;
}

void Engine::commit(StepTrace& trace, const FrameOutput& output) {
  kv_cache_->set_event_log(&trace.commit_events);
  kv_cache_->publish();
  scheduler_->frame_returned(output.num_scheduled_tokens);
  trace.committed_step = output.step;
  for (const FrameOutput::Row& row : output.rows) trace.committed.push_back(commit_row(row));
  describe_labels(trace, trace.commit_events, trace.commit_label_history);
  trace.num_unfinished = num_unfinished_;
  trace.num_pending_commands = num_pending_commands_;
  trace.duration_us = step_clock_ != nullptr
                          ? step_clock_->duration_us(trace)
                          : config_->step_cost_base_us +
                                config_->step_cost_per_token_us * trace.num_scheduled_tokens;
  now_us_ += trace.duration_us;
}

CommitTrace Engine::commit_row(const FrameOutput::Row& row) {
  CommitTrace commit{.request = row.request, .outcome = CommitOutcome::left_the_engine};
  if (!requests_.holds(row.request)) return commit;
  EngineRequest& request = requests_[row.request];
  Request& state = request.scheduling;
  const bool had_finished = state.status == RequestStatus::finished;
  if (!had_finished) {
    request.prefix.extend_to(request.tokens, state.num_tokens + row.returned.num_sampled_tokens);
    state.block_hashes = request.prefix.cache_keys();
  }
  const UpdatedRequest updated = scheduler_->update_from_output(state, row.returned);
  // With a negative count vLLM's worker would read outside of its arrays; here the request goes on
  // with its first token.
  state.num_computed_tokens = std::max(state.num_computed_tokens, 0);
  commit.outcome = updated.outcome;
  commit.num_appended_tokens = updated.num_appended_tokens;
  commit.num_computed_tokens = state.num_computed_tokens;
  commit.num_tokens = state.num_tokens;
  commit.num_output_placeholders = state.num_output_placeholders;
  commit.finished = state.status == RequestStatus::finished && !had_finished;
  if (commit.finished) {
    --num_unfinished_;
  } else if (commit.num_appended_tokens > 0 && !config_->async_scheduling) {
    scheduler_->update_draft_tokens(state, next_draft_count(request));
  }
  commit.num_drafts_next = commit.finished ? 0 : state.num_draft_tokens;
  return commit;
}

}  // namespace hybridscope
