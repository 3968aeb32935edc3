#include "integrations/python/src/open_session.h"

#include <fmt/core.h>
#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>
#include <variant>

#include "sessions/job/session_json.h"

namespace hybridscope {
namespace {

QueryColumn::Kind kind_of(const QueryValue& value) {
  if (std::holds_alternative<std::int64_t>(value) || std::holds_alternative<std::monostate>(value))
    return QueryColumn::Kind::whole;
  return std::holds_alternative<double>(value) ? QueryColumn::Kind::real : QueryColumn::Kind::any;
}

}  // namespace

void QueryColumn::widen(Kind kind) {
  if (kind == Kind::real) {
    real_.assign(whole_.begin(), whole_.end());
  } else {
    for (std::size_t row = 0; row < missing_.size(); ++row) {
      if (missing_[row] != 0)
        any_.emplace_back();
      else if (kind_ == Kind::whole)
        any_.emplace_back(whole_[row]);
      else
        any_.emplace_back(real_[row]);
    }
    real_.clear();
  }
  whole_.clear();
  kind_ = kind;
}

void QueryColumn::add(const QueryValue& value) {
  if (const Kind kind = std::max(kind_, kind_of(value)); kind != kind_) widen(kind);
  const bool is_missing = std::holds_alternative<std::monostate>(value);
  missing_.push_back(is_missing);
  has_missing_ = has_missing_ || is_missing;
  if (kind_ == Kind::any) {
    any_.push_back(value);
    return;
  }
  const auto* const whole = std::get_if<std::int64_t>(&value);
  const auto* const real = std::get_if<double>(&value);
  if (kind_ == Kind::whole)
    whole_.push_back(whole != nullptr ? *whole : 0);
  else
    real_.push_back(real != nullptr ? *real : whole != nullptr ? static_cast<double>(*whole) : 0.0);
}

Result<std::unique_ptr<OpenSession>> OpenSession::open(const std::string& place) {
  const SessionPlace parsed = parse_session_place(place);
  auto player = SessionPlayer::open(parsed);
  if (!player.ok()) return player.error();
  auto file = SessionFile::open(parsed.file, FileAccess::read);
  if (!file.ok()) return file.error();
  return std::unique_ptr<OpenSession>(
      new OpenSession(std::move(file).value(), std::move(player).value()));
}

OpenSession::OpenSession(SessionFile file, std::unique_ptr<SessionPlayer> player)
    : file_(std::move(file)), player_(std::move(player)), names_(session_names(*player_)) {}

Status OpenSession::check_open() const {
  if (player_) return Ok{};
  return Error{ErrorKind::not_available, "the session is closed"};
}

void OpenSession::close() {
  player_.reset();
  file_.reset();
}

Result<nlohmann::ordered_json> OpenSession::info() {
  if (Status open = check_open(); !open.ok()) return open.error();
  return session_to_json(player_->reader().info());
}

Result<std::int64_t> OpenSession::number() {
  if (Status open = check_open(); !open.ok()) return open.error();
  return player_->reader().info().session;
}

Result<std::vector<std::int64_t>> OpenSession::steps() {
  const auto session = number();
  if (!session.ok()) return session.error();
  const auto columns = query(
      fmt::format("SELECT step FROM steps WHERE session = {} ORDER BY step", session.value()));
  if (!columns.ok()) return columns.error();
  return columns.value().front().whole();
}

Result<nlohmann::ordered_json> OpenSession::step(std::int64_t step) {
  if (Status open = check_open(); !open.ok()) return open.error();
  return recorded_step_to_json(*player_, step, names_);
}

Result<std::string> OpenSession::explain(std::int64_t step) {
  if (Status open = check_open(); !open.ok()) return open.error();
  return explain_recorded_step(*player_, step, names_);
}

Result<std::vector<QueryColumn>> OpenSession::query(std::string_view sql) {
  if (Status open = check_open(); !open.ok()) return open.error();
  std::vector<QueryColumn> columns;
  const Status done = run_query(*file_, sql,
                                {.columns =
                                     [&](const std::vector<std::string>& names) {
                                       for (const std::string& name : names)
                                         columns.emplace_back(name);
                                     },
                                 .row =
                                     [&](const std::vector<QueryValue>& values) {
                                       for (std::size_t i = 0; i < values.size(); ++i)
                                         columns[i].add(values[i]);
                                       return true;
                                     }});
  if (!done.ok()) return done.error();
  return columns;
}

Result<nlohmann::ordered_json> list_sessions(const std::string& file) {
  const auto opened = SessionFile::open(file, FileAccess::read);
  if (!opened.ok()) return opened.error();
  const auto sessions = opened.value().sessions();
  if (!sessions.ok()) return sessions.error();
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const SessionInfo& info : sessions.value()) list.push_back(session_to_json(info));
  return list;
}

}  // namespace hybridscope
