#include "sessions/explain/explain_decision.h"

#include <fmt/core.h>
#include <algorithm>
#include <utility>

#include "core/engine/worker_policies.h"

namespace hybridscope {
namespace {

// A request without a token in some steps keeps its state, and its count has to wait for it.
std::string how_it_was_lost(const StepTrace& trace, const RowTrace& row, const OwnCount& own) {
  const std::int64_t first = own.step + 1;
  const std::int64_t last = trace.step - 1;
  if (first == last) return fmt::format(" when it was skipped in step {}", first);
  if (first < last) return fmt::format(" when it was skipped in steps {} to {}", first, last);
  return row.origin == RowOrigin::moved
             ? fmt::format(" when it moved from row {}", row.previous_row)
             : "";
}

}  // namespace

bool is_admitted(const StepTrace& trace, const RowTrace& row) {
  return row.scheduled >= 0 && trace.scheduled_of(row).admission != Admission::running;
}

std::int32_t count_left(const StepTrace& trace, std::size_t row) {
  const bool resets =
      std::ranges::any_of(trace.post_copies.decisions, [row](const CopyDecisionTrace& decided) {
        return decided.row == static_cast<std::int32_t>(row) &&
               decided.decision.resets_accepted_count;
      });
  return resets ? 1 : std::max(trace.rows[row].num_sampled_tokens, 1);
}

OwnCount own_count_left(const StepTrace& trace, std::size_t row) {
  const RowTrace& of_row = trace.rows[row];
  std::optional<StateCopyDecision> missing_copy;
  for (const CopyDecisionTrace& decided : trace.post_copies.decisions)
    if (decided.row == static_cast<std::int32_t>(row) && is_missing_copy(decided.decision))
      missing_copy = decided.decision;
  return {.step = trace.step,
          .num_accepted_tokens = count_left(trace, row),
          .row_class = of_row.row_class,
          .num_computed_tokens = of_row.num_computed_tokens,
          .num_query_tokens =
              of_row.scheduled < 0 ? 0 : trace.scheduled_of(of_row).num_scheduled_tokens,
          .missing_copy = missing_copy};
}

void OwnCounts::take(const StepTrace& trace) {
  for (std::size_t r = 0; r < trace.rows.size(); ++r) {
    const RowTrace& row = trace.rows[r];
    if (row.request.value < 0) continue;
    const auto id = static_cast<std::size_t>(row.request.value);
    if (id >= rows_.size()) rows_.resize(id + 1);
    rows_[id].one_before = std::exchange(rows_[id].last, own_count_left(trace, r));
  }
}

std::optional<OwnCount> OwnCounts::before(std::int64_t step, RequestId request) const {
  const auto id = static_cast<std::size_t>(request.value);
  if (request.value < 0 || id >= rows_.size()) return std::nullopt;
  const OwnCount& count = rows_[id].last.step < step ? rows_[id].last : rows_[id].one_before;
  return count.step == 0 ? std::nullopt : std::optional(count);
}

CountOrigin count_origin(const StepTrace& trace, const RowTrace& row,
                         const std::optional<OwnCount>& own) {
  if (row.accepted_from.value >= 0 && row.accepted_from != row.request) return CountOrigin::foreign;
  if (is_admitted(trace, row))
    return row.num_accepted_tokens_before == 1 ? CountOrigin::fresh : CountOrigin::lost;
  if (!own) return CountOrigin::unknown;
  return row.num_accepted_tokens_before == own->num_accepted_tokens ? CountOrigin::own
                                                                    : CountOrigin::lost;
}

std::string count_origin_words(const StepTrace& trace, const RowTrace& row,
                               const std::optional<OwnCount>& own, const Names& names) {
  const std::string of_own =
      own ? fmt::format(", own {} of step {}", own->num_accepted_tokens, own->step) : "";
  switch (count_origin(trace, row, own)) {
    case CountOrigin::own: return fmt::format("own, of step {}", own->step);
    case CountOrigin::fresh: return "fresh";
    case CountOrigin::unknown: return "not known";
    case CountOrigin::lost: return fmt::format("{}{}", row.num_accepted_tokens_before, of_own);
    case CountOrigin::foreign:
      return fmt::format("{} of {}{}", row.num_accepted_tokens_before,
                         names.request(row.accepted_from), of_own);
  }
  return {};
}

bool is_wrong_count(const StepTrace& trace, const RowTrace& row,
                    const std::optional<OwnCount>& own) {
  const CountOrigin origin = count_origin(trace, row, own);
  if (origin != CountOrigin::foreign) return origin == CountOrigin::lost;
  if (is_admitted(trace, row)) return row.num_accepted_tokens_before != 1;
  return !own || row.num_accepted_tokens_before != own->num_accepted_tokens;
}

std::string wrong_count_words(const StepTrace& trace, const RowTrace& row,
                              const std::optional<OwnCount>& own, const Names& names) {
  if (!is_wrong_count(trace, row, own)) return {};
  const std::string who = names.request(row.request);
  if (count_origin(trace, row, own) == CountOrigin::foreign)
    return fmt::format(
        "{} runs with the accepted count of {}, {}{}", who, names.request(row.accepted_from),
        row.num_accepted_tokens_before,
        own ? fmt::format("; its own is {}, of step {}", own->num_accepted_tokens, own->step) : "");
  if (!own || is_admitted(trace, row))
    return fmt::format("{}'s accepted count is {} as it is admitted; expected 1", who,
                       row.num_accepted_tokens_before);
  return fmt::format("{}'s accepted count became {}{}; its own is {}, of step {}", who,
                     row.num_accepted_tokens_before, how_it_was_lost(trace, row, *own),
                     own->num_accepted_tokens, own->step);
}

namespace {

using Decision = StateCopyDecision;

constexpr std::string_view kMissingCopy = "a copy by the rule, but none was made";

std::string moved_words(const Decision& d, const StatesKept& kept) {
  const std::string temporal = fmt::format("the temporal state of column {} + {} = {}", d.src_col,
                                           d.accept_token_bias, d.src_col + d.accept_token_bias);
  const std::string conv =
      fmt::format("conv positions {}.. of column {}", d.accept_token_bias, d.src_col);
  if (!kept.conv) return fmt::format("{} goes to column {}", temporal, d.dst_col);
  if (!kept.temporal) return fmt::format("{} go to column {}", conv, d.dst_col);
  return fmt::format("{} and {} go to column {}", temporal, conv, d.dst_col);
}

// What a decision does, after its formula.
std::string outcome_words(const Decision& d, const StatesKept& kept) {
  const std::string moved = moved_words(d, kept);
  const char* reset = d.resets_accepted_count ? "; accepted count := 1" : "";
  switch (d.outcome) {
    case StateCopyOutcome::copy: return "copy: " + moved + reset;
    case StateCopyOutcome::within_block_shift: return "within-block shift: " + moved + reset;
    case StateCopyOutcome::self_copy_skipped:
      return fmt::format("column {} holds it already, nothing to copy{}", d.dst_col, reset);
    case StateCopyOutcome::no_boundary:
      return is_missing_copy(d) ? std::string(kMissingCopy)
                                : "no block boundary was reached, nothing to copy";
    case StateCopyOutcome::fresh_state:
      return "nothing is stored for the request yet, nothing to copy";
    case StateCopyOutcome::same_column:
      return is_missing_copy(d) ? std::string(kMissingCopy)
                                : "the running column stays, nothing to copy";
    case StateCopyOutcome::padded_row: return "the row holds no request";
  }
  return {};
}

std::string new_running_column(const Decision& d) {
  return fmt::format(
      "running column = ceil((c + q) / B) - 1 = ceil(({} + {}) / {}) - 1 = {}",
      d.num_computed_tokens, d.num_scheduled_tokens, d.block_size,
      value_words(cdiv(d.num_computed_tokens + d.num_scheduled_tokens, d.block_size) - 1,
                  d.dst_col));
}

// For the rules that run before the forward pass.
std::string precopy_words(const Decision& d, const std::string& column_before) {
  std::string text = column_before + "; " + new_running_column(d);
  const bool by_rule =
      d.dst_col == cdiv(d.num_computed_tokens + d.num_scheduled_tokens, d.block_size) - 1;
  if (d.outcome == StateCopyOutcome::copy || is_missing_copy(d))
    text += fmt::format("{}bias = a - 1 = {} - 1 = {}",
                        by_rule ? fmt::format(" != {}: ", d.src_col) : "; ", d.num_accepted_tokens,
                        value_words(d.num_accepted_tokens - 1, d.accept_token_bias));
  return text + ": ";
}

std::string column_before_v1(const Decision& d, std::string_view remembered) {
  if (d.has_mamba_state_idx)
    return fmt::format("column before = {} ({})", value_words(d.mamba_state_idx, d.src_col),
                       remembered);
  return fmt::format("column before = floor((c - 1) / B) = floor(({} - 1) / {}) = {}",
                     d.num_computed_tokens, d.block_size,
                     value_words(floor_div(d.num_computed_tokens - 1, d.block_size), d.src_col));
}

// The destination and bias of a snapshot; running and new are known.
std::string snapshot_words(const Decision& d) {
  std::string text = fmt::format("aligned = floor({} / {}) * {} = {}", d.new_num_computed_tokens,
                                 d.block_size, d.block_size, d.aligned_new_computed);
  if (d.aligned_new_computed < d.num_tokens_running_state)
    return text + fmt::format(" < running {}: ", d.num_tokens_running_state);
  return text +
         fmt::format(
             " >= running {}: bias = aligned - running = {}; source column {}, destination column "
             "{} / {} - 1 = {}: ",
             d.num_tokens_running_state,
             value_words(d.aligned_new_computed - d.num_tokens_running_state, d.accept_token_bias),
             value_words(d.mamba_state_idx, d.src_col), d.aligned_new_computed, d.block_size,
             value_words(floor_div(d.aligned_new_computed, d.block_size) - 1, d.dst_col));
}

std::string postprocess_v1(const Decision& d) {
  return fmt::format(
             "running = c + q - d = {} + {} - {} = {}; new = running + a - 1 = {} + {} - 1 = {}; ",
             d.num_computed_tokens, d.num_scheduled_tokens, d.num_draft_tokens,
             d.num_tokens_running_state, d.num_tokens_running_state, d.num_accepted_tokens,
             d.new_num_computed_tokens) +
         snapshot_words(d);
}

std::string postprocess_v2(const Decision& d) {
  return fmt::format("new = {} (given); running = new - a + 1 = {} - {} + 1 = {}; ",
                     d.new_num_computed_tokens, d.new_num_computed_tokens, d.num_accepted_tokens,
                     d.num_tokens_running_state) +
         snapshot_words(d);
}

std::string precopy_v2(const Decision& d) {
  return fmt::format("source column = {} and bias = {} (from the advance); running column = {}: ",
                     d.src_col, d.accept_token_bias, d.dst_col);
}

std::string all_mode_boundary(const Decision& d) {
  return fmt::format(
      "boundary {} lies in c + 1 .. c + a = {} .. {}; query token t went to column L + t, L = {}: "
      "bias = {} - c - 1 = {} - {} - 1 = {}; destination column {} / {} - 1 = {}: ",
      d.aligned_new_computed, d.num_tokens_running_state, d.new_num_computed_tokens, d.src_col,
      d.aligned_new_computed, d.aligned_new_computed, d.num_computed_tokens, d.accept_token_bias,
      d.aligned_new_computed, d.block_size, d.dst_col);
}

// The formula without its outcome.
std::string formula_words(const Decision& decision, std::string_view remembered) {
  if (decision.outcome == StateCopyOutcome::padded_row) return {};
  switch (decision.rule) {
    case StateCopyRule::preprocess_mamba:
      return precopy_words(decision, column_before_v1(decision, remembered));
    case StateCopyRule::preprocess_mamba_align_fused_kernel:
      return precopy_words(decision,
                           fmt::format("column before = state_idx = {}",
                                       value_words(decision.mamba_state_idx, decision.src_col)));
    case StateCopyRule::precopy_mamba_align_fused_kernel: return precopy_v2(decision);
    case StateCopyRule::postprocess_mamba_v1: return postprocess_v1(decision);
    case StateCopyRule::postprocess_mamba_v2: return postprocess_v2(decision);
    case StateCopyRule::all_mode_boundary: return all_mode_boundary(decision);
  }
  return {};
}

}  // namespace

std::string value_words(std::int32_t by_rule, std::int32_t decided) {
  return by_rule == decided ? fmt::format("{}", decided)
                            : fmt::format("{} by the rule, but {} was decided", by_rule, decided);
}

bool is_missing_copy(const StateCopyDecision& decision) {
  switch (decision.rule) {
    case StateCopyRule::preprocess_mamba:
    case StateCopyRule::preprocess_mamba_align_fused_kernel:
      return decision.outcome == StateCopyOutcome::same_column &&
             decision.src_col != decision.dst_col;
    case StateCopyRule::postprocess_mamba_v1:
    case StateCopyRule::postprocess_mamba_v2:
      return decision.outcome == StateCopyOutcome::same_column ||
             (decision.outcome == StateCopyOutcome::no_boundary &&
              decision.aligned_new_computed >= decision.num_tokens_running_state);
    default: return false;
  }
}

std::string explain_decision(const StateCopyDecision& decision, const StatesKept& kept,
                             std::string_view remembered) {
  // A traced copy in a mode in which our rule makes none.
  if (decision.rule == StateCopyRule::preprocess_mamba && decision.copies() &&
      decision.block_size <= 0)
    return "the mode has no rule for it: " + outcome_words(decision, kept);
  return formula_words(decision, remembered) + outcome_words(decision, kept);
}

std::string remembered_words(const StepTrace& trace, RequestId request,
                             const std::optional<OwnCount>& own) {
  if (!own) return "remembered";
  const auto scheduled = std::ranges::find(trace.scheduled, request, &ScheduledTrace::request);
  const bool resumed =
      scheduled != trace.scheduled.end() && scheduled->admission != Admission::running;
  return fmt::format("remembered from step {}{}", own->step,
                     resumed ? ", before it was preempted" : "");
}

std::string explain_no_decision(const StepTrace& trace, const EngineConfig& config,
                                std::int32_t row) {
  const RowTrace& of_row = trace.rows[static_cast<std::size_t>(row)];
  const bool decided =
      std::ranges::find(trace.post_copies.decisions, row, &CopyDecisionTrace::row) !=
      trace.post_copies.decisions.end();
  if (config.mamba_cache_mode != MambaCacheMode::all || config.num_speculative_tokens == 0 ||
      decided || of_row.row_class != RowClass::verify)
    return {};
  if (!config.policies.is(AllModeSpeculation::remembered_column_and_boundary_copies))
    return "the policy stores no boundary states after acceptance";
  const std::int32_t computed = of_row.num_computed_tokens;
  return fmt::format("no block boundary lies in c + 1 .. c + a = {} .. {}, nothing to copy",
                     computed + 1, computed + of_row.num_sampled_tokens);
}

std::string_view decision_source(StateCopyRule rule) {
  switch (rule) {
    case StateCopyRule::preprocess_mamba: return "vLLM v1/worker/mamba_utils.py preprocess_mamba";
    case StateCopyRule::preprocess_mamba_align_fused_kernel:
      return "vLLM v1/worker/mamba_utils.py preprocess_mamba_align_fused_kernel";
    case StateCopyRule::precopy_mamba_align_fused_kernel:
      return "vLLM v1/worker/mamba_utils.py precopy_mamba_align_fused_kernel";
    case StateCopyRule::postprocess_mamba_v1:
    case StateCopyRule::postprocess_mamba_v2:
      return "vLLM v1/worker/mamba_utils.py postprocess_mamba_fused_kernel";
    case StateCopyRule::all_mode_boundary: return "docs/differences.md all_mode_speculation";
  }
  return {};
}

std::string_view outcome_name(StateCopyOutcome outcome) {
  static constexpr std::string_view kNames[] = {
      "copy",        "within_block_shift", "self_copy_skipped", "no_boundary",
      "fresh_state", "same_column",        "padded_row"};
  return name_at(kNames, outcome);
}

}  // namespace hybridscope
