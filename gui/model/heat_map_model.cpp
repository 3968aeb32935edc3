#include "gui/model/heat_map_model.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "gui/model/block_story.h"
#include "gui/model/workbench.h"

namespace hybridscope {
namespace {

using HeatCells = std::map<std::pair<std::int32_t, std::int32_t>, HeatCell>;  // by layer and block

// Cells of one step: a place that differs wherever it was compared differs.
void take_heat(const StepSpeech& step, const std::vector<SpeechLayer>& layers, HeatCells& cells) {
  const auto cell_of = [&](std::int32_t layer, std::int32_t block) -> HeatCell& {
    HeatCell& cell = cells[{layer, block}];
    if (cell.step != step.step) cell = {.step = step.step};
    return cell;
  };
  for (const ComparedState& compared : step.compared)
    for (std::size_t i = 0; i < layers.size(); ++i) {
      if (layers[i].group != compared.group || !layers[i].is_recurrent) continue;
      HeatCell& cell = cell_of(static_cast<std::int32_t>(i), compared.block);
      if (cell.level != HeatLevel::not_compared) continue;
      cell.level = HeatLevel::equal;
      cell.request = compared.request;
      cell.is_read = compared.is_read;
    }
  for (const StateDifference& difference : step.states) {
    const auto layer = static_cast<std::size_t>(difference.layer);  // a damaged session has others
    if (layer >= layers.size() || !layers[layer].is_recurrent) continue;
    HeatCell& cell = cell_of(difference.layer, difference.block);
    if (difference.largest < cell.largest) continue;
    cell.largest = difference.largest;
    cell.num_elements = difference.num_elements;
    cell.request = difference.request;
    cell.is_read = difference.is_read;
    cell.level = heat_level(cell.largest, cell.num_elements);
  }
}

std::string first_wrong_words(const StateDifference& difference, const Names& names) {
  return fmt::format(
      "The first wrong state: step {}, block {}, layer {}, where a row of {} {} the {}: |state - "
      "lone run| is at most {:.3g}, in {} elements.",
      difference.step, difference.block, difference.layer, names.request(difference.request),
      difference.is_read ? "read" : "left",
      difference.kind == StateKind::conv ? "conv window" : "temporal state", difference.largest,
      difference.num_elements);
}

void describe_selected(ShownRun& run, std::int32_t block, HeatMapModel& model) {
  const auto found = std::ranges::find(model.blocks, block);
  if (found == model.blocks.end()) return;
  const auto column = static_cast<std::size_t>(found - model.blocks.begin());
  std::size_t worst = 0;
  for (std::size_t layer = 0; layer < model.layers.size(); ++layer)
    if (model.at(layer, column).largest > model.at(worst, column).largest) worst = layer;
  model.selected.push_back(describe_heat(model, run.names(), worst, column));
  if (run.level() != RecordLevel::full)
    model.selected.push_back(
        fmt::format("The session does not keep which write left it: it was recorded at level {}.",
                    record_level_name(run.level())));
  const BlockStory story = make_block_story(run, block);
  for (const ContentStory& content : story.contents)
    if (!content.links.empty())
      model.selected.push_back(fmt::format("{}, last write: step {}, {}: {}", content.title,
                                           content.links.front().step, content.links.front().what,
                                           content.links.front().words));
}

}  // namespace

HeatLevel heat_level(double largest, std::int64_t num_elements) {
  if (num_elements == 0) return HeatLevel::equal;
  if (largest < 1e-4) return HeatLevel::tiny;
  if (largest < 0.01) return HeatLevel::small;
  return largest < 1 ? HeatLevel::large : HeatLevel::huge;
}

std::string heat_words(const HeatCell& cell) {
  if (cell.level == HeatLevel::not_compared) return {};
  if (cell.level == HeatLevel::equal) return "=";
  if (std::isinf(cell.largest)) return "nan";
  if (cell.largest == 0) return "-0";
  const auto exponent = static_cast<int>(std::floor(std::log10(cell.largest)));
  if (exponent >= 0 && exponent < 3) return fmt::format("{:.0f}", std::floor(cell.largest));
  return fmt::format("{:.0f}e{}", std::floor(cell.largest / std::pow(10.0, exponent)), exponent);
}

std::string describe_heat(const HeatMapModel& model, const Names& names, std::size_t layer,
                          std::size_t block) {
  const HeatCell& cell = model.at(layer, block);
  const std::string place =
      fmt::format("Block {}, layer {}: ", model.blocks[block], model.layers[layer].words);
  if (cell.level == HeatLevel::not_compared) return place + "not compared so far";
  const std::string where =
      fmt::format("where a row of {} {} it in step {}", names.request(cell.request),
                  cell.is_read ? "read" : "left", cell.step);
  if (cell.level == HeatLevel::equal) return place + "equal in every bit, " + where;
  if (std::isinf(cell.largest))
    return place +
           fmt::format("{} elements differ, and one is no number, {}", cell.num_elements, where);
  return place + fmt::format("|state - lone run| is at most {:.3g}, in {} elements, {}",
                             cell.largest, cell.num_elements, where);
}

HeatMapModel heat_map_of(const Speech& speech, std::int64_t step, const Names& names) {
  const std::vector<SpeechLayer>& layers = speech.info().layers;
  HeatMapModel model;
  HeatCells cells;
  std::set<std::int32_t> blocks;
  for (const StepSpeech& known : speech.up_to(step)) {
    take_heat(known, layers, cells);
    if (known.states.empty() || !model.first.empty()) continue;
    model.first = first_wrong_words(known.states.front(), names);
    model.first_step = known.step;
    model.first_block = known.states.front().block;
  }
  for (const auto& [place, cell] : cells) blocks.insert(place.second);
  model.blocks.assign(blocks.begin(), blocks.end());
  for (std::size_t i = 0; i < layers.size(); ++i) {
    if (!layers[i].is_recurrent) continue;
    model.layers.push_back(
        {static_cast<std::int32_t>(i), layers[i].group, fmt::format("{} {}", i, layers[i].kind)});
    for (const std::int32_t block : model.blocks) {
      const auto found = cells.find({static_cast<std::int32_t>(i), block});
      model.cells.push_back(found == cells.end() ? HeatCell() : found->second);
    }
  }
  return model;
}

HeatMapModel make_heat_map_model(ShownRun& run, const Selection& selection) {
  const ShownSpeech shown = run.speech();
  if (shown.speech == nullptr) return {.empty = shown.why};
  const SpeechInfo& info = shown.speech->info();
  if (info.form == NumericForm::chunked)
    return {.empty = "With form chunked states differ by rounding, so they are not compared."};
  HeatMapModel model = heat_map_of(*shown.speech, run.step(), run.names());
  model.model = speech_words(info);
  model.progress = shown.why;
  if (shown.is_awaited)
    model.progress =
        fmt::format("Computing: step {} of {} ...", shown.speech->last_step(), run.step());
  else if (model.blocks.empty() && model.progress.empty())
    model.progress = "No row has read or left a state yet.";
  describe_selected(run, selection.block, model);
  return model;
}

Picture heat_map_picture(Workbench& workbench) {
  const HeatMapModel model = make_heat_map_model(*workbench.run(), workbench.selection());
  Picture content;
  for (const std::string& note : {model.empty, model.model, model.progress, model.first})
    add_note(content, note);
  for (const std::string& line : model.selected) add_note(content, line);
  if (model.blocks.empty()) return content;
  Table table{.title = "Largest |state - lone run|", .headings = {"Layer"}};
  for (const std::int32_t block : model.blocks)
    table.headings.push_back(fmt::format("block {}", block));
  for (std::size_t layer = 0; layer < model.layers.size(); ++layer) {
    auto& cells = table.rows.emplace_back().cells;
    cells.push_back(words_cell(model.layers[layer].words));
    for (std::size_t block = 0; block < model.blocks.size(); ++block)
      cells.push_back(words_cell(heat_words(model.at(layer, block))));
  }
  content.tables.push_back(std::move(table));
  return content;
}

}  // namespace hybridscope
