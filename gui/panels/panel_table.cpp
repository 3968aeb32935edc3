#include "gui/panels/panel_table.h"

#include <algorithm>
#include <iterator>

#include "core/base/check.h"
#include "gui/panels/panels.h"

namespace hybridscope {
namespace {

struct PanelRow {
  PanelInfo info;
  std::unique_ptr<Panel> (*make)();
};

constexpr PanelRow kPanels[] = {
    {{"block_tables", "Block tables", "Which blocks each request has, column by column"},
     make_block_tables_panel},
    {{"physical_blocks", "Physical blocks",
      "The pool: what each block holds, and which block is given out next"},
     make_physical_blocks_panel},
    {{"prefix_cache", "Prefix cache", "What each lookup found in the cache, and why not more"},
     make_prefix_cache_panel},
    {{"batch_rows", "Batch rows", "The rows of the batch and their tokens, and how it is divided"},
     make_batch_rows_panel},
    {{"findings", "Findings", "Broken rules of all steps so far; each is a jump"},
     make_findings_panel},
    {{"breakpoints", "Breakpoints", "Expressions that stop the run, with how often each held",
      false},
     make_breakpoints_panel},
    {{"next_step", "Next step", "Change what happens in the step after this one", false},
     make_next_step_panel},
    {{"lesson", "Lesson", "Text and questions about what is shown", false}, make_lesson_panel},
    {{"known_bugs", "Known bugs", "Faults that engines had; each runs beside its healthy run",
      false},
     make_known_bugs_panel},
    {{"differences", "Differences", "Steps in which two runs differ, field by field", false},
     make_differences_panel},
    {{"state_copies", "State copies", "Which states move between columns in this step, and why"},
     make_state_copies_panel},
    {{"speculative", "Speculative decode",
      "Which drafts were accepted, and where the state after each token is kept"},
     make_speculative_panel},
    {{"explanation", "Step in words", "Everything the step decided, with the numbers"},
     make_explanation_panel},
    {{"state_inspector", "Why is this here?",
      "The selected block decoded, and every write that led to what it holds"},
     make_state_inspector_panel},
    {{"metadata", "Metadata", "Every array that layers were given, and what changed in it"},
     make_metadata_panel},
    {{"graph_padding", "Graph padding",
      "Which captured graph ran, why, and what was padded for it"},
     make_graph_padding_panel},
    {{"chunks", "Chunks", "How scan kernels cut the prefill tokens of the step"},
     make_chunks_panel},
    {{"requests", "Requests", "State, tokens, blocks and counts of the requests"},
     make_requests_panel},
    {{"timeline", "Timeline", "What requests did over the steps around this one"},
     make_timeline_panel},
};

}  // namespace

std::vector<PanelInfo> panel_infos() {
  std::vector<PanelInfo> infos;
  for (const PanelRow& row : kPanels) infos.push_back(row.info);
  return infos;
}

std::unique_ptr<Panel> make_panel(std::string_view id) {
  const PanelRow* row = std::ranges::find(kPanels, id, [](const PanelRow& r) { return r.info.id; });
  HS_EXPECT(row != std::end(kPanels));
  return row->make();
}

}  // namespace hybridscope
