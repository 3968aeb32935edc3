#include "storage/session_reader.h"

#include <SQLiteCpp/Database.h>
#include <fmt/core.h>

#include <utility>

#include "sessions/explain/forward_rows.h"
#include "sessions/record/record_views.h"
#include "storage/step_history.h"
#include "storage/step_loader.h"
#include "storage/table_cursor.h"

namespace hybridscope {
namespace {

ReadContext make_context(const SessionFile& file, const SessionInfo& info) {
  ReadContext context;
  context.database = file.database().getHandle();
  context.session = info.session;
  context.place = fmt::format("{}: session '{}'", file.path(), info.header.name);
  return context;
}

}  // namespace

SessionReader::Impl::Impl(SessionFile opened, SessionInfo about)
    : file(std::move(opened)),
      info(std::move(about)),
      title(file.path() + ":" + info.header.name),
      context(make_context(file, info)),
      before(context, "SELECT max(step) FROM steps WHERE session = ? AND step <= ?"),
      after(context, "SELECT min(step) FROM steps WHERE session = ? AND step > ?"),
      name(context, "SELECT name FROM requests WHERE session = ? AND request = ?"),
      request_step(context, "SELECT first_step FROM requests WHERE session = ? AND request = ?"),
      loader(context, info.header),
      stamps(make_steps_cursor(context)) {
  find_extent();
}

void SessionReader::Impl::find_extent() {
  ReadStatement requests(context, "SELECT max(request) + 1 FROM requests WHERE session = ?");
  const std::int64_t count = requests.number({context.session});
  if (count < 0 || count > std::numeric_limits<std::int32_t>::max())
    context.fail(ErrorKind::corrupt, fmt::format("requests.request: {}", count - 1));
  context.num_requests = static_cast<std::int32_t>(count);
  first_step = after.number({context.session, std::numeric_limits<std::int64_t>::min()});
  last_step = before.number({context.session, std::numeric_limits<std::int64_t>::max()});
  // StateWrite stores its step in 32 bits.
  if (first_step < 0 || last_step >= std::numeric_limits<std::int32_t>::max())
    context.fail(ErrorKind::corrupt, fmt::format("steps.step: {} to {}", first_step, last_step));
}

SessionReader::SessionReader(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
SessionReader::~SessionReader() = default;

Result<std::unique_ptr<SessionReader>> SessionReader::open(const SessionPlace& place) {
  auto file = SessionFile::open(place.file, FileAccess::read);
  if (!file) return file.error();
  // From here on all reads see one snapshot, even while another program writes.
  const Status begun =
      catch_sqlite(place.file, file.value().database().getHandle(), [&]() -> Status {
        file.value().database().exec("BEGIN");
        return Ok{};
      });
  if (!begun.ok()) return begun.error();
  auto info = file.value().find(place.name);
  if (!info) return info.error();
  auto config = read_session_config(info.value(), place.file);
  if (!config) return config.error();
  info.value().header.config = std::move(config).value();
  auto impl = std::make_unique<Impl>(std::move(file).value(), std::move(info).value());
  if (impl->context.error) return *impl->context.error;
  return std::unique_ptr<SessionReader>(new SessionReader(std::move(impl)));
}

// A transaction that reads ends only when no statement is in the middle of its rows.
Status SessionReader::see_new_steps() {
  Impl& impl = *impl_;
  const Status begun = catch_sqlite(impl.file.path(), impl.context.database, [&]() -> Status {
    for (sqlite3_stmt* statement = sqlite3_next_stmt(impl.context.database, nullptr);
         statement != nullptr; statement = sqlite3_next_stmt(impl.context.database, statement))
      sqlite3_reset(statement);
    impl.file.database().exec("COMMIT");
    impl.file.database().exec("BEGIN");
    return Ok{};
  });
  if (!begun.ok()) return begun;
  ++impl.context.snapshot;
  auto info = impl.file.find(impl.info.header.name);
  if (!info.ok()) return info.error();
  info.value().header = std::move(impl.info.header);
  impl.info = std::move(info).value();
  impl.find_extent();
  return impl.status();
}

const SessionInfo& SessionReader::info() const { return impl_->info; }
const std::string& SessionReader::title() const { return impl_->title; }
std::int64_t SessionReader::first_step() const { return impl_->first_step; }
std::int64_t SessionReader::last_step() const { return impl_->last_step; }
std::int32_t SessionReader::num_requests() const { return impl_->context.num_requests; }

Result<std::vector<Bookmark>> SessionReader::bookmarks() const {
  return impl_->file.bookmarks(impl_->info.session);
}

Result<std::int64_t> SessionReader::step_at_or_before(std::int64_t step) {
  return impl_->answer(impl_->before.number({impl_->context.session, step}));
}

Result<std::int64_t> SessionReader::step_after(std::int64_t step) {
  return impl_->answer(impl_->after.number({impl_->context.session, step}));
}

Result<const StepRecord*> SessionReader::Impl::loaded(std::int64_t step, bool found) {
  if (!found && !context.error)
    return Error{ErrorKind::not_found, fmt::format("{}: no step {} was recorded (steps {} to {})",
                                                   context.place, step, first_step, last_step)};
  return answer<const StepRecord*>(&record);
}

Result<const StepRecord*> SessionReader::read(std::int64_t step) {
  return impl_->loaded(step, impl_->loader.load(step, impl_->record));
}

Result<const StepRecord*> SessionReader::read_schedule(std::int64_t step) {
  return impl_->loaded(step, impl_->loader.load_schedule(step, impl_->record));
}

Result<const StepStamp*> SessionReader::next_stamp() {
  TableCursor& cursor = impl_->stamps;
  cursor.seek(impl_->stamp.step + 1);
  const StepStamp* found = nullptr;
  if (cursor.has_row()) {
    read_stamp(cursor, impl_->stamp);
    cursor.advance();
    found = &impl_->stamp;
  }
  return impl_->answer(found);
}

std::string SessionReader::request_name(RequestId request) const {
  if (request.value < 0 || request.value >= impl_->context.num_requests) return {};
  const auto id = static_cast<std::size_t>(request.value);
  if (id >= impl_->names.size()) impl_->names.resize(id + 1);
  std::optional<std::string>& known = impl_->names[id];
  if (!known) {
    impl_->name.start({impl_->context.session, request.value});
    known.emplace();
    if (impl_->name.step()) {
      const unsigned char* text = sqlite3_column_text(impl_->name.get(), 0);
      if (text != nullptr)
        known->assign(reinterpret_cast<const char*>(text),
                      static_cast<std::size_t>(sqlite3_column_bytes(impl_->name.get(), 0)));
    }
    impl_->name.stop();
  }
  return *known;
}

std::int64_t SessionReader::request_first_step(RequestId request) const {
  return impl_->request_step.number({impl_->context.session, request.value});
}

namespace {

// A lookup is found before its row, and a step before its commits; without the signs SQLite would
// read all later rows instead of those of the step. The codes are
// those of RequestChange::Kind, CommandKind and CommandOutcome.
constexpr const char* kRequestChanges =
    "SELECT CASE command WHEN 0 THEN 0 ELSE 1 END, request, step, 0, 0, 0 FROM commands WHERE "
    "session = ?1 AND step > ?2 AND outcome = 0 AND command IN (0, 2) UNION ALL SELECT 2, "
    "r.request, l.step, r.num_hit_tokens, r.num_prompt_tokens, l.longest_hit_length FROM lookups l "
    "CROSS JOIN rows r ON r.session = l.session AND r.step = +l.step AND r.request = l.request "
    "WHERE l.session = ?1 AND l.step > ?2 AND l.admitted = 1 UNION ALL SELECT 3, request, step, 0, "
    "0, 0 FROM preemptions WHERE session = ?1 AND step > ?2 UNION ALL SELECT 4, c.request, s.step, "
    "0, 0, 0 FROM steps s CROSS JOIN commits c ON c.session = s.session AND c.step = +s.step WHERE "
    "s.session = ?1 AND s.step > ?2 AND s.num_finished > 0 AND c.finished = 1";
static_assert(static_cast<int>(CommandKind::add_request) == 0 &&
              static_cast<int>(CommandKind::abort) == 2 &&
              static_cast<int>(CommandOutcome::done) == 0);

}  // namespace

Status SessionReader::each_request_change(std::int64_t after,
                                          const std::function<void(const RequestChange&)>& take) {
  ReadStatement query(impl_->context, kRequestChanges);
  query.start({impl_->context.session, after});
  while (query.step()) {
    const auto number = [&](int column) { return sqlite3_column_int(query.get(), column); };
    const RequestChange change{.kind = static_cast<RequestChange::Kind>(number(0)),
                               .request = {number(1)},
                               .step = sqlite3_column_int64(query.get(), 2),
                               .num_hit_tokens = number(3),
                               .num_prompt_tokens = number(4),
                               .longest_hit_length = number(5)};
    if (change.request.value < 0 || change.request.value >= num_requests()) {
      impl_->context.fail(ErrorKind::corrupt,
                          fmt::format("step {}: request {}, expected 0 to {}", change.step,
                                      change.request.value, num_requests() - 1));
      break;
    }
    take(change);
  }
  return impl_->status();
}

Result<std::vector<std::int64_t>> SessionReader::steps_with_block_copies(std::int64_t after) {
  std::vector<std::int64_t> steps;
  ReadStatement query(impl_->context,
                      "SELECT DISTINCT step FROM block_events WHERE session = ? AND kind = ? AND "
                      "step > ? ORDER BY step");
  query.start(
      {impl_->context.session, static_cast<std::int64_t>(CacheEventKind::copied_from), after});
  while (query.step()) steps.push_back(sqlite3_column_int64(query.get(), 0));
  query.stop();
  return impl_->answer(std::move(steps));
}

namespace {

// Error: the session's level does not keep the log of writes.
Result<WriteHistory*> history_of(SessionReader::Impl& impl) {
  if (impl.info.header.level != RecordLevel::full)
    return invalid_input(
        fmt::format("{}: it was recorded at level {}, writes to blocks are kept at level full",
                    impl.context.place, record_level_name(impl.info.header.level)));
  if (!impl.history) impl.history.emplace(impl.context);
  return &*impl.history;
}

}  // namespace

Result<WriteChain> SessionReader::write_chain(std::int32_t block, ContentKind content,
                                              std::int64_t step) {
  auto history = history_of(*impl_);
  if (!history) return history.error();
  const EngineConfig& config = impl_->info.header.config;
  StepRecord record;
  RecordViews views(config);
  const WorkerTables no_tables(static_cast<std::int32_t>(config.kv_cache_config.groups.size()));
  const auto source = [&](const StateWrite& write) -> std::optional<std::int32_t> {
    if (record.trace.step != write.event.step && !impl_->loader.load(write.event.step, record))
      return std::nullopt;
    return WriteSources(views.attach(record, no_tables), config.mamba_cache_mode).of(write);
  };
  WriteChain chain;
  chain.writes = history.value()->chain(block, content, step, source, kMaxChainLinks);
  if (chain.writes.size() > kMaxChainLinks) {
    chain.writes.pop_back();
    chain.end = ChainEnd::limit;
  }
  return impl_->answer(std::move(chain));
}

Result<const HeldBlocks*> SessionReader::held_blocks(std::int64_t step) {
  if (!impl_->held) impl_->held.emplace(impl_->context, block_limits(impl_->info.header.config));
  const HeldBlocks& held = impl_->held->at(step);
  return impl_->answer(&held);
}

std::optional<OwnCount> SessionReader::own_count(RequestId request, std::int64_t step) {
  if (request.value < 0 || !info().header.knows_own_counts()) return std::nullopt;
  if (!impl_->last_rows) impl_->last_rows.emplace(impl_->context, info().header);
  const auto found = impl_->last_rows->before(request, step);
  return impl_->answer(found).ok() ? found : std::nullopt;
}

Result<std::vector<Finding>> SessionReader::findings(std::int64_t max_per_rule,
                                                     std::int64_t after) {
  TableCursor cursor = make_finding_cursor(impl_->context);
  std::vector<Finding> found;
  std::vector<std::int64_t> by_rule(rule_table().size());
  for (cursor.seek(after + 1); cursor.has_row(); cursor.advance()) {
    Finding finding;
    finding.step = cursor.next_step();
    RowFields columns(cursor, 1);
    fields::kFinding(finding, columns);
    if (impl_->context.error) break;
    if (++by_rule[static_cast<std::size_t>(finding.rule)] <= max_per_rule) found.push_back(finding);
  }
  return impl_->answer(std::move(found));
}

Result<std::vector<StepSpeech>> SessionReader::speech(std::int64_t after, std::size_t most) {
  std::vector<StepSpeech> read;
  if (!info().header.language) return read;
  const SpeechLimits limits = speech_limits(impl_->context, info().header);
  TableCursor cursor = make_speech_cursor(impl_->context);
  for (cursor.seek(after + 1); cursor.has_row() && read.size() < most; cursor.advance())
    read.push_back(read_speech_row(cursor, limits));
  return impl_->answer(std::move(read));
}

namespace {

class SessionSource final : public StepSource {
 public:
  explicit SessionSource(std::unique_ptr<SessionReader> reader) : reader_(std::move(reader)) {}

  std::string title() const override { return reader_->title(); }
  const EngineConfig& config() const override { return reader_->info().header.config; }
  RecordLevel level() const override { return reader_->info().header.level; }
  bool knows_own_counts() const override { return reader_->info().header.knows_own_counts(); }
  std::int32_t digest_version() const override { return reader_->info().header.digest_version; }
  std::string request_name(RequestId request) const override {
    return reader_->request_name(request);
  }
  Result<const StepStamp*> next() override {
    auto stamp = reader_->next_stamp();
    if (stamp && stamp.value() != nullptr) step_ = stamp.value()->step;
    return stamp;
  }
  Result<const StepRecord*> record() override { return reader_->read(step_); }

 private:
  std::unique_ptr<SessionReader> reader_;
  std::int64_t step_ = 0;
};

}  // namespace

Result<std::unique_ptr<StepSource>> open_session_source(const SessionPlace& place) {
  auto reader = SessionReader::open(place);
  if (!reader) return reader.error();
  return std::unique_ptr<StepSource>(std::make_unique<SessionSource>(std::move(reader).value()));
}

}  // namespace hybridscope
