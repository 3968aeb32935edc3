// The batch along its axis, and the padding of its graph.
#include <nlohmann/json.hpp>

#include "gui/model/batch_rows_model.h"
#include "gui/model/graph_padding_model.h"
#include "gui/web/panel_data.h"
#include "gui/web/theme_css.h"

namespace hybridscope {
namespace {

using Json = nlohmann::ordered_json;

Json bar_data(std::string_view what, const PaddingBar& bar) {
  return {{"what", what}, {"real", bar.real}, {"padding", bar.padding}};
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
          {"note", array.note},
          {"stale", array.stale},
          {"elements", std::move(elements)}};
}

Json group_data(const PaddedGroup& group) {
  Json data = {{"title", group.title}, {"note", group.note}, {"stale", group.stale}};
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
  Json segments = Json::array();
  for (const AxisSegment& segment : model.segments)
    segments.push_back(
        {{"label", segment.row < 0 ? std::string(role_name(CellRole::padding)) : segment.label},
         {"first", segment.first_token},
         {"tokens", segment.num_tokens},
         {"role", segment.row < 0 ? css_word(role_name(CellRole::padding)) : std::string("real")}});
  Json sections = Json::array();
  for (const AxisSection& section : model.sections) {
    std::int32_t tokens = 0;
    for (std::size_t i = 0; i < section.num_segments; ++i)
      tokens += model.segments[section.first_segment + i].num_tokens;
    sections.push_back({{"label", section.label}, {"tokens", tokens}});
  }
  return {{"segments", std::move(segments)},
          {"sections", std::move(sections)},
          {"divided", model.divided},
          {"tokens", model.num_tokens},
          {"padded", model.num_tokens_padded}};
}

Json padding_data(ShownRun& run) {
  const GraphPaddingModel model = make_graph_padding_model(run);
  Json data = {{"mode", model.runtime_mode}, {"setting", model.setting}, {"bars", Json::array()}};
  data["notes"] = Json::array({model.has_batch ? model.words : std::string(kNoGraph)});
  data["captured"] = Json::array();
  for (const CapturedGraphs& graphs : model.captured)
    data["captured"].push_back(
        {{"title", graphs.title}, {"sizes", graphs.sizes}, {"picked", graphs.picked}});
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
