#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/engine/token_sequence.h"
#include "sessions/judge/foreign_importer.h"

namespace hybridscope {
namespace {

constexpr std::int32_t kMaxGraphTokens = 1 << 24;
// Stands for what the last step of a trace sampled, when the trace ends before it tells.
constexpr std::array<std::int32_t, 1> kUntoldToken = {0};

}  // namespace

// The worker appends; an admitted request's lists are new (semantics: worker-block-table).
void ForeignImporter::take_worker_lists(const ForeignStep& step) {
  const std::size_t groups = worker_tables_.size();
  const auto take = [&](ForeignRequest& request, BlockLists lists) {
    request.block_ids.resize(groups);
    for (std::size_t g = 0; lists.present() && g < groups; ++g) {
      const std::span<const std::int32_t> ids = step.list(lists, g);
      request.block_ids[g].insert(request.block_ids[g].end(), ids.begin(), ids.end());
    }
  };
  for (const ForeignNewRequest& told : step.scheduled_new_reqs) {
    requests_[told.request].block_ids.clear();
    take(requests_[told.request], told.block_ids);
  }
  for (const ForeignCachedRequest& told : step.scheduled_cached_reqs) {
    if (told.resumed) requests_[told.request].block_ids.clear();
    take(requests_[told.request], told.new_block_ids);
  }
  bool told_all = true;
  for (const ForeignRow& row : step.rows) {
    told_all = told_all && row.block_ids.present();
    if (!row.block_ids.present()) continue;
    requests_[row.request].block_ids.clear();
    take(requests_[row.request], row.block_ids);
  }
  if (!told_all) count(Computed::worker_block_ids);
}

// Builders need decode rows in front (semantics: reorder-batch). A trace without metadata may come
// from a harness that does not reorder; its rows are then brought in that order, and keep it
// otherwise.
void ForeignImporter::order_rows(const ForeignStep& step) {
  told_rows_.clear();
  for (const ForeignRow& row : step.rows) told_rows_.push_back(&row);
  if (!step.attn_metadata.empty()) return;
  const auto is_decode = [this](const ForeignRow* row) {
    return row_class_of(scheduled_of(row->request), RowClassing::by_meaning,
                        config_.num_speculative_tokens) != RowClass::prefill;
  };
  if (!std::ranges::is_partitioned(told_rows_, is_decode))
    std::stable_partition(told_rows_.begin(), told_rows_.end(), is_decode);
}

// The row's own c: the host's where the device takes it from there, else what is left of the
// request's last row (semantics: request-slots, optimistic-and-exact).
std::int32_t ForeignImporter::exact_computed_tokens(const ForeignRow& told,
                                                    const ScheduledTrace& scheduled) const {
  if (told.num_computed_tokens >= 0) return told.num_computed_tokens;
  const bool on_device = config_.async_scheduling || config_.runner == ModelRunner::v2;
  const std::int32_t exact = requests_.at(told.request).exact_computed_tokens;
  return on_device && exact >= 0 ? exact : scheduled.num_computed_tokens;
}

void ForeignImporter::fill_history(const ForeignRequest& request, RowTrace& row) const {
  const std::int32_t length = config_.conv_kernel - 1;
  for (std::int32_t i = 0; i < length; ++i) {
    const std::int32_t position = row.num_computed_tokens - length + 1 + i;
    row.history[static_cast<std::size_t>(i)] =
        position > 0 || i == length - 1 ? request.prefix(position) : 0;
  }
}

RowTrace ForeignImporter::describe_row(const ForeignRow& told) {
  ForeignRequest& request = requests_[told.request];
  const ScheduledTrace& scheduled = scheduled_of(told.request);
  const bool admitted = scheduled.admission != Admission::running;
  const auto index = static_cast<std::int32_t>(trace_.rows.size());
  const bool v2 = config_.runner == ModelRunner::v2;
  if (admitted) {
    request.num_accepted_tokens = 1;
    mamba_state_idx_.erase(told.request);
  }
  RowTrace row{
      .request = told.request,
      .scheduled = request.scheduled,
      .slot = told.slot,
      .num_computed_tokens = exact_computed_tokens(told, scheduled),
      .previous_row = request.row,
      .row_class = row_class_of(scheduled, RowClassing::by_meaning, config_.num_speculative_tokens),
      .is_prefilling =
          scheduled.num_computed_tokens < (v2 ? request.prefill_len : scheduled.num_prompt_tokens),
      .num_accepted_tokens =
          told.num_accepted_tokens >= 0 ? told.num_accepted_tokens : request.num_accepted_tokens,
      .accepted_from =
          told.slot < 0 ? told.request : slots_.use(told.request, told.slot, admitted)};
  row.num_accepted_tokens_before = row.num_accepted_tokens;
  if (request.row >= 0)
    row.origin = request.row == index ? RowOrigin::kept : RowOrigin::moved;
  else
    row.origin = admitted ? RowOrigin::added : RowOrigin::returned;
  if (scheduled.num_draft_tokens > 0 && !row.is_prefilling)
    row.num_draft_count = scheduled.num_draft_tokens;
  fill_history(request, row);
  return row;
}

void ForeignImporter::describe_rows(const ForeignStep& step) {
  order_rows(step);
  for (const ForeignRow* told : told_rows_) {
    RowTrace row = describe_row(*told);
    ForeignRequest& request = requests_[told->request];
    const ScheduledTrace& scheduled = scheduled_of(told->request);
    const std::span<const std::int32_t> sampled = sampled_by(step, told->request);
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

// Known tokens, then drafts: an accepted draft is the token that was sampled in its place, a
// rejected one is a token that nothing else is.
void ForeignImporter::append_tokens(const ForeignRequest& request, const RowTrace& row,
                                    std::span<const std::int32_t> sampled) {
  const ScheduledTrace& scheduled = trace_.scheduled_of(row);
  const std::int32_t begin = row.num_computed_tokens;
  const std::int32_t end = begin + scheduled.num_scheduled_tokens;
  const std::int32_t first_draft = end - scheduled.num_draft_tokens;
  for (std::int32_t position = begin; position < end; ++position) {
    const auto draft = static_cast<std::size_t>(std::max(position - first_draft, 0));
    const auto untold = static_cast<std::uint64_t>(position) << 2;
    if (position < first_draft && position < request.num_tokens())
      trace_.tokens.push_back(request.token(position));
    else if (scheduled.placeholder_drafts)
      trace_.tokens.push_back(tagged_token(TokenKind::placeholder, 0));
    else if (position >= first_draft && draft + 1 < sampled.size())
      trace_.tokens.push_back(foreign_token(sampled[draft]));
    else
      trace_.tokens.push_back(tagged_token(TokenKind::rejected_draft, untold));
  }
}

// What the request sampled; where the trace ends before it tells, one token if it sampled at all.
std::span<const std::int32_t> ForeignImporter::sampled_by(const ForeignStep& step, RequestId id) {
  if (step.sampled_token_ids) return step.at(requests_[id].sampled);
  const ScheduledTrace& scheduled = scheduled_of(id);
  return std::span(kUntoldToken).first(scheduled.samples() ? 1 : 0);
}

// The worker's counts on the host are the scheduler's.
Status ForeignImporter::check_counts(const ForeignStep& step) const {
  for (const ForeignRow* row : told_rows_) {
    const std::int32_t told = row->num_computed_tokens_cpu;
    const std::int32_t computed =
        trace_.scheduled[static_cast<std::size_t>(requests_.at(row->request).scheduled)]
            .num_computed_tokens;
    if (told >= 0 && told != computed)
      return invalid_input(fmt::format(
          "/input_batch/num_computed_tokens_cpu/{}: {} for a request that the scheduler has at {}, "
          "expected the same",
          row - step.rows.data(), told, computed));
  }
  return Ok{};
}

// The rows of this step as V1 would have them in its block tables.
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
    return metadata_.dispatch(trace_, worker_tables_);
  }
  const ForeignGraph& told = *step.graph;
  const auto num_reqs = static_cast<std::int32_t>(trace_.rows.size());
  const CudagraphDispatch graph{.runtime_mode = told.cudagraph_runtime_mode,
                                .num_tokens_padded = told.num_tokens,
                                .num_reqs_padded = told.num_reqs < 0 ? num_reqs : told.num_reqs};
  if (graph.pads_metadata() &&
      (graph.num_reqs_padded < num_reqs || graph.num_reqs_padded > config_.max_num_seqs ||
       graph.num_tokens_padded < trace_.num_scheduled_tokens ||
       graph.num_tokens_padded > kMaxGraphTokens))
    return invalid_input(
        fmt::format("/cudagraph: {} rows and {} tokens; the batch has {} rows and {} tokens, "
                    "expected at least those, at most {} rows (max_num_seqs) and {} tokens",
                    graph.num_reqs_padded, graph.num_tokens_padded, num_reqs,
                    trace_.num_scheduled_tokens, config_.max_num_seqs, kMaxGraphTokens));
  trace_.uniform_decode = told.uniform;
  metadata_.dispatch_as(trace_, graph, worker_tables_);
  return Ok{};
}

Status ForeignImporter::build_metadata(const ForeignStep& step) {
  remembered_columns_.clear();
  if (config_.mamba_cache_mode == MambaCacheMode::all && config_.num_speculative_tokens > 0)
    for (const RowTrace& row : trace_.rows)
      remembered_columns_.push_back(mamba_state_idx_.find(row.request).value_or(-1));
  const Status built = metadata_.build(trace_, worker_tables_, remembered_columns_);
  bool told_all = true;
  for (GroupTrace& group : trace_.groups) {
    if (!group.is_mamba) continue;
    const auto told = std::ranges::find(step.attn_metadata, group.group, &ForeignMetadata::group);
    if (told == step.attn_metadata.end()) {
      told_all = false;
      if (group.metadata) continue;
      return invalid_input(
          fmt::format("/attn_metadata: not told for group {}, and ours cannot be built: {}",
                      group.group, built.error().message));
    }
    // Rows that our builder refuses may suit the engine's.
    if (!group.metadata) group.metadata = metadata_.empty_metadata(group.group);
    group.persistent_buffers_step = trace_.step;  // a trace does not tell
    ForeignMetadataOverlay& overlay = overlays_[static_cast<std::size_t>(group.group)];
    if (Status laid = overlay.lay_over(step, *told, *group.metadata); !laid.ok()) return laid;
    told_all = told_all && overlay.told_all();
  }
  if (!told_all) count(Computed::attn_metadata);
  return Ok{};
}

}  // namespace hybridscope
