#include "sessions/explain/own_counts.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "sessions/explain/explain_decision.h"

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
    case CountOrigin::own:
      return fmt::format("own, of step {}", own->step);
    case CountOrigin::fresh:
      return "fresh";
    case CountOrigin::unknown:
      return "not known";
    case CountOrigin::lost:
      return fmt::format("{}{}", row.num_accepted_tokens_before, of_own);
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

}  // namespace hybridscope
