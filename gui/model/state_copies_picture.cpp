// The decisions about copies, their formulas and what moves, as tables.
#include <fmt/core.h>

#include "gui/model/state_copies_model.h"
#include "gui/model/workbench.h"

namespace hybridscope {
namespace {

Table decisions_table(const StateCopiesModel& model) {
  Table table{
      .title = "Decisions", .note = decisions_words(model), .headings = headings_of(kCopyColumns)};
  for (const StateCopyRow& row : model.rows)
    table.rows.push_back({words_cell(row.name), words_cell(copy_moment_name(row.moment)),
                          words_cell(row.outcome), words_cell(row.columns),
                          row.bias ? number_cell(*row.bias) : TableCell(), words_cell(row.why),
                          words_cell(row.rule)});
  return table;
}

Table places_table(const std::string& title, const StateCopyDrawing& drawing) {
  Table table{.title = title + ": places",
              .note = drawing.group_name,
              .headings = {"Place", "Column", "Block"}};
  for (const std::string& fault : drawing.faults) table.note += ". " + fault;
  if (!drawing.note.empty()) table.note += ". " + drawing.note;
  const auto add = [&](const char* name, const CopyPlace& place) {
    table.rows.push_back({words_cell(name), number_cell(place.column), number_cell(place.block)});
  };
  if (drawing.has_temporal) add("temporal source", drawing.temporal_source);
  if (drawing.has_conv) add("conv source", drawing.conv_source);
  add("destination", drawing.destination);
  return table;
}

Table conv_table(const std::string& title, const StateCopyDrawing& drawing) {
  Table table{.title = title + ": conv window",
              .headings = {"Position", "Source holds", "Source token", "Moves", "Destination holds",
                           "Destination token"}};
  for (std::size_t i = 0; i < drawing.conv.source.size(); ++i) {
    const ConvPosition& from = drawing.conv.source[i];
    const ConvPosition& to = drawing.conv.destination[i];
    const auto token = [](const ConvPosition& position) {
      return position.token > 0 ? number_cell(position.token) : TableCell();
    };
    table.rows.push_back(
        {number_cell(static_cast<std::int64_t>(i)), words_cell(conv_holds_name(from.holds)),
         token(from), flag_cell(from.copied), words_cell(conv_holds_name(to.holds)), token(to)});
  }
  return table;
}

Table block_copies_table(const std::string& title, const StateCopyDetail& detail) {
  Table table{
      .title = title,
      .note = std::string(detail.source),
      .headings = {"Group", "Source", "Source block", "Destination", "Destination block", "Why"}};
  for (const BlockCopyDrawing& copy : detail.block_copies)
    table.rows.push_back(
        {words_cell(copy.group_name), words_cell(copy_place_words(copy.source_column)),
         number_cell(copy.source.block), words_cell(copy_place_words(copy.destination_column)),
         number_cell(copy.destination.block), words_cell(copy.words)});
  return table;
}

}  // namespace

Picture state_copies_picture(Workbench& workbench) {
  const StateCopiesModel model = make_state_copies_model(*workbench.run(), workbench.selection());
  if (model.rows.empty()) return {.notes = {model.empty}};
  Picture content;
  content.tables.push_back(decisions_table(model));
  for (const StateCopyDetail& detail : model.details) {
    const std::string title = fmt::format("{}, {}", model.name, detail.title);
    if (!detail.block_copies.empty()) {
      content.tables.push_back(block_copies_table(title, detail));
      continue;
    }
    Table formula{.title = title, .note = std::string(detail.source), .headings = {"Formula"}};
    for (const std::string& term : detail.formula) formula.rows.push_back({words_cell(term)});
    content.tables.push_back(std::move(formula));
    if (!detail.drawing) continue;
    content.tables.push_back(places_table(title, *detail.drawing));
    if (detail.drawing->has_conv) content.tables.push_back(conv_table(title, *detail.drawing));
  }
  return content;
}

}  // namespace hybridscope
