#include "cli/run_command.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>
#include <vector>

#include "cli/process.h"
#include "sessions/explain/explain_sections.h"
#include "sessions/job/state_option.h"
#include "sessions/scenario/settings_json.h"
#include "sessions/text/number_words.h"
#include "sessions/text/text_page.h"

namespace hybridscope {

namespace {

using Json = nlohmann::ordered_json;

// One frame and request of either run.
struct Pair {
  std::int64_t step = 0;
  const TwinRow* base = nullptr;
  const TwinRow* twin = nullptr;
  const std::string& request() const { return base != nullptr ? base->request : twin->request; }
};

std::vector<Pair> pairs_of(const Twins& twins) {
  std::set<std::int64_t> steps;
  for (const TwinRun* run : {&twins.base, &twins.twin})
    for (const TwinFrame& frame : run->frames) steps.insert(frame.step);
  std::vector<Pair> pairs;
  for (const std::int64_t step : steps) {
    const TwinFrame* base = find_frame(twins.base, step);
    const TwinFrame* twin = find_frame(twins.twin, step);
    if (base != nullptr)
      for (const TwinRow& row : base->rows)
        pairs.push_back({step, &row, find_row(twin, row.request)});
    if (twin != nullptr)
      for (const TwinRow& row : twin->rows)
        if (find_row(base, row.request) == nullptr) pairs.push_back({step, nullptr, &row});
  }
  return pairs;
}

// Do running column, q or d differ as well?
bool others_differ(const Pair& pair) {
  if (pair.base == nullptr || pair.twin == nullptr) return true;
  const auto key = [](const TwinRow& row) {
    return std::tuple(row.num_scheduled_tokens, row.num_draft_tokens, row.num_computed_tokens,
                      row.running_column);
  };
  return key(*pair.base) != key(*pair.twin);
}

// "10 (8)": reported (exact).
std::string computed_words(const TwinRow& row) {
  if (row.reported_num_computed_tokens == row.num_computed_tokens)
    return std::to_string(row.num_computed_tokens);
  return fmt::format("{} ({})", row.reported_num_computed_tokens, row.num_computed_tokens);
}

// "[1-3][0 4-6]": consecutive ids are shortened, so that a frame fits on a line.
std::string compact_ids(const std::vector<std::vector<std::int32_t>>& groups) {
  std::string text;
  for (const auto& ids : groups) text += fmt::format("[{}]", step_sections::id_list(ids));
  return text;
}

void add_cells(const TwinRow* row, std::vector<std::string>& cells) {
  if (row == nullptr) {
    cells.insert(cells.end(), {"-", "", "", "", ""});
    return;
  }
  cells.insert(cells.end(), {computed_words(*row), std::to_string(row->num_scheduled_tokens),
                             std::to_string(row->num_draft_tokens),
                             row->running_column < 0 ? "" : std::to_string(row->running_column),
                             compact_ids(row->new_block_ids)});
}

std::string difference_mark(const Pair& pair) {
  if (block_ids_differ(pair.base, pair.twin)) return "ids";
  return others_differ(pair) ? "." : "";
}

// Do the ids of both runs and all other columns fit on a line?
bool fits_side_by_side(const std::vector<Pair>& pairs) {
  constexpr std::size_t kOtherColumns = 60;
  std::size_t widest = 0;
  for (const Pair& pair : pairs)
    for (const TwinRow* row : {pair.base, pair.twin})
      if (row != nullptr) widest = std::max(widest, compact_ids(row->new_block_ids).size());
  return kOtherColumns + 2 * widest <= kPageColumns;
}

void add_side_by_side(const Twins& twins, const std::vector<Pair>& pairs, TextPage& page) {
  std::vector<std::vector<std::string>> rows;
  std::int64_t shown_step = 0;
  for (const Pair& pair : pairs) {
    std::vector<std::string> cells = {pair.step == shown_step ? "" : std::to_string(pair.step),
                                      pair.request()};
    shown_step = pair.step;
    add_cells(pair.base, cells);
    add_cells(pair.twin, cells);
    cells.push_back(difference_mark(pair));
    rows.push_back(std::move(cells));
  }
  const std::string base = twins.name_of(twins.base) + ": c";
  const std::string twin = twins.name_of(twins.twin) + ": c";
  page.table({{"frame", true},
              {"request"},
              {base, true},
              {"q", true},
              {"d", true},
              {"col", true},
              {"new ids"},
              {twin, true},
              {"q", true},
              {"d", true},
              {"col", true},
              {"new ids"},
              {""}},
             rows);
}

void add_one_below_the_other(const Twins& twins, const std::vector<Pair>& pairs, TextPage& page) {
  std::vector<std::vector<std::string>> rows;
  std::int64_t shown_step = 0;
  for (const Pair& pair : pairs)
    for (const bool base : {true, false}) {
      std::vector<std::string> cells = {
          base && pair.step != shown_step ? std::to_string(pair.step) : "",
          base ? pair.request() : "", twins.name_of(base ? twins.base : twins.twin)};
      shown_step = pair.step;
      add_cells(base ? pair.base : pair.twin, cells);
      cells.push_back(base ? "" : difference_mark(pair));
      rows.push_back(std::move(cells));
    }
  page.table({{"frame", true},
              {"request"},
              {"run"},
              {"c", true},
              {"q", true},
              {"d", true},
              {"col", true},
              {"new ids"},
              {""}},
             rows);
}

void add_agreement(const Twins& twins, TextPage& page) {
  const TwinComparison& comparison = twins.comparison;
  page.heading("Agreement");
  page.line(comparison.output_difference.empty()
                ? fmt::format("Both produced the same {} output tokens.", comparison.num_outputs)
                : "The output tokens differ: " + comparison.output_difference + ".");
  page.line(comparison.count_difference.empty()
                ? fmt::format("Both accepted the same counts at the {} positions that both verify "
                              "with as many drafts.",
                              comparison.num_counts_compared)
                : "The accepted counts differ: " + comparison.count_difference + ".");
  for (const DifferingText& text : twins.differing_texts) {
    page.line(text_difference_words(text, twins.name_of(twins.base), twins.name_of(twins.twin)));
    page.line(fmt::format("{} \"{}\"", twins.name_of(twins.base), text.a));
    page.line(fmt::format("{} \"{}\"", twins.name_of(twins.twin), text.b));
  }
  if (twins.base.texts && twins.differing_texts.empty())
    page.line(
        fmt::format("The language model says the same in both: {}.",
                    counted(static_cast<std::int64_t>(twins.base.texts->texts.size()), "text")));
  page.line(fmt::format("Findings: {} in {}, {} in {}.", twins.base.num_findings,
                        twins.name_of(twins.base), twins.twin.num_findings,
                        twins.name_of(twins.twin)));
}

Json row_to_json(const TwinRow* row) {
  if (row == nullptr) return nullptr;
  Json json = {{"reported_num_computed_tokens", row->reported_num_computed_tokens},
               {"num_computed_tokens", row->num_computed_tokens},
               {"num_scheduled_tokens", row->num_scheduled_tokens},
               {"num_draft_tokens", row->num_draft_tokens},
               {"num_sampled_tokens", row->num_sampled_tokens},
               {"running_column", row->running_column},
               {"row", row->row},
               {"new_block_ids", row->new_block_ids}};
  if (row->slot >= 0) json["slot"] = row->slot;
  return json;
}

// One row per frame and request, at most 100 columns, then the reason and what was compared.
std::string format_twins(const Scenario& scenario, const Twins& twins) {
  TextPage page;
  page.title(fmt::format("{}: {} beside {}", scenario.name, twins.name_of(twins.base),
                         twins.name_of(twins.twin)));
  if (!scenario.teaches.empty()) page.line(scenario.teaches);
  page.heading("Frames");
  const std::vector<Pair> pairs = pairs_of(twins);
  if (fits_side_by_side(pairs))
    add_side_by_side(twins, pairs, page);
  else
    add_one_below_the_other(twins, pairs, page);
  page.line(
      "c: computed before the frame as the scheduler counts it (exact count where it differs)");
  page.line(
      "q: tokens, d of them drafts; col: running column; new ids: new blocks, [1-3] is 1, 2, 3");
  page.line("at the end of a row: ids that differ, or . for anything else that does");
  page.heading("Why block ids differ");
  page.line(twins.comparison.sentence);
  add_agreement(twins, page);
  return page.take();
}

// {config, frames, comparison}.
Json twins_to_json(const Scenario& scenario, const Twins& twins) {
  Json frames = Json::array();
  for (const Pair& pair : pairs_of(twins))
    frames.push_back({{"step", pair.step},
                      {"request", pair.request()},
                      {"base", row_to_json(pair.base)},
                      {"twin", row_to_json(pair.twin)},
                      {"block_ids_differ", block_ids_differ(pair.base, pair.twin)}});
  const TwinComparison& comparison = twins.comparison;
  Json result = {
      {"reason", twin_reason_name(comparison.reason)},
      {"sentence", comparison.sentence},
      {"same_output_tokens", comparison.output_difference.empty()},
      {"num_output_tokens", comparison.num_outputs},
      {"same_accepted_counts", comparison.count_difference.empty()},
      {"num_accepted_counts_compared", comparison.num_counts_compared},
      {"findings", {{"base", twins.base.num_findings}, {"twin", twins.twin.num_findings}}}};
  if (comparison.first_step > 0) {
    result["first_step"] = comparison.first_step;
    result["first_request"] = comparison.first_request;
  }
  if (twins.base.texts) {
    result["num_texts"] = twins.base.texts->texts.size();
    result["texts"] = Json::array();
    for (const DifferingText& text : twins.differing_texts)
      result["texts"].push_back({{"request", text.request},
                                 {"first_difference", text.first},
                                 {"base", text.a},
                                 {"twin", text.b}});
  }
  for (const std::string* difference :
       {&comparison.output_difference, &comparison.count_difference})
    if (!difference->empty()) result["difference"] = *difference;
  return {{"config",
           {{"name", scenario.name},
            {"model", scenario.model},
            {"settings", settings_to_json(scenario.settings)},
            {"twin", settings_to_json(twins.changed)},
            {"base_name", twins.name_of(twins.base)},
            {"twin_name", twins.name_of(twins.twin)}}},
          {"frames", std::move(frames)},
          {"comparison", std::move(result)}};
}

}  // namespace

int twin_command(const RunCommandOptions& options, const Backends& backends) {
  if (options.scenario.empty()) return report_usage("run", "--twin needs a scenario file");
  const auto scenario = read_scenario(options);
  const auto language = load_language(options.state, backends);
  if (!language.ok()) return report_error("run", language.error());
  const auto twins = scenario.ok() ? run_twins(scenario.value(), options.scenario, language.value())
                                   : Result<Twins>(scenario.error());
  if (!twins.ok()) return report_error("run", twins.error());
  if (options.output == RunOutput::json)
    print_json(twins_to_json(scenario.value(), twins.value()));
  else
    fmt::print("{}", format_twins(scenario.value(), twins.value()));
  const bool clean = twins.value().base.num_findings + twins.value().twin.num_findings == 0;
  return twins.value().agree() && clean ? kExitFine : kExitFindings;
}

}  // namespace hybridscope
