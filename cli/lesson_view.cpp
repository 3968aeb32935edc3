#include "cli/lesson_view.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "cli/step_table.h"
#include "sessions/explain/explain_names.h"
#include "sessions/lessons/lesson_run.h"
#include "sessions/live/live_player.h"

namespace hybridscope {
namespace {

constexpr std::size_t kMaxTopics = 4;

struct PanelTopics {
  std::string_view panel;
  std::array<StepTopic, kMaxTopics> topics;
  std::size_t count = 0;
};

constexpr std::array kPanels = {
    PanelTopics{"requests", {StepTopic::schedule, StepTopic::rows}, 2},
    PanelTopics{"prefix_cache", {StepTopic::schedule, StepTopic::blocks}, 2},
    PanelTopics{"block_tables", {StepTopic::blocks, StepTopic::tables}, 2},
    PanelTopics{"batch_rows", {StepTopic::rows}, 1},
    PanelTopics{"graph_padding", {StepTopic::rows, StepTopic::graph, StepTopic::metadata}, 3},
    PanelTopics{"metadata", {StepTopic::rows, StepTopic::metadata}, 2},
    PanelTopics{
        "state_copies",
        {StepTopic::tables, StepTopic::pre_copies, StepTopic::forward, StepTopic::post_copies},
        4},
    PanelTopics{"speculative", {StepTopic::rows, StepTopic::forward, StepTopic::sample}, 3},
    PanelTopics{"timeline", {StepTopic::schedule, StepTopic::sample, StepTopic::commit}, 3},
    PanelTopics{"findings", {StepTopic::rows, StepTopic::forward, StepTopic::findings}, 3},
    PanelTopics{"", {StepTopic::schedule, StepTopic::rows}, 2}};

}  // namespace

std::span<const StepTopic> topics_of_panel(std::string_view panel) {
  const auto* row = std::ranges::find(kPanels, panel, &PanelTopics::panel);
  if (row == kPanels.end()) --row;
  return std::span(row->topics).first(row->count);
}

Result<std::string> format_lesson_view(const Lesson& lesson, const LessonPart& part) {
  auto plan = plan_lesson(lesson, part);
  if (!plan.ok()) return plan.error();
  auto created = LivePlayer::create(std::move(plan).value(), {});
  if (!created.ok()) return created.error();
  LivePlayer& player = *created.value();
  const Engine& engine = player.run().engine();
  const Names names = make_names(engine);
  std::vector<StepRow> rows;
  while (player.number() < part.step) {
    if (Status stepped = player.step(); !stepped.ok()) return stepped.error();
    rows.push_back(describe_step(player.trace(), names, player.findings()));
  }
  const std::string table = part.show.panel == "timeline" ? format_step_table(rows) + "\n" : "";
  return table + explain_topics({.trace = player.trace(),
                                 .config = engine.config(),
                                 .names = names,
                                 .scheduler_tables = player.tables().scheduler(),
                                 .findings = player.findings()},
                                topics_of_panel(part.show.panel));
}

}  // namespace hybridscope
