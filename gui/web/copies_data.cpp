// State copies: decisions, formulas, and what moves.
#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "gui/model/state_copies_model.h"
#include "gui/web/panel_data.h"

namespace hybridscope {
namespace {

using Json = nlohmann::ordered_json;

std::string place_words(const CopyPlace& place) {
  return fmt::format("column {} (block {})", place.column, place.block);
}

// The drawing for those who do not see it.
std::string drawing_words(const StateCopyDrawing& drawing) {
  std::string words;
  if (drawing.has_temporal)
    words += fmt::format("The temporal state S({}) goes from {} to {}. ", drawing.held_tokens,
                         place_words(drawing.temporal_source), place_words(drawing.destination));
  if (drawing.has_conv)
    words += fmt::format("The conv window goes from {} to {}, shifted by {} positions. ",
                         place_words(drawing.conv_source), place_words(drawing.destination),
                         drawing.conv.bias);
  return words;
}

Json positions_data(const std::vector<ConvPosition>& positions) {
  Json data = Json::array();
  for (const ConvPosition& position : positions)
    data.push_back({{"holds", conv_holds_name(position.holds)},
                    {"token", position.token},
                    {"copied", position.copied},
                    {"window", position.in_window}});
  return data;
}

Json drawing_data(const StateCopyDrawing& drawing) {
  Json cells = Json::array();
  for (const CopyCell& cell : drawing.cells)
    cells.push_back({{"column", cell.column}, {"slot", cell.slot}, {"cell", cell_data(cell.cell)}});
  Json data = {{"group", drawing.group_name},
               {"words", drawing_words(drawing)},
               {"cells", std::move(cells)},
               {"goes_on", drawing.goes_on},
               {"destination", drawing.slot_of(drawing.destination.column)},
               {"faults", drawing.faults},
               {"note", drawing.note}};
  if (drawing.has_temporal) {
    data["temporal"] = drawing.slot_of(drawing.temporal_source.column);
    data["held_tokens"] = drawing.held_tokens;
  }
  if (drawing.has_conv) {
    data["conv"] = drawing.slot_of(drawing.conv_source.column);
    data["bias"] = drawing.conv.bias;
    data["conv_source"] = positions_data(drawing.conv.source);
    data["conv_destination"] = positions_data(drawing.conv.destination);
  }
  return data;
}

Json block_copy_data(const BlockCopyDrawing& copy) {
  return {{"group", copy.group_name},
          {"words", copy.words},
          {"source", cell_data(copy.source)},
          {"source_place", copy_place_words(copy.source_column)},
          {"destination", cell_data(copy.destination)},
          {"destination_place", copy_place_words(copy.destination_column)}};
}

Json detail_data(const StateCopiesModel& model, const StateCopyDetail& detail) {
  Json data = {{"title", fmt::format("{}, {}", model.name, detail.title)},
               {"source", detail.source},
               {"formula", detail.formula}};
  if (detail.drawing) data["drawing"] = drawing_data(*detail.drawing);
  for (const BlockCopyDrawing& copy : detail.block_copies)
    data["block_copies"].push_back(block_copy_data(copy));
  return data;
}

}  // namespace

Json copies_data(ShownRun& run) {
  const StateCopiesModel first = make_state_copies_model(run, {});
  if (first.rows.empty()) return {{"notes", {first.empty}}};
  Json data = {{"letters", kFormulaLetters}, {"details", Json::array()}};
  std::vector<RequestId> requests;
  for (const StateCopyRow& row : first.rows)
    if (std::ranges::find(requests, row.request) == requests.end()) requests.push_back(row.request);
  for (const RequestId request : requests) {
    const StateCopiesModel model = make_state_copies_model(run, {.request = request});
    for (const StateCopyDetail& detail : model.details)
      data["details"].push_back(detail_data(model, detail));
  }
  return data;
}

}  // namespace hybridscope
