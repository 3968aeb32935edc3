// The sessions of a file that was named without one of them, to choose from.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace hybridscope {

struct SessionChoice {
  std::string name;
  std::string place;  // "runs.db:before"
  std::string level;
  std::int64_t num_steps = 0;
  std::int64_t num_findings = 0;
};

// The one begun last comes first. Empty: `place` names one, or is no file of sessions.
std::vector<SessionChoice> session_choices(const std::string& place);

// "; other sessions in the file: bad, worse (open FILE.db:NAME)"; empty: there are none.
std::string other_sessions_words(const std::vector<SessionChoice>& choices);

}  // namespace hybridscope
