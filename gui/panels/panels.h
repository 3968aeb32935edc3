// The panels of the workbench, one source file each, with a row for each in panels.cpp; and drawing
// them so that a fault does not end the program.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "gui/model/view_state.h"
#include "gui/panel.h"

namespace hybridscope {

// The rows of a step's batch as a table, and their tokens along an axis.
std::unique_ptr<Panel> make_batch_rows_panel();

// The block tables of a step as grids, one per KV cache group.
std::unique_ptr<Panel> make_block_tables_panel();

// Everything about the step in words, as in `run --explain`.
std::unique_ptr<Panel> make_explanation_panel();

// The results of `hybridscope plan`: which settings do best, and why.
std::unique_ptr<Panel> make_plan_panel();

// How far states are from those of lone runs, by layer and block.
std::unique_ptr<Panel> make_heat_map_panel();

// The current lesson: text, questions, and the replies to answers.
std::unique_ptr<Panel> make_lesson_panel();

// Every array that layers were given in the step, one line each, and one of them in full.
std::unique_ptr<Panel> make_metadata_panel();

// The pool of physical blocks as a map, and the order in which free ones are allocated.
std::unique_ptr<Panel> make_physical_blocks_panel();

// Which drafts of a step were accepted, and where the state after each token is.
std::unique_ptr<Panel> make_speculative_panel();

// Which states a step copies, which not, and why; draws the copies of one request.
std::unique_ptr<Panel> make_state_copies_panel();

// What a language model says in the run, beside what its lone runs say.
std::unique_ptr<Panel> make_text_panel();

// What requests did in the steps around the shown one, one lane per request.
std::unique_ptr<Panel> make_timeline_panel();

// What draws each panel: its own drawing code, which has a row in panels.cpp, or its picture.

// Requires: the panel has drawing code or PanelInfo::make.
std::unique_ptr<Panel> make_panel(const PanelInfo& info);

// Drawing whose faults do not end the program.

class FaultGuard {
 public:
  // Draws into the current ImGui window. A contract violation in `draw` is shown in the banner,
  // open ImGui scopes are closed, and nothing is drawn until another step is shown. True: it was
  // drawn.
  bool draw(Workbench& workbench, const std::function<void()>& draw);
  const std::string& fault() const { return fault_; }  // empty: none

 private:
  std::string fault_;
  std::uint64_t fault_step_revision_ = 0;
};

// A panel that is made when it is first drawn, and again after a fault.
class GuardedPanel {
 public:
  void draw(PanelContext& context, std::string_view id);

 private:
  FaultGuard guard_;
  std::unique_ptr<Panel> panel_;
};

}  // namespace hybridscope
