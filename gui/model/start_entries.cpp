#include "gui/model/start_entries.h"

#include <filesystem>

#include "gui/model/open_run.h"
#include "sessions/lessons/shipped_lessons.h"
#include "storage/session_file.h"

namespace hybridscope {
namespace {

namespace fs = std::filesystem;

}  // namespace

std::vector<StartEntry> scenario_entries() {
  std::vector<StartEntry> entries;
  for (const std::string_view name : shipped_scenario_names()) {
    const auto scenario = shipped_scenario(name);
    if (scenario.ok())
      entries.push_back({scenario.value().name, scenario.value().teaches,
                         std::string(kShippedPrefix) + std::string(name)});
  }
  return entries;
}

std::vector<StartEntry> lesson_entries() {
  std::vector<StartEntry> entries;
  for (const std::string_view name : shipped_lesson_names()) {
    const auto lesson = shipped_lesson(name);
    if (lesson.ok())
      entries.push_back({lesson.value().title, lesson.value().teaches, std::string(name)});
  }
  return entries;
}

std::vector<StartEntry> recent_entries(const std::vector<std::string>& recent_files) {
  std::vector<StartEntry> entries;
  for (const std::string& path : recent_files) {
    if (path.starts_with(kShippedPrefix)) {
      entries.push_back({path.substr(kShippedPrefix.size()), {}, path});
      continue;
    }
    std::error_code ignored;
    const std::string file = parse_session_place(path).file;
    if (!fs::exists(path, ignored) && !fs::exists(file, ignored)) continue;
    entries.push_back({fs::path(path).filename().string(), {}, path});
  }
  return entries;
}

}  // namespace hybridscope
