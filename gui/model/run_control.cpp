#include "gui/model/run_control.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <utility>

#include "gui/model/workbench.h"
#include "sessions/breakpoint/break_fields.h"

namespace hybridscope {

void RunControl::set_speed(int speed) {
  speed_ = std::clamp(speed, 0, static_cast<int>(kSpeeds.size()) - 1);
  next_due_us_ = 0;
}

void RunControl::play() {
  motion_ = RunMotion::playing;
  stops_at_breakpoints_ = true;
  next_due_us_ = 0;
}

void RunControl::go(std::int64_t target, bool stops_at_breakpoints) {
  motion_ = RunMotion::going;
  target_ = target;
  stops_at_breakpoints_ = stops_at_breakpoints;
  returns_ = false;
}

void RunControl::return_to(std::int64_t target) {
  go(target, false);
  returns_ = true;
}

// Late steps are not caught up.
bool RunControl::is_due(std::int64_t now_us) {
  const std::int32_t speed = kSpeeds[static_cast<std::size_t>(speed_)];
  if (motion_ != RunMotion::playing || speed == 0) return true;
  if (now_us < next_due_us_) return false;
  next_due_us_ = now_us + 1'000'000 / speed;
  return true;
}

std::optional<MotionEnd> RunControl::step_once(ShownRun& run, Breakpoints& breakpoints) {
  const Result<bool> moved = run.forward();
  if (!moved.ok())
    return MotionEnd{.words = moved.error().message, .stop = {}, .error = moved.error()};
  if (!moved.value())
    return MotionEnd{
        .words = fmt::format("the run ends with step {}", run.step()), .stop = {}, .error = {}};
  const auto stop = breakpoints.check(run.view());
  if (stop && stops_at_breakpoints_)
    return MotionEnd{.words = fmt::format("step {}: {}", run.step(), stop->hit.words),
                     .stop = *stop,
                     .error = {}};
  if (motion_ == RunMotion::going && run.step() >= target_)
    return MotionEnd{.words = fmt::format("step {}", run.step()), .stop = {}, .error = {}};
  return std::nullopt;
}

std::optional<MotionEnd> RunControl::advance(ShownRun& run, Breakpoints& breakpoints,
                                             const Slice& slice) {
  if (motion_ == RunMotion::paused) return std::nullopt;
  const std::int64_t start = slice.clock_us();
  std::int64_t now = start;
  do {
    if (!is_due(now)) return std::nullopt;
    if (auto end = step_once(run, breakpoints)) {
      motion_ = RunMotion::paused;
      return end;
    }
    now = slice.clock_us();
  } while (now - start < slice.budget_us);
  return std::nullopt;
}

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

namespace {

constexpr std::array<ColumnWords, 4> kBreakpointColumns = {{
    {"On", "Does the run stop there?", ColumnKind::words},
    {"Hits", "The steps for which it held"},
    {"Expression", {}, ColumnKind::wrapped},
    {"Remove", {}, ColumnKind::action},
}};

TableRow row_of(const Breakpoint& breakpoint, std::size_t index) {
  const std::string number = fmt::format("{}", index + 1);
  return {with_extras(flag_cell(breakpoint.enabled), {.clicks = {{"breakpoint.toggle", number}},
                                                      .mark = "breakpoint on " + number}),
          number_cell(breakpoint.hits()), words_cell(breakpoint.condition.text()),
          with_extras({}, {.clicks = {{"breakpoint.remove", number}},
                           .label = "Remove",
                           .mark = "breakpoint remove " + number})};
}

Status check_expression(const std::string& expression) { return Breakpoints().add(expression); }

}  // namespace

Picture breakpoints_picture(Workbench& workbench) {
  Picture picture{.fields = {{.mark = "breakpoint field",
                              .hint = "finding    copy.copies && copy.src_col==copy.dst_col    "
                                      "block==17 && written",
                              .command = "breakpoint.add",
                              .button = "Add",
                              .check = check_expression}},
                  .buttons = {{"Run on",
                               {"run.to_breakpoint"},
                               "To the next step for which one of them holds (Ctrl+F5)"}},
                  .help_title = "What can be asked",
                  .help = break_help()};
  const std::vector<Breakpoint>& list = workbench.breakpoints().list();
  if (list.empty()) {
    add_note(picture,
             "No breakpoint is set. An expression asks about one step; the run stops at each step "
             "for which it holds.");
    return picture;
  }
  Table table{.title = "Breakpoints", .headings = headings_of(kBreakpointColumns)};
  for (std::size_t i = 0; i < list.size(); ++i) table.rows.push_back(row_of(list[i], i));
  picture.tables.push_back(std::move(table));
  return picture;
}

}  // namespace hybridscope
