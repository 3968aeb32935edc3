// Shipped scenarios as runs of the workbench, live or recorded.
#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "gui/model/live_run.h"
#include "gui/model/picture.h"
#include "gui/model/recorded_run.h"
#include "gui/model/view_state.h"
#include "tests/support/temporary_folder.h"

namespace hybridscope::test {

std::string scenario_file(const std::string& name);  // "graph_padding"
std::unique_ptr<LiveRun> scenario_at(const std::string& name, std::int64_t step);
// vLLM 0.33.0, two recurrent groups, blocks of 8, hashes of 2 tokens. A has a prompt of 21 tokens,
// whose state after 20 is registered in step 2, inside a block; B shares 21 and joins in step 9.
RunPlan hits_inside_blocks();
std::unique_ptr<LiveRun> hits_inside_blocks_at(std::int64_t step);
// With engine profile reference.
RunPlan reference_plan(const std::string& name);
RunPlan reference_plan_of_file(const std::string& path);
std::unique_ptr<LiveRun> reference_at(const std::string& name, std::int64_t step);
// A scenario of some sixty steps, as a file in `folder`.
std::string long_scenario(const TemporaryFolder& folder);
// In step 1 a prompt of 1 + K tokens is taken for a decode because of its shape: its full graph
// reads buffers that no build has written.
std::unique_ptr<LiveRun> stale_replay();
// The scenario as a session in `folder`, before its first step.
std::unique_ptr<RecordedRun> recorded_scenario(const TemporaryFolder& folder,
                                               const std::string& name, RecordLevel level);

// The panels of these ids, in the order of the table of all.
std::vector<PanelInfo> panels_named(std::initializer_list<std::string_view> ids);

// [rows][columns], without what only the window shows.
std::vector<std::vector<CellValue>> values_of(const Table& table);
std::vector<std::string> titles_of(const Table& table);

}  // namespace hybridscope::test
