#include "sessions/plan/setting_tries.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "sessions/plan/plan_goals.h"
#include "sessions/plan/plan_meter.h"
#include "sessions/run/checked_run.h"
#include "sessions/run/drive.h"
#include "sessions/run/run_plan.h"
#include "sessions/text/number_words.h"

namespace hybridscope {
namespace {

constexpr std::int64_t kStepsBetweenAnswers = 256;

// Runs the plan; empty if go_on ended it. Error: the plan cannot be run.
Result<std::optional<SettingTry>> try_plan(RunPlan plan, std::string name,
                                           const std::function<bool()>& go_on) {
  PlanMeter meter(plan.setup.config);
  auto run = CheckedRun::create(std::move(plan), {.check = std::nullopt});
  if (!run.ok()) return run.error();
  SettingTry made{.name = std::move(name)};
  const auto driven = drive(
      run.value(),
      [&](const CheckedStep& step) {
        meter.add(step.trace);
        for (const ScheduledTrace& row : step.trace.scheduled)
          if (row.admission == Admission::new_request)
            made.hits[run.value().engine().name_of(row.request)] = row.num_hit_tokens;
      },
      [&] { return go_on && run.value().num_steps() % kStepsBetweenAnswers == 0 && !go_on(); });
  if (!driven.ok()) return driven.error();
  if (driven.value() == Going::stop) return std::optional<SettingTry>();
  made.figures = meter.figures();
  return std::optional(std::move(made));
}

// "hit tokens 150,144 rather than 66,080"; "steps 9, as before".
std::string counted_change(std::string_view name, std::int64_t now, std::int64_t before) {
  return now == before ? fmt::format("{} {}, as before", name, grouped_number(now))
                       : fmt::format("{} {} rather than {}", name, grouped_number(now),
                                     grouped_number(before));
}

// Hit tokens and steps always, then what differs most.
std::string price_of(const PlanFigures& now, const PlanFigures& before) {
  constexpr std::array<std::string_view, 2> kTold = {"hits", "steps"};
  const std::string others = figure_differences(now, before, {}, kTold);
  return fmt::format("{}, {}{}{}", counted_change("hit tokens", now.hit_tokens, before.hit_tokens),
                     counted_change("steps", now.steps, before.steps), others.empty() ? "" : ", ",
                     others);
}

}  // namespace

Result<SettingTries> SettingTries::run(const RunPlan& plan, std::span<const SweepAxis> axes,
                                       const std::function<bool()>& go_on) {
  SettingTries made;
  auto as_given = try_plan(plan, "as given", go_on);
  if (!as_given.ok()) return as_given.error();
  made.complete_ = as_given.value().has_value();
  if (made.complete_) made.as_given_ = std::move(*as_given.value());
  for (const SweepAxis& axis : axes) {
    auto sweep = Sweep::create(without_swept(plan.settings, std::span(&axis, 1)), {axis});
    if (!sweep.ok()) return sweep.error();
    for (std::int64_t index = 0; index < sweep.value().size() && made.complete_; ++index) {
      const PlanCase of = sweep.value().at(index);
      const auto settings = sweep.value().settings(of, plan.setup.layout.model);
      auto changed = settings.ok()
                         ? with_settings(plan, [&](EngineSettings& own) { own = settings.value(); })
                         : Result<RunPlan>(settings.error());
      if (!changed.ok()) {
        made.tries_.push_back({.name = of.name, .refused = changed.error().message});
        continue;
      }
      auto tried = try_plan(std::move(changed).value(), of.name, go_on);
      if (!tried.ok()) {
        made.tries_.push_back({.name = of.name, .refused = tried.error().message});
      } else if (tried.value()) {
        made.tries_.push_back(std::move(*tried.value()));
      } else {
        made.complete_ = false;
      }
    }
  }
  return made;
}

std::vector<HelpfulSetting> SettingTries::that_help(std::string_view request) const {
  std::vector<HelpfulSetting> helpful;
  const auto own = as_given_.hits.find(request);
  if (own == as_given_.hits.end()) return helpful;
  for (const SettingTry& one : tries_)
    if (const auto hit = one.hits.find(request); hit != one.hits.end() && hit->second > own->second)
      helpful.push_back({.name = one.name,
                         .num_hit_tokens = hit->second,
                         .price = price_of(one.figures, as_given_.figures)});
  std::ranges::stable_sort(helpful, std::greater(), &HelpfulSetting::num_hit_tokens);
  return helpful;
}

}  // namespace hybridscope
