#include "gui/web/lesson_data.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "gui/model/state_copies_model.h"
#include "sessions/text/number_words.h"

namespace hybridscope {

// State copies: decisions, formulas, and what moves.

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

constexpr std::string_view kConvSigns =
    "A number is a token; a: an accepted draft, x: a rejected draft, 0: before the first token, "
    "~: earlier content, ?: not known. Marked positions move.";

// kConvSigns says what they mean.
std::string_view sign_of(ConvHolds holds) {
  switch (holds) {
    case ConvHolds::token: return "";
    case ConvHolds::accepted: return "a";
    case ConvHolds::rejected: return "x";
    case ConvHolds::before_first: return "0";
    case ConvHolds::left_over: return "~";
    case ConvHolds::not_known: return "?";
  }
  return "";
}

std::string with_token(std::string_view words, std::string_view gap, const ConvPosition& position) {
  return position.token > 0 ? fmt::format("{}{}{}", words, gap, position.token)
                            : std::string(words);
}

Json positions_data(const std::vector<ConvPosition>& positions) {
  Json data = Json::array();
  for (const ConvPosition& position : positions)
    data.push_back(
        {{"sign", with_token(sign_of(position.holds), "", position)}, {"copied", position.copied}});
  return data;
}

// The conv window for those who do not see it.
std::string conv_words(const ConvCopy& conv) {
  std::string words = "Conv window: ";
  std::string_view gap;
  for (std::size_t i = 0; i < conv.destination.size(); ++i) {
    if (!conv.destination[i].copied) continue;
    const std::size_t from = i + static_cast<std::size_t>(conv.bias);
    const ConvPosition& source = conv.source[from];
    words += fmt::format("{}position {} ({}) to position {}", std::exchange(gap, "; "), from,
                         with_token(conv_holds_name(source.holds), " ", source), i);
  }
  return words;
}

// What the arrows mean: [[class of the line, words]].
Json key_of(const StateCopyDrawing& drawing) {
  Json key = Json::array();
  if (drawing.has_temporal)
    key.push_back(
        {"temporal", fmt::format("solid, above: temporal state S({})", drawing.held_tokens)});
  if (drawing.has_conv)
    key.push_back(
        {"conv", drawing.conv.bias > 0
                     ? fmt::format("dashed, below: conv window, shifted by {}", drawing.conv.bias)
                     : std::string("dashed, below: conv window")});
  return key;
}

Json drawing_data(const StateCopyDrawing& drawing) {
  Json cells = Json::array();
  for (const CopyCell& cell : drawing.cells)
    cells.push_back(
        {{"column", cell.column}, {"slot", cell.slot}, {"cell", drawn_cell_data(cell.cell)}});
  Json data = {{"group", drawing.group_name},
               {"words", drawing_words(drawing)},
               {"cells", std::move(cells)},
               {"goes_on", drawing.goes_on},
               {"destination", drawing.slot_of(drawing.destination.column)},
               {"faults", drawing.faults},
               {"note", drawing.note},
               {"key", key_of(drawing)}};
  if (drawing.has_temporal) data["temporal"] = drawing.slot_of(drawing.temporal_source.column);
  if (drawing.has_conv) {
    data["conv"] = drawing.slot_of(drawing.conv_source.column);
    data["bias"] = drawing.conv.bias;
    data["conv_words"] = conv_words(drawing.conv);
    data["conv_signs"] = kConvSigns;
    data["conv_source"] = positions_data(drawing.conv.source);
    data["conv_destination"] = positions_data(drawing.conv.destination);
  }
  return data;
}

Json block_copy_data(const BlockCopyDrawing& copy) {
  return {{"group", copy.group_name},
          {"words", copy.words},
          {"source", drawn_cell_data(copy.source)},
          {"source_place", copy_place_words(copy.source_column)},
          {"destination", drawn_cell_data(copy.destination)},
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
