#include "sessions/explain/finding_roots.h"

#include <fmt/core.h>

#include <algorithm>

#include "core/base/math.h"
#include "sessions/explain/explain_decision.h"
#include "sessions/explain/explain_finding.h"
#include "sessions/explain/forward_rows.h"

namespace hybridscope {
namespace {

using finding_words::tokens;

bool is_conv(const Finding& finding) { return finding.content == ContentKind::conv; }

const RowTrace* row_of(const StepTrace& trace, RequestId request) {
  const auto row = std::ranges::find(trace.rows, request, &RowTrace::request);
  return request.value < 0 || row == trace.rows.end() ? nullptr : &*row;
}

const GroupTrace* group_of(const StepTrace& trace, std::int32_t group) {
  const auto found = std::ranges::find(trace.groups, group, &GroupTrace::group);
  return found == trace.groups.end() ? nullptr : &*found;
}

// "pre-copy: column before = ..."; empty: nothing was decided.
std::string copy_words(std::string_view launch_name, const CopyLaunch& launch,
                       const Finding& finding, const RootContext& context) {
  const auto decided =
      std::ranges::find(launch.decisions, finding.request, &CopyDecisionTrace::request);
  if (decided == launch.decisions.end()) return {};
  return fmt::format(
      "{}: {}", launch_name,
      explain_decision(decided->decision, {},
                       remembered_words(context.trace, finding.request, context.own)));
}

std::string changed_count_words(const Finding& finding, const RootContext& context) {
  if (finding.rule != Rule::rejected_draft_counted || !context.own ||
      !finding.detail.starts_with("computed tokens"))
    return {};
  return fmt::format("{}'s count of computed tokens {} from {} to {} after step {}",
                     context.names.request(finding.request),
                     finding.seen < finding.expected ? "fell" : "rose", finding.expected,
                     finding.seen, context.own->step);
}

// The copy that the request's last row lacked, if what was read was written before it was due.
std::string missing_copy_words(const Finding& finding, const RootContext& context) {
  const auto& own = context.own;
  if (!own || !own->missing_copy) return {};
  const WriteEvent& cause = finding.cause;
  const bool by_own_precopy = cause.kind == WriteKind::pre_copy && cause.step == finding.step;
  if (cause.step > own->step && !by_own_precopy) return {};
  return fmt::format("{}'s post-copy of step {}: {}", context.names.request(finding.request),
                     own->step, explain_decision(*own->missing_copy));
}

std::string warned_words(const Finding& finding, const RootContext& context) {
  const auto& warning = context.warning;
  if (!warning || finding.cause.kind == WriteKind::never || finding.cause.step != warning->step ||
      finding.cause.request != warning->request)
    return {};
  return fmt::format("{} in step {}: {}", context.names.request(warning->request), warning->step,
                     finding_words::what(*warning, context.names));
}

// The row's part in its group's forward pass; empty: without metadata.
std::optional<ForwardPlaces> forward_row(const Finding& finding, const RootContext& context) {
  const GroupTrace* group = group_of(context.trace, finding.group);
  if (group == nullptr) return std::nullopt;
  for (ForwardPlaces& row : forward_rows(context.trace, *group, context.names.mamba_cache_mode))
    if (row.row == finding.row) return std::move(row);
  return std::nullopt;
}

std::string reader_words(const Finding& finding, const RootContext& context) {
  const std::string who = context.names.request(finding.request);
  const auto row = forward_row(finding, context);
  if (!row) return fmt::format("{} reads column {}", who, finding.column);
  if (row->is_decode && finding.expected == 0)
    return fmt::format(
        "{} runs as a decode although nothing is computed of it, and reads column {}", who,
        finding.column);
  const bool lacks_count =
      row->is_decode && !row->counts_given && context.own && context.own->num_accepted_tokens > 1;
  return fmt::format("{} runs as a {}{} and reads column {}", who,
                     row->is_decode ? "decode" : "prefill",
                     lacks_count ? " that is given no accepted count" : "", finding.column);
}

// Where the request's last row left the state of so many tokens, or its conv window. A decode or
// verify row leaves the state after its token t in column first + t and its conv window in column
// first (semantics: decode-temporal, decode-conv); a prefill leaves both in column first and, in
// mode all, at the block boundaries that it passes (semantics: prefill-temporal).
struct LeftState {
  std::int32_t first = -1;
  std::int32_t column = -1;
  bool passed_by_prefill = false;  // a prefill computed past the state and left it nowhere
};

std::optional<LeftState> left_by(const OwnCount& own, const Finding& finding,
                                 const RootContext& context) {
  const GroupTrace* group = group_of(context.trace, finding.group);
  if (group == nullptr || group->block_size <= 0 || own.num_query_tokens <= 0) return std::nullopt;
  const std::int32_t end = own.num_computed_tokens + own.num_query_tokens;
  const auto index = static_cast<std::int32_t>(finding.expected - own.num_computed_tokens - 1);
  if (index < 0 || finding.expected > end) return std::nullopt;
  LeftState left;
  if (context.names.mamba_cache_mode == MambaCacheMode::none)
    left.first = 0;
  else
    left.first = (end - 1) / group->block_size;
  const bool by_prefill = finding.cause.step == own.step ? finding.cause.kind == WriteKind::prefill
                                                         : own.row_class == RowClass::prefill;
  if (by_prefill && context.names.mamba_cache_mode == MambaCacheMode::all &&
      finding.expected % group->block_size == 0) {
    left.column = static_cast<std::int32_t>(finding.expected / group->block_size) - 1;
    return left;
  }
  left.passed_by_prefill = by_prefill && finding.expected < end;
  left.column = by_prefill || is_conv(finding) ? left.first : left.first + index;
  return left;
}

std::string left_words(const Finding& finding, const LeftState& left, const OwnCount& own) {
  return fmt::format("its {} is in column {}, left by step {}",
                     is_conv(finding) ? "conv window" : "state of " + tokens(finding.expected),
                     left.column, own.step);
}

// The decision of the row's pre-copy, with the hit that it begins with and the count it was given.
std::string precopy_words(const Finding& finding, const RowTrace& row, const RootContext& context) {
  const std::string words = copy_words("pre-copy", context.trace.pre_copies, finding, context);
  if (words.empty()) return {};
  const std::string who = context.names.request(finding.request);
  if (is_admitted(context.trace, row))
    if (const std::int32_t hit = context.trace.scheduled_of(row).num_hit_tokens; hit > 0)
      return fmt::format("{} is admitted with {} cached; its {}", who, tokens(hit), words);
  return fmt::format("{}'s {}", who, words);
}

std::string postcopy_words(const Finding& finding, const RootContext& context) {
  const std::string words = copy_words("post-copy", context.trace.post_copies, finding, context);
  return words.empty() ? words
                       : fmt::format("{}'s {}", context.names.request(finding.request), words);
}

std::string column_words(const Finding& finding, const RowTrace& row, const RootContext& context) {
  if (finding.expected == 0 && !is_admitted(context.trace, row)) return {};
  if (finding.expected == 0) return reader_words(finding, context);
  if (!context.own || finding.column < 0 || is_admitted(context.trace, row)) return {};
  const auto left = left_by(*context.own, finding, context);
  if (!left) return {};
  const OwnCount& own = *context.own;
  if (left->passed_by_prefill)
    return fmt::format(
        "{}, with {} computed; step {} ran it as a prefill up to token {}, which leaves only the "
        "state after the last",
        reader_words(finding, context), tokens(row.num_computed_tokens), own.step,
        own.num_computed_tokens + own.num_query_tokens);
  if (left->column == finding.column) return {};
  const auto reader = forward_row(finding, context);
  if (reader && reader->window_column != left->first) {
    const std::string copy = precopy_words(finding, row, context);
    if (!copy.empty()) return copy;
  }
  return reader_words(finding, context) + "; " + left_words(finding, *left, own);
}

std::string chosen_by_copy(const Finding& finding, const RowTrace& row,
                           const RootContext& context) {
  const bool copied =
      (finding.cause.kind == WriteKind::pre_copy && finding.cause.step == context.trace.step) ||
      finding.detail.starts_with("copied from");
  if (!copied) return {};
  const auto decided = std::ranges::find(context.trace.pre_copies.decisions, finding.request,
                                         &CopyDecisionTrace::request);
  if (decided == context.trace.pre_copies.decisions.end()) return {};
  const std::int32_t given = decided->decision.num_accepted_tokens;
  if (given != row.num_accepted_tokens_before)
    return fmt::format("{}'s pre-copy was given the accepted count {}, the row's is {}",
                       context.names.request(finding.request), given,
                       row.num_accepted_tokens_before);
  const std::int32_t taken =
      decided->decision.src_col + (is_conv(finding) ? 0 : decided->decision.accept_token_bias);
  if (context.own && !is_admitted(context.trace, row))
    if (const auto left = left_by(*context.own, finding, context);
        left && !left->passed_by_prefill && left->column != taken)
      return fmt::format("{}'s pre-copy takes column {}; {}",
                         context.names.request(finding.request), taken,
                         left_words(finding, *left, *context.own));
  return precopy_words(finding, row, context);
}

}  // namespace

std::string root_decision(const Finding& finding, const RootContext& context) {
  if (std::string words = changed_count_words(finding, context); !words.empty()) return words;
  if (std::string words = missing_copy_words(finding, context); !words.empty()) return words;
  const RowTrace* row = row_of(context.trace, finding.request);
  if (row != nullptr) {
    std::string words = wrong_count_words(context.trace, *row, context.own, context.names);
    if (!words.empty()) return words;
  }
  if (std::string words = warned_words(finding, context); !words.empty()) return words;
  const bool of_state = finding.content == ContentKind::temporal || is_conv(finding);
  if (row == nullptr || !of_state) return {};
  if (finding.rule == Rule::label_mismatch) return postcopy_words(finding, context);
  if (finding.rule != Rule::running_state_wrong && finding.rule != Rule::read_of_unwritten_block)
    return {};
  std::string words = chosen_by_copy(finding, *row, context);
  return words.empty() ? column_words(finding, *row, context) : words;
}

std::string RootTracker::decision(const StepTrace& trace, const Finding& root,
                                  const Names& names) const {
  return root_decision(root, {.trace = trace,
                              .names = names,
                              .own = own_counts_.before(trace.step, root.request),
                              .warning = last_warning(root.request)});
}

std::optional<Finding> RootTracker::last_warning(RequestId request) const {
  const auto found = warnings_.find(request.value);
  return found == warnings_.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace hybridscope
