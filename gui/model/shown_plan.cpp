#include "gui/model/shown_plan.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "core/model/model_presets.h"
#include "gui/model/command_table.h"
#include "gui/model/live_run.h"
#include "sessions/plan/plan_run.h"
#include "sessions/traffic/load_traffic.h"

namespace hybridscope {
namespace {

namespace fs = std::filesystem;

// Runs that are shown fold their prompts themselves.
constexpr std::size_t kWaysKept = 1;

// A file that the results name, or where it is gone the one of its name beside them.
std::string place_of(const std::string& named, const std::string& results) {
  std::error_code ignored;
  const fs::path beside = fs::path(results).parent_path() / fs::path(named).filename();
  return !fs::exists(named, ignored) && fs::exists(beside, ignored) ? beside.string() : named;
}

Result<std::unique_ptr<PlanTraffic>> traffic_at(const std::string& place,
                                                const PlanHeader& header) {
  auto traffic = load_traffic(place, header.how_read);
  if (!traffic.ok()) return traffic.error();
  auto made = std::make_unique<PlanTraffic>(header.traffic, std::move(traffic).value(),
                                            header.limit, kWaysKept);
  if (made->digest() != header.digest)
    return invalid_input(
        fmt::format("{}: not the traffic of the plan: its requests differ (found {}, expected {})",
                    place, made->digest(), header.digest));
  return made;
}

Status check_model(const PlanHeader& header) {
  const auto layout = layout_digest(header.model);
  if (!layout.ok()) return layout.error();
  if (layout.value() == header.layout) return Ok{};
  return invalid_input(
      fmt::format("{}: not the model of the plan: its shapes differ (found {}, "
                  "expected {})",
                  header.model, layout.value(), header.layout));
}

}  // namespace

Result<std::unique_ptr<ShownPlan>> ShownPlan::open(const std::string& file) {
  auto contents = read_plan(file);
  if (!contents.ok()) return contents.error();
  std::string& model = contents.value().header.model;
  if (!model_preset(model).ok()) model = place_of(model, file);
  auto sweep = sweep_of(contents.value().header);
  if (!sweep.ok()) return sweep.error();  // read_plan has made the same
  auto plan = std::unique_ptr<ShownPlan>(
      new ShownPlan(file, std::move(contents).value(), std::move(sweep).value()));
  if (Status chosen = plan->prefer(kDefaultGoals); !chosen.ok()) return chosen.error();
  const PlanView view = plan->view();
  if (!view.results.empty())
    plan->selected_ =
        view.results[view.choice.has_recommendation() ? view.choice.recommended() : 0].name;
  return plan;
}

ShownPlan::ShownPlan(std::string file, PlanContents contents, Sweep sweep)
    : file_(std::move(file)), contents_(std::move(contents)), sweep_(std::move(sweep)) {}

Status ShownPlan::prefer(std::string_view goals) {
  auto parsed = parse_goals(goals);
  if (!parsed.ok()) return parsed.error();
  if (Status timed = check_goals(parsed.value(), !header().step_time.empty()); !timed.ok())
    return timed;
  goals_ = std::move(parsed).value();
  const std::int64_t num_requests =
      traffic_ == nullptr ? 0 : std::ssize(traffic_->traffic().requests);
  story_ = std::make_unique<const PlanStory>(contents_, sweep_, goals_, num_requests);
  return Ok{};
}

std::string ShownPlan::goals() const {
  std::string text;
  for (const PlanGoal* goal : goals_)
    text += fmt::format("{}{}", text.empty() ? "" : ",", goal->name);
  return text;
}

std::optional<std::size_t> ShownPlan::selected() const {
  const PlanView shown = view();
  const auto found = std::ranges::find(shown.results, selected_, &PlanResult::name);
  if (found == shown.results.end()) return std::nullopt;
  return static_cast<std::size_t>(found - shown.results.begin());
}

Status ShownPlan::select(std::string_view name) {
  const PlanView shown = view();
  if (std::ranges::find(shown.results, name, &PlanResult::name) == shown.results.end()) {
    std::vector<NamedId> known;
    for (const PlanResult& result : shown.results) known.push_back({result.name, {}});
    return Error{ErrorKind::not_found, fmt::format("the plan has no result of \"{}\"{}", name,
                                                   near_ids_hint(name, known))};
  }
  selected_ = name;
  return Ok{};
}

Status ShownPlan::read_traffic_from(const std::string& place) {
  auto traffic = traffic_at(place, header());
  if (!traffic.ok()) return traffic.error();
  traffic_ = std::move(traffic).value();
  return prefer(goals());  // the number of requests is known now
}

void ShownPlan::take_traffic_of(ShownPlan& earlier) {
  if (earlier.traffic_ == nullptr || earlier.header().digest != header().digest) return;
  traffic_ = std::move(earlier.traffic_);
  (void)prefer(goals());
}

Status ShownPlan::find_traffic() {
  if (traffic_ != nullptr) return Ok{};
  if (header().traffic == kSyntheticTraffic) return read_traffic_from(header().traffic);
  std::error_code ignored;
  const std::string place = place_of(header().traffic, file_);
  if (!fs::exists(place, ignored))
    return Error{ErrorKind::not_found,
                 fmt::format("{}: the plan's traffic is not there, nor beside {}; plan.traffic "
                             "FILE says where it is",
                             header().traffic, file_)};
  return read_traffic_from(place);
}

Result<std::unique_ptr<ShownRun>> ShownPlan::run_selected() {
  const auto at = selected();
  if (!at) return Error{ErrorKind::not_found, "no combination is selected"};
  if (Status found = find_traffic(); !found.ok()) return found.error();
  const PlanResult& result = view().results[*at];
  if (!result.has_steps()) return invalid_input(fmt::format("{}: {}", result.name, result.refused));
  if (Status same = check_model(header()); !same.ok()) return same.error();
  PlanRunOptions how{.model = header().model};
  if (!header().step_time.empty()) {
    auto time = parse_step_time(header().step_time);
    if (!time.ok()) return time.error();
    how.step_time = time.value();
  }
  const std::optional<PlanCase> of = sweep_.called(result.name);
  auto plan = run_plan_of(sweep_, of.value(), *traffic_, how);
  if (!plan.ok()) return plan.error();
  if (plan_sizes_of(plan.value().setup) != result.sizes)
    return invalid_input(fmt::format(
        "{}: this program is not that of the plan: blocks have other sizes now", header().model));
  plan.value().name = fmt::format("{} on {}", result.name, header().traffic);
  auto run = LiveRun::create(std::move(plan).value());
  if (!run.ok()) return run.error();
  return std::unique_ptr<ShownRun>(std::move(run).value());
}

}  // namespace hybridscope
