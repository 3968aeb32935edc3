// Two parts of ForeignImporter. Outputs: frames return to the scheduler, at once or, with
// asynchronous scheduling, after the next step was scheduled (semantics: update-from-output-async,
// preempted-in-flight, reset-in-flight). Rows: the worker's batch, its graph and its metadata.
#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "core/engine/batch_metadata_policies.h"
#include "core/engine/row_inputs.h"
#include "core/engine/token_sequence.h"
#include "core/metadata/builder_metadata.h"
#include "core/state/mode_copies.h"
#include "sessions/judge/foreign_importer.h"

namespace hybridscope {

namespace {

bool goes_on_running(const ForeignStep& step, RequestId request) {
  return std::ranges::any_of(step.scheduled_cached_reqs, [&](const ForeignCachedRequest& traced) {
    return traced.request == request && !traced.resumed;
  });
}

constexpr std::int32_t kMaxPaddedTokens = 1 << 24;
// Stands for the last step's samples if the trace ends before it has them.
constexpr std::array<std::int32_t, 1> kUntracedToken = {0};

}  // namespace

// Requests that lost their blocks before or during this step's scheduling. A reset drops the output
// of the frame in flight; a preemption does not.
void ForeignImporter::leave_runs(const ForeignStep& step) {
  if (step.reset_prefix_cache)
    for (const ForeignFrame::Row& row : in_flight_.rows)
      if (requests_.holds(row.request) && requests_[row.request].runs &&
          !goes_on_running(step, row.request))
        requests_[row.request].forget_frames_in_flight();
  for (const RequestId id : step.preempted_req_ids) {
    slots_.free(id);
    if (requests_.holds(id)) leave_run(id);
  }
}

// What the step sampled. The next frame's rows continue from it, even if the scheduler does not
// know it yet.
void ForeignImporter::take_output(const ForeignStep& step) {
  sampled_.step = step.step;
  sampled_.rows.clear();
  for (const ScheduledTrace& scheduled : trace_.scheduled) {
    ForeignRequest& request = requests_[scheduled.request];
    const std::span<const std::int32_t> sampled = sampled_by(step, scheduled.request);
    sampled_.rows.push_back({scheduled.request, scheduled.run, scheduled.num_draft_tokens,
                             static_cast<std::int32_t>(sampled.size())});
    request.append(sampled);
    request.scheduled = -1;
    request.sampled = {};
  }
}

// The engine's own result shows in its next line.
void ForeignImporter::commit(const ForeignFrame& frame, bool registers) {
  trace_.committed_step = frame.step;
  for (const ForeignFrame::Row& row : frame.rows)
    trace_.committed.push_back(commit_row(row, registers));
  trace_.num_unfinished = requests_.num_live();
}

CommitTrace ForeignImporter::commit_row(const ForeignFrame::Row& row, bool registers) {
  CommitTrace commit{.request = row.request, .outcome = CommitOutcome::left_the_engine};
  if (!requests_.holds(row.request)) return commit;
  ForeignRequest& request = requests_[row.request];
  if (row.run < request.first_valid_run) {
    commit.outcome = CommitOutcome::stale_run;
  } else {
    commit.outcome = take_row(request, row, registers);
    commit.num_appended_tokens = row.num_sampled_tokens;
  }
  commit.num_computed_tokens = request.num_computed_tokens;
  commit.num_tokens = request.num_known_tokens;
  commit.num_output_placeholders = request.num_output_placeholders;
  return commit;
}

CommitOutcome ForeignImporter::take_row(ForeignRequest& request, const ForeignFrame::Row& row,
                                        bool registers) {
  const std::int32_t sampled = row.num_sampled_tokens;
  const bool runs = request.runs && row.run == request.run;
  if (sampled == 0) return runs ? CommitOutcome::chunk : CommitOutcome::preempted;
  const std::int32_t rejected = row.num_draft_tokens - (sampled - 1);
  if (runs) request.num_computed_tokens -= rejected;
  request.confirm(sampled);
  if (config_.async_scheduling) {
    request.num_output_placeholders -= rejected + sampled;
    if (runs && registers)
      tables_.register_computed_blocks(
          row.request, request.num_computed_tokens - request.num_output_placeholders, requests_,
          trace_);
  }
  return runs ? CommitOutcome::taken : CommitOutcome::preempted;
}

// A valid frame whose tokens the scheduler did not append (known bug 51): reported once, then
// counted as if it had.
void ForeignImporter::take_told_counts(const ForeignStep& step) {
  for (const ForeignCount& told : step.num_tokens_after_output) {
    if (!requests_.holds(told.request)) continue;
    ForeignRequest& request = requests_[told.request];
    const std::int32_t lost = request.num_known_tokens - told.count - request.num_lost_tokens;
    const auto commit = std::ranges::find(trace_.committed, told.request, &CommitTrace::request);
    if (lost <= 0 || commit == trace_.committed.end()) continue;
    commit->num_lost_tokens = lost;
    request.num_lost_tokens += lost;
  }
}

// The worker appends blocks to its lists; an admitted request starts with new lists (semantics:
// worker-block-table).
void ForeignImporter::take_worker_lists(const ForeignStep& step) {
  const std::size_t groups = worker_tables_.size();
  const auto take = [&](ForeignRequest& request, BlockLists lists) {
    request.block_ids.resize(groups);
    for (std::size_t g = 0; lists.present() && g < groups; ++g) {
      const std::span<const std::int32_t> ids = step.list(lists, g);
      request.block_ids[g].insert(request.block_ids[g].end(), ids.begin(), ids.end());
    }
  };
  for (const ForeignNewRequest& traced : step.scheduled_new_reqs) {
    requests_[traced.request].block_ids.clear();
    take(requests_[traced.request], traced.block_ids);
  }
  for (const ForeignCachedRequest& traced : step.scheduled_cached_reqs) {
    if (traced.resumed) requests_[traced.request].block_ids.clear();
    take(requests_[traced.request], traced.new_block_ids);
  }
  bool traced_all = true;
  for (const ForeignRow& row : step.rows) {
    traced_all = traced_all && row.block_ids.present();
    if (!row.block_ids.present()) continue;
    requests_[row.request].block_ids.clear();
    take(requests_[row.request], row.block_ids);
  }
  if (!traced_all) count(Computed::worker_block_ids);
}

// Builders need decode rows first (semantics: reorder-batch). A trace without metadata may come
// from a harness that does not reorder; its rows are reordered here, otherwise they stay as they
// are.
void ForeignImporter::order_rows(const ForeignStep& step) {
  traced_rows_.clear();
  for (const ForeignRow& row : step.rows) traced_rows_.push_back(&row);
  if (!step.attn_metadata.empty()) return;
  const auto is_decode = [this](const ForeignRow* row) {
    return row_class_of(scheduled_of(row->request), RowClassing::by_meaning,
                        config_.num_speculative_tokens) != RowClass::prefill;
  };
  if (!std::ranges::is_partitioned(traced_rows_, is_decode))
    std::stable_partition(traced_rows_.begin(), traced_rows_.end(), is_decode);
}

// The row's exact c: the host's value where the device takes it from the host, else the value after
// the request's last row (semantics: request-slots, optimistic-and-exact).
std::int32_t ForeignImporter::exact_computed_tokens(const ForeignRow& traced,
                                                    const ScheduledTrace& scheduled) const {
  if (traced.num_computed_tokens >= 0) return traced.num_computed_tokens;
  const bool on_device = config_.async_scheduling || config_.runner == ModelRunner::v2;
  const std::int32_t exact = requests_.at(traced.request).exact_computed_tokens;
  return on_device && exact >= 0 ? exact : scheduled.num_computed_tokens;
}

void ForeignImporter::fill_history(const ForeignRequest& request, RowTrace& row) const {
  const std::int32_t length = config_.conv_kernel - 1;
  for (std::int32_t i = 0; i < length; ++i)
    if (const std::int32_t position = row.num_computed_tokens - length + 1 + i;
        position > 0 || i == length - 1)
      row.history[static_cast<std::size_t>(i)] = request.prefix(position);
}

RowTrace ForeignImporter::describe_row(const ForeignRow& traced) {
  ForeignRequest& request = requests_[traced.request];
  const ScheduledTrace& scheduled = scheduled_of(traced.request);
  const bool admitted = scheduled.admission != Admission::running;
  const auto index = static_cast<std::int32_t>(trace_.rows.size());
  const bool v2 = config_.runner == ModelRunner::v2;
  if (admitted) {
    request.num_accepted_tokens = 1;
    mamba_state_idx_.erase(traced.request);
  }
  const RequestId slot_owner =
      traced.slot < 0 ? traced.request : slots_.use(traced.request, traced.slot, admitted);
  RowTrace row{
      .request = traced.request,
      .scheduled = request.scheduled,
      .slot = traced.slot,
      .slot_owner = slot_owner,
      .num_computed_tokens = exact_computed_tokens(traced, scheduled),
      .previous_row = request.row,
      .origin = row_origin_of(request.row, index, scheduled.admission),
      .row_class = row_class_of(scheduled, RowClassing::by_meaning, config_.num_speculative_tokens),
      .is_prefilling =
          scheduled.num_computed_tokens < (v2 ? request.prefill_len : scheduled.num_prompt_tokens),
      .num_accepted_tokens = traced.num_accepted_tokens >= 0 ? traced.num_accepted_tokens
                                                             : request.num_accepted_tokens,
      .accepted_from = slot_owner};
  row.num_accepted_tokens_before = row.num_accepted_tokens;
  if (scheduled.num_draft_tokens > 0 && !row.is_prefilling)
    row.num_draft_count = scheduled.num_draft_tokens;
  fill_history(request, row);
  return row;
}

void ForeignImporter::describe_rows(const ForeignStep& step) {
  order_rows(step);
  for (const ForeignRow* traced : traced_rows_) {
    RowTrace row = describe_row(*traced);
    ForeignRequest& request = requests_[traced->request];
    const ScheduledTrace& scheduled = scheduled_of(traced->request);
    const std::span<const std::int32_t> sampled = sampled_by(step, traced->request);
    row.num_sampled_tokens = static_cast<std::int32_t>(sampled.size());
    append_tokens(request, row, sampled);
    request.exact_computed_tokens = row.num_computed_tokens + scheduled.num_scheduled_tokens;
    if (row.num_sampled_tokens > 0)
      request.exact_computed_tokens -= scheduled.num_draft_tokens - (row.num_sampled_tokens - 1);
    trace_.rows.push_back(row);
  }
  note_rows_of_batch();
}

void ForeignImporter::note_rows_of_batch() {
  for (const RequestId id : in_batch_)
    if (requests_.holds(id)) requests_[id].row = -1;
  in_batch_.clear();
  for (const RowTrace& row : trace_.rows) {
    requests_[row.request].row = static_cast<std::int32_t>(in_batch_.size());
    in_batch_.push_back(row.request);
  }
}

// Known tokens, then drafts. An accepted draft equals the token sampled in its place; a rejected
// draft is a token that occurs nowhere else.
void ForeignImporter::append_tokens(const ForeignRequest& request, const RowTrace& row,
                                    std::span<const std::int32_t> sampled) {
  const ScheduledTrace& scheduled = trace_.scheduled_of(row);
  const std::int32_t begin = row.num_computed_tokens;
  const std::int32_t end = begin + scheduled.num_scheduled_tokens;
  const std::int32_t first_draft = end - scheduled.num_draft_tokens;
  for (std::int32_t position = begin; position < end; ++position) {
    const auto draft = static_cast<std::size_t>(std::max(position - first_draft, 0));
    const auto untraced = static_cast<std::uint64_t>(position) << 2;
    if (position < first_draft && position < request.num_tokens())
      trace_.tokens.push_back(request.token(position));
    else if (scheduled.placeholder_drafts)
      trace_.tokens.push_back(tagged_token(TokenKind::placeholder, 0));
    else if (position >= first_draft && draft + 1 < sampled.size())
      trace_.tokens.push_back(foreign_token(sampled[draft]));
    else
      trace_.tokens.push_back(tagged_token(TokenKind::rejected_draft, untraced));
  }
}

// The tokens that the request sampled. If the trace ends before it has them: one token, provided
// that the request sampled at all.
std::span<const std::int32_t> ForeignImporter::sampled_by(const ForeignStep& step, RequestId id) {
  if (step.sampled_token_ids) return step.at(requests_[id].sampled);
  const ScheduledTrace& scheduled = scheduled_of(id);
  return std::span(kUntracedToken).first(scheduled.samples() ? 1 : 0);
}

// The worker's host counts must equal the scheduler's.
Status ForeignImporter::check_counts(const ForeignStep& step) {
  for (const ForeignRow* row : traced_rows_) {
    const std::int32_t traced = row->num_computed_tokens_cpu;
    const std::int32_t computed = scheduled_of(row->request).num_computed_tokens;
    if (traced >= 0 && traced != computed)
      return invalid_input(
          fmt::format("/input_batch/num_computed_tokens_cpu/{}: {} for a request that the "
                      "scheduler has at {}, expected the same",
                      row - step.rows.data(), traced, computed));
  }
  return Ok{};
}

// The rows of this step as V1's block tables would hold them.
Status ForeignImporter::write_tables() {
  for (std::size_t g = 0; g < worker_tables_.size(); ++g)
    for (std::size_t r = 0; r < trace_.rows.size(); ++r) {
      const auto& ids = requests_[trace_.rows[r].request].block_ids[g];
      const auto columns = static_cast<std::size_t>(worker_tables_[g].num_columns());
      if (ids.size() > columns)
        return invalid_input(
            fmt::format("/input_batch/block_ids/{}: {} columns in group {}, expected at most {}", r,
                        ids.size(), g, columns));
      worker_tables_[g].clear_row(static_cast<std::int32_t>(r));
      worker_tables_[g].add_row(static_cast<std::int32_t>(r), ids);
    }
  return Ok{};
}

Status ForeignImporter::dispatch(const ForeignStep& step) {
  if (!step.graph) {
    count(Computed::cudagraph);
    return metadata_.dispatch(config_, trace_, worker_tables_);
  }
  const ForeignGraph& traced = *step.graph;
  const auto num_reqs = static_cast<std::int32_t>(trace_.rows.size());
  CudagraphDispatch graph{.runtime_mode = traced.cudagraph_runtime_mode,
                          .num_tokens_padded = traced.num_tokens,
                          .num_reqs_padded = traced.num_reqs < 0 ? num_reqs : traced.num_reqs};
  if (graph.pads_metadata() &&
      (graph.num_reqs_padded < num_reqs || graph.num_reqs_padded > config_.max_num_seqs ||
       graph.num_tokens_padded < trace_.num_scheduled_tokens ||
       graph.num_tokens_padded > kMaxPaddedTokens))
    return invalid_input(
        fmt::format("/cudagraph: {} rows and {} tokens; the batch has {} rows and {} tokens, "
                    "expected at least those, at most {} rows (max_num_seqs) and {} tokens",
                    graph.num_reqs_padded, graph.num_tokens_padded, num_reqs,
                    trace_.num_scheduled_tokens, config_.max_num_seqs, kMaxPaddedTokens));
  trace_.uniform_decode = traced.uniform.value_or(false);
  if (graph.pads_metadata() && traced.uniform)
    // Mode FULL has no graphs of its own for uniform decodes.
    graph.reason = *traced.uniform && config_.cudagraph_mode != CUDAGraphMode::full
                       ? CudagraphDispatchReason::uniform_decode_graph
                       : CudagraphDispatchReason::mixed_batch_graph;
  metadata_.dispatch_as(config_, trace_, graph, worker_tables_);
  return Ok{};
}

// The first fields that are missing. Those about states inside prefills are no matter where the
// release says them.
void ForeignImporter::note_untold(const GroupTrace& group, const ForeignMetadataOverlay* overlay) {
  const std::string place = fmt::format("attn_metadata/{}", group.group);
  if (overlay == nullptr) {
    if (untold_metadata_.empty()) untold_metadata_ = place;
    return;
  }
  for (const std::string_view field : overlay->left_out()) {
    const bool of_checkpoints = field.starts_with("checkpoint");
    if (of_checkpoints && computes_checkpoints_) continue;
    std::string& untold = of_checkpoints ? untold_checkpoints_ : untold_metadata_;
    if (untold.empty()) untold = fmt::format("{}/{}", place, field);
  }
}

// A row is cut at the state that it stores on its way, so its chunks tell where that is.
bool ForeignImporter::contradicts(const ForeignStep& step, const ForeignMetadata& traced,
                                  const BuilderMetadata& ours) const {
  for (const NamedArray& array : named_arrays(ours)) {
    if (array.name != "cu_chunk_seqlen_p" && array.name != "checkpoint_chunk_idx") continue;
    const auto told = std::ranges::find(traced.arrays, array.name, &ForeignArray::name);
    if (told == traced.arrays.end()) continue;
    if (told->none ? array.present : !std::ranges::equal(array.values, step.at(told->values)))
      return true;
  }
  return false;
}

Status ForeignImporter::build_metadata(const ForeignStep& step) {
  remembered_columns_.clear();
  if (config_.mamba_cache_mode == MambaCacheMode::all && config_.num_speculative_tokens > 0) {
    remembered_columns_.resize(trace_.rows.size());
    preprocess_mamba_all_specdec(copy_rows_.req_ids, mamba_state_idx_, remembered_columns_).value();
  }
  buffers_before_.clear();
  for (const GroupTrace& group : trace_.groups)
    buffers_before_.push_back(group.persistent_buffers_step);
  const Status built = metadata_.build(config_, trace_, worker_tables_, remembered_columns_);
  bool traced_all = true;
  for (GroupTrace& group : trace_.groups) {
    if (!group.is_mamba) continue;
    const auto traced = std::ranges::find(step.attn_metadata, group.group, &ForeignMetadata::group);
    if (traced == step.attn_metadata.end()) {
      traced_all = false;
      note_untold(group, nullptr);
      if (group.metadata) continue;
      return invalid_input(
          fmt::format("/attn_metadata: not in the trace for group {}, and ours cannot be built: {}",
                      group.group, built.error().message));
    }
    // Our builder may refuse rows that the other engine accepts.
    if (!group.metadata) group.metadata = metadata_.empty_metadata(group.group);
    if (computes_checkpoints_ && contradicts(step, *traced, *group.metadata))
      contradicts_checkpoints_ = true;
    ForeignMetadataOverlay& overlay = overlays_[static_cast<std::size_t>(group.group)];
    const Status laid = overlay.lay_over(step, *traced, config_.mamba_cache_mode, *group.metadata);
    if (!laid.ok()) return laid;
    // Traces do not have the buffers of full graphs; what the builder made tells whether it wrote
    // them.
    group.persistent_buffers_step =
        refreshes_persistent_buffers(*group.metadata, config_.num_speculative_tokens)
            ? trace_.step
            : buffers_before_[static_cast<std::size_t>(group.group)];
    note_untold(group, &overlay);
    traced_all = traced_all && overlay.traced_all();
  }
  if (!traced_all) count(Computed::attn_metadata);
  return Ok{};
}

}  // namespace hybridscope
