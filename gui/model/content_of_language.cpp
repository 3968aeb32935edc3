// Panels about a language model that runs on the decisions, as tables.
#include <fmt/core.h>

#include "gui/model/content_cells.h"
#include "gui/model/heat_map_model.h"
#include "gui/model/text_model.h"
#include "gui/model/workbench.h"

namespace hybridscope {
namespace {

std::string text_of(const std::vector<TextColumn>& columns, bool alone, bool spaced) {
  std::string text;
  for (const TextColumn& column : columns) {
    if (column.is_rejected) continue;
    if (spaced && !text.empty()) text += ' ';
    text += alone && !column.alone.empty() ? column.alone : column.said;
  }
  return text;
}

PanelContent text(Workbench& workbench) {
  const TextModel model =
      make_text_model(*workbench.run(), workbench.selection(), workbench.options().text);
  PanelContent content;
  for (const std::string& note : {model.empty, model.model, model.progress, model.left_out})
    add_note(content, note);
  if (!model.empty.empty()) return content;
  ContentTable texts{.title = "Texts",
                     .headings = {"Request", "Prompt", "Run", "Alone", "Verdict"}};
  for (const RequestText& told : model.requests)
    texts.rows.push_back({words_cell(told.name), words_cell(told.prompt),
                          words_cell(text_of(told.columns, false, model.spaced)),
                          words_cell(text_of(told.columns, true, model.spaced)),
                          words_cell(told.verdict)});
  content.tables.push_back(std::move(texts));
  if (model.chances.rows.empty()) return content;
  ContentTable chances{.title = model.chances.title,
                       .headings = {"Run", "Probability", "Alone", "Probability alone"}};
  for (const ChanceRow& row : model.chances.rows)
    chances.rows.push_back(
        {words_cell(row.said), words_cell(probability_words(row.said_probability)),
         words_cell(row.alone), words_cell(probability_words(row.alone_probability))});
  content.tables.push_back(std::move(chances));
  return content;
}

PanelContent heat_map(Workbench& workbench) {
  const HeatMapModel model = make_heat_map_model(*workbench.run(), workbench.selection());
  PanelContent content;
  for (const std::string& note : {model.empty, model.model, model.progress, model.first})
    add_note(content, note);
  for (const std::string& line : model.selected) add_note(content, line);
  if (model.blocks.empty()) return content;
  ContentTable table{.title = "Largest |state - lone run|", .headings = {"Layer"}};
  for (const std::int32_t block : model.blocks)
    table.headings.push_back(fmt::format("block {}", block));
  for (std::size_t layer = 0; layer < model.layers.size(); ++layer) {
    auto& cells = table.rows.emplace_back();
    cells.push_back(words_cell(model.layers[layer].words));
    for (std::size_t block = 0; block < model.blocks.size(); ++block)
      cells.push_back(words_cell(heat_words(model.at(layer, block))));
  }
  content.tables.push_back(std::move(table));
  return content;
}

constexpr ContentRow kLanguageContents[] = {
    {"text", text},
    {"heat_map", heat_map},
};

}  // namespace

std::span<const ContentRow> language_contents() { return kLanguageContents; }

}  // namespace hybridscope
