#include "storage/session_rows.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <utility>

#include "core/model/model_layout.h"
#include "sessions/explain/explain_start_up.h"
#include "sessions/record/speech_json.h"
#include "sessions/text/shown_text.h"
#include "storage/session_file.h"

namespace hybridscope {
namespace {

std::int64_t unix_time_us() {
  return std::chrono::duration_cast<std::chrono::microseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

bool is_taken(SQLite::Database& database, const std::string& name) {
  return query_number(database, "SELECT count(*) FROM sessions WHERE name = ?", name) > 0;
}

std::string free_name(SQLite::Database& database, const std::string& source) {
  const std::string base = name_of_source(source);
  std::string name = base;
  for (std::int64_t number = 2; is_taken(database, name); ++number)
    name = fmt::format("{}-{}", base, number);
  return name;
}

void insert_groups(SQLite::Database& database, std::int64_t session, const KVCacheConfig& config) {
  std::int64_t number = 0;
  for (const KVCacheGroup& group : config.groups) {
    const auto* mamba = std::get_if<MambaSpec>(&group.spec);
    execute(database,
            "INSERT INTO kv_cache_groups (session, grp, kind, block_size, num_layers) VALUES (?, "
            "?, ?, ?, ?)",
            session, number++,
            std::string(mamba ? mamba_type_name(mamba->mamba_type) : "full_attention"),
            group.block_size(), static_cast<std::int64_t>(group.layers.size()));
  }
}

void set_parent(SQLite::Database& database, std::int64_t session, const SessionHeader& header) {
  if (header.parent_name.empty()) return;
  execute(database,
          "UPDATE sessions SET parent_name = ?1, forked_at = ?2, parent = (SELECT session FROM "
          "sessions WHERE session = ?3) WHERE session = ?4",
          header.parent_name, header.forked_at, header.parent, session);
}

void insert_row(SQLite::Database& database, const NewSession& session, BegunSession& begun) {
  const SessionHeader& header = session.header;
  const EngineConfig& config = header.config;
  SQLite::Statement insert(
      database,
      "INSERT INTO sessions (name, kind, status, level, created_us, program, source, model, "
      "mamba_cache_mode, engine, runner, async_scheduling, num_speculative_tokens, num_blocks, "
      "plan, check_scope, digest_version, keeps_count_resets, language) VALUES (?, ?, 'recording', "
      "?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  int column = 0;
  const auto text = [&](std::string_view value) { insert.bind(++column, std::string(value)); };
  const auto number = [&](std::int64_t value) { insert.bind(++column, value); };
  begun.created_us = unix_time_us();
  text(begun.name);
  text(session_kind_name(header.kind));
  text(record_level_name(header.level));
  number(begun.created_us);
  text(session.program);
  text(header.source);
  text(header.model);
  text(mamba_cache_mode_name(config.mamba_cache_mode));
  text(header.engine);
  text(runner_name(config.runner));
  number(config.async_scheduling);
  number(config.num_speculative_tokens);
  number(config.kv_cache_config.num_blocks);
  text(header.plan);
  text(check_scope_name(header.check));
  number(header.digest_version);
  number(header.keeps_count_resets);
  text(speech_info_text(header.language ? &*header.language : nullptr));
  insert.exec();
  begun.session = database.getLastInsertRowid();
}

}  // namespace

Result<BegunSession> insert_session(SQLite::Database& database, const NewSession& session) {
  SQLite::Transaction transaction(database, SQLite::TransactionBehavior::IMMEDIATE);
  if (!session.name.empty() && is_taken(database, session.name))
    return invalid_input(fmt::format("{}: there is a session \"{}\" already; give another name",
                                     session.file, session.name));
  BegunSession begun;
  begun.name = session.name.empty() ? free_name(database, session.header.source) : session.name;
  insert_row(database, session, begun);
  auto lock = RecorderLock::acquire(session.file, begun.created_us);
  if (!lock.ok()) return lock.error();
  begun.lock = std::move(lock).value();
  set_parent(database, begun.session, session.header);
  insert_groups(database, begun.session, session.header.config.kv_cache_config);
  transaction.commit();
  return begun;
}

void SessionRowTotals::add(const StepRecord& record) {
  ++num_steps;
  num_request_steps += record.counts.num_reqs;
  num_errors += record.counts.num_errors;
  num_warnings += record.counts.num_warnings;
}

bool update_totals(SQLite::Database& database, const BegunSession& session,
                   const SessionRowTotals& totals) {
  return execute(database,
                 "UPDATE sessions SET num_steps = ?, num_request_steps = ?, num_errors = ?, "
                 "num_warnings = ? WHERE session = ? AND created_us = ?",
                 totals.num_steps, totals.num_request_steps, totals.num_errors, totals.num_warnings,
                 session.session, session.created_us) > 0;
}

bool update_status(SQLite::Database& database, const BegunSession& session, SessionStatus status,
                   const std::string& reason) {
  return execute(
             database,
             "UPDATE sessions SET status = ?, status_reason = ? WHERE session = ? AND created_us = "
             "?",
             std::string(session_status_name(status)), reason, session.session,
             session.created_us) > 0;
}

bool is_there(SQLite::Database& database, const BegunSession& session) {
  return query_number(database,
                      "SELECT count(*) FROM sessions WHERE session = ? AND created_us = ?",
                      session.session, session.created_us) > 0;
}

namespace {

bool is_invalid(const Character& character) { return character.length == 0; }

// C0, DEL, C1.
bool is_control_character(const Character& character) {
  return character.code < 0x20 || (character.code >= 0x7F && character.code < 0xA0);
}

// Where the first such character begins; npos: there is none. Stops at what is not UTF-8.
std::size_t find_character(std::string_view text, bool (*is_such)(const Character&)) {
  for (std::size_t at = 0; at < text.size();) {
    const Character character = first_character(text.substr(at));
    if (is_such(character) || character.length == 0) return at;
    at += character.length;
  }
  return std::string_view::npos;
}

}  // namespace

Status check_session_name(std::string_view name) {
  if (name.empty()) return invalid_input("a session's name must not be empty");
  if (name.find_first_not_of(' ') == std::string_view::npos)
    return invalid_input("a session's name must not be blank");
  if (name.size() > kMaxNameBytes)
    return invalid_input(fmt::format("a session's name has at most {} bytes, this one has {}",
                                     kMaxNameBytes, name.size()));
  if (const std::size_t at = find_character(name, is_invalid); at != std::string_view::npos)
    return invalid_input(fmt::format("a session's name must be UTF-8; byte {} is not", at));
  if (const std::size_t at = find_character(name, is_control_character);
      at != std::string_view::npos)
    return invalid_input(
        fmt::format("a session's name must have no control characters; byte {} is one", at));
  return Ok{};
}

Status check_note(std::string_view note) {
  if (note.size() > kMaxNoteBytes)
    return invalid_input(
        fmt::format("a note has at most {} bytes, this one has {}", kMaxNoteBytes, note.size()));
  if (const std::size_t at = note.find('\0'); at != std::string_view::npos)
    return invalid_input(fmt::format("a note must have no zero byte; byte {} is one", at));
  if (const std::size_t at = find_character(note, is_invalid); at != std::string_view::npos)
    return invalid_input(fmt::format("a note must be UTF-8; byte {} is not", at));
  return Ok{};
}

std::string name_of_source(std::string_view source) {
  constexpr std::size_t kRoomForNumber = 24;
  if (const auto slash = source.rfind('/'); slash != std::string_view::npos)
    source.remove_prefix(slash + 1);
  if (const auto dot = source.rfind('.'); dot != std::string_view::npos && dot > 0)
    source = source.substr(0, dot);
  std::string name;
  for (const char byte : source.substr(0, kMaxNameBytes - kRoomForNumber)) {
    const auto code = static_cast<unsigned char>(byte);
    name += code < 0x20 || code >= 0x7F ? '_' : byte;
  }
  return name.empty() ? "session" : name;
}

namespace {

// Locked while a recorder makes its lock or looks whether it is the last one; no session began at
// this time.
constexpr off_t kGate = 0;

// SQLite too puts its files beside the file that a link points to.
std::string lock_file(const std::string& database) {
  std::error_code error;
  const auto target = std::filesystem::weakly_canonical(database, error);
  return (error ? database : target.string()) + "-lock";
}

// A lock that belongs to the open file, not to the process: closing another descriptor of the same
// file keeps it. `length` 0: up to the end of all numbers.
bool lock(int descriptor, int command, short type, off_t begin, off_t length) {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = begin;
  lock.l_len = length;
  int code = 0;
  do code = fcntl(descriptor, command, &lock);
  while (code != 0 && errno == EINTR);
  return code == 0 && (command != F_OFD_GETLK || lock.l_type == F_UNLCK);
}

// Could this range be locked, as nobody else has a lock in it?
bool is_free(int descriptor, off_t begin, off_t length) {
  return lock(descriptor, F_OFD_GETLK, F_WRLCK, begin, length);
}

// Is it still the file of this name? The last recorder may have removed it.
bool has_name(int descriptor, const std::string& file) {
  struct stat opened {};
  struct stat named {};
  return fstat(descriptor, &opened) == 0 && stat(file.c_str(), &named) == 0 &&
         opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

Error cannot_lock(const std::string& file) {
  return {ErrorKind::not_available,
          fmt::format("{}: cannot lock it, which shows that a session is being recorded: {}", file,
                      std::strerror(errno))};
}

}  // namespace

RecorderLock::RecorderLock(std::string file, int descriptor)
    : file_(std::move(file)), descriptor_(descriptor) {}

RecorderLock::RecorderLock(RecorderLock&& other) noexcept
    : file_(std::move(other.file_)), descriptor_(std::exchange(other.descriptor_, -1)) {}

RecorderLock& RecorderLock::operator=(RecorderLock&& other) noexcept {
  std::swap(file_, other.file_);
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

Result<RecorderLock> RecorderLock::acquire(const std::string& database, std::int64_t created_us) {
  const std::string file = lock_file(database);
  for (;;) {
    const int descriptor = open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (descriptor < 0) return cannot_lock(file);
    RecorderLock made(file, descriptor);  // closes it on an error
    if (!lock(descriptor, F_OFD_SETLKW, F_WRLCK, kGate, 1)) return cannot_lock(file);
    if (!has_name(descriptor, file)) continue;
    if (!lock(descriptor, F_OFD_SETLK, F_WRLCK, created_us, 1)) return cannot_lock(file);
    lock(descriptor, F_OFD_SETLK, F_UNLCK, kGate, 1);
    return made;
  }
}

void RecorderLock::release() {
  if (descriptor_ < 0) return;
  const bool at_gate = lock(descriptor_, F_OFD_SETLKW, F_WRLCK, kGate, 1);
  if (at_gate && has_name(descriptor_, file_) && is_free(descriptor_, kGate + 1, 0))
    unlink(file_.c_str());
  close(std::exchange(descriptor_, -1));
}

bool has_living_recorder(const std::string& database, std::int64_t created_us) {
  const int descriptor = open(lock_file(database).c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return errno != ENOENT;
  const bool living = !is_free(descriptor, created_us, 1);
  close(descriptor);
  return living;
}

}  // namespace hybridscope
