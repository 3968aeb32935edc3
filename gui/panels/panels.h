// The panels of the workbench, one source each; panel_table.cpp has a row for each.
#pragma once

#include <memory>

#include "gui/panel.h"

namespace hybridscope {

// The rows of a step's batch as a table, and their tokens along an axis.
std::unique_ptr<Panel> make_batch_rows_panel();

// The block tables of a step as grids, one a KV-cache group.
std::unique_ptr<Panel> make_block_tables_panel();

// Questions about steps that stop the run, with how often each held.
std::unique_ptr<Panel> make_breakpoints_panel();

// How the scan kernels cut the prefill tokens of the step.
std::unique_ptr<Panel> make_chunks_panel();

// The list of steps in which two runs differ, and the fields of the one that is shown.
std::unique_ptr<Panel> make_differences_panel();

// Everything about the step in words, as `run --explain` tells it.
std::unique_ptr<Panel> make_explanation_panel();

// Broken rules of all steps so far, each a jump to its step.
std::unique_ptr<Panel> make_findings_panel();

// Requested against captured size, which graph ran, and what padding rows hold.
std::unique_ptr<Panel> make_graph_padding_panel();

// The catalogue of known bugs, each to run beside its healthy run.
std::unique_ptr<Panel> make_known_bugs_panel();

// The lesson that is taken: text, questions, and what is said to the answers.
std::unique_ptr<Panel> make_lesson_panel();

// Every array that layers were given in the step, one line an array, one of them as a whole.
std::unique_ptr<Panel> make_metadata_panel();

// Changes the step behind the one that is shown: a fork of the run, which undo takes back.
std::unique_ptr<Panel> make_next_step_panel();

// The pool of physical blocks as a map, and the order in which free ones are given out.
std::unique_ptr<Panel> make_physical_blocks_panel();

// What the prefix cache had for the requests that were looked up in a step, and why not more.
std::unique_ptr<Panel> make_prefix_cache_panel();

// A table of the requests that the step or its block tables name.
std::unique_ptr<Panel> make_requests_panel();

// What became of the drafts of a step, and where the state behind each token lives.
std::unique_ptr<Panel> make_speculative_panel();

// Which states a step copies, which not and why; one request's copies drawn.
std::unique_ptr<Panel> make_state_copies_panel();

// One block decoded, and the answer to "why is this here?": every write on the way back, a jump
// each.
std::unique_ptr<Panel> make_state_inspector_panel();

// What requests did over the steps around the one that is shown, a lane a request.
std::unique_ptr<Panel> make_timeline_panel();

}  // namespace hybridscope
