// How far the states in the blocks are from those of lone runs, by layer and block.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gui/model/picture.h"
#include "gui/model/shown_run.h"
#include "gui/model/view_state.h"

namespace hybridscope {

class Workbench;

// By the largest |state - lone run|.
enum class HeatLevel : std::uint8_t { not_compared, equal, tiny, small, large, huge };
inline constexpr std::size_t kNumHeatLevels = 6;
inline constexpr std::array<std::string_view, kNumHeatLevels> kHeatWords = {
    "not compared", "equal in every bit",     "below 1e-4", "below 0.01",
    "below 1",      "1 or more, or no number"};

inline constexpr std::string_view kHeatMapWords =
    "Each cell: the largest |state - lone run| when a row last read or left the block's state, up "
    "to this step; smaller cells were compared in an earlier one. Click a block for its last "
    "write.";

struct HeatCell {
  HeatLevel level = HeatLevel::not_compared;
  std::int64_t step = 0;  // in which it was last compared, up to the shown one
  RequestId request{};    // whose row read or left it there
  bool is_read = false;
  double largest = 0;             // |state - lone run|, infinite: one is no number
  std::int64_t num_elements = 0;  // that differ
};

struct HeatLayer {
  std::int32_t layer = -1;  // of the language model
  std::int32_t group = -1;
  std::string words;  // "1 GatedDeltaNet"
};

struct HeatMapModel {
  std::string empty = {};  // why there is no map
  std::string model = {};
  std::string progress = {};
  std::vector<HeatLayer> layers = {};     // recurrent ones
  std::vector<std::int32_t> blocks = {};  // that were compared so far, ascending
  std::vector<HeatCell> cells = {};       // [layers][blocks]
  // The first wrong state up to the shown step, as a sentence; empty: none.
  std::string first = {};
  std::int64_t first_step = 0;
  std::int32_t first_block = -1;
  // About the selected block: what differs, and its last writes.
  std::vector<std::string> selected = {};

  const HeatCell& at(std::size_t layer, std::size_t block) const {
    return cells[layer * blocks.size() + block];
  }
};

HeatLevel heat_level(double largest, std::int64_t num_elements);
// "=", "3e-2", "12", "nan"; empty: not compared.
std::string heat_words(const HeatCell& cell);
// "layer 1 GatedDeltaNet, block 5: at most 0.031 in 512 elements, where a row of A read it in step
// 4".
std::string describe_heat(const HeatMapModel& model, const Names& names, std::size_t layer,
                          std::size_t block);

// Cells as of the step, and the first wrong state; without words about the run.
HeatMapModel heat_map_of(const Speech& speech, std::int64_t step, const Names& names);

// Requires: run.step() > 0.
HeatMapModel make_heat_map_model(ShownRun& run, const Selection& selection);

// What the panel shows. Requires: a step is shown.
Picture heat_map_picture(Workbench& workbench);

}  // namespace hybridscope
