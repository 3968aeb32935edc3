// The lessons as pages that a browser shows offline: an index, a page for each lesson, one script
// and one style sheet. The pages show the view-models of the window in the window's colours.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "sessions/lessons/lesson.h"

namespace hybridscope {

// index.html, lesson.css, lesson.js, then NAME.html for each lesson. As MakeLessonSite.
Result<std::vector<SiteFile>> make_lesson_site(const LessonSiteInput& input);

// The colours of the window as custom properties of a style sheet.

// The light theme; the dark one where the reader prefers it, or has chosen it (data-theme on the
// root element). With it a class for each role of a cell ("role-null-block") and each mark.
std::string theme_css();

}  // namespace hybridscope
