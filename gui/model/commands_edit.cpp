// Commands that change the run from the step after the shown one, each by an undoable fork of the
// plan; and commands that copy panels.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "gui/model/command_arguments.h"
#include "gui/model/command_table.h"
#include "gui/model/panel_export.h"
#include "gui/model/workbench.h"
#include "sessions/scenario/settings_table.h"

namespace hybridscope {
namespace {

Result<RequestCount> read_request_count(const std::string& argument) {
  const auto words = read_words(argument, "REQUEST COUNT");
  if (!words.ok()) return words.error();
  const auto count = read_number(words.value()[1], {"COUNT", 0, kMaxOutputTokens});
  if (!count.ok()) return count.error();
  return RequestCount{words.value()[0], static_cast<std::int32_t>(count.value())};
}

Status accept(Workbench& workbench, const std::string& argument) {
  const auto count = read_request_count(argument);
  if (!count.ok()) return count.error();
  ForkAt at;
  at.changes.accept = {count.value()};
  return workbench.change_plan(at);
}

Status set_drafts(Workbench& workbench, const std::string& argument) {
  const auto count = read_request_count(argument);
  if (!count.ok()) return count.error();
  ForkAt at;
  at.changes.drafts = {count.value()};
  return workbench.change_plan(at);
}

Status preempt(Workbench& workbench, const std::string& argument) {
  const auto words = read_words(argument, "REQUEST");
  if (!words.ok()) return words.error();
  ForkAt at;
  at.changes.preempt = words.value();
  return workbench.change_plan(at);
}

Status abort_request(Workbench& workbench, const std::string& argument) {
  const auto words = read_words(argument, "REQUEST");
  if (!words.ok()) return words.error();
  ForkAt at;
  at.changes.abort = words.value();
  return workbench.change_plan(at);
}

Status set_budget(Workbench& workbench, const std::string& argument) {
  const auto budget = read_number(argument, {"TOKENS", 1, kMaxPromptTokens});
  if (!budget.ok()) return budget.error();
  ForkAt at;
  at.changes.budget = static_cast<std::int32_t>(budget.value());
  return workbench.change_plan(at);
}

Status add_request(Workbench& workbench, const std::string& argument) {
  const auto words = read_words(argument, "NAME PROMPT_TOKENS MAX_TOKENS");
  if (!words.ok()) return words.error();
  const auto prompt = read_number(words.value()[1], {"PROMPT_TOKENS", 1, kMaxPromptTokens});
  if (!prompt.ok()) return prompt.error();
  const auto most = read_number(words.value()[2], {"MAX_TOKENS", 1, kMaxOutputTokens});
  if (!most.ok()) return most.error();
  ForkAt at;
  ScenarioRequest request;
  request.id = words.value()[0];
  request.prompt.tokens = static_cast<std::int32_t>(prompt.value());
  request.max_tokens = static_cast<std::int32_t>(most.value());
  at.requests = {request};
  return workbench.change_plan(at);
}

Status reset_prefix_cache(Workbench& workbench, const std::string&) {
  ForkAt at;
  at.changes.reset_prefix_cache = PrefixCacheReset::unless_running;
  return workbench.change_plan(at);
}

Status reset_prefix_cache_now(Workbench& workbench, const std::string&) {
  ForkAt at;
  at.changes.reset_prefix_cache = PrefixCacheReset::preempting_running;
  return workbench.change_plan(at);
}

Status switch_engine(Workbench& workbench, const std::string& argument) {
  EngineSettings settings;
  if (Status set = set_setting_text(settings, *find_setting("", "engine"), argument); !set.ok())
    return set;
  ForkAt at;
  at.changes.engine = settings.engine;
  return workbench.change_plan(at);
}

Status switch_policy(Workbench& workbench, const std::string& argument) {
  const auto words = read_words(argument, "POLICY VALUE");
  if (!words.ok()) return words.error();
  const Setting* policy = find_setting("policies", words.value()[0]);
  if (policy == nullptr) {
    std::vector<std::string_view> names;
    for (const Setting& setting : settings_table())
      if (setting.section == "policies") names.push_back(setting.name);
    return invalid_input(fmt::format("there is no policy \"{}\" (there are: {})", words.value()[0],
                                     fmt::join(names, ", ")));
  }
  EngineSettings settings;
  if (Status set = set_setting_text(settings, *policy, words.value()[1]); !set.ok()) return set;
  ForkAt at;
  at.changes.policies = settings.policies;
  return workbench.change_plan(at);
}

Status drop_script(Workbench& workbench, const std::string&) {
  ForkAt at;
  at.drop_script = true;
  return workbench.change_plan(at);
}

Status undo(Workbench& workbench, const std::string&) { return workbench.undo(); }
Status redo(Workbench& workbench, const std::string&) { return workbench.redo(); }

Status copy_text(Workbench& workbench, const std::string&) {
  return copy_panel_in_focus(workbench, ContentFormat::text);
}
Status copy_json(Workbench& workbench, const std::string&) {
  return copy_panel_in_focus(workbench, ContentFormat::json);
}
Status copy_markdown(Workbench& workbench, const std::string&) {
  return copy_panel_in_focus(workbench, ContentFormat::markdown);
}

constexpr CommandNeeds kPlan = CommandNeeds::plan;

constexpr CommandRow kEditCommands[] = {
    {"edit.undo", "Edit", "Undo", "Ctrl+Z", "", CommandNeeds::undo, undo},
    {"edit.redo", "Edit", "Redo", "Ctrl+Y Ctrl+Shift+Z", "", CommandNeeds::redo, redo},
    {"edit.copy_text", "Edit", "Copy the panel clicked last as text", "Ctrl+C", "",
     CommandNeeds::opened, copy_text},
    {"edit.copy_json", "Edit", "Copy the panel clicked last as JSON", "", "", CommandNeeds::opened,
     copy_json},
    {"edit.copy_markdown", "Edit", "Copy the panel clicked last as Markdown", "Ctrl+Shift+C", "",
     CommandNeeds::opened, copy_markdown},
    {"edit.copy_panel", "Edit", "Copy a panel", "", "text|json|markdown [PANEL]",
     CommandNeeds::opened, copy_panel},
    {"edit.accept", "Edit", "Next step: accepted tokens", "A", "REQUEST COUNT", kPlan, accept},
    {"edit.drafts", "Edit", "Next step: length of a draft list", "", "REQUEST COUNT", kPlan,
     set_drafts},
    {"edit.preempt", "Edit", "Next step: preempt a request", "", "REQUEST", kPlan, preempt},
    {"edit.abort", "Edit", "Next step: abort a request", "", "REQUEST", kPlan, abort_request},
    {"edit.add_request", "Edit", "Next step: add a request", "", "NAME PROMPT_TOKENS MAX_TOKENS",
     kPlan, add_request},
    {"edit.budget", "Edit", "Next step: token budget", "", "TOKENS", kPlan, set_budget},
    {"edit.reset_prefix_cache", "Edit", "Next step: reset the prefix cache if nothing runs", "", "",
     kPlan, reset_prefix_cache},
    {"edit.reset_prefix_cache_now", "Edit", "Next step: preempt all and reset the prefix cache", "",
     "", kPlan, reset_prefix_cache_now},
    {"edit.engine", "Edit", "From the next step: engine profile", "", "PROFILE", kPlan,
     switch_engine},
    {"edit.policy", "Edit", "From the next step: one policy", "", "POLICY VALUE", kPlan,
     switch_policy},
    {"edit.drop_script", "Edit", "From the next step: nothing of the script", "", "", kPlan,
     drop_script},
};

}  // namespace

std::span<const CommandRow> edit_commands() { return kEditCommands; }

}  // namespace hybridscope
