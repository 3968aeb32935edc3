// The batch along its axis, and the padding of its graph.
#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "gui/model/batch_rows_model.h"
#include "gui/model/graph_padding_model.h"
#include "gui/web/panel_data.h"
#include "sessions/text/number_words.h"

namespace hybridscope {
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
    case PaddedPart::real:
      return {"real", "", kRealRow};
    case PaddedPart::padding:
      return {"padding", "P", kPaddingRow};
    case PaddedPart::no_row:
      return {"no-row", "N", kNoRow};
    case PaddedPart::left_over:
      return {"left-over", "L", kNotWritten};
    case PaddedPart::gap:
      break;
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

}  // namespace hybridscope
