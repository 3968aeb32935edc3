#include "tests/gui/model/shown_scenario.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "gui/model/panel_infos.h"
#include "tests/sessions/record/plan_run.h"
#include "tests/storage/recorded_run.h"

namespace hybridscope::test {

std::string scenario_file(const std::string& name) {
  return std::string(HYBRIDSCOPE_SOURCE_DIR) + "/scenarios/" + name + ".json";
}

std::unique_ptr<LiveRun> scenario_at(const std::string& name, std::int64_t step) {
  auto run = LiveRun::create(plan_of_file(scenario_file(name))).value();
  EXPECT_TRUE(run->go_to(step).ok());
  return run;
}

RunPlan hits_inside_blocks() {
  return plan_of_file(std::string(HYBRIDSCOPE_SOURCE_DIR) +
                      "/tests/gui/data/hits_inside_blocks.json");
}

std::unique_ptr<LiveRun> hits_inside_blocks_at(std::int64_t step) {
  auto run = LiveRun::create(hits_inside_blocks()).value();
  EXPECT_TRUE(run->go_to(step).ok());
  return run;
}

RunPlan reference_plan(const std::string& name) {
  return reference_plan_of_file(scenario_file(name));
}

RunPlan reference_plan_of_file(const std::string& path) {
  std::ifstream file(path);
  std::string text((std::istreambuf_iterator<char>(file)), {});
  const std::string settings = "\"settings\": {";
  text.insert(text.find(settings) + settings.size(), "\"engine\": \"reference\", ");
  return plan_of_text(text);
}

std::unique_ptr<LiveRun> reference_at(const std::string& name, std::int64_t step) {
  auto run = LiveRun::create(reference_plan(name)).value();
  EXPECT_TRUE(run->go_to(step).ok());
  return run;
}

std::string long_scenario(const TemporaryFolder& folder) {
  folder.write("long.json", R"({
    "version": 1, "name": "long", "model": "tiny-mamba2",
    "settings": {"mamba_cache_mode": "none", "block_size": 8, "num_gpu_blocks_override": 32,
                 "max_model_len": 128},
    "requests": [{"id": "A", "prompt": 3, "max_tokens": 60}]})");
  return folder / "long.json";
}

std::unique_ptr<LiveRun> stale_replay() {
  auto run = LiveRun::create(plan_of_text(R"({
    "version": 1, "name": "stale", "model": "tiny-mamba2",
    "settings": {"mamba_cache_mode": "none", "block_size": 8, "num_gpu_blocks_override": 32,
                 "max_model_len": 64,
                 "speculative_config": {"method": "mtp", "num_speculative_tokens": 2},
                 "policies": {"uniform_decode_test": "by_shape"}},
    "requests": [{"id": "A", "prompt": 3, "max_tokens": 4}]})"))
                 .value();
  EXPECT_TRUE(run->go_to(1).ok());
  return run;
}

std::unique_ptr<RecordedRun> recorded_scenario(const TemporaryFolder& folder,
                                               const std::string& name, RecordLevel level) {
  const SessionPlace place{.file = folder / "runs.db",
                           .name = name + std::string(record_level_name(level))};
  EXPECT_TRUE(record_run(plan_of_file(scenario_file(name)), {.place = place, .level = level}).ok());
  return RecordedRun::open(place).value();
}

std::vector<PanelInfo> panels_named(std::initializer_list<std::string_view> ids) {
  std::vector<PanelInfo> named = panel_infos();
  std::erase_if(
      named, [&](const PanelInfo& panel) { return std::ranges::find(ids, panel.id) == ids.end(); });
  return named;
}

std::vector<std::vector<CellValue>> values_of(const Table& table) {
  std::vector<std::vector<CellValue>> rows;
  for (const TableRow& row : table.rows)
    for (std::vector<CellValue>& values = rows.emplace_back(); const TableCell& cell : row.cells)
      values.push_back(cell.value);
  return rows;
}

std::vector<std::string> titles_of(const Table& table) {
  std::vector<std::string> titles;
  for (const Heading& heading : table.headings) titles.push_back(heading.title);
  return titles;
}

}  // namespace hybridscope::test
