#include "gui/model/panel_infos.h"

#include <iterator>

#include "gui/model/batch_rows_model.h"
#include "gui/model/block_story.h"
#include "gui/model/block_table_model.h"
#include "gui/model/chunks_model.h"
#include "gui/model/comparison.h"
#include "gui/model/finding_chains.h"
#include "gui/model/graph_padding_model.h"
#include "gui/model/heat_map_model.h"
#include "gui/model/known_bugs_model.h"
#include "gui/model/lesson_session.h"
#include "gui/model/metadata_model.h"
#include "gui/model/next_step_model.h"
#include "gui/model/picture.h"
#include "gui/model/plan_model.h"
#include "gui/model/pool_model.h"
#include "gui/model/prefix_cache_model.h"
#include "gui/model/requests_model.h"
#include "gui/model/run_control.h"
#include "gui/model/speculative_model.h"
#include "gui/model/state_copies_model.h"
#include "gui/model/text_model.h"
#include "gui/model/timeline_model.h"
#include "gui/model/workbench.h"

namespace hybridscope {
namespace {

Picture step_in_words_picture(Workbench& workbench) {
  return {.text = step_in_words(*workbench.run())};
}

constexpr PanelInfo kPanels[] = {
    {"block_tables", "Block tables", "Which blocks each request has, column by column",
     PanelOf::run, block_tables_picture, PanelArea::left_top, 1},
    {"physical_blocks", "Physical blocks",
     "The pool: what each block holds, and which block is given out next", PanelOf::run,
     physical_blocks_picture, PanelArea::left_top, 2},
    {"prefix_cache", "Prefix cache", "What each lookup found in the cache, and why not more",
     PanelOf::run, prefix_cache_picture, PanelArea::right_top, 3},
    {"batch_rows", "Batch rows", "The rows of the batch and their tokens, and how it is divided",
     PanelOf::run, batch_rows_picture, PanelArea::left_bottom, 2},
    {"findings", "Findings", "Broken rules of all steps so far", PanelOf::run, findings_picture,
     PanelArea::left_bottom, 4},
    {"breakpoints", "Breakpoints", "Expressions that stop the run, with how often each held",
     PanelOf::workbench, breakpoints_picture, PanelArea::left_bottom, 5},
    {"next_step", "Next step", "Change what happens in the step after this one", PanelOf::workbench,
     next_step_picture, PanelArea::left_bottom, 6},
    {"lesson", "Lesson", "Text and questions about what is shown", PanelOf::workbench,
     lesson_picture, PanelArea::right_top, 4},
    {"known_bugs", "Known bugs", "Faults that engines had; each runs beside its healthy run",
     PanelOf::workbench, known_bugs_picture},
    {"differences", "Differences", "Steps in which two runs differ, field by field",
     PanelOf::workbench, differences_picture, PanelArea::left_bottom, 7},
    {"plan", "Plan", "Which settings do best on a plan's traffic, and why", PanelOf::plan,
     plan_picture},
    {"state_copies", "State copies", "Which states move between columns in this step, and why",
     PanelOf::run, state_copies_picture, PanelArea::right_top, 1},
    {"speculative", "Speculative decode",
     "Which drafts were accepted, and where the state after each token is kept", PanelOf::run,
     speculative_picture, PanelArea::right_top, 2},
    {"explanation", "Step in words", "Everything the step decided, with the numbers", PanelOf::run,
     step_in_words_picture, PanelArea::right_bottom, 1},
    {"state_inspector", "Why is this here?",
     "The selected block decoded, and every write that led to what it holds", PanelOf::run,
     state_inspector_picture, PanelArea::right_bottom, 5},
    {"metadata", "Metadata", "Every array that layers were given, and what changed in it",
     PanelOf::run, metadata_picture, PanelArea::right_bottom, 2},
    {"graph_padding", "Graph padding", "Which captured graph ran, why, and what was padded for it",
     PanelOf::run, graph_padding_picture, PanelArea::right_bottom, 3},
    {"chunks", "Chunks", "How scan kernels cut the prefill tokens of the step", PanelOf::run,
     chunks_picture, PanelArea::right_bottom, 4},
    {"requests", "Requests", "State, tokens, blocks and counts of the requests", PanelOf::run,
     requests_picture, PanelArea::left_bottom, 3},
    {"timeline", "Timeline", "What requests did over the steps around this one", PanelOf::run,
     timeline_picture, PanelArea::left_bottom, 1},
    {"text", "Text", "What a language model says on the decisions, beside what it says alone",
     PanelOf::run, text_picture},
    {"heat_map", "State differences",
     "How far the language model's states are from lone runs, by layer and block", PanelOf::run,
     heat_map_picture},
};

}  // namespace

std::vector<PanelInfo> panel_infos() { return {std::begin(kPanels), std::end(kPanels)}; }

}  // namespace hybridscope
