#include "gui/model/speculative_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "core/engine/batch_metadata_policies.h"
#include "core/engine/row_inputs_policies.h"
#include "core/engine/worker_policies.h"
#include "gui/model/block_verdict.h"
#include "gui/model/command_table.h"
#include "gui/model/workbench.h"
#include "sessions/explain/explain_parts.h"
#include "sessions/record/value_names.h"

namespace hybridscope {
namespace {

class SpeculativeMaker {
 public:
  SpeculativeMaker(ShownRun& run, const Selection& selection)
      : run_(run), view_(run.view()), trace_(view_.trace), selection_(selection), meant_(run) {}

  SpeculativeModel make() {
    if (view_.config.num_speculative_tokens == 0) {
      model_.empty = "K = 0: this run has no speculative tokens.";
      return std::move(model_);
    }
    resolve_places();
    for (std::size_t row = 0; row < trace_.rows.size(); ++row)
      if (can_have_drafts(trace_.rows[row])) add(row);
    if (model_.rows.empty()) model_.empty = why_empty();
    if (view_.config.async_scheduling && !model_.rows.empty())
      model_.in_flight = fmt::format(
          "Not known to the scheduler yet: what frame {} accepted. Until the counts return it "
          "counts "
          "on every draft.",
          trace_.step);
    return std::move(model_);
  }

 private:
  bool can_have_drafts(const RowTrace& row) const {
    const ScheduledTrace& s = trace_.scheduled_of(row);
    return row.row_class != RowClass::prefill || s.num_draft_tokens > 0 || s.num_drafts_offered > 0;
  }

  std::string why_empty() const {
    if (run_.level() == RecordLevel::counts)
      return "The session keeps no rows: it was recorded at level counts.";
    return "No request of this step is past its prompt.";
  }

  // What each row of the shown group reads and writes.
  void resolve_places() {
    const GroupTrace* shown = nullptr;
    for (const GroupTrace& group : trace_.groups)
      if (group.metadata && (shown == nullptr || group.group == selection_.group)) shown = &group;
    if (shown == nullptr) {
      model_.no_places = run_.level() == RecordLevel::full
                             ? "This model keeps no recurrent state: no columns to show."
                             : "Columns and blocks are not kept: the session was recorded below "
                               "level full.";
      return;
    }
    model_.group = shown->group;
    by_spec_ = metadata_rows(*shown->metadata, 0).by_spec;
    model_.group_name = view_.names.group(shown->group);
    for (ForwardPlaces& row : forward_rows(trace_, *shown, view_.config.mamba_cache_mode))
      forward_[row.row] = std::move(row);
  }

  void add(std::size_t index) {
    const RowTrace& row = trace_.rows[index];
    const ScheduledTrace& s = trace_.scheduled_of(row);
    SpeculativeRow result;
    result.request = row.request;
    result.name = view_.names.request(row.request);
    result.row_class = value_names::name(row.row_class);
    result.num_computed_tokens = row.num_computed_tokens;
    result.scheduler_computed_tokens = s.num_computed_tokens;
    result.num_drafts_offered = s.num_drafts_offered;
    result.num_draft_tokens = s.num_draft_tokens;
    result.num_accepted_tokens_before = row.num_accepted_tokens_before;
    result.num_sampled_tokens = row.num_sampled_tokens;
    result.sample = explain_sample(s, row);
    const auto forward = forward_.find(static_cast<std::int32_t>(index));
    const ForwardPlaces* places = forward == forward_.end() ? nullptr : &forward->second;
    if (places != nullptr && places->has_initial_state && places->source_in_range) {
      result.has_source = true;
      result.source = places->temporal_source;
    }
    add_tokens(result, row, s, places);
    add_next(result, static_cast<std::int32_t>(index), places);
    model_.rows.push_back(std::move(result));
  }

  // The state after query token `t`.
  static StatePlace place_after(const ForwardPlaces* places, std::int32_t t,
                                std::int32_t num_tokens) {
    if (places == nullptr || places->targets.empty()) return {-1, -1};
    if (!places->is_decode)
      return t + 1 == num_tokens ? places->targets.back() : StatePlace{-1, -1};
    const auto at = static_cast<std::size_t>(t);
    return at < places->targets.size() ? places->targets[at] : StatePlace{-1, -1};
  }

  static void add_tokens(SpeculativeRow& result, const RowTrace& row, const ScheduledTrace& s,
                         const ForwardPlaces* places) {
    const std::int32_t computed = row.num_computed_tokens;
    const std::int32_t q = s.num_scheduled_tokens;
    const std::int32_t num_given = q - s.num_draft_tokens;
    result.tokens.push_back({.kind = StripTokenKind::given,
                             .first = computed + 1,
                             .last = computed + num_given,
                             .state = place_after(places, num_given - 1, q)});
    for (std::int32_t t = num_given; t < q; ++t) {
      const bool accepted = t - num_given + 1 < row.num_sampled_tokens;
      result.tokens.push_back({.kind = s.placeholder_drafts ? StripTokenKind::placeholder
                                       : accepted           ? StripTokenKind::accepted
                                                            : StripTokenKind::rejected,
                               .first = computed + t + 1,
                               .last = computed + t + 1,
                               .state = place_after(places, t, q)});
    }
    if (row.num_sampled_tokens == 0) return;
    const std::int32_t bonus = computed + num_given + row.num_sampled_tokens;
    result.tokens.push_back({.kind = StripTokenKind::bonus, .first = bonus, .last = bonus});
  }

  // The post-copy that reset the count, which has moved the state to the start of its column.
  const StateCopyDecision* reset_of(RequestId request) const {
    for (const CopyDecisionTrace& decided : trace_.post_copies.decisions)
      if (decided.request == request && decided.decision.resets_accepted_count)
        return &decided.decision;
    return nullptr;
  }

  // Known from the frame that returned, which asynchronously is the one before the step's own.
  bool is_finished(RequestId request) const {
    return std::ranges::any_of(trace_.committed, [&](const CommitTrace& commit) {
      return commit.request == request &&
             (commit.finished || commit.outcome == CommitOutcome::left_the_engine);
    });
  }

  void add_next(SpeculativeRow& result, std::int32_t index, const ForwardPlaces* places) {
    const RowTrace& row = trace_.rows[static_cast<std::size_t>(index)];
    const ScheduledTrace& s = trace_.scheduled_of(row);
    const std::int32_t a = std::max(row.num_sampled_tokens, 1);
    const StateCopyDecision* reset = reset_of(row.request);
    result.num_accepted_tokens_next = reset != nullptr ? 1 : a;
    const std::int32_t last = s.num_scheduled_tokens - s.num_draft_tokens + a - 2;
    result.num_tokens_next = row.num_computed_tokens + last + 1;
    for (StripToken& token : result.tokens)
      token.next_reads =
          token.kind != StripTokenKind::bonus && token.last == result.num_tokens_next;
    if (places != nullptr && !places->targets.empty())
      result.next_read = reset != nullptr && places->is_decode
                             ? places->targets.front()
                             : place_after(places, last, s.num_scheduled_tokens);
    result.is_finished = is_finished(row.request);
    if (places != nullptr && !places->targets.empty() && places->is_decode &&
        result.num_accepted_tokens_next > 1 && !result.is_finished)
      add_exceptions(result, places->targets.front());
    result.next = next_words(result, reset);
    if (!result.is_finished) add_faults(result, {index, model_.group});
  }

  // Policies of the reference under which a row continues from its running column.
  void add_exceptions(SpeculativeRow& result, const StatePlace& running) {
    if (view_.config.runner == ModelRunner::v2) return;
    const PolicySet& policies = view_.config.policies;
    const bool spec_by_drafts = by_spec_ && policies.is(RowClassing::by_shape);
    std::string& words = model_.policies;
    if (policies.is(NoDraftStep::column_zero) || spec_by_drafts) {
      result.without_drafts = running;
      if (words.empty())
        words =
            by_spec_
                ? "A row without drafts reads its running column, regardless of what was accepted, "
                  "unless its state is copied first (no_draft_step, row_classing)."
                : "A step in which no row has drafts reads the running column, regardless of what "
                  "was accepted, unless the state is copied first (no_draft_step).";
    }
    if (policies.is(AcceptedCountOwner::persistent_row)) {
      result.after_pause = running;
      constexpr std::string_view kPause =
          "A request that has no tokens in the next step comes back with a count of 1, and reads "
          "its running column (accepted_count_owner).";
      if (words.find(kPause) == std::string::npos)
        words += (words.empty() ? "" : " ") + std::string(kPause);
    }
  }

  static std::string next_words(const SpeculativeRow& row, const StateCopyDecision* reset) {
    if (row.is_finished) return "Finished: nothing reads its state any more.";
    std::string words = fmt::format("Next: num_accepted_tokens = {}", row.num_accepted_tokens_next);
    if (row.next_read.column < 0) return words;
    words += fmt::format(", S({}) is read from column {} (block {})", row.num_tokens_next,
                         row.next_read.column, row.next_read.block);
    if (reset != nullptr && reset->accept_token_bias > 0)
      words += fmt::format(", where the post-copy moved it from column {}",
                           reset->src_col + reset->accept_token_bias);
    if (row.without_drafts.column >= 0)
      words += fmt::format("; without drafts, column {} (block {}) is", row.without_drafts.column,
                           row.without_drafts.block);
    return words + ".";
  }

  void add_faults(SpeculativeRow& result, const RowPlace& row) const {
    if (const Finding* start = meant_.wrong_start(row)) {
      result.starts_wrong = true;
      result.faults.push_back(
          start->seen >= 0 && start->seen != start->expected
              ? fmt::format("It started from S({}) in place of S({}).", start->seen,
                            start->expected)
              : fmt::format("It did not start from S({}), but from other content.",
                            start->expected));
    }
    const std::int32_t block = result.next_read.block;
    if (result.next_read.column < 0 || block <= kNullBlock ||
        block >= view_.scheduler_tables.num_blocks())
      return;
    const BlockFacts facts = run_.block_facts(block);
    if (!facts.writes_known ||
        meant_.of_block(row, block, facts.temporal, result.num_tokens_next) != StateTruth::wrong)
      return;
    result.faults.push_back(facts.temporal.event.kind == WriteKind::never
                                ? fmt::format("Block {} was never written.", block)
                            : facts.temporal.event.num_tokens == result.num_tokens_next
                                ? fmt::format("Block {} holds the state after {} other tokens.",
                                              block, result.num_tokens_next)
                                : fmt::format("Block {} holds S({}), not S({}).", block,
                                              facts.temporal.event.num_tokens,
                                              result.num_tokens_next));
  }

  ShownRun& run_;
  StepView view_;
  const StepTrace& trace_;
  Selection selection_;
  MeantStates meant_;
  bool by_spec_ = false;  // the shown group's builder divides rows into spec and non-spec ones
  SpeculativeModel model_;
  std::map<std::int32_t, ForwardPlaces> forward_;  // of the shown group, by batch row
};

}  // namespace

std::string_view strip_token_name(StripTokenKind kind) {
  constexpr std::array<std::string_view, kNumStripTokenKinds> kNames = {
      "given", "accepted", "rejected", "placeholder", "bonus"};
  return kNames[static_cast<std::size_t>(kind)];
}

SpeculativeModel make_speculative_model(ShownRun& run, const Selection& selection) {
  return SpeculativeMaker(run, selection).make();
}

namespace {

constexpr std::array<ColumnWords, 8> kDraftColumns = {{
    {"Request", "The request", ColumnKind::name},
    {"Class", "What the row is (row_class)", ColumnKind::words},
    {"c",
     "Tokens computed before the step, as the worker knows it (num_computed_tokens); behind the "
     "slash what the scheduler counts on, where it is another number"},
    {"Offered", "Length of the draft list before the scheduler cut it (spec_token_ids)"},
    {"Drafts", "Drafts that the step runs (num_draft_tokens)"},
    {"a", "What the step samples: accepted drafts and the bonus token; 0: discarded"},
    {"Next a",
     "What the next step starts with (num_accepted_tokens); a copy that moves the state to the "
     "start of its column sets it to 1"},
    {"Column", "Column of the block table where the next step finds the state"},
}};

// "6 / 7" where scheduler and worker count differently.
TableCell computed_cell(const SpeculativeRow& row) {
  if (row.scheduler_computed_tokens == row.num_computed_tokens)
    return number_cell(row.num_computed_tokens);
  return fmt::format("{} / {}", row.num_computed_tokens, row.scheduler_computed_tokens);
}

Table drafts_table(const SpeculativeModel& model, RequestId selected) {
  Table table{.title = "Drafts", .headings = headings_of(kDraftColumns)};
  for (const SpeculativeRow& row : model.rows) {
    TableRow& cells = table.rows.emplace_back(
        TableRow{words_cell(row.name), words_cell(row.row_class), computed_cell(row),
                 number_cell(row.num_drafts_offered), number_cell(row.num_draft_tokens),
                 number_cell(row.num_sampled_tokens), number_cell(row.num_accepted_tokens_next),
                 known_cell(row.next_read.column)});
    cells.mark = "drafts " + row.name;
    cells.clicks = {{"select.request", quoted_word(row.name)}};
    cells.is_selected = row.request == selected;
  }
  return table;
}

}  // namespace

Picture speculative_picture(Workbench& workbench) {
  return speculative_picture(make_speculative_model(*workbench.run(), workbench.selection()),
                             workbench);
}

Picture speculative_picture(const SpeculativeModel& model, const Workbench& workbench) {
  if (model.rows.empty()) return {.notes = {model.empty}};
  Table words{.title = "In words", .headings = {"Request", "Sampled", "Next", "Wrong"}};
  Table tokens{.title = "Tokens and the state behind each",
               .note = model.group_name,
               .headings = {"Request", "First", "Last", "Kind", "Column", "Block", "Read next"}};
  for (const SpeculativeRow& row : model.rows) {
    words.rows.push_back({words_cell(row.name), words_cell(row.sample), words_cell(row.next),
                          words_cell(fmt::format("{}", fmt::join(row.faults, " ")))});
    for (const StripToken& token : row.tokens)
      tokens.rows.push_back({words_cell(row.name), number_cell(token.first),
                             number_cell(token.last), words_cell(strip_token_name(token.kind)),
                             known_cell(token.state.column),
                             token.state.column < 0 ? TableCell() : number_cell(token.state.block),
                             flag_cell(token.next_reads)});
  }
  Picture picture;
  add_note(picture, model.in_flight);
  add_note(picture, model.no_places);
  add_note(picture, model.policies);
  picture.tables = {drafts_table(model, workbench.selection().request), std::move(words),
                    std::move(tokens)};
  return picture;
}

}  // namespace hybridscope
