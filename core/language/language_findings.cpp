#include "core/language/language_findings.h"

#include <algorithm>

namespace hybridscope {
namespace {

Finding finding_of(const StateDifference& difference, const WriteEvent& writer,
                   const CheckState& state) {
  const bool conv = difference.kind == StateKind::conv;
  const auto ids = state.tables.block_ids(difference.request, difference.group);
  const auto column = std::ranges::find(ids, difference.block);
  Finding finding;
  finding.rule = Rule::state_differs;
  finding.request = difference.request;
  finding.row = difference.row;
  finding.group = difference.group;
  finding.content = conv ? ContentKind::conv : ContentKind::temporal;
  finding.column = column == ids.end() ? -1 : static_cast<std::int32_t>(column - ids.begin());
  finding.block = difference.block;
  finding.layer = difference.layer;
  finding.element = difference.first_element;
  finding.expected = difference.num_tokens;
  finding.seen = difference.num_elements;
  finding.cause = writer;
  finding.detail = difference.is_read ? "read" : "written";
  return finding;
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
    Finding finding;
    finding.rule = Rule::logits_differ;
    finding.request = difference.request;
    finding.row = difference.row;
    finding.expected = difference.twin_id;
    finding.seen = difference.id;
    finding.detail = difference.id == difference.twin_id ? "the token is the same" : "";
    add(finding);
  }
  for (const AcceptanceDifference& difference : step.accepted) {
    Finding finding;
    finding.rule = Rule::acceptance_differs;
    finding.request = difference.request;
    finding.row = difference.row;
    finding.expected = difference.by_engine;
    finding.seen = difference.by_logits;
    add(finding);
  }
}

}  // namespace hybridscope
