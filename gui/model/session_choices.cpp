#include "gui/model/session_choices.h"

#include <fmt/format.h>

#include <algorithm>

#include "storage/session_file.h"

namespace hybridscope {

std::vector<SessionChoice> session_choices(const std::string& place) {
  std::vector<SessionChoice> choices;
  const SessionPlace parsed = parse_session_place(place);
  if (!parsed.name.empty() || !parsed.file.ends_with(".db")) return choices;
  const auto file = SessionFile::open(parsed.file, FileAccess::read);
  if (!file.ok()) return choices;
  const auto sessions = file.value().sessions();
  if (!sessions.ok()) return choices;
  for (const SessionInfo& info : sessions.value())
    choices.push_back({.name = info.header.name,
                       .place = fmt::format("{}:{}", parsed.file, info.header.name),
                       .level = std::string(record_level_name(info.header.level)),
                       .num_steps = info.num_steps,
                       .num_findings = info.num_errors + info.num_warnings});
  std::ranges::reverse(choices);
  return choices;
}

std::string other_sessions_words(const std::vector<SessionChoice>& choices) {
  if (choices.size() < 2) return {};
  std::string names;
  for (std::size_t i = 1; i < choices.size(); ++i)
    names += fmt::format("{}{}", names.empty() ? "" : ", ", choices[i].name);
  return fmt::format("; {} in the file: {} (open FILE.db:NAME)",
                     choices.size() == 2 ? "one more session" : "more sessions", names);
}

}  // namespace hybridscope
