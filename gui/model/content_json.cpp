// What a panel shows as JSON.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "gui/model/content_cells.h"
#include "gui/model/content_render.h"

namespace hybridscope {
namespace {

nlohmann::ordered_json json_of(const ContentTable& table) {
  nlohmann::ordered_json json;
  json["title"] = table.title;
  if (!table.note.empty()) json["note"] = table.note;
  json["rows"] = nlohmann::ordered_json::array();
  for (const auto& row : table.rows) {
    nlohmann::ordered_json object;
    for (std::size_t c = 0; c < row.size(); ++c) object[table.headings[c]] = cell_json(row[c]);
    json["rows"].push_back(std::move(object));
  }
  return json;
}

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

void add_content(nlohmann::ordered_json& json, const PanelContent& content) {
  if (!content.notes.empty()) json["notes"] = content.notes;
  if (!content.text.empty()) json["text"] = lines_of(content.text);
  json["tables"] = nlohmann::ordered_json::array();
  for (const ContentTable& table : content.tables) json["tables"].push_back(json_of(table));
}

nlohmann::ordered_json selection_of(const PanelDocument& document) {
  const auto or_null = [](std::int32_t number) {
    return number < 0 ? nlohmann::ordered_json() : nlohmann::ordered_json(number);
  };
  nlohmann::ordered_json json;
  json["request"] = document.request.empty() ? nlohmann::ordered_json()
                                             : nlohmann::ordered_json(document.request);
  json["group"] = or_null(document.selection.group);
  json["column"] = or_null(document.selection.column);
  json["block"] = or_null(document.selection.block);
  return json;
}

}  // namespace

nlohmann::ordered_json cell_json(const ContentCell& cell) {
  if (const auto* number = std::get_if<std::int64_t>(&cell)) return *number;
  if (const auto* flag = std::get_if<bool>(&cell)) return *flag;
  if (const auto* words = std::get_if<std::string>(&cell)) return *words;
  return nullptr;
}

std::string content_json(const PanelDocument& document) {
  nlohmann::ordered_json json;
  json["panel"] = document.panel;
  json["title"] = document.title;
  for (std::size_t i = 0; i < document.runs.size(); ++i) {
    nlohmann::ordered_json side;
    nlohmann::ordered_json& into = i == 0 ? json : side;
    const bool of_plan = document.runs[i].step == 0;
    into[of_plan ? "plan" : "run"] = document.runs[i].run;
    if (!of_plan) into["step"] = document.runs[i].step;
    if (i == 0 && !of_plan) into["selection"] = selection_of(document);
    add_content(into, document.runs[i].content);
    if (i > 0) json["compared_with"] = std::move(side);
  }
  // Names that are not UTF-8 get replacement characters.
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + '\n';
}

}  // namespace hybridscope
