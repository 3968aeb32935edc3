// Lessons as a web site: what `lessons export` gives to whatever makes the pages (gui/web), and
// what it gets back and writes.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "sessions/lessons/lesson.h"

namespace hybridscope {

// The first words of every file of a site, as a comment of its language; a site replaces only files
// that contain them.
inline constexpr std::string_view kLessonSiteMark = "Made by hybridscope lessons export";

struct LessonSiteInput {
  std::vector<Lesson> lessons;  // in the order of the index; their names differ
  std::string program;          // "hybridscope 0.1.0"
  // Called before each lesson is run; returns false to stop. Empty: nobody waits.
  std::function<bool(const Lesson&)> on_lesson = {};
};

struct SiteFile {
  std::string name;  // "align_boundary.html": the site has no folders
  std::string text;
};

// Errors: what the engine refuses; a part or a question that the run cannot answer, with the names
// of lesson and part; not_available: `on_lesson` stopped it.
using MakeLessonSite = Result<std::vector<SiteFile>> (*)(const LessonSiteInput&);

}  // namespace hybridscope
