// The lesson that is taken: text, questions, and what is said to the answers.
#pragma once

#include <memory>

#include "gui/panel.h"

namespace hybridscope {

std::unique_ptr<Panel> make_lesson_panel();

}  // namespace hybridscope
