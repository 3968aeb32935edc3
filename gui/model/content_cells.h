// Makes cells and headings of copied panels from the models' values.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "gui/model/column_words.h"
#include "gui/model/facts.h"
#include "gui/model/panel_content.h"

namespace hybridscope {

inline ContentCell number_cell(std::int64_t number) { return number; }
// For models in which -1 means not known or not present.
inline ContentCell known_cell(std::int64_t number) {
  return number < 0 ? ContentCell() : ContentCell(number);
}
inline ContentCell words_cell(std::string_view words) {
  return words.empty() ? ContentCell() : ContentCell(std::string(words));
}
inline ContentCell flag_cell(bool flag) { return flag; }

inline std::string heading_of(const ColumnWords& column) { return std::string(column.title); }
inline std::string heading_of(std::string_view column) { return std::string(column); }
template <class Columns>
std::vector<std::string> headings_of(const Columns& columns) {
  std::vector<std::string> headings;
  for (const auto& column : columns) headings.push_back(heading_of(column));
  return headings;
}

// null for an empty cell. Defined in content_json.cpp.
nlohmann::ordered_json cell_json(const ContentCell& cell);

// Ignores an empty note.
inline void add_note(PanelContent& content, std::string_view note) {
  if (!note.empty()) content.notes.emplace_back(note);
}

inline ContentTable facts_table(std::string title, const std::vector<Fact>& facts) {
  ContentTable table{.title = std::move(title), .headings = {"Fact", "Value"}};
  for (const Fact& fact : facts)
    table.rows.push_back({words_cell(fact.label), words_cell(fact.value)});
  return table;
}

}  // namespace hybridscope
