#include "sessions/lessons/shipped_lessons.h"

#include <fmt/core.h>

#include <algorithm>

#include "sessions/lessons/lesson_files.h"
#include "sessions/lessons/lesson_reader.h"
#include "sessions/scenario/scenario_reader.h"
#include "sessions/text/json_value.h"

namespace hybridscope {
namespace {

constexpr std::string_view kFolder = "scenarios/";
constexpr std::string_view kLessons = "lessons/";
constexpr std::string_view kSuffix = ".json";

// The text of a file under scenarios/; null if there is none.
const EmbeddedFile* find_file(std::string_view path) {
  const auto file = std::ranges::find(lesson_files::kFiles, path, &EmbeddedFile::path);
  return file == lesson_files::kFiles.end() ? nullptr : &*file;
}

Result<std::string> read_embedded(const std::string& path) {
  const std::string_view name = path;
  if (name.starts_with(kFolder))
    if (const EmbeddedFile* file = find_file(name.substr(kFolder.size())))
      return std::string(file->text);
  return Error{ErrorKind::not_found, fmt::format("{}: is not a shipped scenario", path)};
}

Error no_such(std::string_view what, std::string_view name,
              const std::vector<std::string_view>& names) {
  std::string all;
  for (const std::string_view known : names) all += (all.empty() ? "" : ", ") + std::string(known);
  return {ErrorKind::not_found, fmt::format("there is no {} {}{} (there are {})", what,
                                            quoted_text(name), nearest_key_hint(name, names), all)};
}

}  // namespace

std::vector<std::string_view> shipped_lesson_names() {
  std::vector<std::string_view> names;
  for (const EmbeddedFile& file : lesson_files::kFiles) {
    std::string_view name = file.path;
    if (!name.starts_with(kLessons)) continue;
    name.remove_prefix(kLessons.size());
    name.remove_suffix(kSuffix.size());
    names.push_back(name);
  }
  return names;
}

Result<Lesson> shipped_lesson(std::string_view name) {
  const EmbeddedFile* file = find_file(fmt::format("{}{}{}", kLessons, name, kSuffix));
  if (file != nullptr)
    return parse_lesson({.text = file->text, .file = fmt::format("{}{}", kFolder, file->path)},
                        read_embedded);
  return no_such("lesson", name, shipped_lesson_names());
}

std::vector<std::string_view> shipped_scenario_names() {
  std::vector<std::string_view> names;
  for (const EmbeddedFile& file : lesson_files::kFiles)
    if (!file.path.starts_with(kLessons))
      names.push_back(file.path.substr(0, file.path.size() - kSuffix.size()));
  std::sort(names.begin(), names.end());
  return names;
}

Result<Scenario> shipped_scenario(std::string_view name) {
  const EmbeddedFile* file = find_file(fmt::format("{}{}", name, kSuffix));
  if (file == nullptr) return no_such("shipped scenario", name, shipped_scenario_names());
  return parse_scenario({.text = file->text, .file = fmt::format("{}{}", kFolder, file->path)});
}

}  // namespace hybridscope
