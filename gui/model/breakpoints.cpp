#include "gui/model/breakpoints.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

namespace hybridscope {

namespace {

Status check_kept(const BreakCondition& condition, RecordLevel level) {
  if (level == RecordLevel::full || !condition.reads_writes()) return Ok{};
  return invalid_input(
      fmt::format("the breakpoint \"{}\" asks about writes, which are kept at level full; this "
                  "session is at level {}",
                  condition.text(), record_level_name(level)));
}

void count(Breakpoint& breakpoint, std::int64_t step) {
  std::vector<std::int64_t>& held = breakpoint.held;
  const auto place = std::ranges::lower_bound(held, step);
  if (place == held.end() || *place != step) held.insert(place, step);
}

}  // namespace

Status Breakpoints::check_level(RecordLevel level) const {
  for (const Breakpoint& breakpoint : list_)
    if (breakpoint.enabled)
      if (Status kept = check_kept(breakpoint.condition, level); !kept.ok()) return kept;
  return Ok{};
}

Status Breakpoints::add(std::string_view expression, RecordLevel level) {
  auto condition = BreakCondition::parse(expression);
  if (!condition.ok()) return condition.error();
  if (Status kept = check_kept(condition.value(), level); !kept.ok()) return kept;
  const bool known = std::ranges::any_of(list_, [&](const Breakpoint& breakpoint) {
    return breakpoint.condition.text() == condition.value().text();
  });
  if (known)
    return invalid_input("there is a breakpoint \"" + std::string(expression) + "\" already");
  list_.push_back({.condition = std::move(condition).value()});
  return Ok{};
}

bool Breakpoints::remove(std::size_t index) {
  if (index >= list_.size()) return false;
  list_.erase(list_.begin() + static_cast<std::ptrdiff_t>(index));
  return true;
}

bool Breakpoints::toggle(std::size_t index) {
  if (index >= list_.size()) return false;
  list_[index].enabled = !list_[index].enabled;
  return true;
}

void Breakpoints::count_hit(std::string_view expression, std::int64_t step) {
  for (Breakpoint& breakpoint : list_)
    if (breakpoint.condition.text() == expression) count(breakpoint, step);
}

void Breakpoints::clear_hits() {
  for (Breakpoint& breakpoint : list_) breakpoint.held.clear();
}

void Breakpoints::forget_hits_after(std::int64_t step) {
  for (Breakpoint& breakpoint : list_)
    std::erase_if(breakpoint.held, [step](std::int64_t held) { return held > step; });
}

std::optional<Breakpoints::Stop> Breakpoints::check(const StepView& view) {
  std::optional<Stop> stop;
  const BreakStep step{.trace = view.trace, .findings = view.findings, .writes = view.writes};
  for (std::size_t i = 0; i < list_.size(); ++i) {
    if (!list_[i].enabled) continue;
    std::optional<BreakHit> hit = list_[i].condition.holds(step, view.names.request);
    if (!hit) continue;
    count(list_[i], view.trace.step);
    if (!stop) stop = Stop{.index = i, .hit = *std::move(hit)};
  }
  return stop;
}

}  // namespace hybridscope
