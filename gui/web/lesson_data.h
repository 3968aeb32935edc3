// A lesson as the data of its page: its parts with the replies to every foreseen answer, and each
// step of its runs.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>

#include "core/base/result.h"
#include "gui/model/block_cell.h"
#include "gui/model/picture.h"
#include "gui/model/shown_run.h"
#include "gui/model/workbench.h"
#include "sessions/lessons/lesson.h"

namespace hybridscope {

// A run is shown to its end, but no further than this unless a part is about a later step.
inline constexpr std::int64_t kMostLessonSteps = 100;

// {name, title, digest, parts: [...], runs: [...], legend, panels}. `digest` changes with the
// questions, so that a browser forgets answers to other ones. Errors: those of LessonRun; a part
// whose step the run does not have.
Result<nlohmann::ordered_json> lesson_data(const Lesson& lesson);

// One step of a lesson's run as the data of its page.

// {step, found: "1 error, 0 warnings", has_error, panels: {block_tables: {...}, ...}}: all panels
// that lessons may show (lesson_panels()), and the step in words. Requires: a step is shown.
nlohmann::ordered_json step_data(Workbench& workbench);

// What a page draws of a step, from the view-models that the window draws.

// {title, note, strips, head: [...], rows: [[...]]}. A cell is its value, or [{text, css, words}]
// if it has pieces.
nlohmann::ordered_json table_data(const Table& table);
// {text, css, words}: with the letter of its role.
nlohmann::ordered_json piece_data(const ValuePiece& piece);
// {name, items: [{tokens, css, text, words}]}.
nlohmann::ordered_json strip_data(const Strip& strip);
// {block, role, state, text, css, words, signs, marks: [[sign, class]]}: a script only places them.
nlohmann::ordered_json cell_data(const BlockCell& cell);
// With the label that it has in a drawing: "3 R".
nlohmann::ordered_json drawn_cell_data(const BlockCell& cell);
// {roles: [{name, letter, css, meaning}], states: [{name, mark, css, meaning}],
// signs: [{sign, meaning}]}.
nlohmann::ordered_json legend_data();

// The block tables of the scheduler as grids of cells, and those of the worker where they differ.
// Requires, here and below: run.step() > 0.
nlohmann::ordered_json block_tables_data(ShownRun& run);
// The decisions of the step about copies, each with its formula; what moves as arrows.
nlohmann::ordered_json copies_data(ShownRun& run);

}  // namespace hybridscope
