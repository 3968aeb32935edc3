#include "gui/model/requests_model.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "gui/model/command_table.h"
#include "gui/model/workbench.h"
#include "sessions/explain/explain_names.h"
#include "sessions/explain/explain_schedule.h"

namespace hybridscope {
namespace {

struct RequestColumn : ColumnWords {
  std::int32_t RequestRow::*number = nullptr;  // null: sorted by the request or its state
};
constexpr std::array<RequestColumn, 10> kRequestColumns = {{
    {{"Request", "In the order in which they came", ColumnKind::name, false, "name"}},
    {{"State", "What the step did with it, and why it got no tokens", ColumnKind::words, false,
      "state"}},
    {{"Prompt", "num_prompt_tokens", ColumnKind::number, false, "prompt"},
     &RequestRow::num_prompt_tokens},
    {{"Comp.",
      "num_computed_tokens when the step is over, as the scheduler counts: tokens "
      "of a frame in flight and its drafts included",
      ColumnKind::number, false, "computed"},
     &RequestRow::num_computed_tokens},
    {{"Sched.", "num_scheduled_tokens of this step", ColumnKind::number, false, "scheduled"},
     &RequestRow::num_scheduled_tokens},
    {{"Gen.", "Output tokens that have returned to the scheduler", ColumnKind::number, false,
      "generated"},
     &RequestRow::num_generated},
    {{"Hit", "Tokens that the prefix cache served when the request was admitted last",
      ColumnKind::number, false, "hit"},
     &RequestRow::num_hit_tokens},
    {{"Blocks", "Blocks it holds in all groups, without the null block", ColumnKind::number, false,
      "blocks"},
     &RequestRow::num_blocks},
    {{"Pre.", "How often it was preempted before this step", ColumnKind::number, false,
      "preemptions"},
     &RequestRow::num_preemptions},
    {{"Acc.", "Drafts of this step that were accepted, of those it had", ColumnKind::number, false,
      "accepted"},
     &RequestRow::num_accepted_drafts},
}};
constexpr std::string_view kListedHelp =
    "Others have not come yet or have finished; a session does not name those that wait far "
    "behind. -: not known, or no such thing happened.";

class RowsMaker {
 public:
  explicit RowsMaker(ShownRun& run) : run_(run), view_(run.view()) {}

  std::vector<RequestRow> make() {
    for (const RequestId request : view_.scheduler_tables.requests()) row_of(request);
    take_waiting();
    take_skipped();
    take_preempted();
    take_scheduled();
    take_committed();
    std::vector<RequestRow> rows;
    for (auto& [request, row] : rows_) {
      row.num_hit_tokens = std::max(row.num_hit_tokens, run_.num_hit_tokens(request));
      if (row.num_scheduled_tokens < 0) take_earlier(row);
      rows.push_back(std::move(row));
    }
    return rows;
  }

 private:
  RequestRow& row_of(RequestId request) {
    const auto [at, is_new] = rows_.try_emplace(request);
    if (!is_new) return at->second;
    RequestRow& row = at->second;
    row.request = request;
    row.name = view_.names.request(request);
    for (std::int32_t group = 0; group < view_.scheduler_tables.num_groups(); ++group)
      for (const std::int32_t block : view_.scheduler_tables.block_ids(request, group))
        row.num_blocks += block > kNullBlock ? 1 : 0;
    return row;
  }

  // Requests that hold no block and have not finished; steps name only the first ones.
  void take_waiting() {
    for (const RequestId request : run_.unfinished())
      if (!rows_.contains(request)) row_of(request).state = RequestState::waiting;
  }

  void take_skipped() {
    for (const SkippedRequest& skipped : view_.trace.skipped) {
      RequestRow& row = row_of(skipped.request);
      row.state = row.num_blocks > 0 ? RequestState::running : RequestState::waiting;
      row.state_note = explain_skip(skipped.reason);
    }
  }

  void take_preempted() {
    for (const RequestId request : view_.trace.preempted)
      row_of(request).state = RequestState::preempted;
  }

  void take_scheduled() {
    for (const ScheduledTrace& scheduled : view_.trace.scheduled) {
      RequestRow& row = row_of(scheduled.request);
      row.state = RequestState::scheduled;
      row.num_prompt_tokens = scheduled.num_prompt_tokens;
      row.num_computed_tokens = scheduled.num_computed_tokens + scheduled.num_scheduled_tokens;
      row.num_scheduled_tokens = scheduled.num_scheduled_tokens;
      row.num_generated = std::max(scheduled.num_tokens - scheduled.num_prompt_tokens, 0);
      row.num_preemptions = scheduled.run;
      row.num_draft_tokens = scheduled.num_draft_tokens;
      if (scheduled.admission == Admission::running) continue;
      row.state_note = admission_name(scheduled.admission);
      row.num_hit_tokens = scheduled.num_hit_tokens;
    }
    for (const RowTrace& row : view_.trace.rows)
      row_of(row.request).num_accepted_drafts = std::max(row.num_sampled_tokens - 1, 0);
  }

  void take_committed() {
    for (const CommitTrace& commit : view_.trace.committed) {
      const bool is_known = rows_.contains(commit.request);
      if (!is_known && commit.outcome == CommitOutcome::left_the_engine) continue;
      RequestRow& row = row_of(commit.request);
      // It has lost its blocks since it was scheduled, and nothing else in the step names it.
      if (!is_known && (commit.outcome == CommitOutcome::preempted ||
                        commit.outcome == CommitOutcome::stale_run))
        row.state = RequestState::waiting;
      if (commit.finished) row.state = RequestState::finished;
      row.num_computed_tokens = commit.num_computed_tokens;
      if (row.num_prompt_tokens >= 0)
        row.num_generated = std::max(commit.num_tokens - row.num_prompt_tokens, 0);
    }
  }

  // It has no tokens in this step: what earlier ones left of it.
  void take_earlier(RequestRow& row) {
    row.num_scheduled_tokens = 0;
    const RequestCounts counts = run_.request_counts(row.request);
    const auto take = [](std::int32_t& number, std::int32_t earlier) {
      if (number < 0) number = earlier;
    };
    take(row.num_prompt_tokens, counts.num_prompt_tokens);
    take(row.num_computed_tokens, counts.num_computed_tokens);
    take(row.num_generated, counts.num_generated);
    // Counted before this step.
    const bool counts_this = row.state == RequestState::preempted && counts.num_preemptions > 0;
    take(row.num_preemptions, counts.num_preemptions - (counts_this ? 1 : 0));
  }

  ShownRun& run_;
  StepView view_;
  std::map<RequestId, RequestRow> rows_;
};

// The row's value in the column, for sorting; -1: not known.
std::int64_t sort_number(const RequestRow& row, std::string_view column) {
  const auto* found = std::ranges::find(kRequestColumns, column, &RequestColumn::sort);
  if (found->number != nullptr) return row.*found->number;
  return column == "state" ? static_cast<std::int64_t>(row.state) : row.request.value;
}

}  // namespace

std::string listed_words(const RequestsModel& model) {
  std::string words = fmt::format("{} listed", model.rows.size());
  if (model.num_waiting > 0) words += fmt::format(", {} in the waiting queue", model.num_waiting);
  if (model.num_others > 0)
    words += model.num_others == 1
                 ? "; 1 other has no part in this step"
                 : fmt::format("; {} others have no part in this step", model.num_others);
  return words;
}

RequestsModel make_requests_model(ShownRun& run, const RequestsOptions& options) {
  RequestsModel model;
  model.rows = RowsMaker(run).make();
  std::ranges::sort(model.rows, [&](const RequestRow& a, const RequestRow& b) {
    const auto first = sort_number(a, options.sort);
    const auto second = sort_number(b, options.sort);
    if (first != second) return options.descending ? first > second : first < second;
    return a.request < b.request;
  });
  model.num_waiting = run.view().trace.num_waiting;
  model.num_others = std::max(run.num_requests() - static_cast<std::int32_t>(model.rows.size()), 0);
  return model;
}

std::vector<std::string_view> request_sort_names() {
  std::vector<std::string_view> names;
  for (const RequestColumn& column : kRequestColumns) names.push_back(column.sort);
  return names;
}

namespace {

std::string_view request_state_name(RequestState state) {
  switch (state) {
    case RequestState::scheduled: return "scheduled";
    case RequestState::running: return "running, no tokens";
    case RequestState::waiting: return "waiting";
    case RequestState::preempted: return "preempted";
    case RequestState::finished: return "finished";
  }
  return {};
}

TableCell state_cell(const RequestRow& row) {
  std::string words(request_state_name(row.state));
  if (row.state != RequestState::scheduled) {
    const bool warns = row.state == RequestState::preempted;
    return words_cell(words, warns ? Tone::warning : Tone::dim);
  }
  if (!row.state_note.empty()) words += ", " + row.state_note;
  return words_cell(words);
}

TableRow table_row(const RequestRow& row) {
  const std::string accepted =
      row.num_draft_tokens > 0 ? fmt::format("{}/{}", row.num_accepted_drafts, row.num_draft_tokens)
                               : std::string();
  TableRow cells = {words_cell(row.name),
                    state_cell(row),
                    known_cell(row.num_prompt_tokens),
                    known_cell(row.num_computed_tokens),
                    known_cell(row.num_scheduled_tokens),
                    known_cell(row.num_generated),
                    known_cell(row.num_hit_tokens),
                    known_cell(row.num_blocks),
                    known_cell(row.num_preemptions),
                    words_cell(accepted)};
  cells.mark = "request " + row.name;
  cells.clicks = {{"select.request", quoted_word(row.name)}};
  cells.tooltip = row.state_note;
  return cells;
}

}  // namespace

Picture requests_picture(Workbench& workbench) {
  ShownRun& run = *workbench.run();
  if (run.level() == RecordLevel::counts)
    return {.notes = {"This session was recorded without requests."}};
  const RequestsOptions& options = workbench.options().requests;
  const RequestsModel model = make_requests_model(run, options);
  Table table{.title = "Requests",
              .note = listed_words(model),
              .headings = headings_of(kRequestColumns),
              .help = kListedHelp,
              .sort_command = "requests.sort",
              .sorted = std::ranges::find(kRequestColumns, options.sort, &RequestColumn::sort) -
                        kRequestColumns.begin(),
              .is_descending = options.descending};
  const DifferenceMarks* const marks = workbench.differences();
  for (const RequestRow& row : model.rows) {
    TableRow& cells = table.rows.emplace_back(table_row(row));
    cells.is_selected = row.request == workbench.selection().request;
    cells.differs = marks != nullptr && marks->of(row.name) != nullptr;
  }
  return {.tables = {std::move(table)}};
}

}  // namespace hybridscope
