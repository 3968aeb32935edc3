#include "sessions/plan/plan_story.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "sessions/page/page_parts.h"
#include "sessions/plan/plan_page_files.h"
#include "sessions/text/text_page.h"

namespace hybridscope {
namespace {

using PageJson = nlohmann::ordered_json;

// What a figure is called in the page. One without a row has its key as its name.
struct FigureWords {
  std::string_view key;
  std::string_view name;  // empty: a goal shows it
  std::string_view words;
};
constexpr FigureWords kFigureWords[] = {
    {"steps", "", ""},
    {"request_steps", "rows", "requests in a step, added up over steps"},
    {"requests_finished", "finished", "requests that got their whole answer"},
    {"prompt_tokens", "prompt tokens", "of admitted requests, once each"},
    {"hit_tokens", "hit tokens", "prompt tokens that the prefix cache served at first admissions"},
    {"computed_prompt_tokens", "", ""},
    {"output_tokens", "output tokens", "generated"},
    {"preemptions", "", ""},
    {"lost_tokens", "", ""},
    {"state_copies", "state copies", "copies of recurrent states between blocks"},
    {"state_copy_bytes", "", ""},
    {"graph_padded_tokens", "", ""},
    {"most_running", "", ""},
    {"running_sum", "running, average", "requests that have blocks, on average over steps"},
    {"most_waiting", "waiting, most", "most requests that wait at once"},
    {"waiting_sum", "", ""},
    {"longest_queue_step", "longest queue, step", "the first of the steps in which most wait"},
    {"queue_empty_step", "queue empty, step",
     "the first step after it in which none waits; 0: none"},
    {"last_arrival_step", "last arrival, step", "the step that the last request arrived before"},
    {"most_attention_blocks", "attention, most", "most attention blocks that requests hold"},
    {"attention_blocks_sum", "attention, average", "attention blocks, on average over steps"},
    {"most_running_state_blocks", "running state, most", "most blocks with running states"},
    {"running_state_blocks_sum", "running state, average",
     "blocks with running states, on average over steps"},
    {"most_draft_blocks", "drafts, most", "most blocks with states of draft tokens"},
    {"draft_blocks_sum", "drafts, average",
     "blocks with states of draft tokens, on average over steps"},
    {"most_snapshot_blocks", "snapshots, most", "most snapshots of states that requests hold"},
    {"snapshot_blocks_sum", "snapshots, average",
     "snapshots of states that requests hold, on average over steps"},
    {"most_used_blocks", "", ""},
    {"used_blocks_sum", "blocks, average", "blocks that requests hold, on average over steps"},
    {"most_cached_blocks", "cached and free, most",
     "most blocks that no request holds, but a hit can use"},
    {"cached_blocks_sum", "cached and free, average",
     "blocks that no request holds, but a hit can use, on average over steps"},
    {"worst_step", "worst step", "the first of the steps with the fewest free blocks"},
};

struct SizeColumn {
  std::string_view name;
  std::string_view words;
  std::int64_t PlanSizes::*value;
};
constexpr SizeColumn kSizeColumns[] = {
    {"block size", "tokens of an attention block", &PlanSizes::block_size},
    {"pool blocks", "blocks of the pool, the null block included", &PlanSizes::num_blocks},
    {"block bytes", "bytes of a block, all layers of a group", &PlanSizes::block_bytes},
};

const FigureWords* words_of(std::string_view key) {
  const auto found = std::ranges::find(kFigureWords, key, &FigureWords::key);
  return found == std::end(kFigureWords) ? nullptr : &*found;
}

bool shown_by_goal(const PlanFigure& figure) {
  const FigureWords* const words = words_of(figure.key);
  return words != nullptr && words->name.empty();
}

// What the page has columns for, in this order; times only where a step time is assumed.
struct PageColumns {
  explicit PageColumns(const PlanHeader& header) {
    const bool has_times = !header.step_time.empty();
    for (const PlanGoal& goal : plan_goals())
      if (!goal.needs_step_time || has_times) goals.push_back(&goal);
    for (const PlanFigure& figure : plan_figures())
      if (!shown_by_goal(figure) && (!figure.of_time || has_times)) figures.push_back(&figure);
  }
  std::vector<const PlanGoal*> goals;
  std::vector<const PlanFigure*> figures;  // that no goal shows
};

// Goals come first: the page takes their texts from a result's `shown`.
PageJson columns_of_page(const PageColumns& shown) {
  PageJson columns = PageJson::array();
  for (const PlanGoal* goal : shown.goals)
    columns.push_back({{"name", goal->name},
                       {"words", goal->words},
                       {"kind", "goal"},
                       {"more", goal->more_is_better},
                       {"share", goal->is_share}});
  for (const PlanFigure* figure : shown.figures) {
    const FigureWords* const words = words_of(figure->key);
    std::string name(words != nullptr ? words->name : figure->key);
    std::ranges::replace(name, '_', ' ');
    columns.push_back({{"name", name},
                       {"words", words != nullptr ? words->words : std::string_view{}},
                       {"kind", "figure"}});
  }
  for (const SizeColumn& size : kSizeColumns)
    columns.push_back({{"name", size.name}, {"words", size.words}, {"kind", "size"}});
  return columns;
}

// The values of columns_of_page.
PageJson values_of(const PlanResult& result, const PageColumns& shown) {
  PageJson values = PageJson::array();
  PlanFigures figures = result.figures;
  for (const PlanGoal* goal : shown.goals) values.push_back(goal->value(figures));
  for (const PlanFigure* figure : shown.figures) {
    const std::int64_t value = figure->value(figures);
    if (figure->key.ends_with("_sum"))
      values.push_back(figures.average({.sum = value}));
    else
      values.push_back(value);
  }
  for (const SizeColumn& size : kSizeColumns) values.push_back(result.sizes.*size.value);
  return values;
}

// Each piece as [time in us, steps, running, waiting, blocks by kind, cached blocks, hit tokens,
// prompt tokens], the middle ones as sums over its steps.
PageJson points_of(const PlanResult& result, std::size_t together) {
  PageJson pieces = PageJson::array();
  for (std::size_t first = 0; first < result.points.size(); first += together) {
    PlanPoint sum = result.points[first];
    const std::size_t end = std::min(first + together, result.points.size());
    for (const PlanPoint& point : std::span(result.points).subspan(first + 1, end - first - 1))
      sum.append(point);
    PageJson piece = {sum.time_us, sum.steps, sum.running, sum.waiting};
    for (const std::int64_t blocks : sum.blocks) piece.push_back(blocks);
    for (const std::int64_t last : {sum.cached_blocks, sum.hit_tokens, sum.prompt_tokens})
      piece.push_back(last);
    pieces.push_back(std::move(piece));
  }
  return pieces;
}

// "max_num_seqs=64 block_size=16": 64, 16.
PageJson values_of_name(std::string_view name, std::size_t num_axes) {
  PageJson values = PageJson::array();
  while (values.size() < num_axes) {
    const std::string_view word = name.substr(0, name.find(' '));
    values.push_back(word.substr(word.find('=') + 1));
    name.remove_prefix(std::min(word.size() + 1, name.size()));
  }
  return values;
}

PageJson results_of(const PlanView& view, const PageColumns& shown) {
  std::int64_t num_points = 0;
  for (const PlanResult& result : view.results) num_points += std::ssize(result.points);
  const std::int64_t together = (num_points + kMostPagePoints - 1) / kMostPagePoints;
  PageJson results = PageJson::array();
  for (const PlanResult& result : view.results) {
    PageJson json = {{"name", result.name},
                     {"values", values_of_name(result.name, view.sweep.axes().size())}};
    if (!result.ran()) {
      json["refused"] = result.refused;
    } else {
      json["mode"] = result.sizes.mamba_cache_mode;
      json["num_blocks"] = result.sizes.num_blocks;
      json["block_bytes"] = result.sizes.block_bytes;
      json["figures"] = values_of(result, shown);
      for (const PlanGoal* goal : shown.goals) json["shown"].push_back(goal->shown(result.figures));
      json["points"] =
          points_of(result, static_cast<std::size_t>(std::max<std::int64_t>(together, 1)));
    }
    results.push_back(std::move(json));
  }
  return results;
}

PageJson data_of_page(const PlanView& view) {
  const PageColumns shown(view.header);
  PageJson data = {{"overload", overload_words(view)}, {"plan", header_to_json(view.header)},
                   {"requests", view.num_requests},    {"counts", plan_counts(view)},
                   {"goals", PageJson::array()},       {"columns", columns_of_page(shown)},
                   {"kinds", kBlockKindWords},         {"axes", PageJson::array()},
                   {"recommended", nullptr},           {"front", view.choice.front},
                   {"reasons", PageJson::array()},     {"results", results_of(view, shown)}};
  for (const PlanGoal* goal : view.goals) data["goals"].push_back(goal->name);
  for (const SweepAxis& axis : view.sweep.axes()) data["axes"].push_back(axis.setting->name);
  if (view.choice.has_recommendation()) {
    data["recommended"] = view.choice.recommended();
    data["reasons"] = story_lines(view);
  }
  return data;
}

}  // namespace

std::string plan_as_html(const PlanView& view) {
  const std::string data = script_safe_json(data_of_page(view));
  return make_page({.title = "hybridscope plan",
                    .body = plan_page_files::plan_html,
                    .style = plan_page_files::plan_css,
                    .script = {plan_page_files::plan_script, plan_page_files::plan_script_sha256},
                    .data_id = "plan-data",
                    .data = data});
}

}  // namespace hybridscope
