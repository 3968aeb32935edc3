#include "sessions/job/plan_job.h"

#include <fmt/core.h>
#include <fmt/format.h>
#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <system_error>
#include <utility>

#include "core/base/fingerprint.h"
#include "sessions/explain/explain_start_up.h"
#include "sessions/job/plan_log.h"
#include "sessions/job/shared_work.h"
#include "sessions/plan/plan_goals.h"
#include "sessions/plan/plan_run.h"
#include "sessions/plan/plan_story.h"
#include "sessions/scenario/engine_setup.h"
#include "sessions/scenario/hf_config.h"
#include "sessions/scenario/settings_json.h"
#include "sessions/text/json_value.h"
#include "sessions/text/name_hash.h"
#include "sessions/text/number_words.h"
#include "sessions/text/text_page.h"
#include "sessions/traffic/load_traffic.h"

namespace hybridscope {
namespace {

// The seed of synthetic traffic, and of arrivals at random, is that of the settings.
TrafficOptions how_to_read(const PlanJobOptions& options, const EngineSettings& settings) {
  TrafficOptions how = options.traffic_options;
  how.load.seed = static_cast<std::uint64_t>(settings.seed.value_or(0));
  return how;
}

// Absent: nothing was said.
Result<std::optional<StepTime>> step_time_of(const PlanJobOptions& options,
                                             const EngineSettings& settings) {
  if (options.step_time.empty()) return std::optional<StepTime>();
  if (options.step_time == "constants") {
    const EngineConfig defaults;
    const auto per_token = static_cast<double>(
        settings.step_cost_per_token_us.value_or(defaults.step_cost_per_token_us));
    return std::optional(StepTime{
        .base_us =
            static_cast<double>(settings.step_cost_base_us.value_or(defaults.step_cost_base_us)),
        .prefill_us = per_token,
        .decode_us = per_token});
  }
  auto time = parse_step_time(options.step_time);
  if (time.ok()) return std::optional(time.value());
  std::error_code ignored;
  if (!std::filesystem::exists(options.step_time, ignored))
    return invalid_input("--step-time: " + time.error().message + ", and there is no such file");
  auto read = read_step_time_file(options.step_time);
  if (!read.ok()) return read.error();
  return std::optional(read.value());
}

// "max_num_seqs=64,128,256".
std::string sweep_text(const SweepAxis& axis) {
  std::string text = setting_path(*axis.setting);
  for (const std::string& value : axis.values)
    text += fmt::format("{}{}", &value == &axis.values.front() ? "=" : ",", value);
  return text;
}

Result<PlanHeader> header_of(const PlanJobOptions& options, const EngineSettings& settings,
                             const Sweep& sweep, const PlanTraffic& traffic) {
  auto program = this_program();
  if (!program.ok()) return program.error();
  auto layout = layout_digest(options.model);
  if (!layout.ok()) return layout.error();
  PlanHeader header{.program = std::move(program).value(),
                    .model = options.model,
                    .layout = std::move(layout).value(),
                    .traffic = traffic.name(),
                    .how_read = how_to_read(options, settings),
                    .limit = options.limit,
                    .digest = traffic.digest(),
                    .arrivals_us = traffic.arrivals_us(),
                    .settings = settings_to_json(settings).dump(),
                    .step_time = {},
                    .sweeps = {}};
  for (const SweepAxis& axis : sweep.axes()) header.sweeps.push_back(sweep_text(axis));
  return header;
}

}  // namespace

Result<std::vector<SweepAxis>> parse_sweeps(const std::vector<std::string>& texts) {
  auto axes = parse_axes(texts);
  if (!axes.ok()) return invalid_input("--sweep: " + axes.error().message);
  return axes;
}

Result<std::vector<std::string>> default_sweeps(const std::string& model,
                                                const EngineSettings& settings) {
  const auto setup = make_engine_setup(model, settings);
  if (!setup.ok()) return setup.error();
  std::vector<std::string> sweeps;
  if (!settings.mamba_cache_mode && settings.enable_prefix_caching != false) {
    std::string modes;
    for (const ModeNeeds& needs : setup.value().layout.page_size.needs)
      if (needs.supported)
        modes += fmt::format("{}{}", modes.empty() ? "mamba_cache_mode=" : ",",
                             mamba_cache_mode_name(needs.mamba_cache_mode));
    sweeps.push_back(modes);
  }
  if (!settings.max_num_seqs) sweeps.emplace_back("max_num_seqs=64..512");
  return sweeps;
}

Result<std::vector<const PlanGoal*>> goals_of(const std::string& prefer, bool has_step_time) {
  auto goals = parse_goals(prefer);
  if (!goals.ok()) return invalid_input("--prefer: " + goals.error().message);
  if (Status timed = check_goals(goals.value(), has_step_time); !timed.ok())
    return invalid_input("--prefer: " + timed.error().message + " (--step-time)");
  return goals;
}

std::optional<WantedSettings> wanted_settings(const PlanJob& job, std::string_view combination) {
  const auto of = job.sweep.called(combination);
  if (!of) return std::nullopt;
  auto settings = job.sweep.settings(*of, job.header.model);
  if (!settings.ok()) return std::nullopt;
  auto setup = make_engine_setup(job.header.model, settings.value());
  if (!setup.ok()) return std::nullopt;
  return WantedSettings{without_logged(job.log, job.line, std::move(settings).value()),
                        std::move(setup).value().layout};
}

namespace {

struct SweptSettings {
  EngineSettings settings;  // the same in all combinations
  Sweep sweep;
};

// The settings and sweeps of the options, on top of the settings of the line of `vllm serve`.
Result<SweptSettings> swept_settings(const PlanJobOptions& options, const PlanQuestion& question) {
  std::vector<std::string> sweeps = options.sweeps;
  if (sweeps.empty()) {
    auto defaults = default_sweeps(options.model, question.settings);
    if (!defaults.ok()) return defaults.error();
    sweeps = std::move(defaults).value();
  }
  auto axes = parse_sweeps(sweeps);
  if (!axes.ok()) return axes.error();
  // What a pasted line says of a setting that is swept is one value of many.
  const EngineSettings of_line = without_swept(question.pasted, axes.value());
  auto settings = options.settings.apply(of_line);
  if (!settings.ok()) return settings.error();
  if (question.line) settings = with_caching_of(*question.line, options.settings, settings.value());
  auto sweep = Sweep::create(settings.value(), std::move(axes).value());
  if (!sweep.ok()) return sweep.error();
  return SweptSettings{std::move(settings).value(), std::move(sweep).value()};
}

// "2/7"; empty: all combinations.
Status choose_shard(const std::string& text, PlanSearchOptions& job) {
  if (text.empty()) return Ok{};
  const auto shard = parse_shard(text);
  if (!shard.ok()) return shard.error();
  job.budget = 0;
  job.selects = [shard = shard.value()](std::string_view name) {
    return shard_of(name, shard.count) == shard.index;
  };
  return Ok{};
}

// What became of the cache modes of the combinations (mode_note), each once.
std::vector<std::string> mode_notes(const Sweep& sweep, const std::string& model) {
  constexpr std::int64_t kMostTried = 1000;
  std::vector<std::string> notes;
  for (std::int64_t index = 0; index < std::min(sweep.size(), kMostTried); ++index) {
    const auto settings = sweep.settings(sweep.at(index), model);
    if (!settings.ok()) continue;
    const auto setup = make_engine_setup(model, settings.value());
    if (!setup.ok()) continue;
    std::string note = mode_note(setup.value());
    if (!note.empty() && std::ranges::find(notes, note) == notes.end())
      notes.push_back(std::move(note));
  }
  return notes;
}

}  // namespace

CommandFiles files_of(const PlanJobOptions& options) {
  const std::string& pasted = options.from_serve;
  return {.inputs = {{"the pasted command", pasted.starts_with('@') ? pasted.substr(1) : ""},
                     {"the traffic", options.traffic == kSyntheticTraffic ? "" : options.traffic},
                     {"the model's file", options.model},
                     {"the draft model's file", options.draft_model},
                     {"the log", options.from_log},
                     {"the step time", options.step_time}},
          .outputs = {{"--out", options.out, FileUse::results}}};
}

Result<PlanJob> make_plan_job(const PlanJobOptions& given) {
  PlanJobOptions options = given;
  auto question = read_plan_question(options);
  if (!question.ok()) return invalid_input(question.error().message);
  options.model = question.value().model.empty() ? kDefaultTrafficModel : question.value().model;
  if (const auto model = resolve_model(options.model); !model.ok())
    return model.error().kind == ErrorKind::not_found ? invalid_input(model.error().message)
                                                      : model.error();
  auto swept = swept_settings(options, question.value());
  if (!swept.ok()) return swept.error();
  const EngineSettings& settings = swept.value().settings;
  auto step_time = step_time_of(options, settings);
  if (!step_time.ok()) return step_time.error();
  auto goals = goals_of(options.prefer, step_time.value().has_value());
  if (!goals.ok()) return goals.error();
  PlanSearchOptions job{
      .run = {.model = options.model, .step_time = step_time.value(), .go_on = options.go_on},
      .num_threads = num_threads_for(options.jobs),
      .budget = options.budget > 0 ? options.budget : kDefaultBudget,
      .goals = std::move(goals).value()};
  if (Status chosen = choose_shard(options.shard, job); !chosen.ok()) return chosen.error();
  auto traffic = load_traffic(options.traffic, how_to_read(options, settings));
  if (!traffic.ok()) return traffic.error();
  std::vector<std::string> notes = question.value().notes;
  if (question.value().log)
    notes.push_back("the log beside a plan: " + log_agreement(*question.value().log));
  std::ranges::move(mode_notes(swept.value().sweep, options.model), std::back_inserter(notes));
  std::vector<ArrivingRequest>& requests = traffic.value().requests;
  if (options.limit > 0 && options.limit < std::ssize(requests))
    requests.resize(static_cast<std::size_t>(options.limit));
  if (std::string left_out =
          leave_out_unserved(traffic.value(), swept.value().sweep, options.model);
      !left_out.empty())
    notes.push_back(std::move(left_out));
  auto shared =
      std::make_unique<PlanTraffic>(options.traffic, std::move(traffic).value(), options.limit,
                                    static_cast<std::size_t>(job.num_threads) + 1);
  auto header = header_of(options, settings, swept.value().sweep, *shared);
  if (!header.ok()) return header.error();
  if (step_time.value()) header.value().step_time = step_time_text(*step_time.value());
  return PlanJob{.notes = std::move(notes),
                 .line = std::move(question.value().line),
                 .log = std::move(question.value().log),
                 .header = std::move(header).value(),
                 .sweep = std::move(swept).value().sweep,
                 .traffic = std::move(shared),
                 .options = std::move(job)};
}

namespace {

using Json = nlohmann::ordered_json;

std::string mark_of(const PlanView& view, std::size_t i) {
  return is_recommended(view, i) ? ">" : is_on_front(view, i) ? "*" : "";
}

}  // namespace

std::string format_plan(const PlanView& view, std::int64_t most_rows) {
  const std::string overload = overload_words(view);
  return fmt::format("{}{}\n\n{}{}", overload.empty() ? "" : printable(overload, 1000) + "\n",
                     printable(plan_heading(view), 1000), format_plan_table(view, most_rows),
                     format_plan_reasons(view));
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
         "up to 2 % from the best is equal, and of equal rows one is marked\n"
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
  const std::string overload = overload_words(view);
  Json json = {{"overload", overload.empty() ? Json(nullptr) : Json(overload)},
               {"plan", header_to_json(view.header)}};
  for (const PlanGoal* goal : view.goals) json["goals"].push_back(goal->name);
  json["combinations"] = view.sweep.size();
  json["equal_combinations"] = view.sweep.num_equal();
  json["recommended"] = nullptr;
  json["front"] = Json::array();
  json["reasons"] = Json::array();
  if (view.choice.has_recommendation()) {
    json["recommended"] = view.results[view.choice.recommended()].name;
    for (const std::size_t i : view.choice.front) json["front"].push_back(view.results[i].name);
    json["reasons"] = plan_reasons(view);
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
