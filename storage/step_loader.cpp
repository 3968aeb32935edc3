#include "storage/step_loader.h"

#include <fmt/core.h>
#include <cstring>
#include <utility>

namespace hybridscope {
namespace {

// Checks that the key column `column` counts from 0.
void expect_number(const TableCursor& cursor, int column, std::string_view name,
                   std::size_t expected) {
  const auto number = static_cast<std::int64_t>(expected);
  const std::int64_t found = cursor.integer(column, 0, std::numeric_limits<std::int32_t>::max());
  if (found != number) cursor.fail(name, fmt::format("{}, expected {}", found, number));
}

// Reads the step's rows of a table with one key number, one item per row.
template <class Item, class ForEach>
void read_items(TableCursor& cursor, std::int64_t step, std::vector<Item>& items,
                ForEach for_each) {
  items.clear();
  for (cursor.seek(step); cursor.at_row(); cursor.advance()) {
    expect_number(cursor, 0, "ordinal", items.size());
    RowFields columns(cursor, 1);
    for_each(items.emplace_back(), columns);
  }
}

using fields::columns;

std::vector<std::string> append(std::vector<std::string> names,
                                const std::vector<std::string>& more) {
  names.insert(names.end(), more.begin(), more.end());
  return names;
}

// A cursor over the keys and the fields of a T.
template <class T, class ForEach>
TableCursor cursor(ReadContext& context, const char* table, std::vector<std::string> keys,
                   ForEach for_each) {
  return {context, table, std::move(keys), columns<T>({}, for_each)};
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
  return cursor<Finding>(context, "findings", {"ordinal"}, fields::kFinding);
}

TableCursor make_speech_cursor(ReadContext& context) { return {context, "speech", {}, {"words"}}; }

struct StepLoader::Cursors {
  ReadContext& context;
  TableCursor steps = make_steps_cursor(context);
  TableCursor graph_padding = cursor<StepTrace>(context, "graph_padding", {}, fields::kGraph);
  TableCursor commands = cursor<CommandTrace>(context, "commands", {"ordinal"}, fields::kCommand);
  TableCursor findings = make_finding_cursor(context);
  TableCursor rows{context,
                   "rows",
                   {"scheduled"},
                   append(columns<ScheduledTrace>({}, fields::kScheduled),
                          columns<RowTrace>({"row"}, fields::kRow))};
  TableCursor commits = cursor<CommitTrace>(context, "commits", {"ordinal"}, fields::kCommit);
  TableCursor preemptions =
      cursor<RequestId>(context, "preemptions", {"ordinal"}, fields::kPreempted);
  TableCursor skipped_requests =
      cursor<SkippedRequest>(context, "skipped_requests", {"ordinal"}, fields::kSkipped);
  TableCursor token_terms = cursor<TokenTerms>(context, "token_terms", {"ordinal"}, fields::kTerms);
  TableCursor lookups = cursor<AdmissionLookup>(context, "lookups", {"ordinal"}, fields::kLookup);
  TableCursor lookup_groups =
      cursor<GroupLookup>(context, "lookup_groups", {"ordinal", "grp"}, fields::kGroupLookup);
  TableCursor step_groups = cursor<GroupTrace>(context, "step_groups", {"grp"}, fields::kGroup);
  TableCursor block_events = make_event_cursor(context);
  TableCursor worker_table_changes = make_change_cursor(context);
  TableCursor copy_decisions{context,
                             "copy_decisions",
                             {"launch", "decision"},
                             columns<CopyDecisionTrace>({"row"}, fields::kDecision)};
  TableCursor state_copies =
      cursor<StateCopyTrace>(context, "state_copies", {"launch", "ordinal"}, fields::kCopy);
  TableCursor attention_writes = cursor<AttentionWrite>(
      context, "attention_writes", {"grp", "ordinal"}, fields::kAttentionWrite);
  TableCursor metadata_arrays{context,
                              "metadata_arrays",
                              {"ordinal"},
                              append(columns<ArrayRecord>({}, fields::kArray), {"elements"})};
  TableCursor write_events = cursor<StateWrite>(context, "write_events", {"place"}, fields::kWrite);
  TableCursor speech = make_speech_cursor(context);
};

StepLoader::StepLoader(ReadContext& context, const SessionHeader& header)
    : context_(context),
      level_(header.level),
      groups_(make_group_traces(header.config.kv_cache_config)),
      limits_(block_limits(header.config)),
      cursors_(new Cursors{context}) {
  if (header.language) speech_ = speech_limits(context, header);
}

StepLoader::~StepLoader() = default;

bool StepLoader::load_step(std::int64_t step, StepRecord& record) {
  TableCursor& steps = cursors_->steps;
  steps.seek(step);
  if (!steps.at_row()) return false;
  record.clear();
  record.trace.step = step;
  RowFields columns(steps, 0);
  fields::kStep(record, columns);
  fields::kDigests(record.digests, columns);
  steps.advance();
  return true;
}

bool StepLoader::load_schedule(std::int64_t step, StepRecord& record) {
  if (!load_step(step, record)) return false;
  if (level_ >= RecordLevel::blocks) load_schedule(record.trace);
  return !context_.error;
}

bool StepLoader::load_rows_and_copies(std::int64_t step, StepRecord& record) {
  if (!load_step(step, record)) return false;
  if (level_ >= RecordLevel::blocks) load_rows(record.trace);
  if (level_ >= RecordLevel::blocks) load_copies(record.trace);
  return !context_.error;
}

bool StepLoader::load(std::int64_t step, StepRecord& record) {
  if (!load_step(step, record)) return false;
  StepTrace& trace = record.trace;
  TableCursor& graph = cursors_->graph_padding;
  graph.seek(step);
  if (!graph.at_row()) {
    context_.fail(ErrorKind::corrupt, fmt::format("step {}: graph_padding has no row", step));
    return false;
  }
  RowFields graph_columns(graph, 0);
  fields::kGraph(trace, graph_columns);
  read_items(cursors_->commands, step, trace.commands, fields::kCommand);
  load_findings(record);
  if (speech_) load_speech(record);
  if (level_ >= RecordLevel::blocks) {
    load_schedule(trace);
    load_groups(trace);
    load_events(record);
    load_copies(trace);
  }
  if (level_ >= RecordLevel::full) {
    load_arrays(record);
    load_writes(record);
  }
  return !context_.error;
}

void StepLoader::load_schedule(StepTrace& trace) {
  read_items(cursors_->preemptions, trace.step, trace.preempted, fields::kPreempted);
  read_items(cursors_->skipped_requests, trace.step, trace.skipped, fields::kSkipped);
  read_items(cursors_->token_terms, trace.step, trace.token_terms, fields::kTerms);
  read_items(cursors_->commits, trace.step, trace.committed, fields::kCommit);
  load_lookups(trace);
  load_rows(trace);
}

void StepLoader::load_lookups(StepTrace& trace) {
  read_items(cursors_->lookups, trace.step, trace.lookups, fields::kLookup);
  TableCursor& cursor = cursors_->lookup_groups;
  for (cursor.seek(trace.step); cursor.at_row(); cursor.advance()) {
    const auto last = static_cast<std::int64_t>(trace.lookups.size()) - 1;
    if (last < 0) return cursor.fail("ordinal", "no lookup has this number");
    const std::int64_t lookup = cursor.integer(0, 0, last);
    auto& groups = trace.lookups[static_cast<std::size_t>(lookup)].explanation.groups;
    expect_number(cursor, 1, "grp", groups.size());
    RowFields columns(cursor, 2);
    fields::kGroupLookup(groups.emplace_back(), columns);
  }
}

void StepLoader::load_rows(StepTrace& trace) {
  TableCursor& cursor = cursors_->rows;
  constexpr std::int32_t kUnseen = -2;
  constexpr std::int32_t kMaxRows = 1 << 18;  // more rows than any batch has
  for (cursor.seek(trace.step); cursor.at_row(); cursor.advance()) {
    const std::size_t number = trace.scheduled.size();
    expect_number(cursor, 0, "scheduled", number);
    RowFields columns(cursor, 1);
    ScheduledTrace& scheduled = trace.scheduled.emplace_back();
    fields::kScheduled(scheduled, columns);
    const int row_column = columns.next_column();
    if (cursor.is_null(row_column)) continue;
    const auto place = static_cast<std::size_t>(cursor.integer(row_column, 0, kMaxRows));
    if (context_.error) return;
    if (place >= trace.rows.size()) trace.rows.resize(place + 1, RowTrace{.scheduled = kUnseen});
    RowTrace& row = trace.rows[place];
    if (row.scheduled != kUnseen) return cursor.fail("row", fmt::format("{} twice", place));
    row.scheduled = static_cast<std::int32_t>(number);
    row.request = scheduled.request;
    RowFields row_columns(cursor, row_column + 1);
    fields::kRow(row, row_columns);
  }
  for (const RowTrace& row : trace.rows)
    if (row.scheduled == kUnseen)
      context_.fail(ErrorKind::corrupt,
                    fmt::format("step {}: rows.row: {} is missing below {}", trace.step,
                                &row - trace.rows.data(), trace.rows.size()));
}

void StepLoader::load_groups(StepTrace& trace) {
  trace.groups = groups_;
  TableCursor& cursor = cursors_->step_groups;
  std::size_t number = 0;
  for (cursor.seek(trace.step); cursor.at_row(); cursor.advance()) {
    expect_number(cursor, 0, "grp", number);
    if (number >= groups_.size())
      return cursor.fail("grp", fmt::format("the model has {} groups", groups_.size()));
    RowFields columns(cursor, 1);
    fields::kGroup(trace.groups[number++], columns);
  }
  if (number != groups_.size())
    context_.fail(ErrorKind::corrupt, fmt::format("step {}: step_groups has {} rows, expected {}",
                                                  trace.step, number, groups_.size()));
}

void StepLoader::load_events(StepRecord& record) {
  StepTrace& trace = record.trace;
  TableCursor& events = cursors_->block_events;
  for (events.seek(trace.step); events.at_row(); events.advance()) {
    expect_number(events, 0, "ordinal", trace.cache_events.size() + trace.commit_events.size());
    const BlockEventRow row = read_block_event(events, limits_);
    if (!row.at_commit && !trace.commit_events.empty())
      events.fail("at_commit", "0 behind an event at commit");
    (row.at_commit ? trace.commit_events : trace.cache_events).push_back(row.event);
  }
  TableCursor& changes = cursors_->worker_table_changes;
  for (changes.seek(trace.step); changes.at_row(); changes.advance()) {
    expect_number(changes, 0, "ordinal", record.worker_changes.size());
    record.worker_changes.push_back(read_worker_change(changes, limits_));
  }
}

void StepLoader::load_copies(StepTrace& trace) {
  const auto launch_of = [&trace](const TableCursor& cursor) -> CopyLaunch& {
    return cursor.integer(0, 0, 1) == 0 ? trace.pre_copies : trace.post_copies;
  };
  TableCursor& decisions = cursors_->copy_decisions;
  for (decisions.seek(trace.step); decisions.at_row(); decisions.advance()) {
    CopyLaunch& launch = launch_of(decisions);
    expect_number(decisions, 1, "decision", launch.decisions.size());
    CopyDecisionTrace& decided = launch.decisions.emplace_back();
    RowFields columns(decisions, 2);
    columns("row", decided.row);
    fields::kDecision(decided, columns);
  }
  TableCursor& copies = cursors_->state_copies;
  for (copies.seek(trace.step); copies.at_row(); copies.advance()) {
    CopyLaunch& launch = launch_of(copies);
    expect_number(copies, 1, "ordinal", launch.copies.size());
    StateCopyTrace& copy = launch.copies.emplace_back();
    RowFields columns(copies, 2);
    fields::kCopy(copy, columns);
    if (copy.decision < 0 || static_cast<std::size_t>(copy.decision) >= launch.decisions.size())
      copies.fail("decision", fmt::format("{} of {}", copy.decision, launch.decisions.size()));
    if (copy.group < 0 || copy.group >= limits_.num_groups)
      copies.fail("grp", fmt::format("{} of {}", copy.group, limits_.num_groups));
  }
}

void StepLoader::load_findings(StepRecord& record) {
  read_items(cursors_->findings, record.trace.step, record.findings, fields::kFinding);
  for (Finding& finding : record.findings) finding.step = record.trace.step;
}

SpeechLimits speech_limits(const ReadContext& context, const SessionHeader& header) {
  const BlockLimits blocks = block_limits(header.config);
  return {.num_requests = context.num_requests,
          .num_groups = blocks.num_groups,
          .num_blocks = blocks.num_blocks,
          .num_layers = static_cast<std::int32_t>(header.language->layers.size()),
          .vocab_size = header.language->vocab_size};
}

StepSpeech read_speech_row(const TableCursor& cursor, const SpeechLimits& limits) {
  auto speech = read_speech_text(cursor.text(0), cursor.next_step(), limits);
  if (speech.ok()) return std::move(speech).value();
  cursor.fail("words", speech.error().message);
  return {};
}

void StepLoader::load_speech(StepRecord& record) {
  TableCursor& cursor = cursors_->speech;
  cursor.seek(record.trace.step);
  record.speech = {.step = record.trace.step};
  if (!cursor.at_row()) return;
  speech_->num_requests = context_.num_requests;
  record.speech = read_speech_row(cursor, *speech_);
}

void StepLoader::load_arrays(StepRecord& record) {
  TableCursor& writes = cursors_->attention_writes;
  auto& groups = record.trace.groups;
  for (writes.seek(record.trace.step); writes.at_row(); writes.advance()) {
    const std::int64_t group = writes.integer(0, 0, limits_.num_groups - 1);
    if (context_.error) return;
    auto& of_group = groups[static_cast<std::size_t>(group)].attention_writes;
    expect_number(writes, 1, "ordinal", of_group.size());
    RowFields columns(writes, 2);
    fields::kAttentionWrite(of_group.emplace_back(), columns);
  }
  TableCursor& arrays = cursors_->metadata_arrays;
  for (arrays.seek(record.trace.step); arrays.at_row(); arrays.advance()) {
    expect_number(arrays, 0, "ordinal", record.arrays.size());
    read_array(arrays, record.arrays.emplace_back());
  }
}

void StepLoader::load_writes(StepRecord& record) {
  read_items(cursors_->write_events, record.trace.step, record.writes, fields::kWrite);
  for (StateWrite& write : record.writes)
    write.event.step = static_cast<std::int32_t>(record.trace.step);
}

void read_stamp(const TableCursor& cursor, StepStamp& stamp) {
  StepRecord record;
  RowFields columns(cursor, 0);
  fields::kStep(record, columns);
  fields::kDigests(stamp.digests, columns);
  stamp.step = cursor.next_step();
  stamp.counts = record.counts;
}

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
