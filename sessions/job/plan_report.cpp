#include "sessions/job/plan_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "sessions/plan/plan_columns.h"
#include "sessions/plan/plan_reasons.h"
#include "sessions/text/number_words.h"
#include "sessions/text/text_table.h"

namespace hybridscope {
namespace {

using Json = nlohmann::ordered_json;

std::string mark_of(const PlanView& view, std::size_t i) {
  return is_recommended(view, i) ? ">" : is_on_front(view, i) ? "*" : "";
}

}  // namespace

std::string format_plan(const PlanView& view, std::int64_t most_rows) {
  return fmt::format("{}\n\n{}{}", printable(plan_heading(view), 1000),
                     format_plan_table(view, most_rows), format_plan_reasons(view));
}

std::string format_plan_table(const PlanView& view, std::int64_t most_rows) {
  std::vector<std::string> headings = {"<"};
  for (const SweepAxis& axis : view.sweep.axes())
    headings.push_back("<" + std::string(axis.setting->name));
  const auto columns = plan_columns(!view.header.step_time.empty());
  for (const PlanColumn* column : columns) headings.emplace_back(column->name);
  TextTable table(headings);
  std::int64_t rows = 0;
  for (const std::size_t i : plan_order(view)) {
    const PlanResult& result = view.results[i];
    if (!result.ran()) continue;
    if (rows++ >= most_rows) continue;
    std::vector<std::string> cells = {mark_of(view, i)};
    const std::optional<PlanCase> of = view.sweep.called(result.name);
    for (std::size_t axis = 0; of && axis < view.sweep.axes().size(); ++axis)
      cells.push_back(printable(
          view.sweep.axes()[axis].values[static_cast<std::size_t>(of->values[axis])], 40));
    for (const PlanColumn* column : columns) cells.push_back(column->shown(result.figures));
    table.add(std::move(cells));
  }
  std::string text = table.empty() ? "" : table.format();
  if (rows > most_rows)
    text += fmt::format("{}: --top {}\n", counted(rows - most_rows, "more row"), rows);
  for (const std::string& line : refused_lines(view))
    text += fmt::format("{}\n", printable(line, 500));
  if (rows == 0) return text;
  if (!view.header.step_time.empty())
    text += fmt::format(
        "times follow from an assumption, a step takes {} us; 50 / 90 / 99 % of requests, tokens\n",
        view.header.step_time);
  return text +
         "> recommended  * on the front: no other row is as good in every goal and better in one; "
         "of equal rows one is marked\n"
         "running and blocks (attention to snapshots): average / most over steps\n";
}

std::string format_plan_reasons(const PlanView& view) {
  if (!view.choice.has_recommendation())
    return view.results.empty() ? "no combination ran\n"
                                : "no combination ran to its end, for the reasons above\n";
  std::string text =
      fmt::format("\nrecommended: {}\n", printable(view.results[view.choice.recommended()].name));
  for (const std::string& line : story_lines(view))
    text += fmt::format("  {}\n", printable(line, 1000));
  return text;
}

nlohmann::ordered_json plan_to_json(const PlanView& view) {
  Json json = {{"plan", header_to_json(view.header)}};
  for (const PlanGoal* goal : view.goals) json["goals"].push_back(goal->name);
  json["combinations"] = view.sweep.size();
  json["equal_combinations"] = view.sweep.num_equal();
  json["recommended"] = nullptr;
  json["front"] = Json::array();
  json["reasons"] = Json::array();
  if (view.choice.has_recommendation()) {
    json["recommended"] = view.results[view.choice.recommended()].name;
    for (const std::size_t i : view.choice.front) json["front"].push_back(view.results[i].name);
    json["reasons"] = plan_reasons({.sweep = view.sweep,
                                    .results = view.results,
                                    .goals = view.goals,
                                    .choice = view.choice,
                                    .model = view.header.model});
  }
  for (const PlanSensitivity& other : view.sensitivity)
    json["sensitivity"].push_back(
        {{"when", other.words},
         {"recommended", other.recommended.empty() ? Json(nullptr) : Json(other.recommended)}});
  json["results"] = Json::array();
  for (const PlanResult& result : view.results) json["results"].push_back(result_to_json(result));
  return json;
}

}  // namespace hybridscope
