// What a page draws of a step, from the view-models that the window draws.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "gui/model/block_cell.h"
#include "gui/model/picture.h"
#include "gui/model/shown_run.h"

namespace hybridscope {

// {title, note, head: [...], rows: [[...]]}.
nlohmann::ordered_json table_data(const Table& table);
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
// The tokens of the batch along an axis: {words, rows: [{name, items: [{tokens, css, text,
// words}]}]}.
nlohmann::ordered_json axis_data(const ShownRun& run);
// The graph of the step, what was padded for it, and what the padded arrays hold.
nlohmann::ordered_json padding_data(ShownRun& run);

}  // namespace hybridscope
