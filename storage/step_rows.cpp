#include "storage/step_rows.h"

#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Exception.h>
#include <bit>
#include <nlohmann/json.hpp>

#include "core/base/result.h"
#include "sessions/record/speech_json.h"
#include "storage/table_cursor.h"

namespace hybridscope {

static_assert(std::endian::native == std::endian::little, "blobs are written as memory holds them");

Insert::Insert(SQLite::Database& database, std::string_view table, std::int64_t session,
               const std::vector<std::string>& columns)
    : handle_(database.getHandle()),
      table_(table),
      columns_("session"),
      session_(session),
      width_(columns.size() + 1),
      // One row more, so that run() can detect a row that is too long.
      values_((kRowsTogether + 1) * width_),
      next_(values_.data()) {
  for (const std::string& column : columns) columns_ += ", " + column;
  one_ = prepare(1);
}

Insert::Statement Insert::prepare(std::size_t rows) const {
  std::string marks = "(?";
  for (std::size_t i = 1; i < width_; ++i) marks += ", ?";
  marks += ")";
  // A row that does not fit ends the transaction. To undo only this statement of many rows, SQLite
  // would have to copy every page that it changes.
  std::string sql = "INSERT OR ROLLBACK INTO " + table_ + " (" + columns_ + ") VALUES " + marks;
  for (std::size_t i = 1; i < rows; ++i) sql += ", " + marks;
  sqlite3_stmt* statement = nullptr;
  const int code = sqlite3_prepare_v3(handle_, sql.c_str(), static_cast<int>(sql.size()) + 1,
                                      SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
  if (code != SQLITE_OK) throw SQLite::Exception(handle_, code);
  return Statement(statement);
}

void Insert::bind(sqlite3_stmt* statement, std::size_t first, std::size_t count) const {
  int parameter = 1;
  int failed = SQLITE_OK;
  for (std::size_t row = first; row < first + count; ++row) {
    const std::int64_t* values = values_.data() + row * width_;
    for (std::size_t i = 0; i < num_values_[row]; ++i)
      failed |= sqlite3_bind_int64(statement, parameter++, values[i]);
    for (std::size_t i = num_values_[row]; i < width_; ++i)
      failed |= sqlite3_bind_null(statement, parameter++);
  }
  if (failed != SQLITE_OK) throw SQLite::Exception(handle_, failed);
}

void Insert::bind_bytes(sqlite3_stmt* statement) const {
  for (const Bytes& value : bytes_) {
    const int parameter = static_cast<int>(value.column) + 1;
    // An empty span may have a null pointer, which would bind NULL.
    const void* data = value.size == 0 ? static_cast<const void*>("") : value.data;
    const int code =
        value.is_text ? sqlite3_bind_text(statement, parameter, static_cast<const char*>(data),
                                          static_cast<int>(value.size), SQLITE_STATIC)
                      : sqlite3_bind_blob64(statement, parameter, data, value.size, SQLITE_STATIC);
    if (code != SQLITE_OK) throw SQLite::Exception(handle_, code);
  }
}

void Insert::step(sqlite3_stmt* statement) const {
  const int code = sqlite3_step(statement);
  const int reset = sqlite3_reset(statement);
  if (code != SQLITE_DONE) throw SQLite::Exception(handle_, reset);
}

void Insert::run() {
  HS_EXPECT(row_size() <= width_);
  num_values_.push_back(row_size());
  next_ = values_.data() + ++num_rows_ * width_;
  if (!bytes_.empty()) return flush();
  if (num_rows_ < kRowsTogether) return;
  if (!many_) many_ = prepare(kRowsTogether);
  bind(many_.get(), 0, kRowsTogether);
  step(many_.get());
  forget_rows();
}

// Bytes belong to the last row.
void Insert::flush() {
  for (std::size_t row = 0; row < num_rows_; ++row) {
    bind(one_.get(), row, 1);
    if (row + 1 == num_rows_) bind_bytes(one_.get());
    step(one_.get());
  }
  forget_rows();
}

void Insert::forget_rows() {
  num_values_.clear();
  bytes_.clear();
  num_rows_ = 0;
  next_ = values_.data();
}

using fields::columns;

namespace {

// The scheduler's decisions, then the worker's row of the same request.
std::vector<std::string> row_columns() {
  auto names = columns<ScheduledTrace>({"step", "scheduled"}, fields::kScheduled);
  const auto row = columns<RowTrace>({"row"}, fields::kRow);
  names.insert(names.end(), row.begin(), row.end());
  return names;
}

std::vector<std::string> finding_columns() {
  auto names = columns<Finding>({"step", "ordinal", "severity"}, fields::kFinding);
  names.emplace_back("text");
  return names;
}

std::vector<std::string> array_columns() {
  auto names = columns<ArrayRecord>({"step", "ordinal"}, fields::kArray);
  names.emplace_back("elements");
  return names;
}

}  // namespace

struct StepRows::Inserts {
  SQLite::Database& db;
  std::int64_t s;  // session

  // Into the step, `keys` and the fields of a T.
  template <class T, class ForEach>
  Insert of(std::string_view table, std::vector<std::string> keys, ForEach for_each) {
    keys.insert(keys.begin(), "step");
    return Insert(db, table, s, columns<T>(std::move(keys), for_each));
  }

  Insert requests{db, "requests", s, {"request", "name", "first_step"}};
  Insert steps = of<StepRecord>("steps", {}, fields::kStep);
  Insert digests = of<StepDigests>("digests", {}, fields::kDigests);
  Insert graph_padding = of<StepTrace>("graph_padding", {}, fields::kGraph);
  Insert commands = of<CommandTrace>("commands", {"ordinal"}, fields::kCommand);
  Insert rows{db, "rows", s, row_columns()};
  Insert commits = of<CommitTrace>("commits", {"ordinal"}, fields::kCommit);
  Insert preemptions = of<RequestId>("preemptions", {"ordinal"}, fields::kPreempted);
  Insert skipped_requests = of<SkippedRequest>("skipped_requests", {"ordinal"}, fields::kSkipped);
  Insert token_terms = of<TokenTerms>("token_terms", {"ordinal"}, fields::kTerms);
  Insert lookups = of<AdmissionLookup>("lookups", {"ordinal"}, fields::kLookup);
  Insert lookup_groups = of<GroupLookup>("lookup_groups", {"ordinal", "grp"}, fields::kGroupLookup);
  Insert step_groups = of<GroupTrace>("step_groups", {"grp"}, fields::kGroup);
  Insert block_events = of<CacheEvent>("block_events", {"ordinal", "at_commit"}, fields::kEvent);
  Insert worker_table_changes =
      of<WorkerTableChange>("worker_table_changes", {"ordinal"}, fields::kChange);
  Insert copy_decisions =
      of<CopyDecisionTrace>("copy_decisions", {"launch", "decision", "row"}, fields::kDecision);
  Insert state_copies = of<StateCopyTrace>("state_copies", {"launch", "ordinal"}, fields::kCopy);
  Insert attention_writes =
      of<AttentionWrite>("attention_writes", {"grp", "ordinal"}, fields::kAttentionWrite);
  Insert metadata_arrays{db, "metadata_arrays", s, array_columns()};
  Insert write_events = of<StateWrite>("write_events", {"place"}, fields::kWrite);
  Insert findings{db, "findings", s, finding_columns()};
  Insert keyframes{db, "keyframes", s, {"step", "tables"}};
  Insert block_keyframes{db, "block_keyframes", s, {"step", "blocks"}};
  Insert speech{db, "speech", s, {"step", "words"}};

  void flush() {
    for (Insert* insert : {&requests,        &steps,           &digests,
                           &graph_padding,   &commands,        &rows,
                           &commits,         &preemptions,     &skipped_requests,
                           &token_terms,     &lookups,         &lookup_groups,
                           &step_groups,     &block_events,    &worker_table_changes,
                           &copy_decisions,  &state_copies,    &attention_writes,
                           &metadata_arrays, &write_events,    &findings,
                           &keyframes,       &block_keyframes, &speech})
      insert->flush();
  }
};

namespace {

// Inserts one row: `keys`, of which the step is the first, then the fields of the value.
template <class T, class ForEach>
void insert_one(Insert& insert, std::initializer_list<std::int64_t> keys, const T& value,
                ForEach for_each) {
  insert.row(*keys.begin());
  for (const std::int64_t key : std::span(keys).subspan(1)) insert.integer(key);
  for_each(value, insert);
  insert.run();
}

// Inserts one row for each element of `values`, numbered from 0.
template <class Values, class ForEach>
void insert_all(Insert& insert, std::int64_t step, const Values& values, ForEach for_each) {
  std::int64_t ordinal = 0;
  for (const auto& value : values) insert_one(insert, {step, ordinal++}, value, for_each);
}

}  // namespace

StepRows::StepRows(SQLite::Database& database, std::int64_t session)
    : inserts_(new Inserts{database, session}) {}

StepRows::~StepRows() = default;

void StepRows::write_request(std::int64_t step, RequestId request, const std::string& name) {
  inserts_->requests.row(request.value).text(name).integer(step).run();
}

void StepRows::write(const StepRecord& record, std::span<const std::string> finding_texts) {
  const StepTrace& trace = record.trace;
  insert_one(inserts_->steps, {trace.step}, record, fields::kStep);
  insert_one(inserts_->digests, {trace.step}, record.digests, fields::kDigests);
  insert_one(inserts_->graph_padding, {trace.step}, trace, fields::kGraph);
  insert_all(inserts_->commands, trace.step, trace.commands, fields::kCommand);
  write_schedule(trace);
  write_rows(trace);
  insert_all(inserts_->commits, trace.step, trace.committed, fields::kCommit);
  write_blocks(record);
  write_copies(trace);
  write_groups(record);
  insert_all(inserts_->write_events, trace.step, record.writes, fields::kWrite);
  write_findings(record, finding_texts);
  if (is_silent(record.speech)) return;
  const std::string words = speech_to_json(record.speech).dump();
  inserts_->speech.row(trace.step).text(words).run();
}

void StepRows::flush() { inserts_->flush(); }

void StepRows::write_keyframes(std::int64_t step, const Keyframes& due) {
  if (!due.tables.empty()) inserts_->keyframes.row(step).blob(due.tables).run();
  if (!due.blocks.empty()) inserts_->block_keyframes.row(step).blob(due.blocks).run();
}

void StepRows::write_schedule(const StepTrace& trace) {
  insert_all(inserts_->preemptions, trace.step, trace.preempted, fields::kPreempted);
  insert_all(inserts_->skipped_requests, trace.step, trace.skipped, fields::kSkipped);
  insert_all(inserts_->token_terms, trace.step, trace.token_terms, fields::kTerms);
  insert_all(inserts_->lookups, trace.step, trace.lookups, fields::kLookup);
  std::int64_t number = 0;
  for (const AdmissionLookup& lookup : trace.lookups) {
    std::int64_t group = 0;
    for (const GroupLookup& one : lookup.explanation.groups)
      insert_one(inserts_->lookup_groups, {trace.step, number, group++}, one, fields::kGroupLookup);
    ++number;
  }
}

void StepRows::write_rows(const StepTrace& trace) {
  row_of_.assign(trace.scheduled.size(), nullptr);
  for (const RowTrace& row : trace.rows) row_of_[static_cast<std::size_t>(row.scheduled)] = &row;
  Insert& insert = inserts_->rows;
  for (std::size_t i = 0; i < trace.scheduled.size(); ++i) {
    insert.row(trace.step).integer(static_cast<std::int64_t>(i));
    fields::kScheduled(trace.scheduled[i], insert);
    if (const RowTrace* row = row_of_[i]) {
      insert.integer(row - trace.rows.data());
      fields::kRow(*row, insert);
    }
    insert.run();
  }
}

void StepRows::write_blocks(const StepRecord& record) {
  const StepTrace& trace = record.trace;
  std::int64_t ordinal = 0;
  for (const bool at_commit : {false, true})
    for (const CacheEvent& event : at_commit ? trace.commit_events : trace.cache_events)
      insert_one(inserts_->block_events, {trace.step, ordinal++, at_commit}, event, fields::kEvent);
  insert_all(inserts_->worker_table_changes, trace.step, record.worker_changes, fields::kChange);
}

void StepRows::write_copies(const StepTrace& trace) {
  std::int64_t number = 0;
  for (const CopyLaunch* launch : {&trace.pre_copies, &trace.post_copies}) {
    std::int64_t decision = 0;
    for (const CopyDecisionTrace& one : launch->decisions)
      insert_one(inserts_->copy_decisions, {trace.step, number, decision++, one.row}, one,
                 fields::kDecision);
    std::int64_t ordinal = 0;
    for (const StateCopyTrace& copy : launch->copies)
      insert_one(inserts_->state_copies, {trace.step, number, ordinal++}, copy, fields::kCopy);
    ++number;
  }
}

void StepRows::write_groups(const StepRecord& record) {
  const std::int64_t step = record.trace.step;
  for (const GroupTrace& group : record.trace.groups) {
    insert_one(inserts_->step_groups, {step, group.group}, group, fields::kGroup);
    std::int64_t ordinal = 0;
    for (const AttentionWrite& write : group.attention_writes)
      insert_one(inserts_->attention_writes, {step, group.group, ordinal++}, write,
                 fields::kAttentionWrite);
  }
  std::int64_t ordinal = 0;
  for (const ArrayRecord& array : record.arrays) {
    Insert& insert = inserts_->metadata_arrays;
    insert.row(step).integer(ordinal++);
    fields::kArray(array, insert);
    if (array.present) insert.blob(array.values);
    insert.run();
  }
}

void StepRows::write_findings(const StepRecord& record, std::span<const std::string> texts) {
  Insert& insert = inserts_->findings;
  for (std::size_t i = 0; i < record.findings.size(); ++i) {
    const Finding& finding = record.findings[i];
    const bool error = rule_info(finding.rule).severity == Severity::error;
    insert.row(record.trace.step).integer(static_cast<std::int64_t>(i));
    insert.text(error ? "error" : "warning");
    fields::kFinding(finding, insert);
    insert.text(texts[i]).run();
  }
}

}  // namespace hybridscope
