// The lessons as pages that a browser shows offline: an index, a page for each lesson, one script
// and one style sheet. The pages show the view-models of the window in the window's colours.
#pragma once

#include <vector>

#include "core/base/result.h"
#include "sessions/lessons/lesson.h"

namespace hybridscope {

// index.html, lesson.css, lesson.js, then NAME.html for each lesson. As MakeLessonSite.
Result<std::vector<SiteFile>> make_lesson_site(const LessonSiteInput& input);

}  // namespace hybridscope
