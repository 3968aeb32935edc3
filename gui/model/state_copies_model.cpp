#include "gui/model/state_copies_model.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "core/base/result.h"
#include "gui/model/block_verdict.h"
#include "sessions/explain/explain_decision.h"
#include "sessions/explain/forward_rows.h"
#include "sessions/record/value_names.h"

namespace hybridscope {

namespace {

std::vector<std::string> split_terms(std::string_view text) {
  std::vector<std::string> terms;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find("; ", at), text.size());
    terms.emplace_back(text.substr(at, end - at));
    at = end + 2;
  }
  return terms;
}

// Where the outcome begins in the words of a decision: after the last ": ".
std::size_t start_of_outcome(std::string_view words) {
  const std::size_t colon = words.rfind(": ");
  return colon == std::string_view::npos ? 0 : colon + 2;
}

std::string columns_of(const StateCopyDecision& decision) {
  if (decision.outcome == StateCopyOutcome::no_boundary) return "-";
  if (decision.src_col < 0) return fmt::format("- -> {}", decision.dst_col);
  const std::int32_t temporal = decision.src_col + decision.accept_token_bias;
  if (temporal == decision.src_col || !decision.copies())
    return fmt::format("{} -> {}", decision.src_col, decision.dst_col);
  return fmt::format("{}, {} -> {}", decision.src_col, temporal, decision.dst_col);
}

class StateCopiesMaker {
 public:
  StateCopiesMaker(ShownRun& run, const Selection& selection)
      : run_(run), view_(run.view()), selection_(selection), meant_(run) {}

  StateCopiesModel make() {
    add_rows(CopyMoment::before_forward);
    add_rows(CopyMoment::after_sampling);
    model_.num_decisions = static_cast<std::int32_t>(model_.rows.size());
    add_rows_without_decision();
    add_block_copies();
    std::ranges::stable_sort(model_.rows, {}, [](const StateCopyRow& row) {
      return std::pair(row.moment, !row.copies);
    });
    if (model_.rows.empty()) model_.empty = why_empty();
    choose_request();
    if (model_.request.value >= 0) add_details();
    return std::move(model_);
  }

 private:
  const CopyLaunch& launch(CopyMoment moment) const {
    return moment == CopyMoment::before_forward ? view_.trace.pre_copies : view_.trace.post_copies;
  }

  std::string why_empty() const {
    if (run_.level() == RecordLevel::counts)
      return "The session keeps no decisions about state copies: it was recorded at level counts.";
    if (run_.level() == RecordLevel::blocks)
      return "No state was copied in this step. (The session keeps only decisions that copy, set "
             "an accepted count to 1 or lack a copy: it was recorded at level blocks.)";
    if (view_.config.mamba_cache_mode == MambaCacheMode::none)
      return "No state was copied in this step. (Mode none keeps each request's state in column "
             "0.)";
    return "No decision about copying state was made in this step.";
  }

  void add_block_copies() {
    model_.block_copies = explained_block_copies(view_.trace, view_.config.kv_cache_config);
    for (std::size_t i = 0; i < model_.block_copies.size(); ++i) {
      const BlockCopy& copy = model_.block_copies[i].copy;
      StateCopyRow row;
      row.moment = CopyMoment::first;
      row.block_copy = static_cast<std::int32_t>(i);
      row.request = copy.request;
      row.name = copy.request.value >= 0 ? view_.names.request(copy.request) : "-";
      row.rule = "copy_on_write";
      row.outcome = "block copy";
      row.copies = true;
      const auto place = [&](std::int32_t block) {
        const std::int32_t column = column_of(copy, block);
        return column < 0 ? std::string("cache") : fmt::format("{}", column);
      };
      row.columns = fmt::format("{} -> {}", place(copy.source_block), place(copy.block));
      row.why = block_copy_words(model_.block_copies[i], view_.names);
      row.in_words = fmt::format("{}, {}", view_.names.group(copy.group), row.why);
      model_.rows.push_back(std::move(row));
    }
  }

  // The column of the request's table that has the block; -1: none.
  std::int32_t column_of(const BlockCopy& copy, std::int32_t block) const {
    const auto ids = view_.scheduler_tables.block_ids(copy.request, copy.group);
    const auto found = std::ranges::find(ids, block);
    return found == ids.end() ? -1 : static_cast<std::int32_t>(found - ids.begin());
  }

  BlockCopyDrawing drawing_of(const ExplainedBlockCopy& explained) const {
    const BlockCopy& copy = explained.copy;
    const std::int32_t num_blocks = view_.scheduler_tables.num_blocks();
    const auto cell = [&](std::int32_t block) {
      return block > kNullBlock && block < num_blocks ? make_block_cell(run_, block, copy.group)
                                                      : BlockCell{.block = block};
    };
    return {.group = copy.group,
            .group_name = view_.names.group(copy.group),
            .source = cell(copy.source_block),
            .destination = cell(copy.block),
            .source_column = column_of(copy, copy.source_block),
            .destination_column = column_of(copy, copy.block),
            .words = block_copy_words(explained, view_.names)};
  }

  // All block copies of the shown request, in one detail.
  void add_block_copy_detail(std::span<const StateCopyRow> rows) {
    StateCopyDetail detail;
    for (const StateCopyRow& row : rows) {
      if (row.block_copy < 0) continue;
      detail.moment = row.moment;
      detail.title = fmt::format("{}: {}", copy_moment_name(row.moment), row.outcome);
      detail.source = kBlockCopySource;
      detail.block_copies.push_back(
          drawing_of(model_.block_copies[static_cast<std::size_t>(row.block_copy)]));
    }
    if (!detail.block_copies.empty()) model_.details.push_back(std::move(detail));
  }

  void add_rows(CopyMoment moment) {
    const auto& decisions = launch(moment).decisions;
    for (std::size_t i = 0; i < decisions.size(); ++i) {
      const StateCopyDecision& decision = decisions[i].decision;
      StateCopyRow row;
      row.moment = moment;
      row.decision = static_cast<std::int32_t>(i);
      row.request = decisions[i].request;
      row.name = row.request.value >= 0 ? view_.names.request(row.request) : "padding";
      row.rule = value_names::name(decision.rule);
      row.outcome = value_names::name(decision.outcome);
      row.copies = decision.copies();
      row.columns = columns_of(decision);
      if (decision.outcome != StateCopyOutcome::no_boundary) row.bias = decision.accept_token_bias;
      row.in_words =
          explain_decision(decision, states_kept(view_.config.kv_cache_config),
                           remembered_words(view_.trace, row.request, run_.own_count(row.request)));
      row.why = row.in_words.substr(start_of_outcome(row.in_words));
      model_.num_copying += row.copies ? 1 : 0;
      model_.rows.push_back(std::move(row));
    }
  }

  void add_rows_without_decision() {
    for (std::size_t i = 0; i < view_.trace.rows.size(); ++i) {
      std::string why =
          explain_no_decision(view_.trace, view_.config, static_cast<std::int32_t>(i));
      if (why.empty()) continue;
      StateCopyRow row;
      row.moment = CopyMoment::after_sampling;
      row.request = view_.trace.rows[i].request;
      row.name = view_.names.request(row.request);
      row.rule = value_names::name(StateCopyRule::all_mode_boundary);
      row.outcome = "no decision";
      row.columns = "-";
      row.in_words = row.why = std::move(why);
      model_.rows.push_back(std::move(row));
    }
  }

  void choose_request() {
    const auto copying = std::ranges::find(model_.rows, true, &StateCopyRow::copies);
    const auto first = copying == model_.rows.end() ? model_.rows.begin() : copying;
    model_.request = first == model_.rows.end() ? RequestId{} : first->request;
    for (const StateCopyRow& row : model_.rows)
      if (row.request == selection_.request) model_.request = row.request;
    if (model_.request.value >= 0) model_.name = view_.names.request(model_.request);
  }

  // The selected group if it keeps recurrent state, else the first that does.
  std::int32_t group() const {
    std::int32_t first = -1;
    for (std::size_t i = view_.config.kv_cache_config.groups.size(); i-- > 0;) {
      if (!view_.config.kv_cache_config.groups[i].is_mamba()) continue;
      first = static_cast<std::int32_t>(i);
      if (first == selection_.group) break;
    }
    return first;
  }

  void add_details() {
    const std::int32_t shown = group();
    const BlockTableGrid table =
        shown >= 0 && model_.num_copying > 0
            ? make_block_table_row(run_, {.side = TableSide::worker}, model_.request, shown)
            : BlockTableGrid{};
    std::vector<StateCopyRow> shown_rows;
    for (const StateCopyRow& row : model_.rows)
      if (row.request == model_.request) shown_rows.push_back(row);
    // Decisions that copy, which are drawn, come before the others.
    std::ranges::stable_sort(shown_rows, {}, [](const StateCopyRow& row) { return !row.copies; });
    add_block_copy_detail(shown_rows);
    for (const StateCopyRow& row : shown_rows) {
      if (row.block_copy >= 0) continue;
      StateCopyDetail detail;
      detail.moment = row.moment;
      detail.title = fmt::format("{}: {}", copy_moment_name(row.moment), row.outcome);
      detail.formula = split_terms(row.in_words);
      if (row.decision < 0) {
        detail.source = decision_source(StateCopyRule::all_mode_boundary);
        model_.details.push_back(std::move(detail));
        continue;
      }
      const CopyDecisionTrace& decided =
          launch(row.moment).decisions[static_cast<std::size_t>(row.decision)];
      detail.source = decision_source(decided.decision.rule);
      if (row.copies) detail.drawing = drawing_of(row, decided, table);
      model_.details.push_back(std::move(detail));
    }
  }

  std::optional<StateCopyDrawing> drawing_of(const StateCopyRow& row,
                                             const CopyDecisionTrace& decided,
                                             const BlockTableGrid& table) const {
    for (const StateCopyTrace& copy : launch(row.moment).copies) {
      if (copy.decision != row.decision || copy.group != table.group) continue;
      const StateCopyDecision& d = decided.decision;
      ConvCopyTerms terms = terms_of(row.moment, decided, copy);
      if (d.src_col < 0 || d.dst_col < 0 || terms.accept_token_bias < 0 ||
          terms.accept_token_bias > terms.conv_kernel - 1 + terms.num_speculative_tokens)
        return std::nullopt;
      StateCopyDrawing drawing;
      drawing.group = table.group;
      drawing.group_name = table.name;
      const KVCacheGroup& group =
          view_.config.kv_cache_config.groups[static_cast<std::size_t>(table.group)];
      drawing.has_temporal = keeps(group, StateKind::temporal);
      drawing.has_conv = keeps(group, StateKind::conv);
      drawing.temporal_source = {d.src_col + copy.accept_token_bias, copy.temporal_src_block};
      drawing.conv_source = {d.src_col, copy.conv_src_block};
      drawing.destination = {d.dst_col, copy.dst_block};
      drawing.num_tokens = terms.num_tokens;
      add_truth(row.moment, decided.row, copy, terms, drawing);
      drawing.conv = make_conv_copy(terms);
      add_cells(drawing, table);
      return drawing;
    }
    return std::nullopt;
  }

  // What was copied is not always what the decision assumes.
  void add_truth(CopyMoment moment, std::int32_t batch_row, const StateCopyTrace& copy,
                 ConvCopyTerms& terms, StateCopyDrawing& drawing) const {
    drawing.held_tokens = drawing.num_tokens;
    if (run_.level() != RecordLevel::full) {
      drawing.note = kDrawnAsDecided;
      return;
    }
    const CopiedState copied = meant_.of_copy(
        {.kind = moment == CopyMoment::before_forward ? WriteKind::pre_copy : WriteKind::post_copy,
         .group = copy.group,
         .dst_block = copy.dst_block,
         .row = batch_row,
         .num_tokens = drawing.num_tokens});
    if (copied.num_tokens >= 0) drawing.held_tokens = copied.num_tokens;
    drawing.faults = copy_faults(copied, {.num_tokens = drawing.num_tokens,
                                          .has_temporal = drawing.has_temporal,
                                          .has_conv = drawing.has_conv});
    terms.tokens_known = copied.conv == StateTruth::right;
  }

  // Columns around those that the copy reads and writes; some in between may be left out.
  static void add_cells(StateCopyDrawing& drawing, const BlockTableGrid& table) {
    constexpr std::int32_t kColumnsAround = 2;
    const std::int32_t known = table.rows.empty() ? 0 : table.rows[0].num_columns;
    std::map<std::int32_t, BlockCell> shown;
    for (const CopyPlace& place :
         {drawing.temporal_source, drawing.conv_source, drawing.destination}) {
      for (std::int32_t column = std::max(place.column - kColumnsAround, 0);
           column <= place.column + kColumnsAround && column < known; ++column)
        shown[column] = table.at(0, column);
      if (place.column >= known)
        shown[place.column] = {.block = place.block, .role = CellRole::held};
    }
    for (const auto& [column, cell] : shown) {
      std::int32_t slot = 0;
      if (!drawing.cells.empty())
        slot = drawing.cells.back().slot + (column == drawing.cells.back().column + 1 ? 1 : 2);
      drawing.cells.push_back({.column = column, .slot = slot, .cell = cell});
    }
    drawing.goes_on = !drawing.cells.empty() && drawing.cells.back().column + 1 < known;
  }

  ConvCopyTerms terms_of(CopyMoment moment, const CopyDecisionTrace& decided,
                         const StateCopyTrace& copy) const {
    ConvCopyTerms terms{.conv_kernel = view_.config.conv_kernel,
                        .num_speculative_tokens = view_.config.num_speculative_tokens,
                        .accept_token_bias = copy.accept_token_bias,
                        .same_block = copy.conv_src_block == copy.dst_block};
    const auto at = static_cast<std::size_t>(decided.row);
    const RowTrace row = at < view_.trace.rows.size() ? view_.trace.rows[at] : RowTrace{};
    if (moment == CopyMoment::before_forward) {
      terms.num_tokens = row.num_computed_tokens;
      terms.num_real_tokens = terms.num_accepted_up_to = row.num_computed_tokens;
      terms.last_written =
          last_written_before(decided.request, copy.conv_src_block, row.num_computed_tokens);
      return terms;
    }
    const ScheduledTrace scheduled =
        row.scheduled >= 0 ? view_.trace.scheduled_of(row) : ScheduledTrace{};
    terms.num_tokens = decided.decision.aligned_new_computed;
    terms.last_written = row.num_computed_tokens + scheduled.num_scheduled_tokens;
    terms.num_real_tokens = terms.last_written - scheduled.num_draft_tokens;
    terms.num_accepted_up_to = terms.num_real_tokens + decided.decision.num_accepted_tokens - 1;
    return terms;
  }

  // Drafts that the request's last step wrote after its tokens are still there; their number is
  // known if the block's last write is.
  std::int32_t last_written_before(RequestId request, std::int32_t block,
                                   std::int32_t num_tokens) const {
    if (block <= kNullBlock || block >= view_.scheduler_tables.num_blocks()) return num_tokens;
    const BlockFacts facts = run_.block_facts(block);
    const bool of_request = facts.writes_known && facts.conv.event.request == request &&
                            facts.conv.event.step < view_.trace.step &&
                            facts.conv.event.kind != WriteKind::never;
    return of_request ? std::max(facts.conv.event.num_tokens, num_tokens) : num_tokens;
  }

  ShownRun& run_;
  StepView view_;
  Selection selection_;
  MeantStates meant_;
  StateCopiesModel model_;
};

}  // namespace

std::int32_t StateCopyDrawing::slot_of(std::int32_t column) const {
  const auto found = std::ranges::find(cells, column, &CopyCell::column);
  HS_EXPECT(found != cells.end());
  return found->slot;
}

std::string_view copy_moment_name(CopyMoment moment) {
  switch (moment) {
    case CopyMoment::first: return "first";
    case CopyMoment::before_forward: return "before forward";
    case CopyMoment::after_sampling: return "after sampling";
  }
  return "";
}

std::string decisions_words(const StateCopiesModel& model) {
  std::string words =
      fmt::format("{} {}, {} copying", model.num_decisions,
                  model.num_decisions == 1 ? "decision" : "decisions", model.num_copying);
  if (const std::size_t copies = model.block_copies.size(); copies > 0)
    words += fmt::format("; {} block {} before {}", copies, copies == 1 ? "copy" : "copies",
                         model.num_decisions == 1 ? "it" : "them");
  return words;
}

std::string copy_place_words(std::int32_t column) {
  return column < 0 ? std::string("prefix cache") : fmt::format("column {}", column);
}

StateCopiesModel make_state_copies_model(ShownRun& run, const Selection& selection) {
  return StateCopiesMaker(run, selection).make();
}

std::string copy_row_sentence(const StateCopyRow& row) {
  std::string words = fmt::format("{} {}: {}", row.name, copy_moment_name(row.moment), row.outcome);
  if (row.columns.starts_with("- "))
    words += fmt::format(", columns none{}", row.columns.substr(1));
  else if (row.columns != "-")
    words += fmt::format(", columns {}", row.columns);
  if (row.bias) words += fmt::format(", bias {}", *row.bias);
  return words;
}

}  // namespace hybridscope
