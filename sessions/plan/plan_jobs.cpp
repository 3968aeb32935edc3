#include "sessions/plan/plan_jobs.h"

#include <fmt/core.h>
#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "core/engine/prefix_fingerprints.h"
#include "sessions/run/checked_run.h"
#include "sessions/run/drive.h"
#include "sessions/run/work_in_threads.h"
#include "sessions/scenario/engine_setup.h"
#include "sessions/text/number_words.h"

namespace hybridscope {
namespace {

// More combinations are run in their own order: the order below needs an engine's set-up of each.
constexpr std::size_t kMostSorted = 10'000;

class PlanJobs {
 public:
  PlanJobs(const Sweep& sweep, PlanTraffic& traffic,
           const std::map<std::string, PlanResult>& earlier, const PlanSearchOptions& options)
      : sweep_(sweep),
        traffic_(traffic),
        earlier_(earlier),
        options_(options),
        searches_(options.budget > 0 && options.budget < sweep.size()) {}

  Result<PlanOutcome> run() {
    const auto finished = searches_ ? search() : all();
    if (!finished.ok()) return finished.error();
    PlanOutcome outcome{.results = {}, .interrupted = !finished.value()};
    for (auto& [index, result] : results_) outcome.results.push_back(std::move(result));
    return outcome;
  }

 private:
  using Indices = std::vector<std::int64_t>;

  // Runs these combinations unless there are results. False: interrupted.
  Result<bool> run_all_of(const Indices& wanted) {
    std::vector<PlanCase> cases;
    for (const std::int64_t index : wanted) {
      if (results_.contains(index)) continue;
      PlanCase of = sweep_.at(index);
      if (const auto there = earlier_.find(of.name + options_.run.name_suffix);
          there != earlier_.end()) {
        results_.emplace(index, there->second);
        ++progress_.earlier;
      } else {
        cases.push_back(std::move(of));
      }
    }
    if (!searches_) progress_.all = static_cast<std::int64_t>(cases.size());
    tell();
    sort_by_folding(cases);
    return work_in_threads<PlanResult>(
        options_.num_threads, cases.size(),
        [&](std::size_t i) { return run_plan_case(sweep_, cases[i], traffic_, options_.run); },
        [&](const PlanResult& result) { return keep(result, cases); });
  }

  Status keep(const PlanResult& result, const std::vector<PlanCase>& cases) {
    const std::size_t length = result.name.size() - options_.run.name_suffix.size();
    const auto of = std::ranges::find(cases, result.name.substr(0, length), &PlanCase::name);
    results_[sweep_.index_of(*of)] = result;
    ++progress_.done;
    tell();
    return options_.take ? options_.take(result) : Ok{};
  }

  void tell() {
    if (searches_) progress_.all = std::max(progress_.done, options_.budget - progress_.earlier);
    if (options_.progress) options_.progress(progress_);
  }

  // Puts cases that fold prompts in the same way one after the other, so that a prompt is folded
  // once for all of them.
  void sort_by_folding(std::vector<PlanCase>& cases) const {
    if (cases.size() > kMostSorted) return;
    std::vector<std::pair<PromptFolding, std::size_t>> order;
    for (const PlanCase& of : cases) {
      PromptFolding folding;
      if (const auto settings = sweep_.settings(of, options_.run.model); settings.ok())
        if (const auto setup = make_engine_setup(options_.run.model, settings.value()); setup.ok())
          folding = prompt_folding(setup.value().config);
      order.emplace_back(folding, order.size());
    }
    std::ranges::sort(order);
    std::vector<PlanCase> sorted;
    for (const auto& [folding, i] : order) sorted.push_back(std::move(cases[i]));
    cases = std::move(sorted);
  }

  Result<bool> all() {
    Indices wanted;
    for (std::int64_t index = 0; index < sweep_.size(); ++index)
      if (!options_.selects || options_.selects(sweep_.at(index).name)) wanted.push_back(index);
    return run_all_of(wanted);
  }

  // What is not possible costs nothing.
  std::int64_t left() const {
    return options_.budget -
           std::ranges::count_if(results_, [](const auto& entry) { return entry.second.ran(); });
  }
  // Runs the wanted combinations, but no more than the budget allows.
  Result<bool> run_some_of(Indices wanted) {
    for (;;) {
      std::erase_if(wanted, [&](std::int64_t index) { return results_.contains(index); });
      if (wanted.empty() || left() <= 0) return true;
      const auto count = std::min(std::ssize(wanted), left());
      const auto going = run_all_of(Indices(wanted.begin(), wanted.begin() + count));
      if (!going.ok() || !going.value()) return going;
    }
  }

  // Index of the recommended result so far; of the first combination if none ran.
  std::int64_t best() const {
    std::vector<PlanResult> results;
    Indices indices;
    for (const auto& [index, result] : results_) {
      indices.push_back(index);
      results.push_back(result);
    }
    const PlanChoice choice = choose(results, options_.goals);
    return choice.has_recommendation() ? indices[choice.recommended()] : 0;
  }

  // Combinations that differ from `from` in the value of one axis, itself included.
  Indices along(std::int64_t from, std::size_t axis) const {
    Indices indices;
    PlanCase of = sweep_.at(from);
    for (std::size_t value = 0; value < sweep_.axes()[axis].values.size(); ++value) {
      of.values[axis] = static_cast<std::int32_t>(value);
      const std::int64_t index = sweep_.index_of(of);
      if (std::ranges::find(indices, index) == indices.end()) indices.push_back(index);
    }
    return indices;
  }

  // All combinations, ordered by the number of axes in which they differ from the given one.
  Indices nearest(std::int64_t to) const {
    const PlanCase center = sweep_.at(to);
    std::vector<std::pair<std::size_t, std::int64_t>> order;
    for (std::int64_t index = 0; index < sweep_.size(); ++index) {
      const PlanCase of = sweep_.at(index);
      std::size_t differing = 0;
      for (std::size_t axis = 0; axis < of.values.size(); ++axis)
        differing += of.values[axis] == center.values[axis] ? 0 : 1;
      order.emplace_back(differing, index);
    }
    std::ranges::sort(order);
    Indices indices;
    for (const auto& [differing, index] : order) indices.push_back(index);
    return indices;
  }

  Result<bool> search() {
    auto going = run_some_of({0});
    for (std::int64_t before = -1; going.ok() && going.value() && before != best();) {
      before = best();
      for (std::size_t axis = 0; axis < sweep_.axes().size() && left() > 0; ++axis)
        if (going = run_some_of(along(best(), axis)); !going.ok() || !going.value()) return going;
    }
    if (!going.ok() || !going.value() || left() <= 0) return going;
    return run_some_of(nearest(best()));
  }

  const Sweep& sweep_;
  PlanTraffic& traffic_;
  const std::map<std::string, PlanResult>& earlier_;
  const PlanSearchOptions& options_;
  bool searches_;
  std::map<std::int64_t, PlanResult> results_;  // by index in the sweep
  PlanProgress progress_;
};

}  // namespace

Result<PlanOutcome> run_plan(const Sweep& sweep, PlanTraffic& traffic,
                             const std::map<std::string, PlanResult>& earlier,
                             const PlanSearchOptions& options) {
  return PlanJobs(sweep, traffic, earlier, options).run();
}

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
