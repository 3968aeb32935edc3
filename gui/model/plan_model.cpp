#include "gui/model/plan_model.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "gui/model/workbench.h"
#include "sessions/plan/plan_goals.h"
#include "sessions/text/number_words.h"

namespace hybridscope {
namespace {

constexpr std::string_view kRank = "rank";
constexpr double kRoom = 0.06;  // between the ends of an axis and the outermost dots

PlanMark plan_mark_of(const PlanView& view, std::size_t result) {
  return !view.results[result].ran()    ? PlanMark::stuck
         : is_recommended(view, result) ? PlanMark::recommended
         : is_on_front(view, result)    ? PlanMark::front
                                        : PlanMark::other;
}

// The first two goals; with one, the steps across, as in the page of `plan --html`.
std::pair<const PlanGoal*, const PlanGoal*> axes_of(const PlanView& view) {
  if (view.goals.size() > 1) return {view.goals[0], view.goals[1]};
  const PlanGoal& steps = plan_goal("steps");
  return {view.goals[0] == &steps ? &plan_goal("hits") : &steps, view.goals[0]};
}

// Where the values of a goal lie between its least and its most.
class GoalScale {
 public:
  GoalScale(const PlanView& view, const PlanGoal& goal) : goal_(goal) {
    for (const PlanResult& result : view.results) {
      if (!result.ran()) continue;
      if (least_ == nullptr || value(result) < value(*least_)) least_ = &result;
      if (most_ == nullptr || value(result) > value(*most_)) most_ = &result;
    }
  }

  double place(const PlanResult& result) const {
    const double span = value(*most_) - value(*least_);
    return span > 0 ? kRoom + (1 - 2 * kRoom) * (value(result) - value(*least_)) / span : 0.5;
  }

  PlanAxis axis() const {
    return {.title = fmt::format("{} ({} is better)", goal_.name,
                                 goal_.more_is_better ? "more" : "less"),
            .least = least_ == nullptr ? "" : goal_.shown(least_->figures),
            .most = most_ == nullptr ? "" : goal_.shown(most_->figures)};
  }

 private:
  double value(const PlanResult& result) const { return goal_.value(result.figures); }

  const PlanGoal& goal_;
  const PlanResult* least_ = nullptr;
  const PlanResult* most_ = nullptr;
};

std::string words_of_dot(const PlanView& view, std::size_t i) {
  const PlanResult& result = view.results[i];
  std::string words = result.name;
  if (const std::string_view mark = plan_mark_words(plan_mark_of(view, i)); !mark.empty())
    words += fmt::format("\n{}", mark);
  const auto [x, y] = axes_of(view);
  for (const PlanGoal* goal : {x, y})
    words += fmt::format("\n{} {}", goal->name, goal->shown(result.figures));
  for (const PlanGoal* goal : view.goals)
    if (goal != x && goal != y)
      words += fmt::format("\n{} {}", goal->name, goal->shown(result.figures));
  return words;
}

void add_scatter(const PlanView& view, PlanModel& model) {
  const auto [x, y] = axes_of(view);
  const GoalScale across(view, *x);
  const GoalScale up(view, *y);
  model.x = across.axis();
  model.y = up.axis();
  for (std::size_t i = 0; i < view.results.size(); ++i)
    if (view.results[i].ran())
      model.dots.push_back({.result = i,
                            .mark = plan_mark_of(view, i),
                            .x = across.place(view.results[i]),
                            .y = up.place(view.results[i]),
                            .words = words_of_dot(view, i)});
  if (view.goals.size() > 2) return;
  for (std::size_t i = 0; i < model.dots.size(); ++i)
    if (model.dots[i].mark != PlanMark::other) model.front_line.push_back(i);
  std::ranges::sort(model.front_line, {},
                    [&](std::size_t i) { return std::pair(model.dots[i].x, model.dots[i].y); });
}

PlanPiece piece_of(const PlanPoint& point) {
  PlanPiece piece{.first_step = point.first_step,
                  .last_step = point.first_step + std::max<std::int64_t>(point.steps, 1) - 1};
  const auto steps = static_cast<double>(std::max<std::int64_t>(point.steps, 1));
  for (std::size_t kind = 0; kind < kNumBlockKinds; ++kind)
    piece.blocks[kind] = static_cast<double>(point.blocks[kind]) / steps;
  piece.blocks[kNumBlockKinds] = static_cast<double>(point.cached_blocks) / steps;
  piece.running = static_cast<double>(point.running) / steps;
  return piece;
}

PlanMemory memory_of(const PlanView& view, std::optional<std::size_t> selected) {
  if (!selected) return {.empty = "No combination is selected."};
  const PlanResult& result = view.results[*selected];
  PlanMemory memory{.title = fmt::format("Blocks over the steps of {}", result.name),
                    .num_blocks = result.sizes.num_blocks - 1,
                    .worst_step = result.figures.worst_step};
  if (!result.has_steps()) memory.empty = result.refused;
  for (const PlanPoint& point : result.points) memory.pieces.push_back(piece_of(point));
  for (std::size_t kind = 0; kind < kNumBlockKinds; ++kind)
    memory.average[kind] = result.figures.average(result.figures.blocks[kind]);
  memory.average[kNumBlockKinds] = result.figures.average(result.figures.cached_blocks);
  if (!memory.pieces.empty()) memory.last_step = memory.pieces.back().last_step;
  return memory;
}

std::vector<PlanGoalChoice> goal_choices(const ShownPlan& plan, const PlanView& view) {
  std::vector<PlanGoalChoice> choices;
  for (const PlanGoal& goal : plan_goals()) {
    if (goal.needs_step_time && plan.header().step_time.empty()) continue;
    PlanGoalChoice choice{.goal = &goal,
                          .chosen = std::ranges::find(view.goals, &goal) != view.goals.end()};
    for (const PlanGoal* other : view.goals)
      if (other != &goal)
        choice.without_or_with +=
            fmt::format("{}{}", choice.without_or_with.empty() ? "" : ",", other->name);
    if (!choice.chosen) choice.without_or_with += fmt::format(",{}", goal.name);
    choices.push_back(std::move(choice));
  }
  return choices;
}

class PlanTable {
 public:
  PlanTable(const PlanView& view, const PlanOptions& options)
      : view_(view),
        options_(options),
        figures_(plan_columns(!view.header.step_time.empty())),
        num_axes_(view.sweep.axes().size()) {}

  void fill(PlanModel& model) const {
    Table& table = model.table;
    table.title = "Combinations";
    table.sort_command = "plan.sort";
    table.is_descending = options_.descending;
    table.headings.emplace_back(ColumnWords{"Mark",
                                            "Recommended or on the front; a click sorts by rank",
                                            ColumnKind::sign, false, kRank});
    for (const SweepAxis& axis : view_.sweep.axes())
      table.headings.emplace_back(
          ColumnWords{axis.setting->name, "A setting that was tried", ColumnKind::words});
    for (const PlanColumn* figure : figures_)
      table.headings.emplace_back(ColumnWords{figure->name, figure->words});
    const auto sorted = std::ranges::find(table.headings, options_.sort, &Heading::sort);
    table.sorted = sorted == table.headings.end() ? 0 : sorted - table.headings.begin();
    for (const std::size_t i : order()) {
      model.marks.push_back(plan_mark_of(view_, i));
      TableRow& row = table.rows.emplace_back(row_of(i, model.marks.back()));
      row.is_selected = view_.results[i].name == model.selected;
    }
  }

 private:
  std::vector<std::size_t> order() const {
    std::vector<std::size_t> order = plan_order(view_);
    std::erase_if(order, [&](std::size_t i) { return !view_.results[i].has_steps(); });
    const auto axis = std::ranges::find(view_.sweep.axes(), options_.sort,
                                        [](const SweepAxis& one) { return one.setting->name; });
    const auto figure = std::ranges::find(figures_, options_.sort, &PlanColumn::name);
    const auto sort_by = [&](const auto& less) {
      std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
        return options_.descending ? less(b, a) : less(a, b);
      });
    };
    if (axis != view_.sweep.axes().end()) {
      const auto at = static_cast<std::size_t>(axis - view_.sweep.axes().begin());
      sort_by([&](std::size_t a, std::size_t b) { return place(a, at) < place(b, at); });
    } else if (figure != figures_.end()) {
      sort_by([&](std::size_t a, std::size_t b) {
        return (*figure)->value(view_.results[a].figures) <
               (*figure)->value(view_.results[b].figures);
      });
    } else if (options_.descending) {
      std::ranges::reverse(order);
    }
    return order;
  }

  // The place of the result's value among those of the axis, which is how settings are ordered.
  std::size_t place(std::size_t result, std::size_t axis) const {
    const std::optional<PlanCase> of = view_.sweep.called(view_.results[result].name);
    return static_cast<std::size_t>(of.value().values[axis]);
  }
  TableCell setting_cell(std::size_t result, std::size_t axis) const {
    const SweepAxis& swept = view_.sweep.axes()[axis];
    const std::string& text = swept.values[place(result, axis)];
    std::int64_t number = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, number);
    return error == std::errc() && stop == end ? number_cell(number) : words_cell(text);
  }
  static TableCell figure_cell(const PlanColumn& figure, const PlanFigures& figures) {
    std::string shown = figure.shown(figures);
    if (!figure.is_count) return words_cell(shown);
    return with_extras(number_cell(static_cast<std::int64_t>(figure.value(figures))),
                       {.label = std::move(shown)});
  }

  TableRow row_of(std::size_t i, PlanMark mark) const {
    const std::string& name = view_.results[i].name;
    const std::string_view words = plan_mark_words(mark);
    TableRow row = {words_cell(words)};
    for (std::size_t axis = 0; axis < num_axes_; ++axis) row.cells.push_back(setting_cell(i, axis));
    for (const PlanColumn* figure : figures_)
      row.cells.push_back(figure_cell(*figure, view_.results[i].figures));
    row.mark = "plan row " + name;
    row.clicks = {{"plan.select", name}};
    row.double_clicks = {{"plan.run", "worst"}};
    row.tooltip = words.empty() ? name : fmt::format("{}\n{}", name, words);
    return row;
  }

  const PlanView& view_;
  const PlanOptions& options_;
  std::vector<const PlanColumn*> figures_;
  std::size_t num_axes_;
};

}  // namespace

PlanModel make_plan_model(const ShownPlan& plan, const PlanOptions& options) {
  const PlanView view = plan.view();
  PlanModel model{.heading = plan_heading(view),
                  .overload = overload_words(view),
                  .goals = goal_choices(plan, view),
                  .reasons = story_lines(view)};
  for (const PlanResult& result : view.results) model.names.push_back(result.name);
  if (view.choice.has_recommendation())
    model.recommended = view.results[view.choice.recommended()].name;
  if (const auto selected = plan.selected()) {
    model.selected = view.results[*selected].name;
    model.can_open = view.results[*selected].has_steps();
  }
  add_scatter(view, model);
  model.memory = memory_of(view, plan.selected());
  PlanTable(view, options).fill(model);
  model.refused = refused_lines(view);
  return model;
}

std::vector<std::string_view> plan_sort_names(const ShownPlan& plan) {
  std::vector<std::string_view> names = {kRank};
  const PlanView view = plan.view();
  for (const SweepAxis& axis : view.sweep.axes()) names.push_back(axis.setting->name);
  for (const PlanColumn* figure : plan_columns(!view.header.step_time.empty()))
    names.push_back(figure->name);
  return names;
}

std::string_view plan_mark_words(PlanMark mark) {
  switch (mark) {
    case PlanMark::recommended: return "recommended";
    case PlanMark::front: return "on the front";
    case PlanMark::stuck: return "did not end";
    case PlanMark::other: break;
  }
  return "";
}

Picture plan_picture(Workbench& workbench) {
  if (workbench.plan_results() == nullptr) return {.notes = {kNoPlan}};
  PlanModel model = make_plan_model(*workbench.plan_results(), workbench.options().plan);
  Picture picture;
  if (!model.overload.empty()) picture.notes.emplace_back(model.overload);
  picture.notes.emplace_back(model.heading);
  if (!model.recommended.empty()) picture.notes.emplace_back("Recommended: " + model.recommended);
  for (const std::string& reason : model.reasons) picture.notes.emplace_back(reason);
  for (const std::string& refused : model.refused) picture.notes.emplace_back(refused);
  picture.tables.push_back(std::move(model.table));
  return picture;
}

}  // namespace hybridscope
