// Commands for the engine that the window is attached to.
#include <fmt/core.h>

#include <string>
#include <vector>

#include "gui/model/command_arguments.h"
#include "gui/model/command_table.h"
#include "gui/model/workbench.h"
#include "sessions/scenario/scenario.h"

namespace hybridscope {
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
