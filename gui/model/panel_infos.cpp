#include "gui/model/panel_infos.h"

#include <iterator>

namespace hybridscope {
namespace {

constexpr PanelInfo kPanels[] = {
    {"block_tables", "Block tables", "Which blocks each request has, column by column"},
    {"physical_blocks", "Physical blocks",
     "The pool: what each block holds, and which block is given out next"},
    {"prefix_cache", "Prefix cache", "What each lookup found in the cache, and why not more"},
    {"batch_rows", "Batch rows", "The rows of the batch and their tokens, and how it is divided"},
    {"findings", "Findings", "Broken rules of all steps so far"},
    {"breakpoints", "Breakpoints", "Expressions that stop the run, with how often each held",
     false},
    {"next_step", "Next step", "Change what happens in the step after this one", false},
    {"lesson", "Lesson", "Text and questions about what is shown", false},
    {"known_bugs", "Known bugs", "Faults that engines had; each runs beside its healthy run",
     false},
    {"differences", "Differences", "Steps in which two runs differ, field by field", false},
    {"plan", "Plan", "Which settings do best on a plan's traffic, and why", false},
    {"state_copies", "State copies", "Which states move between columns in this step, and why"},
    {"speculative", "Speculative decode",
     "Which drafts were accepted, and where the state after each token is kept"},
    {"explanation", "Step in words", "Everything the step decided, with the numbers"},
    {"state_inspector", "Why is this here?",
     "The selected block decoded, and every write that led to what it holds"},
    {"metadata", "Metadata", "Every array that layers were given, and what changed in it"},
    {"graph_padding", "Graph padding", "Which captured graph ran, why, and what was padded for it"},
    {"chunks", "Chunks", "How scan kernels cut the prefill tokens of the step"},
    {"requests", "Requests", "State, tokens, blocks and counts of the requests"},
    {"timeline", "Timeline", "What requests did over the steps around this one"},
    {"text", "Text", "What a language model says on the decisions, beside what it says alone"},
    {"heat_map", "State differences",
     "How far the language model's states are from lone runs, by layer and block"},
};

}  // namespace

std::vector<PanelInfo> panel_infos() { return {std::begin(kPanels), std::end(kPanels)}; }

}  // namespace hybridscope
