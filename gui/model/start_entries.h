// What can be opened without knowing a path: scenarios and lessons that are part of the
// program, files that were open lately.
#pragma once

#include <string>
#include <vector>

namespace hybridscope {

struct StartEntry {
  std::string title;
  std::string teaches;  // one sentence; empty: unknown
  std::string path;
};

// The scenarios and lessons that are part of the program; a scenario's path is "shipped:NAME", a
// lesson's its name.
std::vector<StartEntry> scenario_entries();
std::vector<StartEntry> lesson_entries();
// The files that are still there and the shipped scenarios, newest first.
std::vector<StartEntry> recent_entries(const std::vector<std::string>& recent_files);

}  // namespace hybridscope
