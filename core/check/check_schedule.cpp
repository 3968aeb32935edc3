#include "core/check/check_schedule.h"

#include <vector>

#include "core/metadata/row_lengths.h"

namespace hybridscope {
namespace {

bool rows_are_scheduled(const StepTrace& trace) {
  for (const RowTrace& row : trace.rows)
    if (row.scheduled < 0 || static_cast<std::size_t>(row.scheduled) >= trace.scheduled.size())
      return false;
  return true;
}

// The one row whose length differs; -1: none, or several.
std::int32_t only_row_that_differs(const StepTrace& trace,
                                   const std::vector<std::int32_t>& lengths) {
  std::int32_t only = -1;
  for (std::size_t r = 0; r < lengths.size(); ++r) {
    if (trace.scheduled_of(trace.rows[r]).num_scheduled_tokens == lengths[r]) continue;
    if (only >= 0) return -1;
    only = static_cast<std::int32_t>(r);
  }
  return only;
}

void check_scheduled_tokens(CheckContext& context) {
  const StepTrace& trace = context.trace();
  MetadataSays& says = context.shared().metadata;
  says.computed_tokens.clear();
  for (const RowTrace& row : trace.rows) says.computed_tokens.push_back(row.num_computed_tokens);
  std::vector<std::int32_t>& lengths = says.other_lengths;
  lengths.clear();
  for (const GroupTrace& group : trace.groups) {
    if (!group.is_mamba || !group.metadata) continue;
    if (!tell_row_lengths(*group.metadata, says.computed_tokens, says.row_lengths)) return;
    if (!lengths.empty() && says.row_lengths != lengths) return;
    lengths.swap(says.row_lengths);
  }
  const std::int32_t row = only_row_that_differs(trace, lengths);
  if (row < 0) return;
  const RowTrace& of_row = trace.rows[static_cast<std::size_t>(row)];
  Finding finding;
  finding.rule = Rule::metadata_inconsistent;
  finding.request = of_row.request;
  finding.row = row;
  finding.expected = lengths[static_cast<std::size_t>(row)];
  finding.seen = trace.scheduled_of(of_row).num_scheduled_tokens;
  finding.detail = "num_scheduled_tokens";
  context.report(finding);
}

void check_hit_ends(CheckContext& context) {
  for (const ScheduledTrace& scheduled : context.trace().scheduled) {
    const std::int32_t inside = scheduled.num_hit_tokens % context.config().hash_block_size;
    if (scheduled.admission == Admission::running || inside == 0) continue;
    Finding finding;
    finding.rule = Rule::hit_longer_than_group;
    finding.request = scheduled.request;
    finding.expected = scheduled.num_hit_tokens - inside;
    finding.seen = scheduled.num_hit_tokens;
    finding.detail = "do not end with a hash block";
    context.report(finding);
  }
}

}  // namespace

void check_schedule(CheckContext& context) {
  if (!context.trace().rows.empty() && rows_are_scheduled(context.trace()))
    check_scheduled_tokens(context);
  check_hit_ends(context);
}

}  // namespace hybridscope
