#include <algorithm>

#include "core/check/execute_forward.h"
#include "core/check/execute_rows.h"

namespace hybridscope {

// Rows of one launch do not wait for each other: of several that name one block all read what was
// there before, so that the state moves on by one placeholder.
void execute_dummy_rows(CheckContext& context) {
  const std::vector<DummyRow>& rows = context.trace().dummy_rows;
  for (auto row = rows.begin(); row != rows.end(); ++row) {
    Finding finding;
    finding.rule = Rule::padded_row_not_null;
    finding.row = row->row;
    finding.group = row->group;
    finding.column = 0;
    finding.block = row->block;
    finding.detail = "a row of a dummy run";
    context.report(finding);
    const bool written = std::any_of(rows.begin(), row, [&](const DummyRow& before) {
      return before.group == row->group && before.block == row->block;
    });
    if (written) continue;
    context.look_again_at(row->block);
    execute_unneutral_padding_row(context, row->group, row->block);
  }
}

}  // namespace hybridscope
