#include "core/check/mismatch.h"

namespace hybridscope {

void report(CheckContext& context, Rule rule, const Mismatch& mismatch) {
  Finding finding;
  finding.rule = rule;
  finding.row = mismatch.row;
  finding.group = mismatch.group;
  finding.expected = mismatch.expected;
  finding.seen = mismatch.seen;
  finding.detail = mismatch.detail;
  const auto& rows = context.trace().rows;
  if (mismatch.row >= 0 && static_cast<std::size_t>(mismatch.row) < rows.size())
    finding.request = rows[static_cast<std::size_t>(mismatch.row)].request;
  context.report(finding);
}

}  // namespace hybridscope
