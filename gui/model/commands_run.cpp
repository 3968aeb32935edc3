// Commands that move in the run, set breakpoints, and hold an attached engine.

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "gui/model/command_table.h"
#include "gui/model/workbench.h"
#include "sessions/scenario/scenario.h"

namespace hybridscope {
namespace {

constexpr std::int64_t kTheEnd = std::numeric_limits<std::int64_t>::max();

Status play(Workbench& workbench, const std::string&) {
  if (workbench.is_moving()) {
    workbench.control().pause();
    workbench.say(NoticeKind::info, "paused");
  } else {
    workbench.control().play();
    workbench.say(NoticeKind::info, "playing");
  }
  return Ok{};
}

Status say_if_not(Workbench& workbench, const Result<bool>& moved, std::string_view otherwise) {
  if (!moved.ok()) return moved.error();
  if (!moved.value()) workbench.say(NoticeKind::info, std::string(otherwise));
  return Ok{};
}

Status step(Workbench& workbench, const std::string&) {
  workbench.control().pause();
  const Result<bool> moved = workbench.run()->forward();
  if (moved.ok() && moved.value()) workbench.breakpoints().check(workbench.run()->view());
  return say_if_not(workbench, moved,
                    workbench.attached() == nullptr
                        ? "the run is over: there is no step after this one"
                        : "this is the newest step");
}

Status step_back(Workbench& workbench, const std::string&) {
  workbench.control().pause();
  return say_if_not(workbench, workbench.run()->back(), "this is the first step");
}

// Continues from the last known step, which may be far away.
Status go_on_to(Workbench& workbench, std::int64_t target) {
  ShownRun& run = *workbench.run();
  if (run.step() < run.last_known_step() && !run.begin_go_to(run.last_known_step()))
    if (Status moved = run.go_to(run.last_known_step()); !moved.ok()) return moved;
  workbench.control().go(target, false);
  return Ok{};
}

Status go_to(Workbench& workbench, const std::string& argument) {
  const auto target = read_number(argument, {"STEP", 1, kMaxStep});
  if (!target.ok()) return target.error();
  ShownRun& run = *workbench.run();
  if (target.value() <= run.last_known_step() || run.is_whole())
    return workbench.go_to(target.value());
  return go_on_to(workbench, target.value());
}

Status go_to_start(Workbench& workbench, const std::string&) {
  const auto marks = workbench.run()->marks();
  return marks.empty() ? step(workbench, {}) : workbench.go_to(marks.front().step);
}

Status go_to_end(Workbench& workbench, const std::string&) {
  if (workbench.attached() != nullptr) return workbench.follow_newest();
  ShownRun& run = *workbench.run();
  return run.is_whole() ? workbench.go_to(run.last_known_step()) : go_on_to(workbench, kTheEnd);
}

Status run_to_breakpoint(Workbench& workbench, const std::string&) {
  if (workbench.breakpoints().list().empty())
    return invalid_input("no breakpoint is set: add one with breakpoint.add");
  const RecordLevel level = workbench.run()->level();
  if (Status kept = workbench.breakpoints().check_level(level); !kept.ok()) return kept;
  workbench.control().go(kTheEnd, true);
  return Ok{};
}

// Goes to the nearest known step before or after the shown one for which `wanted` holds.
Status go_to_mark(Workbench& workbench, bool forward, bool (*wanted)(const StepMark&),
                  std::string_view what) {
  const auto marks = workbench.run()->marks();
  const std::int64_t here = workbench.run()->step();
  const StepMark* found = nullptr;
  for (const StepMark& mark : marks) {
    if (!wanted(mark) || (forward ? mark.step <= here : mark.step >= here)) continue;
    found = &mark;
    if (forward) break;
  }
  if (found == nullptr) {
    workbench.control().pause();
    const bool more_can_come = forward && !workbench.run()->is_whole();
    workbench.say(NoticeKind::info,
                  fmt::format("no step {} this one has {}{}", forward ? "after" : "before", what,
                              more_can_come ? " so far; more can come (End)" : ""));
    return Ok{};
  }
  return workbench.go_to(found->step);
}

bool has_finding(const StepMark& mark) { return mark.errs || mark.warns; }
bool has_event(const StepMark& mark) {
  return mark.copies || mark.evicts || mark.preempts || has_finding(mark);
}

// The finding after or before the one gone to last, if the run is still at its step; else the first
// one after or the last one before the shown step, including that step; -1: none is listed.
std::ptrdiff_t finding_beside(const Workbench& workbench, bool forward) {
  const auto findings = workbench.run()->findings();
  const auto count = static_cast<std::ptrdiff_t>(findings.size());
  const std::int64_t here = workbench.run()->step();
  const std::ptrdiff_t shown = workbench.selection().finding;
  const auto step_of = [&](std::ptrdiff_t i) {
    return findings[static_cast<std::size_t>(i)].finding.step;
  };
  if (shown >= 0 && shown < count && step_of(shown) == here) {
    const std::ptrdiff_t beside = forward ? shown + 1 : shown - 1;
    return beside < count ? beside : -1;
  }
  std::ptrdiff_t found = -1;
  for (std::ptrdiff_t i = 0; i < count; ++i) {
    if (forward ? step_of(i) < here : step_of(i) > here) continue;
    found = i;
    if (forward) break;
  }
  return found;
}

// Only the first findings of each rule are listed; steps with others are marked.
bool marked_between(const Workbench& workbench, std::int64_t from, std::int64_t to) {
  return std::ranges::any_of(workbench.run()->marks(), [&](const StepMark& mark) {
    return mark.step > std::min(from, to) && mark.step < std::max(from, to) && has_finding(mark);
  });
}

Status go_to_finding(Workbench& workbench, bool forward) {
  const std::ptrdiff_t found = finding_beside(workbench, forward);
  if (found < 0) return go_to_mark(workbench, forward, has_finding, "a finding");
  const ShownFinding& shown = workbench.run()->findings()[static_cast<std::size_t>(found)];
  if (marked_between(workbench, workbench.run()->step(), shown.finding.step))
    return go_to_mark(workbench, forward, has_finding, "a finding");
  const std::string words = shown.text;
  if (Status moved = workbench.go_to(shown.finding.step); !moved.ok()) return moved;
  workbench.select_finding(static_cast<std::size_t>(found));
  workbench.say(NoticeKind::info, words);
  return Ok{};
}

template <bool forward>
Status finding_to(Workbench& workbench, const std::string&) {
  return go_to_finding(workbench, forward);
}
template <bool forward>
Status event_to(Workbench& workbench, const std::string&) {
  return go_to_mark(workbench, forward, has_event, "a mark");
}

Status set_speed(Workbench& workbench, const std::string& argument) {
  const auto speed = read_number(argument, {"SPEED", 1, RunControl::kSpeeds.size()});
  if (!speed.ok()) return speed.error();
  workbench.control().set_speed(static_cast<int>(speed.value() - 1));
  return Ok{};
}
template <int change>
Status change_speed(Workbench& workbench, const std::string&) {
  workbench.control().set_speed(workbench.control().speed() + change);
  return Ok{};
}

Status add_breakpoint(Workbench& workbench, const std::string& argument) {
  RecordLevel level = RecordLevel::full;
  if (workbench.attached() != nullptr) level = workbench.attached()->level();
  if (const ShownRun* run = workbench.run()) level = run->level();
  return workbench.breakpoints().add(argument, level);
}

Result<std::size_t> breakpoint_of(Workbench& workbench, const std::string& argument) {
  const std::size_t count = workbench.breakpoints().list().size();
  if (count == 0) return invalid_input("no breakpoint is set");
  const auto number = read_number(argument, {"NUMBER", 1, static_cast<std::int64_t>(count)});
  if (!number.ok()) return number.error();
  return static_cast<std::size_t>(number.value() - 1);
}

Status remove_breakpoint(Workbench& workbench, const std::string& argument) {
  const auto index = breakpoint_of(workbench, argument);
  if (!index.ok()) return index.error();
  workbench.breakpoints().remove(index.value());
  return Ok{};
}
Status toggle_breakpoint(Workbench& workbench, const std::string& argument) {
  const auto index = breakpoint_of(workbench, argument);
  if (!index.ok()) return index.error();
  workbench.breakpoints().toggle(index.value());
  return Ok{};
}
Status clear_breakpoints(Workbench& workbench, const std::string&) {
  workbench.breakpoints().clear();
  return Ok{};
}

constexpr CommandRow kRunCommands[] = {
    {"run.play", "Run", "Play or pause", "Space F5", "", kNeedsRun, play},
    {"run.step", "Run", "Step", "Right F10 .", "", kNeedsRun, step},
    {"run.step_back", "Run", "Step back", "Left Shift+F10 ,", "", kNeedsRun, step_back},
    {"run.go_to", "Run", "Go to step", "G Ctrl+G", "STEP", kNeedsRun, go_to},
    {"run.start", "Run", "Go to the first step", "Home", "", kNeedsRun, go_to_start},
    {"run.end", "Run", "Run to the end, or follow the newest step", "End", "", kNeedsRun,
     go_to_end},
    {"run.to_breakpoint", "Run", "Run to the next breakpoint", "Ctrl+F5", "", kNeedsRun,
     run_to_breakpoint},
    {"run.next_event", "Run", "Next mark", "Ctrl+Right", "", kNeedsRun, event_to<true>},
    {"run.previous_event", "Run", "Previous mark", "Ctrl+Left", "", kNeedsRun, event_to<false>},
    {"run.next_finding", "Run", "Next finding", "F4", "", kNeedsRun, finding_to<true>},
    {"run.previous_finding", "Run", "Previous finding", "Shift+F4", "", kNeedsRun,
     finding_to<false>},
    {"run.speed", "Run", "Set the speed", "", "1..5", kNeedsNothing, set_speed},
    {"run.faster", "Run", "Play faster", "]", "", kNeedsNothing, change_speed<1>},
    {"run.slower", "Run", "Play slower", "[", "", kNeedsNothing, change_speed<-1>},
    {"breakpoint.add", "Run", "Add a breakpoint", "F9", "EXPRESSION", kNeedsNothing,
     add_breakpoint},
    {"breakpoint.remove", "Run", "Remove a breakpoint", "", "NUMBER", kNeedsNothing,
     remove_breakpoint},
    {"breakpoint.toggle", "Run", "Switch a breakpoint on or off", "", "NUMBER", kNeedsNothing,
     toggle_breakpoint},
    {"breakpoint.clear", "Run", "Remove all breakpoints", "Ctrl+Shift+F9", "", kNeedsNothing,
     clear_breakpoints},
};

}  // namespace

std::span<const CommandRow> run_commands() { return kRunCommands; }

// Commands for the engine that the window is attached to.

namespace {

Status follow(Workbench& workbench, const std::string&) {
  AttachedEngine& engine = *workbench.attached();
  if (!engine.follows()) return workbench.follow_newest();
  engine.stay();
  return Ok{};
}

Status hold(Workbench& workbench, const std::string&) {
  if (workbench.attached()->status().hold) return invalid_input("the engine is held already");
  return workbench.attached()->hold();
}

Status resume(Workbench& workbench, const std::string&) { return workbench.attached()->resume(); }

Status hold_at_findings(Workbench& workbench, const std::string&) {
  AttachedEngine& engine = *workbench.attached();
  engine.hold_at_findings(!engine.holds_at_findings());
  return Ok{};
}

Status wait_for_step(Workbench& workbench, const std::string& argument) {
  constexpr std::int64_t kMostSeconds = 86'400;
  const auto words = words_of(argument);
  if (!words.ok()) return words.error();
  const std::vector<std::string>& given = words.value();
  if (given.empty() || given.size() > 2)
    return invalid_input(fmt::format("expected STEP [SECONDS], found {} words", given.size()));
  const auto step = read_number(given[0], {"STEP", 1, kMaxStep});
  if (!step.ok()) return step.error();
  std::int64_t seconds = AttachedEngine::kPatienceSeconds;
  if (given.size() == 2) {
    const auto read = read_number(given[1], {"SECONDS", 1, kMostSeconds});
    if (!read.ok()) return read.error();
    seconds = read.value();
  }
  workbench.attached()->wait_for(step.value(), seconds);
  return Ok{};
}

Status detach(Workbench& workbench, const std::string&) {
  workbench.detach();
  return Ok{};
}

constexpr CommandNeeds kAttached = CommandNeeds::attached;

constexpr CommandRow kEngineCommands[] = {
    {"engine.follow", "Run", "Engine: follow the newest step, or stay at this one", "F", "",
     kAttached, follow},
    {"engine.hold", "Run", "Engine: hold before its next step", "H", "", kAttached, hold},
    {"engine.continue", "Run", "Engine: let it continue", "C", "", kAttached, resume},
    {"engine.hold_at_findings", "Run", "Engine: hold at findings, or no longer", "", "", kAttached,
     hold_at_findings},
    {"engine.wait", "", "Engine: wait for a step", "", "STEP [SECONDS]", kAttached, wait_for_step},
    {"engine.detach", "Run", "Engine: detach, and keep what was read", "", "", kAttached, detach},
};

}  // namespace

std::span<const CommandRow> engine_commands() { return kEngineCommands; }

}  // namespace hybridscope
