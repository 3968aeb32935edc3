// Cells, their legend, and block tables.
#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "gui/model/block_table_model.h"
#include "gui/model/theme.h"
#include "gui/web/panel_data.h"
#include "gui/web/theme_css.h"

namespace hybridscope {
namespace {

using Json = nlohmann::ordered_json;

std::string_view pattern_name(CellPattern pattern) {
  switch (pattern) {
    case CellPattern::none:
      return "none";
    case CellPattern::hatch:
      return "hatch";
    case CellPattern::dots:
      return "dots";
    case CellPattern::grid:
      return "grid";
    case CellPattern::cross:
      return "cross";
    case CellPattern::outline:
      return "outline";
    case CellPattern::back_hatch:
      return "back-hatch";
    case CellPattern::stripes:
      return "stripes";
    case CellPattern::base_line:
      return "base-line";
  }
  return "";
}

// The shape as a character.
std::string_view mark_character(CellState state) {
  const auto mark = state_mark(state);
  if (!mark) return "";
  switch (mark->shape) {
    case MarkShape::ring:
      return "\u25CB";
    case MarkShape::tick:
      return "\u2713";
    case MarkShape::cross:
      return "\u2717";
    case MarkShape::question:
      return "?";
    case MarkShape::corner:
      return "\u25E5";
  }
  return "";
}

Json grid_data(const BlockTableGrid& grid) {
  Json data = {{"name", grid.name}, {"words", grid_words(grid)}, {"columns", grid.num_columns}};
  if (grid.rows.empty() || grid.num_columns == 0) data["words"] = kEmptyGrid;
  data["rows"] = Json::array();
  for (std::size_t row = 0; row < grid.rows.size(); ++row) {
    Json cells = Json::array();
    for (std::int32_t column = 0; column < grid.rows[row].num_columns; ++column)
      cells.push_back(cell_data(grid.at(row, column)));
    data["rows"].push_back({{"request", grid.rows[row].name},
                            {"batch_row", grid.rows[row].batch_row},
                            {"cells", std::move(cells)}});
  }
  return data;
}

Json grids_data(ShownRun& run, TableSide side) {
  Json grids = Json::array();
  for (const BlockTableGrid& grid : make_block_table_model(run, {.side = side}).grids)
    grids.push_back(grid_data(grid));
  return grids;
}

bool names_same_blocks(const Json& a, const Json& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i]["rows"].size() != b[i]["rows"].size()) return false;
    for (std::size_t row = 0; row < a[i]["rows"].size(); ++row) {
      const Json& left = a[i]["rows"][row]["cells"];
      const Json& right = b[i]["rows"][row]["cells"];
      if (left.size() != right.size()) return false;
      for (std::size_t column = 0; column < left.size(); ++column)
        if (left[column]["block"] != right[column]["block"]) return false;
    }
  }
  return true;
}

}  // namespace

Json cell_data(const BlockCell& cell) {
  Json data = {{"block", cell.block},
               {"role", css_word(role_name(cell.role))},
               {"state", css_word(state_name(cell.state))},
               {"text", cell.block == kNullBlock ? std::string("null") : cell_words(cell)}};
  if (cell.changed) data["changed"] = true;
  if (cell.use.read) data["read"] = true;
  if (cell.use.written) data["written"] = true;
  if (const std::string_view use = use_words(cell.use); !use.empty()) data["use"] = use;
  return data;
}

Json legend_data() {
  Json roles = Json::array();
  const Theme& theme = theme_of(ThemeKind::light);  // letters and patterns are those of all themes
  for (std::size_t i = 0; i < kNumCellRoles; ++i) {
    const auto role = static_cast<CellRole>(i);
    const CellStyle style = cell_style(theme, role);
    roles.push_back({{"role", css_word(style.title)},
                     {"name", style.title},
                     {"letter", std::string(1, style.letter)},
                     {"pattern", pattern_name(style.pattern)},
                     {"meaning", role_meaning(role)}});
  }
  Json states = Json::array();
  for (const CellState state : {CellState::verified, CellState::written, CellState::unwritten,
                                CellState::wrong, CellState::unknown})
    states.push_back({{"state", css_word(state_name(state))},
                      {"name", state_name(state)},
                      {"mark", mark_character(state)},
                      {"meaning", state_meaning(state)}});
  return {{"roles", roles},
          {"states", states},
          {"signs", Json::array({{{"sign", "12/16"}, {"meaning", kPartialMeaning}},
                                 {{"sign", "S(24)"}, {"meaning", kCheckpointMeaning}}})}};
}

Json block_tables_data(ShownRun& run) {
  Json data = {{"notes", {side_words(TableSide::scheduler)}},
               {"grids", grids_data(run, TableSide::scheduler)}};
  Json worker = grids_data(run, TableSide::worker);
  if (!names_same_blocks(data["grids"], worker)) {
    data["worker_note"] = side_words(TableSide::worker);
    data["worker"] = std::move(worker);
  }
  return data;
}

}  // namespace hybridscope
