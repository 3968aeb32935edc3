// Selection, findings, and edits of the open run's plan with undo and redo; at the end the commands
// of the menu Edit.
#include <fmt/core.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "core/base/result.h"
#include "gui/model/command_table.h"
#include "gui/model/file_job.h"
#include "gui/model/finding_chains.h"
#include "gui/model/live_run.h"
#include "gui/model/recorded_run.h"
#include "gui/model/workbench.h"
#include "sessions/known_bugs/finding_cause.h"
#include "sessions/scenario/scenario.h"
#include "sessions/scenario/settings_table.h"

namespace hybridscope {

void Workbench::select(Selection chosen) {
  chosen.request = run()->find_request(chosen.request_name);
  selection_ = std::move(chosen);
  if (comparison_ == nullptr) return;
  const ShownRun& other = shows_other_ ? *run_ : comparison_->other();
  other_selection_ = selection_in(other, selection_);
}

void Workbench::select_finding(std::size_t number) {
  const Finding& finding = run()->findings()[number].finding;
  Selection chosen = selection_;
  chosen.finding = static_cast<std::ptrdiff_t>(number);
  if (finding.request.value >= 0) {
    chosen = with_request(std::move(chosen), run()->names().request(finding.request));
    chosen.request = finding.request;
  }
  if (finding.block >= 0) chosen = with_block(*run(), std::move(chosen), finding.block);
  select(std::move(chosen));
}

void Workbench::select_request(RequestId request) {
  select(with_request(selection_, run_->names().request(request)));
}

// In another step a name may belong to another request; blocks stay selected.
void Workbench::update_selection() {
  if (run_ == nullptr || selection_.request_name.empty()) return;
  selection_.request = run_->find_request(selection_.request_name);
  if (comparison_ == nullptr) return;
  const ShownRun& other = comparison_->other();
  other_selection_.request = other.find_request(selection_.request_name);
  if (selection_.is_cell && other_selection_.block < 0)
    other_selection_.block = block_of_cell(other, other_selection_);
}

Status Workbench::change_plan(ForkAt changes) {
  HS_EXPECT(run_ != nullptr && run_->plan() != nullptr);
  changes.step = static_cast<std::int32_t>(run_->step() + 1);
  auto changed = fork_plan(*run_->plan(), changes);
  if (!changed.ok()) return changed.error();
  if (num_agreed_steps(*run_->plan(), changed.value()) >= kMaxStep) {
    say(NoticeKind::info, "nothing changes: it is planned so already");
    return Ok{};
  }
  constexpr std::string_view kEdited = " (edited)";
  if (!changed.value().name.ends_with(kEdited)) changed.value().name += kEdited;
  PlanVersion before = shown_version();
  before.words = words_of(changes);
  auto replaced = show_plan(changed.value(), run_->step());
  if (!replaced.ok()) return replaced.error();
  before.session = std::move(replaced).value();
  say(NoticeKind::info, before.words);
  plans_.add(std::move(before));
  has_unsaved_edits_ = true;
  job_saves_edits_ = false;
  return Ok{};
}

PlanVersion Workbench::shown_version() const {
  return {
      .plan = std::make_shared<const RunPlan>(*run_->plan()), .step = run_->step(), .words = {}};
}

// The selection stays, because what it names exists in both runs.
Result<std::unique_ptr<ShownRun>> Workbench::show_plan(const RunPlan& plan, std::int64_t step) {
  std::unique_ptr<ShownRun> anew;
  if (!run_->continue_with(plan, step)) {
    auto made =
        run_->is_recorded() ? make_edited_session(*run_, plan, step) : LiveRun::create(plan);
    if (!made.ok()) return made.error();
    if (step > 0)
      if (Status moved = made.value()->go_to(step); !moved.ok()) return moved.error();
    const auto bookmarks = run_->bookmarks();
    made.value()->take_over({bookmarks.begin(), bookmarks.end()});
    anew = std::move(made).value();
  }
  return show_instead(std::move(anew), step);
}

// `anew` null: the shown run itself has changed. The comparison stays.
std::unique_ptr<ShownRun> Workbench::show_instead(std::unique_ptr<ShownRun> anew,
                                                  std::int64_t step) {
  control_.pause();
  std::unique_ptr<ShownRun> compared = comparison_ ? comparison_->take_other() : nullptr;
  end_comparison();
  breakpoints_.forget_hits_after(step);
  forget_causes();
  ++step_revision_;
  std::unique_ptr<ShownRun> before;
  if (anew != nullptr)
    before = std::exchange(run_, std::move(anew));
  else
    update_selection();
  if (compared != nullptr) {
    const LayoutTree layout = view_.layout;  // an edit must not bring a panel to the front
    if (Status again = compare_with(std::move(compared)); !again.ok())
      say(NoticeKind::warning, again.error().message);
    view_.layout = layout;
  }
  return before != nullptr && before->is_recorded() ? std::move(before) : nullptr;
}

Status Workbench::show_version(PlanVersion& version, PlanVersion& before) {
  if (version.session == nullptr) {
    auto replaced = show_plan(*version.plan, version.step);
    if (!replaced.ok()) return replaced.error();
    before.session = std::move(replaced).value();
    return Ok{};
  }
  if (Status moved = version.session->go_to(version.step); !moved.ok()) return moved;
  show_instead(std::move(version.session), version.step);
  return Ok{};
}

Status Workbench::undo() {
  HS_EXPECT(run_ != nullptr && plans_.can_undo());
  PlanVersion before = shown_version();
  if (Status shown = show_version(plans_.next_undo(), before); !shown.ok()) return shown;
  say(NoticeKind::info, "undone: " + plans_.undo_words());
  plans_.undone(std::move(before));
  has_unsaved_edits_ = plans_.can_undo();
  return Ok{};
}

Status Workbench::redo() {
  HS_EXPECT(run_ != nullptr && plans_.can_redo());
  PlanVersion before = shown_version();
  if (Status shown = show_version(plans_.next_redo(), before); !shown.ok()) return shown;
  say(NoticeKind::info, "done again: " + plans_.redo_words());
  plans_.redone(std::move(before));
  has_unsaved_edits_ = plans_.can_undo();
  return Ok{};
}

// The known bug, or the policy, that a finding comes from.

namespace {

// The sentence about a cause; empty: none was found.
std::string cause_sentence(const FindingCause& cause) {
  std::string words = CauseWords{.cause = cause.words, .not_known = cause.not_searched}.sentence();
  if (!cause.bugs.empty())
    words += fmt::format("; bug.open {} shows it beside its healthy run",
                         cause.bugs.front().front()->id);
  return words;
}

}  // namespace

Result<std::size_t> Workbench::find_cause_of(std::size_t finding) {
  const RunPlan* plan = run()->plan();
  if (plan == nullptr) return invalid_input(run()->why_no_plan());
  const std::ptrdiff_t root = run()->finding_log().chains()[finding].first;
  const std::size_t first = root < 0 ? finding : static_cast<std::size_t>(root);
  const ShownFinding& shown = run()->findings()[first];
  causes_[{drawn_side(), shown.text}] =
      cause_sentence(find_cause(*plan, shown.finding, {.scope = run()->header().check}));
  touch();
  return first;
}

std::string_view Workbench::cause_of(const ShownFinding& finding) const {
  const auto found = causes_.find({drawn_side(), finding.text});
  return found == causes_.end() ? std::string_view() : found->second;
}

// Searches the cause of the left run's first finding, which begins a chain, once the run stands
// still.
void Workbench::search_first_cause() {
  if (run_ == nullptr || run_->plan() == nullptr || is_moving() || cause_job_.is_busy()) return;
  const auto first = std::ranges::find_if(run_->findings(), [](const ShownFinding& shown) {
    return rule_info(shown.finding.rule).severity == Severity::error;
  });
  if (first == run_->findings().end() || first->text == searched_for_ ||
      causes_.contains({CompareSide::left, first->text}))
    return;
  searched_for_ = first->text;
  cause_job_.begin(*run_->plan(), *first, run_->header().check);
}

void Workbench::take_first_cause() {
  const auto found = cause_job_.take();
  // Without a result a click searches longer.
  if (!found || !found->cause.is_known()) return;
  causes_[{CompareSide::left, found->finding}] = cause_sentence(found->cause);
  touch();
}

void Workbench::forget_causes() {
  causes_.clear();
  searched_for_.clear();
  cause_job_.drop();
}

// Commands that change the run from the step after the shown one, each by an undoable fork of the
// plan; and commands that copy panels.

namespace {

template <std::vector<RequestCount> ScriptStep::*list>
Status set_count(Workbench& workbench, const std::string& argument) {
  const auto words = read_words(argument, "REQUEST COUNT");
  if (!words.ok()) return words.error();
  const auto count = read_number(words.value()[1], {"COUNT", 0, kMaxOutputTokens});
  if (!count.ok()) return count.error();
  ScriptStep changes;
  changes.*list = {{words.value()[0], static_cast<std::int32_t>(count.value())}};
  return workbench.change_plan({.changes = std::move(changes)});
}

template <std::vector<std::string> ScriptStep::*list>
Status take_out(Workbench& workbench, const std::string& argument) {
  const auto words = read_words(argument, "REQUEST");
  if (!words.ok()) return words.error();
  ScriptStep changes;
  changes.*list = words.value();
  return workbench.change_plan({.changes = std::move(changes)});
}

Status set_budget(Workbench& workbench, const std::string& argument) {
  const auto budget = read_number(argument, {"TOKENS", 1, kMaxPromptTokens});
  if (!budget.ok()) return budget.error();
  return workbench.change_plan({.changes = {.budget = static_cast<std::int32_t>(budget.value())}});
}

Status add_request(Workbench& workbench, const std::string& argument) {
  const auto words = read_words(argument, "NAME PROMPT_TOKENS MAX_TOKENS");
  if (!words.ok()) return words.error();
  const auto prompt = read_number(words.value()[1], {"PROMPT_TOKENS", 1, kMaxPromptTokens});
  if (!prompt.ok()) return prompt.error();
  const auto most = read_number(words.value()[2], {"MAX_TOKENS", 1, kMaxOutputTokens});
  if (!most.ok()) return most.error();
  ScenarioRequest request;
  request.id = words.value()[0];
  request.prompt.tokens = static_cast<std::int32_t>(prompt.value());
  request.max_tokens = static_cast<std::int32_t>(most.value());
  return workbench.change_plan({.requests = {request}});
}

template <PrefixCacheReset reset>
Status reset_prefix_cache(Workbench& workbench, const std::string&) {
  return workbench.change_plan({.changes = {.reset_prefix_cache = reset}});
}

Status switch_engine(Workbench& workbench, const std::string& argument) {
  EngineSettings settings;
  if (Status set = set_setting_text(settings, *find_setting("", "engine"), argument); !set.ok())
    return set;
  return workbench.change_plan({.changes = {.engine = settings.engine}});
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
  return workbench.change_plan({.changes = {.policies = settings.policies}});
}

Status drop_script(Workbench& workbench, const std::string&) {
  return workbench.change_plan({.drop_script = true});
}

Status undo(Workbench& workbench, const std::string&) { return workbench.undo(); }
Status redo(Workbench& workbench, const std::string&) { return workbench.redo(); }

template <ContentFormat format>
Status copy_as(Workbench& workbench, const std::string&) {
  return copy_panel_in_focus(workbench, format);
}

constexpr CommandNeeds kPlan = CommandNeeds::plan;

constexpr CommandRow kEditCommands[] = {
    {"edit.undo", "Edit", "Undo", "Ctrl+Z", "", CommandNeeds::undo, undo},
    {"edit.redo", "Edit", "Redo", "Ctrl+Y Ctrl+Shift+Z", "", CommandNeeds::redo, redo},
    {"edit.copy_text", "Edit", "Copy the panel clicked last as text", "Ctrl+C", "",
     CommandNeeds::opened, copy_as<ContentFormat::text>},
    {"edit.copy_json", "Edit", "Copy the panel clicked last as JSON", "", "", CommandNeeds::opened,
     copy_as<ContentFormat::json>},
    {"edit.copy_markdown", "Edit", "Copy the panel clicked last as Markdown", "Ctrl+Shift+C", "",
     CommandNeeds::opened, copy_as<ContentFormat::markdown>},
    {"edit.copy_panel", "Edit", "Copy a panel", "", "text|json|markdown [PANEL]",
     CommandNeeds::opened, copy_panel},
    {"edit.accept", "Edit", "Next step: accepted tokens", "A", "REQUEST COUNT", kPlan,
     set_count<&ScriptStep::accept>},
    {"edit.drafts", "Edit", "Next step: length of a draft list", "", "REQUEST COUNT", kPlan,
     set_count<&ScriptStep::drafts>},
    {"edit.preempt", "Edit", "Next step: preempt a request", "", "REQUEST", kPlan,
     take_out<&ScriptStep::preempt>},
    {"edit.abort", "Edit", "Next step: abort a request", "", "REQUEST", kPlan,
     take_out<&ScriptStep::abort>},
    {"edit.add_request", "Edit", "Next step: add a request", "", "NAME PROMPT_TOKENS MAX_TOKENS",
     kPlan, add_request},
    {"edit.budget", "Edit", "Next step: token budget", "", "TOKENS", kPlan, set_budget},
    {"edit.reset_prefix_cache", "Edit", "Next step: reset the prefix cache if nothing runs", "", "",
     kPlan, reset_prefix_cache<PrefixCacheReset::unless_running>},
    {"edit.reset_prefix_cache_now", "Edit", "Next step: preempt all and reset the prefix cache", "",
     "", kPlan, reset_prefix_cache<PrefixCacheReset::preempting_running>},
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
