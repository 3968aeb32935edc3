#include "cli/lessons_export.h"

#include <fmt/core.h>

#include <fstream>
#include <set>
#include <utility>

#include "cli/interrupt.h"
#include "cli/progress.h"
#include "sessions/job/version.h"
#include "sessions/text/output_file.h"

namespace hybridscope {
namespace {

constexpr std::size_t kHeadBytes = 1024;

// Pages are named like their lessons.
Status check_names(const std::vector<Lesson>& lessons) {
  std::set<std::string> names = {"index"};
  for (const Lesson& lesson : lessons)
    if (!names.insert(lesson.name).second)
      return invalid_input(
          fmt::format("two pages would be {0}.html, expected lessons with names "
                      "that differ and are not index",
                      lesson.name));
  return Ok{};
}

// Is the place free, or that of a file from an earlier export?
Status check_place(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return Ok{};
  std::string head(kHeadBytes, '\0');
  file.read(head.data(), static_cast<std::streamsize>(head.size()));
  if (head.find(kLessonSiteMark) != std::string::npos) return Ok{};
  return Error{ErrorKind::not_available,
               fmt::format("{}: there is a file of that name which no export of lessons wrote; "
                           "nothing was written, expected an empty folder or an earlier export",
                           path)};
}

}  // namespace

Status write_lesson_site(MakeLessonSite make, std::vector<Lesson> lessons,
                         const std::string& folder) {
  if (Status fit = check_names(lessons); !fit.ok()) return fit;
  Progress progress;
  const std::size_t num_lessons = lessons.size();
  std::size_t done = 0;
  const auto site =
      make({.lessons = std::move(lessons),
            .program = fmt::format("hybridscope {}", kVersion),
            .on_lesson = [&](const Lesson& lesson) {
              progress.show([&] {
                return fmt::format("lesson {} of {}: {}", done + 1, num_lessons, lesson.name);
              });
              ++done;
              return !was_interrupted();
            }});
  progress.clear();
  if (!site.ok()) return site.error();
  auto made = MadeFolder::make(folder);
  if (!made.ok()) return made.error();
  OutputFolder out(std::move(made).value());
  for (const SiteFile& file : site.value())
    if (Status free = check_place(out.path_of(file.name)); !free.ok()) return free;
  for (const SiteFile& file : site.value())
    if (Status written = out.write(file.name, file.text); !written.ok()) return written;
  out.keep();
  return Ok{};
}

}  // namespace hybridscope
