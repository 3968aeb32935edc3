#include "integrations/python/src/open_session.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "sessions/job/session_json.h"

namespace hybridscope {

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
  return query_columns(*file_, sql);
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
