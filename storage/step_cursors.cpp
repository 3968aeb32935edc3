#include "storage/step_cursors.h"

#include <fmt/core.h>

#include <cstring>

namespace hybridscope {

using fields::columns;

namespace {

std::vector<std::string> append(std::vector<std::string> names,
                                const std::vector<std::string>& more) {
  names.insert(names.end(), more.begin(), more.end());
  return names;
}

}  // namespace

TableCursor make_steps_cursor(ReadContext& context) {
  return {
      context,
      "steps LEFT JOIN digests USING (session, step)",
      {},
      append(columns<StepRecord>({}, fields::kStep), columns<StepDigests>({}, fields::kDigests))};
}

TableCursor make_finding_cursor(ReadContext& context) {
  return {context, "findings", {"ordinal"}, fields::columns<Finding>({}, fields::kFinding)};
}

TableCursor make_speech_cursor(ReadContext& context) { return {context, "speech", {}, {"words"}}; }

StepLoader::Cursors::Cursors(ReadContext& context)
    : steps(make_steps_cursor(context)),
      graph_padding(context, "graph_padding", {}, columns<StepTrace>({}, fields::kGraph)),
      commands(context, "commands", {"ordinal"}, columns<CommandTrace>({}, fields::kCommand)),
      findings(make_finding_cursor(context)),
      rows(context, "rows", {"scheduled"},
           append(columns<ScheduledTrace>({}, fields::kScheduled),
                  columns<RowTrace>({"row"}, fields::kRow))),
      commits(context, "commits", {"ordinal"}, columns<CommitTrace>({}, fields::kCommit)),
      preemptions(context, "preemptions", {"ordinal"}, columns<RequestId>({}, fields::kPreempted)),
      skipped_requests(context, "skipped_requests", {"ordinal"},
                       columns<SkippedRequest>({}, fields::kSkipped)),
      token_terms(context, "token_terms", {"ordinal"}, columns<TokenTerms>({}, fields::kTerms)),
      lookups(context, "lookups", {"ordinal"}, columns<AdmissionLookup>({}, fields::kLookup)),
      lookup_groups(context, "lookup_groups", {"ordinal", "grp"},
                    columns<GroupLookup>({}, fields::kGroupLookup)),
      step_groups(context, "step_groups", {"grp"}, columns<GroupTrace>({}, fields::kGroup)),
      block_events(make_event_cursor(context)),
      worker_table_changes(make_change_cursor(context)),
      copy_decisions(context, "copy_decisions", {"launch", "decision"},
                     columns<CopyDecisionTrace>({"row"}, fields::kDecision)),
      state_copies(context, "state_copies", {"launch", "ordinal"},
                   columns<StateCopyTrace>({}, fields::kCopy)),
      attention_writes(context, "attention_writes", {"grp", "ordinal"},
                       columns<AttentionWrite>({}, fields::kAttentionWrite)),
      metadata_arrays(context, "metadata_arrays", {"ordinal"},
                      append(columns<ArrayRecord>({}, fields::kArray), {"elements"})),
      write_events(context, "write_events", {"place"}, columns<StateWrite>({}, fields::kWrite)),
      speech(make_speech_cursor(context)) {}

void read_array(const TableCursor& cursor, ArrayRecord& array) {
  RowFields of_row(cursor, 1);
  fields::kArray(array, of_row);
  const int elements = of_row.next_column();
  array.present = !cursor.is_null(elements);
  array.values.clear();
  if (!array.present) return;
  const std::span<const unsigned char> bytes = cursor.blob(elements);
  constexpr std::int64_t kBytes = sizeof(std::int32_t);
  const auto size = static_cast<std::int64_t>(bytes.size());
  if (array.rows < 0 || array.cols < 0 || size % kBytes != 0 ||
      size / kBytes != std::int64_t{array.rows} * array.cols)
    return cursor.fail(
        "elements", fmt::format("{} bytes, expected {} rows of {} numbers of 4 bytes", bytes.size(),
                                array.rows, array.cols));
  array.values.resize(bytes.size() / sizeof(std::int32_t));
  if (!bytes.empty()) std::memcpy(array.values.data(), bytes.data(), bytes.size());
}

}  // namespace hybridscope
