// Cells, their legend, and block tables.
#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "gui/model/block_table_model.h"
#include "gui/model/theme.h"
#include "gui/web/lesson_data.h"
#include "sessions/page/page_parts.h"

namespace hybridscope {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kChangedSign = "\u25E5";

std::string_view pattern_name(CellPattern pattern) {
  switch (pattern) {
    case CellPattern::none: return "none";
    case CellPattern::hatch: return "hatch";
    case CellPattern::dots: return "dots";
    case CellPattern::grid: return "grid";
    case CellPattern::cross: return "cross";
    case CellPattern::outline: return "outline";
    case CellPattern::back_hatch: return "back-hatch";
    case CellPattern::stripes: return "stripes";
    case CellPattern::base_line: return "base-line";
  }
  return "";
}

// The shape as a character.
std::string_view mark_character(CellState state) {
  const auto mark = state_mark(state);
  if (!mark) return "";
  switch (mark->shape) {
    case MarkShape::ring: return "\u25CB";
    case MarkShape::tick: return "\u2713";
    case MarkShape::cross: return "\u2717";
    case MarkShape::question: return "?";
    case MarkShape::corner: return "\u25E5";
  }
  return "";
}

// Letters and patterns are those of all themes.
std::string role_css(const CellStyle& style) {
  return fmt::format("role-{} pattern-{}", css_word(style.title), pattern_name(style.pattern));
}

// For those who do not see the cell.
std::string words_of(const BlockCell& cell) {
  std::string words = cell.block == kNullBlock
                          ? std::string("null block")
                          : fmt::format("block {}, {}, {}", cell.block, role_name(cell.role),
                                        state_name(cell.state));
  if (cell.changed) words += ", changed in this step";
  if (const std::string_view use = use_words(cell.use); !use.empty())
    words += fmt::format(", {}", use);
  return words;
}

// "R rw": the letter of the role, and what the forward pass does there.
std::string signs_of(const BlockCell& cell, char letter) {
  std::string signs(1, letter);
  if (cell.use.read || cell.use.written)
    signs += fmt::format(" {}{}", cell.use.read ? "r" : "", cell.use.written ? "w" : "");
  return signs;
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

Json sign_data(std::string_view sign, std::string_view meaning) {
  return {{"sign", sign}, {"meaning", meaning}};
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
  const CellStyle style = cell_style(theme_of(ThemeKind::light), cell.role);
  const bool is_null = cell.block == kNullBlock;
  Json data = {{"block", cell.block},
               {"role", css_word(style.title)},
               {"state", css_word(state_name(cell.state))},
               {"text", is_null ? std::string("null") : cell_words(cell)},
               {"css", role_css(style)},
               {"words", words_of(cell)},
               {"signs", signs_of(cell, style.letter)}};
  const std::string_view mark = is_null ? "" : mark_character(cell.state);
  if (!mark.empty()) data["marks"].push_back({mark, data["state"]});
  if (cell.changed) data["marks"].push_back({kChangedSign, "changed"});
  return data;
}

Json piece_data(const ValuePiece& piece) {
  if (!piece.role)
    return {{"text", piece.text}, {"css", piece.selected ? "real" : ""}, {"words", ""}};
  const CellStyle style = cell_style(theme_of(ThemeKind::light), *piece.role);
  return {{"text", fmt::format("{} {}", style.letter, piece.text)},
          {"css", role_css(style)},
          {"words", role_name(*piece.role)}};
}

// Parts that lie over others are said by the table.
Json strip_data(const Strip& strip) {
  Json items = Json::array();
  std::int32_t end = 0;
  for (const StripPart& part : strip.parts) {
    if (part.first < end || part.words.empty()) continue;
    end = part.last;
    std::string css = part.is_selected ? "real" : "section";
    std::string text = part.text.empty() ? part.words : part.text;
    if (part.role) {
      const CellStyle style = cell_style(theme_of(ThemeKind::light), *part.role);
      css = role_css(style);
      text = fmt::format("{}{}{}", style.letter, part.text.empty() ? "" : " ", part.text);
    }
    const std::string range = part.last - part.first == 1
                                  ? fmt::format("{}", part.first)
                                  : fmt::format("{}..{}", part.first, part.last - 1);
    items.push_back({{"tokens", part.last - part.first},
                     {"css", css},
                     {"text", fmt::format("{} {}", text, range)},
                     {"words", fmt::format("{}: tokens {}", part.words, range)}});
  }
  return {{"name", strip.title}, {"items", std::move(items)}};
}

Json drawn_cell_data(const BlockCell& cell) {
  Json data = cell_data(cell);
  data["label"] = cell.block == kNullBlock
                      ? data["text"].get<std::string>()
                      : fmt::format("{} {}", data["text"].get<std::string>(),
                                    cell_style(theme_of(ThemeKind::light), cell.role).letter);
  return data;
}

Json legend_data() {
  Json roles = Json::array();
  for (std::size_t i = 0; i < kNumCellRoles; ++i) {
    const auto role = static_cast<CellRole>(i);
    const CellStyle style = cell_style(theme_of(ThemeKind::light), role);
    roles.push_back({{"name", style.title},
                     {"letter", std::string(1, style.letter)},
                     {"css", role_css(style)},
                     {"meaning", role_meaning(role)}});
  }
  Json states = Json::array();
  for (const CellState state : {CellState::verified, CellState::written, CellState::unwritten,
                                CellState::wrong, CellState::unknown})
    states.push_back({{"css", "mark-" + css_word(state_name(state))},
                      {"name", state_name(state)},
                      {"mark", mark_character(state)},
                      {"meaning", state_meaning(state)}});
  return {{"roles", roles},
          {"states", states},
          {"signs",
           {sign_data(kChangedSign, "Changed in this step."),
            sign_data("r", "The step's forward pass starts from the state here."),
            sign_data("w", "The forward pass leaves a state, or keys and values, here."),
            sign_data("12/16", kPartialMeaning), sign_data("S(24)", kCheckpointMeaning)}}};
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
