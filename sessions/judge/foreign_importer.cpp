#include "sessions/judge/foreign_importer.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

namespace hybridscope {
namespace {

constexpr std::int64_t kMaxTableEntries = std::int64_t{1} << 28;

}  // namespace

ForeignSlots::ForeignSlots(std::int32_t max_num_seqs)
    : owners_(static_cast<std::size_t>(max_num_seqs)) {}

void ForeignSlots::free(RequestId request) {
  const auto id = static_cast<std::size_t>(request.value);
  if (id >= slot_of_.size() || slot_of_[id] < 0) return;
  RequestId& owner = owners_[static_cast<std::size_t>(slot_of_[id])];
  if (owner == request) owner = {};
  slot_of_[id] = -1;
}

RequestId ForeignSlots::use(RequestId request, std::int32_t slot, bool admitted) {
  const auto id = static_cast<std::size_t>(request.value);
  if (id >= slot_of_.size()) slot_of_.resize(id + 1, -1);
  RequestId& owner = owners_[static_cast<std::size_t>(slot)];
  // A trace may report slots from a later step on, so a running request may claim its slot too.
  if (!admitted && slot_of_[id] >= 0) return owner;
  const RequestId former = owner;
  owner = request;
  slot_of_[id] = slot;
  return former == RequestId{} ? request : former;
}

std::string_view computed_name(Computed what) {
  constexpr std::array<std::string_view, kNumComputed> kNames = {
      "num_cached_block", "input_batch/block_ids", "preprocess_copies", "postprocess_copies",
      "cudagraph",        "attn_metadata"};
  return kNames[static_cast<std::size_t>(what)];
}

Result<ForeignImporter> ForeignImporter::create(const ForeignHeader& header) {
  std::int64_t entries = 0;
  for (const KVCacheGroup& group : header.config.kv_cache_config.groups)
    entries += std::int64_t{header.config.max_num_seqs} * block_table_columns(header.config, group);
  if (entries > kMaxTableEntries)
    return invalid_input(fmt::format(
        "/config: block tables of {} entries (max_num_seqs {}, max_model_len {}), expected at most "
        "{}",
        entries, header.config.max_num_seqs, header.config.max_model_len, kMaxTableEntries));
  auto metadata = BatchMetadata::create(header.config);
  if (!metadata.ok()) return invalid_input("/config: " + metadata.error().message);
  auto tables = ForeignBlockTables::create(header);
  if (!tables.ok()) return invalid_input("/config: " + tables.error().message);
  return ForeignImporter(header, std::move(metadata).value(), std::move(tables).value());
}

ForeignImporter::ForeignImporter(const ForeignHeader& header, BatchMetadata metadata,
                                 ForeignBlockTables tables)
    : config_(header.config),
      computes_checkpoints_(header.computes_checkpoints),
      metadata_(std::move(metadata)),
      tables_(std::move(tables)),
      slots_(header.config.max_num_seqs) {
  const auto& groups = config_.kv_cache_config.groups;
  overlays_.resize(groups.size());
  trace_.groups = make_group_traces(config_.kv_cache_config);
  for (const KVCacheGroup& group : groups)
    worker_tables_.emplace_back(config_.max_num_seqs, block_table_columns(config_, group));
}

Result<const StepTrace*> ForeignImporter::import(const ForeignStep& step) {
  trace_.clear();
  trace_.common = {};
  trace_.graph = {};
  trace_.step = step.step;
  untold_metadata_.clear();
  untold_checkpoints_.clear();
  contradicts_checkpoints_ = false;
  admit(step);
  leave_runs(step);
  schedule(step);
  tables_.follow(step, requests_, trace_);
  if (Status copied = tables_.take_block_copies(step, trace_); !copied.ok()) return copied.error();
  if (Status known = describe_checkpoints(step); !known.ok()) return known.error();
  forget(step);
  if (config_.enable_prefix_caching && !step.block_hashes &&
      step.num_cached_block.size() < step.num_scheduled_tokens.size())
    count(Computed::num_cached_block);
  tables_.register_blocks(step, requests_, trace_);
  take_worker_lists(step);
  describe_rows(step);
  if (!trace_.rows.empty()) {
    if (Status prepared = prepare(step); !prepared.ok()) return prepared.error();
    post_copy(step);
  }
  take_output(step);
  commit(config_.async_scheduling ? in_flight_ : sampled_, !step.block_hashes);
  take_told_counts(step);
  if (step.block_hashes) tables_.take_hashes_after_output(step, requests_, trace_);
  std::swap(sampled_, in_flight_);
  return &trace_;
}

// Finished requests are forgotten after their blocks were freed.
void ForeignImporter::forget(const ForeignStep& step) {
  for (const RequestId id : step.finished_req_ids) {
    slots_.free(id);
    requests_.release(id);
    mamba_state_idx_.erase(id);
  }
}

void ForeignImporter::admit(const ForeignStep& step) {
  for (const ForeignNewRequest& traced : step.scheduled_new_reqs) {
    if (requests_.holds(traced.request)) {  // V2: resumed
      requests_[traced.request].readmitted = true;
      continue;
    }
    ForeignRequest& request = requests_.add(traced.request, traced.cache_salt);
    request.append(step.at(traced.prompt_token_ids));
    request.num_prompt_tokens = request.num_known_tokens = request.num_tokens();
    if (traced.max_tokens >= 0)
      request.max_num_tokens = request.num_prompt_tokens + std::max(traced.max_tokens, 1);
  }
}

// Scheduled requests in the order of num_scheduled_tokens, for new and cached requests alike.
void ForeignImporter::schedule(const ForeignStep& step) {
  for (const ForeignCount& entry : step.num_scheduled_tokens) {
    requests_[entry.request].scheduled = static_cast<std::int32_t>(trace_.scheduled.size());
    trace_.scheduled.push_back({.request = entry.request, .num_scheduled_tokens = entry.count});
    trace_.num_scheduled_tokens += entry.count;
  }
  for (const ForeignNewRequest& traced : step.scheduled_new_reqs)
    complete(traced.request, traced.num_computed_tokens,
             requests_[traced.request].readmitted ? Admission::resumed : Admission::new_request);
  for (const ForeignCachedRequest& traced : step.scheduled_cached_reqs)
    complete(traced.request, traced.num_computed_tokens,
             traced.resumed ? Admission::resumed : Admission::running);
  for (const ForeignCount& drafts : step.scheduled_spec_decode_tokens) {
    ScheduledTrace& scheduled = scheduled_of(drafts.request);
    scheduled.num_draft_tokens = scheduled.num_drafts_offered = drafts.count;
  }
  for (const ForeignCount& drafts : step.num_drafts_offered)
    scheduled_of(drafts.request).num_drafts_offered = drafts.count;
  for (const RequestId id : step.placeholder_drafts) scheduled_of(id).placeholder_drafts = true;
  if (step.sampled_token_ids)
    for (const ForeignStep::Sampled& sampled : *step.sampled_token_ids)
      requests_[sampled.request].sampled = sampled.token_ids;
  trace_.preempted = step.preempted_req_ids;
  trace_.zeroed_blocks = step.new_block_ids_to_zero;
  trace_.budget_overridden = step.token_budget.has_value();
  trace_.token_budget = step.token_budget.value_or(config_.max_num_batched_tokens);
  count_scheduled();
  describe_hits();
}

// Follows Scheduler::count_scheduled: drafts count as computed until the frame returns, and with
// asynchronous scheduling expected outputs have placeholders.
void ForeignImporter::count_scheduled() {
  for (const ScheduledTrace& scheduled : trace_.scheduled) {
    ForeignRequest& request = requests_[scheduled.request];
    request.num_computed_tokens = scheduled.num_computed_tokens + scheduled.num_scheduled_tokens;
    if (config_.async_scheduling && scheduled.samples())
      request.num_output_placeholders += 1 + scheduled.num_draft_tokens;
  }
}

ScheduledTrace& ForeignImporter::scheduled_of(RequestId id) {
  return trace_.scheduled[static_cast<std::size_t>(requests_[id].scheduled)];
}

// The trace may leave out the preemption of a request that was reset.
void ForeignImporter::begin_run(RequestId id) {
  ForeignRequest& request = requests_[id];
  if (request.runs) leave_run(id);
  request.runs = true;
  request.readmitted = false;
  request.num_output_placeholders = 0;
  request.prefill_len = request.num_known_tokens;
  slots_.free(id);
}

void ForeignImporter::leave_run(RequestId id) {
  requests_[id].leave_run();
  mamba_state_idx_.erase(id);
}

void ForeignImporter::complete(RequestId id, std::int32_t num_computed_tokens,
                               Admission admission) {
  if (admission != Admission::running) begin_run(id);
  const ForeignRequest& request = requests_[id];
  ScheduledTrace& scheduled = scheduled_of(id);
  scheduled.admission = admission;
  scheduled.run = request.run;
  scheduled.num_computed_tokens = num_computed_tokens;
  scheduled.num_tokens = request.num_known_tokens;
  scheduled.num_output_placeholders = request.num_output_placeholders;
  scheduled.num_prompt_tokens = request.num_prompt_tokens;
  if (request.max_num_tokens > 0)
    scheduled.max_num_tokens = request.max_num_tokens + request.num_lost_tokens;
  scheduled.num_hit_tokens = admission == Admission::running ? 0 : num_computed_tokens;
}

void ForeignImporter::describe_hits() {
  for (const ScheduledTrace& scheduled : trace_.scheduled)
    for (std::int32_t end = config_.hash_block_size; end <= scheduled.num_hit_tokens;
         end += config_.hash_block_size)
      trace_.hit_hashes.push_back(requests_[scheduled.request].prefix(end));
}

// What the scheduler made room for; all groups store the state after the same number of tokens.
Status ForeignImporter::describe_checkpoints(const ForeignStep& step) {
  for (std::size_t i = 0; i < step.prefill_checkpoints.size(); ++i) {
    const ForeignCheckpoint& traced = step.prefill_checkpoints[i];
    const std::int32_t held =
        tables_.tables().block_at(traced.request, traced.group, traced.column);
    // The layers write where the worker's table says, which may differ (known bug 54).
    if (traced.reserved && held != traced.block_id)
      return invalid_input(
          fmt::format("/prefill_checkpoints/{}/block_id: block {}, but column {} of group {} holds "
                      "block {}, expected the same",
                      i, traced.block_id, traced.column, traced.group, held));
    if (!traced.reserved) continue;
    ScheduledTrace& scheduled = scheduled_of(traced.request);
    if (scheduled.checkpoint_position > 0 && scheduled.checkpoint_position != traced.num_tokens)
      return invalid_input(
          fmt::format("/prefill_checkpoints/{}/num_tokens: {} in group {}, but {} in another "
                      "group, expected the same",
                      i, traced.num_tokens, traced.group, scheduled.checkpoint_position));
    scheduled.checkpoint_position = traced.num_tokens;
    scheduled.checkpoint_column = traced.column;
  }
  return Ok{};
}

// What the layers of this step's rows are told to store, where our builders make the metadata. A
// trace that tells no such states has those of its release.
void ForeignImporter::give_checkpoints(const ForeignStep& step) {
  if (computes_checkpoints_ && step.prefill_checkpoints.empty()) return;
  GivenCheckpoints given{.positions = std::vector<std::int32_t>(trace_.rows.size(), 0),
                         .columns = std::vector<std::int32_t>(trace_.rows.size(), -1)};
  for (const ForeignCheckpoint& traced : step.prefill_checkpoints) {
    if (!traced.written) continue;
    const auto row = static_cast<std::size_t>(requests_[traced.request].row);
    given.positions[row] = traced.num_tokens;
    given.columns[row] = traced.column;
  }
  metadata_.give_checkpoints(std::move(given));
}

Status ForeignImporter::prepare(const ForeignStep& step) {
  if (Status checked = check_counts(step); !checked.ok()) return checked;
  give_checkpoints(step);
  if (Status written = write_tables(); !written.ok()) return written;
  if (Status dispatched = dispatch(step); !dispatched.ok()) return dispatched;
  pre_copy(step);
  return build_metadata(step);
}

TokenContent ForeignImporter::token(RequestId request, std::int32_t position) const {
  if (!requests_.holds(request) || position < 0 || position >= requests_.at(request).num_tokens())
    return tagged_token(TokenKind::placeholder, static_cast<std::uint64_t>(position));
  return requests_.at(request).token(position);
}

// A part of ForeignImporter: which request and which of our decisions a traced copy belongs to.

namespace {

bool is_postcopy(StateCopyRule rule) {
  return rule == StateCopyRule::postprocess_mamba_v1 || rule == StateCopyRule::postprocess_mamba_v2;
}

}  // namespace

// The request that the copy is of: the one it names, unless it is told by blocks, has not that
// one's destination, and is the copy that another row had to make and lacks.
RequestId ForeignImporter::owner_of(const ForeignCopy& traced, const std::vector<ForeignCopy>& all,
                                    const CopyLaunch& launch) const {
  if (traced.group < 0) return traced.request;
  const auto& lists = requests_.at(traced.request).block_ids;
  const auto group = static_cast<std::size_t>(traced.group);
  if (group >= lists.size() || column_of(lists[group], traced.dest_block_id) >= 0)
    return traced.request;
  for (const CopyDecisionTrace& decided : launch.decisions) {
    ForeignCopy as_other = traced;
    as_other.request = decided.request;
    const bool has_copy = std::ranges::any_of(all, [&](const ForeignCopy& other) {
      return other.request == decided.request && other.group == traced.group;
    });
    if (!has_copy && carries_out(as_other, decided.decision)) return decided.request;
  }
  return traced.request;
}

// Does the copy of one group carry out the decision? Blocks that it leaves out count as the same.
bool ForeignImporter::carries_out(const ForeignCopy& traced,
                                  const StateCopyDecision& decision) const {
  const auto same = [&](std::int32_t block, std::int32_t column) {
    return block < 0 || block == block_at(traced.request, traced.group, column);
  };
  return decision.copies() && same(traced.conv_src_block_id, decision.src_col) &&
         same(traced.temporal_src_block_id, decision.src_col + decision.accept_token_bias) &&
         same(traced.dest_block_id, decision.dst_col) &&
         (traced.accept_token_bias < 0 || traced.accept_token_bias == decision.accept_token_bias);
}

// Does the copy contradict itself, and is it our rule's but for one value? Its sources are `bias`
// columns apart, so that one value of the three is wrong; a destination that differs alone is wrong
// too, where our rule leaves no choice.
bool ForeignImporter::has_one_wrong_value(const ForeignCopy& traced,
                                          const StateCopyDecision& decision) const {
  if (!decision.copies() || traced.group < 0) return false;
  const auto differs = [&](std::int32_t block, std::int32_t column) {
    return block >= 0 && block != block_at(traced.request, traced.group, column);
  };
  const int wrong_sources =
      differs(traced.conv_src_block_id, decision.src_col) +
      differs(traced.temporal_src_block_id, decision.src_col + decision.accept_token_bias) +
      (traced.accept_token_bias >= 0 && traced.accept_token_bias != decision.accept_token_bias);
  const bool tells_all = traced.conv_src_block_id >= 0 && traced.temporal_src_block_id >= 0 &&
                         traced.accept_token_bias >= 0;
  const bool wrong_destination = differs(traced.dest_block_id, decision.dst_col);
  return (tells_all && wrong_sources == 1 && !wrong_destination) ||
         (wrong_sources == 0 && wrong_destination && is_postcopy(decision.rule));
}

// With two recurrent groups or more, whose copies the trace tells by blocks: did at least one do
// what the decision says, and another one not?
bool ForeignImporter::some_group_agrees(const std::vector<ForeignCopy>& traced, std::int32_t row,
                                        const StateCopyDecision& decision) const {
  std::int32_t num_groups = 0;
  std::int32_t num_agreeing = 0;
  for (const GroupTrace& group : trace_.groups) {
    if (!group.is_mamba) continue;
    ++num_groups;
    std::int32_t num_copies = 0;
    bool agrees = false;
    for (const ForeignCopy& copy : traced) {
      if (requests_.at(copy.request).row != row) continue;
      if (copy.group < 0) return false;
      if (copy.group != group.group) continue;
      ++num_copies;
      agrees = carries_out(copy, decision);
    }
    num_agreeing += decision.copies() ? (num_copies == 1 && agrees) : (num_copies == 0);
  }
  return num_agreeing > 0 && num_agreeing < num_groups;
}

// Has a copy of the row one wrong value?
bool ForeignImporter::differs_by_one_value(const std::vector<ForeignCopy>& traced, std::int32_t row,
                                           const StateCopyDecision& decision) const {
  return std::ranges::any_of(traced, [&](const ForeignCopy& copy) {
    return requests_.at(copy.request).row == row && has_one_wrong_value(copy, decision);
  });
}

// Does a group carry out our decision, and has another copy of the row besides?
bool ForeignImporter::has_extra_copy(const std::vector<ForeignCopy>& traced, std::int32_t row,
                                     const StateCopyDecision& decision) const {
  const auto of_row = [&](const ForeignCopy& copy) {
    return requests_.at(copy.request).row == row;
  };
  return std::ranges::any_of(traced, [&](const ForeignCopy& copy) {
    return of_row(copy) && copy.group >= 0 && carries_out(copy, decision) &&
           std::ranges::count_if(traced, [&](const ForeignCopy& other) {
             return of_row(other) && other.group == copy.group;
           }) > 1;
  });
}

}  // namespace hybridscope
