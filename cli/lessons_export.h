// `hybridscope lessons export`: the lessons as a folder of pages for a browser.
#pragma once

#include <string>
#include <vector>

#include "core/base/result.h"
#include "sessions/lessons/lesson.h"

namespace hybridscope {

// Makes the pages and writes them into `folder`, which is created if it is missing. Every page is
// made before the first one is written, each file is written completely or not at all, and a file
// of the same name is replaced only if an export wrote it. Errors: those of `make`; invalid_input,
// two lessons would share a page; not_available, the folder or a file cannot be written.
Status write_lesson_site(MakeLessonSite make, std::vector<Lesson> lessons,
                         const std::string& folder);

}  // namespace hybridscope
