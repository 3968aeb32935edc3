#include "core/language/language_findings.h"

#include <algorithm>

namespace hybridscope {
namespace {

Finding finding_of(const StateDifference& difference, const WriteEvent& writer,
                   const CheckState& state) {
  const bool conv = difference.kind == StateKind::conv;
  const auto ids = state.tables.block_ids(difference.request, difference.group);
  const auto column = std::ranges::find(ids, difference.block);
  return {.rule = Rule::state_differs,
          .request = difference.request,
          .row = difference.row,
          .group = difference.group,
          .content = conv ? ContentKind::conv : ContentKind::temporal,
          .column = column == ids.end() ? -1 : static_cast<std::int32_t>(column - ids.begin()),
          .block = difference.block,
          .expected = difference.num_tokens,
          .seen = difference.num_elements,
          .detail = difference.is_read ? "read" : "written",
          .cause = writer,
          .layer = difference.layer,
          .element = difference.first_element};
}

}  // namespace

void LanguageFindings::append(const LanguageStep& step, std::int64_t number,
                              const CheckState& state, std::vector<Finding>& out) {
  const auto add = [&](Finding finding) {
    if (!differ_.insert(finding.request).second) return;
    finding.step = number;
    out.push_back(finding);
  };
  for (std::size_t i = 0; i < step.states.size(); ++i)
    add(finding_of(step.states[i], step.writers[i], state));
  for (const LogitsDifference& difference : step.logits) {
    add({.rule = Rule::logits_differ,
         .request = difference.request,
         .row = difference.row,
         .expected = difference.twin_id,
         .seen = difference.id,
         .detail = difference.id == difference.twin_id ? "the token is the same" : ""});
  }
  for (const AcceptanceDifference& difference : step.accepted) {
    add({.rule = Rule::acceptance_differs,
         .request = difference.request,
         .row = difference.row,
         .expected = difference.by_engine,
         .seen = difference.by_logits});
  }
}

}  // namespace hybridscope
