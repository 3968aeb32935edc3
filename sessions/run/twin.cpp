#include "sessions/run/twin.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "sessions/run/twin_compare.h"
#include "sessions/scenario/settings_table.h"

namespace hybridscope {
namespace {

TwinNames names_of(const TwinRun& base, const TwinRun& twin) {
  const bool async_differs = base.async_scheduling != twin.async_scheduling;
  const bool runner_differs = base.runner != twin.runner;
  if (!async_differs && !runner_differs) return {"as written", "twin"};
  const auto name = [&](const TwinRun& run) {
    std::string text;
    if (async_differs) text = run.async_scheduling ? "async" : "sync";
    if (runner_differs)
      text +=
          fmt::format("{}{}", text.empty() ? "" : " ", run.runner == ModelRunner::v1 ? "V1" : "V2");
    return text;
  };
  return {name(base), name(twin)};
}

Result<TwinRun> run_of(Scenario scenario, const EngineSettings& settings, const std::string& file,
                       const LanguageModel& language) {
  scenario.settings = settings;
  if (const auto conflict = find_setting_conflict(settings))
    return invalid_input(
        fmt::format("{}: /twin/{}: {}", file, conflict->setting, conflict->message));
  const auto plan = plan_scenario(scenario, file);
  if (!plan.ok()) return plan.error();
  return record_twin_run(plan.value(), language);
}

}  // namespace

std::string_view twin_reason_name(TwinReason reason) {
  switch (reason) {
    case TwinReason::never_differ:
      return "never_differ";
    case TwinReason::order_only:
      return "order_only";
    case TwinReason::preemption_timing:
      return "preemption_timing";
    case TwinReason::drafts_in_flight:
      return "drafts_in_flight";
    case TwinReason::ended_a_frame_later:
      return "ended_a_frame_later";
    case TwinReason::freed_in_other_order:
      return "freed_in_other_order";
  }
  return {};
}

std::string Twins::name_of(const TwinRun& run) const {
  const TwinNames names = names_of(base, twin);
  return &run == &base ? names.base : names.twin;
}

EngineSettings twin_settings(const Scenario& scenario) {
  if (scenario.twin) return *scenario.twin;
  EngineSettings change;
  change.async_scheduling = !resolved_async_scheduling(scenario.settings).async_scheduling;
  return change;
}

EngineSettings changed_settings(const EngineSettings& base, const EngineSettings& change) {
  EngineSettings settings = base;
  for (const Setting& setting : settings_table())
    if (const auto value = setting.load(change, setting)) setting.store(settings, setting, *value);
  return settings;
}

Result<Twins> run_twins(const Scenario& scenario, const std::string& file,
                        const LanguageModel& language) {
  const EngineSettings changed = twin_settings(scenario);
  auto base = run_of(scenario, scenario.settings, file, language);
  if (!base.ok()) return base.error();
  auto twin = run_of(scenario, changed_settings(scenario.settings, changed), file, language);
  if (!twin.ok()) return twin.error();
  Twins twins{.base = std::move(base).value(),
              .twin = std::move(twin).value(),
              .changed = changed,
              .comparison = {},
              .differing_texts = {}};
  twins.comparison = compare_twins(twins.base, twins.twin, names_of(twins.base, twins.twin));
  if (twins.base.texts && twins.twin.texts)
    twins.differing_texts = differing_texts(*twins.base.texts, *twins.twin.texts);
  return twins;
}

const TwinRow* find_row(const TwinFrame* frame, const std::string& request) {
  if (frame == nullptr) return nullptr;
  const auto found = std::ranges::find(frame->rows, request, &TwinRow::request);
  return found == frame->rows.end() ? nullptr : &*found;
}

const TwinFrame* find_frame(const TwinRun& run, std::int64_t step) {
  const auto found = std::ranges::lower_bound(run.frames, step, {}, &TwinFrame::step);
  return found == run.frames.end() || found->step != step ? nullptr : &*found;
}

bool block_ids_differ(const TwinRow* base, const TwinRow* twin) {
  const auto has_blocks = [](const TwinRow* row) {
    return row != nullptr &&
           std::ranges::any_of(row->new_block_ids, [](const auto& ids) { return !ids.empty(); });
  };
  if (base == nullptr || twin == nullptr) return has_blocks(base) || has_blocks(twin);
  return base->new_block_ids != twin->new_block_ids;
}

std::string block_ids_words(const std::vector<std::vector<std::int32_t>>& ids) {
  std::string text;
  for (const auto& group : ids) text += fmt::format("[{}]", fmt::join(group, " "));
  return text;
}

}  // namespace hybridscope
