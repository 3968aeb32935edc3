#include "cli/plan_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/text_table.h"
#include "sessions/plan/plan_reasons.h"
#include "sessions/text/number_words.h"

namespace hybridscope {
namespace {

using Json = nlohmann::ordered_json;

std::string bytes_words(std::int64_t bytes) {
  constexpr double kGibibyte = 1024.0 * 1024 * 1024;
  return fmt::format("{:.2f}", static_cast<double>(bytes) / kGibibyte);
}

// "12.3 (40)": average and most.
std::string count_words(const PlanFigures& figures, const CountOverSteps& count) {
  return fmt::format("{:.1f} / {}", figures.average(count), grouped_number(count.most));
}

double in_ms(std::int64_t us) { return static_cast<double>(us) / 1000; }

// Indices of results in the order of the table.
std::vector<std::size_t> table_order(const PlanView& view) {
  std::vector<std::size_t> order = view.choice.front;
  for (std::size_t i = 0; i < view.results.size(); ++i)
    if (std::ranges::find(view.choice.front, i) == view.choice.front.end()) order.push_back(i);
  return order;
}

std::string mark_of(const PlanView& view, std::size_t i) {
  if (view.choice.has_recommendation() && view.choice.recommended() == i) return ">";
  return std::ranges::find(view.choice.front, i) != view.choice.front.end() ? "*" : "";
}

void add_figures(const PlanResult& result, std::vector<std::string>& cells) {
  const PlanFigures& f = result.figures;
  cells.push_back(fmt::format("{:.1f}", 100 * f.hit_rate()));
  cells.push_back(grouped_number(f.hit_tokens));
  cells.push_back(grouped_number(f.computed_prompt_tokens));
  cells.push_back(count_words(f, f.running));
  for (const CountOverSteps& blocks : f.blocks) cells.push_back(count_words(f, blocks));
  cells.push_back(grouped_number(f.preemptions));
  cells.push_back(grouped_number(f.lost_tokens));
  cells.push_back(bytes_words(f.state_copy_bytes));
  cells.push_back(grouped_number(f.graph_padded_tokens));
  cells.push_back(grouped_number(f.steps));
  if (f.latency.span_us == 0) return;
  cells.push_back(fmt::format("{:.1f}", f.throughput()));
  for (const Percentiles* percentiles : {&f.latency.first_token, &f.latency.between_tokens})
    cells.push_back(fmt::format("{:.1f} / {:.1f} / {:.1f}", in_ms(percentiles->p50_us),
                                in_ms(percentiles->p90_us), in_ms(percentiles->p99_us)));
}

}  // namespace

std::string format_plan_heading(const PlanView& view) {
  const auto ran = std::ranges::count_if(view.results, &PlanResult::ran);
  std::string text = fmt::format("{} on {}", view.header.model, printable(view.header.traffic));
  if (view.num_requests > 0) text += fmt::format(", {}", counted(view.num_requests, "request"));
  text +=
      fmt::format("; {} of {} run", grouped_number(ran), counted(view.sweep.size(), "combination"));
  const std::int64_t refused = std::ssize(view.results) - ran;
  if (refused > 0) text += fmt::format(", {} not possible", grouped_number(refused));
  const std::int64_t left = view.sweep.size() - std::ssize(view.results);
  if (left > 0) text += fmt::format(", {} left out", grouped_number(left));
  if (view.sweep.num_equal() > 0)
    text +=
        fmt::format(", {} more would equal one of them", grouped_number(view.sweep.num_equal()));
  return text + "\n";
}

std::string format_plan_table(const PlanView& view, std::int64_t most_rows) {
  std::vector<std::string> headings = {"<"};
  for (const SweepAxis& axis : view.sweep.axes())
    headings.push_back("<" + std::string(axis.setting->name));
  for (const char* heading :
       {"hit %", "hit tokens", "computed", "running", "attention", "state", "drafts", "snapshots",
        "preempted", "lost", "copied GiB", "padding", "steps"})
    headings.emplace_back(heading);
  if (!view.header.step_time.empty())
    for (const char* heading : {"tokens/s", "first token ms", "between tokens ms"})
      headings.emplace_back(heading);
  TextTable table(headings);
  std::int64_t rows = 0;
  for (const std::size_t i : table_order(view)) {
    const PlanResult& result = view.results[i];
    if (!result.ran()) continue;
    if (rows++ >= most_rows) continue;
    std::vector<std::string> cells = {mark_of(view, i)};
    const std::optional<PlanCase> of = view.sweep.called(result.name);
    for (std::size_t axis = 0; of && axis < view.sweep.axes().size(); ++axis)
      cells.push_back(printable(
          view.sweep.axes()[axis].values[static_cast<std::size_t>(of->values[axis])], 40));
    add_figures(result, cells);
    table.add(std::move(cells));
  }
  std::string text = table.empty() ? "" : table.format();
  if (rows > most_rows)
    text += fmt::format("{} more rows: --top {}\n", grouped_number(rows - most_rows), rows);
  for (const PlanResult& result : view.results)
    if (!result.ran())
      text += fmt::format("{}: {}\n", printable(result.name), printable(result.refused, 400));
  if (rows == 0) return text;
  if (!view.header.step_time.empty())
    text += fmt::format(
        "times follow from an assumption, a step takes {} us; 50 / 90 / 99 % of requests, tokens\n",
        view.header.step_time);
  return text +
         "> recommended  * on the front: no other row is as good in every goal and better in one\n"
         "running and blocks (attention to snapshots): average / most over steps\n";
}

std::string format_plan_reasons(const PlanView& view) {
  if (!view.choice.has_recommendation())
    return view.results.empty()
               ? "no combination ran\n"
               : "no combination ran: each that was tried is not possible, for the reason above\n";
  std::string text =
      fmt::format("\nrecommended: {}\n", printable(view.results[view.choice.recommended()].name));
  for (const std::string& line : plan_reasons({.sweep = view.sweep,
                                 .results = view.results,
                                 .goals = view.goals,
                                 .choice = view.choice,
                                 .model = view.header.model}))
    text += fmt::format("  {}\n", printable(line, 1000));
  for (const std::string& line : sensitivity_lines(view))
    text += fmt::format("  {}\n", printable(line, 1000));
  return text;
}

std::vector<std::string> sensitivity_lines(const PlanView& view) {
  const std::string& own = view.results[view.choice.recommended()].name;
  std::vector<std::string> lines;
  for (const PlanSensitivity& other : view.sensitivity)
    lines.push_back(fmt::format("{}: {}", other.words,
                                other.recommended.empty()  ? "not run yet"
                                : other.recommended == own ? "the same"
                                                           : other.recommended));
  return lines;
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
