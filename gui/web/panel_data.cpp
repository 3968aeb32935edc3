#include "gui/web/lesson_data.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "gui/model/batch_rows_model.h"
#include "gui/model/graph_padding_model.h"
#include "gui/model/state_copies_model.h"
#include "sessions/text/number_words.h"

namespace hybridscope {

// The batch along its axis, and the padding of its graph.

namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kPaddingCss = "role-padding pattern-stripes";

// A part of an axis, as wide as its tokens.
Json item_data(double tokens, std::string_view css, std::string_view text, std::string_view words) {
  return {{"tokens", tokens}, {"css", css}, {"text", text}, {"words", words}};
}

Json bar_data(std::string_view what, const PaddingBar& bar) {
  Json items =
      Json::array({item_data(std::max(static_cast<double>(bar.real), 0.5), "real",
                             fmt::format("{}", bar.real), fmt::format("{} real", bar.real))});
  if (bar.padding > 0)
    items.push_back(item_data(bar.padding, kPaddingCss, fmt::format("P +{}", bar.padding),
                              fmt::format("{} padding", bar.padding)));
  return {{"what", what}, {"items", std::move(items)}};
}

Json captured_data(const CapturedGraphs& graphs) {
  Json sizes = Json::array();
  for (std::size_t i = 0; i < graphs.sizes.size(); ++i) {
    const bool is_picked = static_cast<std::ptrdiff_t>(i) == graphs.picked;
    sizes.push_back(
        {{"text", fmt::format("{}{}", graphs.sizes[i], is_picked ? " \u2190 this step" : "")},
         {"css", is_picked ? "picked" : ""}});
  }
  return {{"title", graphs.title}, {"sizes", std::move(sizes)}};
}

// "5..7"; "5" of one token.
std::string token_range(std::int32_t first, std::int32_t count) {
  return count == 1 ? fmt::format("{}", first) : fmt::format("{}..{}", first, first + count - 1);
}

Json segment_data(const AxisSegment& segment) {
  const bool is_padding = segment.row < 0;
  const std::string range = token_range(segment.first_token, segment.num_tokens);
  const std::string label = is_padding ? std::string(role_name(CellRole::padding)) : segment.label;
  return item_data(segment.num_tokens, is_padding ? kPaddingCss : "real",
                   fmt::format("{} {}", is_padding ? "P" : label, range),
                   fmt::format("{}: tokens {}", label, range));
}

std::string axis_words(const BatchRowsModel& model) {
  std::string words = counted(model.num_tokens, "token");
  words += model.num_tokens_padded > model.num_tokens
               ? fmt::format(", padded to {}", model.num_tokens_padded)
               : std::string(", no padding");
  return model.divided.empty() ? words : words + "; " + model.divided;
}

struct PartWords {
  std::string_view css;   // class of the element
  std::string_view sign;  // its letter; empty: none
  std::string_view words;
};

PartWords part_words(PaddedPart part) {
  switch (part) {
    case PaddedPart::real: return {"real", "", kRealRow};
    case PaddedPart::padding: return {"padding", "P", kPaddingRow};
    case PaddedPart::no_row: return {"no-row", "N", kNoRow};
    case PaddedPart::left_over: return {"left-over", "L", kNotWritten};
    case PaddedPart::gap: break;
  }
  return {"gap", "", ""};
}

Json array_data(const PaddedArray& array) {
  Json elements = Json::array();
  for (const PaddedElement& element : array.elements)
    elements.push_back({{"text", element.text}, {"part", part_words(element.part).css}});
  return {{"name", array.name},
          {"note", (array.stale ? "Stale. " : "") + array.note},
          {"elements", std::move(elements)}};
}

Json group_data(const PaddedGroup& group) {
  Json data = {{"title", group.title}, {"note", (group.stale ? "Stale: " : "") + group.note}};
  data["arrays"] = Json::array();
  for (const PaddedArray& array : group.arrays) data["arrays"].push_back(array_data(array));
  return data;
}

Json parts_data() {
  Json parts = Json::object();
  for (const PaddedPart part :
       {PaddedPart::real, PaddedPart::padding, PaddedPart::no_row, PaddedPart::left_over}) {
    const PartWords words = part_words(part);
    parts[std::string(words.css)] = {{"sign", words.sign}, {"words", words.words}};
  }
  return parts;
}

}  // namespace

Json axis_data(const ShownRun& run) {
  const BatchRowsModel model = make_batch_rows_model(run, {});
  if (model.segments.empty()) return {{"rows", Json::array()}};
  Json segments = Json::array();
  for (const AxisSegment& segment : model.segments) segments.push_back(segment_data(segment));
  Json sections = Json::array();
  for (const AxisSection& section : model.sections) {
    std::int32_t tokens = 0;
    for (std::size_t i = 0; i < section.num_segments; ++i)
      tokens += model.segments[section.first_segment + i].num_tokens;
    sections.push_back(item_data(tokens, "section", section.label, section.label));
  }
  return {{"words", axis_words(model)},
          {"rows",
           {{{"name", "tokens, row by row"}, {"items", std::move(segments)}},
            {{"name", "how the builder divides them"}, {"items", std::move(sections)}}}}};
}

Json padding_data(ShownRun& run) {
  const GraphPaddingModel model = make_graph_padding_model(run);
  Json data = {{"bars", Json::array()}};
  if (!model.runtime_mode.empty()) data["mode"] = "Runtime mode " + model.runtime_mode + ". ";
  data["notes"] = Json::array({model.has_batch ? model.words : std::string(kNoGraph)});
  data["captured"] = Json::array();
  for (const CapturedGraphs& graphs : model.captured)
    data["captured"].push_back(captured_data(graphs));
  data["captured_words"] = model.setting + "; sizes in tokens";
  if (model.captured.empty()) data["notes"].push_back(kNoCapture);
  if (!model.has_batch) return data;
  data["bars"].push_back(bar_data("tokens", model.tokens));
  if (model.rows) data["bars"].push_back(bar_data("rows", *model.rows));
  if (!model.arrays_note.empty()) data["arrays_note"] = model.arrays_note;
  data["parts"] = parts_data();
  data["groups"] = Json::array();
  for (const PaddedGroup& group : model.groups) data["groups"].push_back(group_data(group));
  return data;
}

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
