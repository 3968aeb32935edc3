#include "gui/model/next_step_model.h"

#include <fmt/core.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <set>
#include <span>
#include <utility>

#include "core/base/result.h"
#include "core/engine/policy_table.h"
#include "gui/model/command_table.h"
#include "gui/model/timeline_model.h"
#include "gui/model/workbench.h"
#include "sessions/explain/explain_schedule.h"
#include "sessions/scenario/scenario_requests.h"
#include "sessions/text/number_words.h"

namespace hybridscope {
namespace {

// Requests that hold blocks, run or wait with a lookup, and did not finish in this step.
std::set<RequestId> editable_requests(const StepView& view) {
  std::set<RequestId> known;
  for (const RequestId request : view.scheduler_tables.requests()) known.insert(request);
  for (const ScheduledTrace& scheduled : view.trace.scheduled) known.insert(scheduled.request);
  for (const SkippedRequest& skipped : view.trace.skipped) known.insert(skipped.request);
  for (const RequestId preempted : view.trace.preempted) known.insert(preempted);
  for (const CommitTrace& commit : view.trace.committed)
    if (commit.finished) known.erase(commit.request);
  return known;
}

// Caching policies stay those that the run began with.
std::string profile_note(const RunPlan& plan, std::int64_t step) {
  std::vector<ScriptStep> until;
  for (const ScriptStep& entry : plan.script)
    if (entry.step <= step) until.push_back(entry);
  const std::vector<std::string> notes = scripted_policy_notes(plan.settings, until);
  return notes.empty() ? std::string() : notes.back();
}

// Has it a reason, RequestActivity::skipped?
bool got_none(ActivityKind kind) {
  return kind == ActivityKind::waiting || kind == ActivityKind::in_flight ||
         kind == ActivityKind::held_back;
}

// A request that has blocks behind the shown step runs, also if the coming one skips it.
void name_running(ComingStep& coming, const StepView& shown) {
  const auto with_blocks = shown.scheduler_tables.requests();
  for (RequestActivity& activity : coming.activity.requests)
    if (activity.kind == ActivityKind::waiting &&
        std::ranges::find(with_blocks, activity.request) != with_blocks.end())
      activity.kind = ActivityKind::held_back;
}

}  // namespace

std::vector<std::string> coming_words(const ComingStep& coming) {
  if (!coming.known) return {"not known before it is made"};
  if (coming.ends) return {"the run is over: there is no next step"};
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < coming.activity.requests.size(); ++i) {
    const RequestActivity& activity = coming.activity.requests[i];
    std::string line = fmt::format("{}: {}", coming.names[i], activity_name(activity.kind));
    if (got_none(activity.kind)) line += fmt::format(": {}", explain_skip(activity.skipped));
    if (activity.num_tokens > 0) line += ", " + counted(activity.num_tokens, "token");
    if (activity.num_draft_tokens > 0)
      line += ", " + counted(activity.num_draft_tokens, "draft") + " among them";
    if (activity.admitted) line += activity.resumed ? ", resumed" : ", new";
    if (activity.finished) line += ", finishes";
    lines.push_back(std::move(line));
  }
  if (lines.empty()) lines.emplace_back("no request has a part in it");
  return lines;
}

namespace {

constexpr std::string_view kAsTheProfileSays = "as the profile says";

Table lines_table(std::string title, std::string note, const std::vector<std::string>& lines) {
  Table table{.title = std::move(title), .note = std::move(note), .headings = {"What"}};
  for (const std::string& line : lines) table.rows.push_back({words_cell(line)});
  return table;
}

Table planned_table(const PlannedStep& planned, std::int64_t step) {
  Table table = lines_table(fmt::format("Planned for step {}", step),
                            fmt::format("token budget {}, engine profile {}", planned.budget,
                                        engine_profile_name(planned.profile)),
                            planned.words);
  if (planned.words.empty()) table.note += "; neither the script nor an edit says more of it";
  return table;
}

Table coming_table(ShownRun& run, bool has_step) {
  ComingStep coming = run.coming_step();
  if (has_step) name_running(coming, run.view());
  return lines_table("If you just step", "", coming_words(coming));
}

// A check box for each number of tokens that may come out of a request's next verify step, and one
// for each way to take it out.
Table requests_table(const StepView& view, const ScriptStep& script) {
  Table table{
      .title = "Requests",
      .headings = {ColumnWords{.title = "Request", .kind = ColumnKind::name}, "In the batch"}};
  const std::int32_t most = 1 + view.config.num_speculative_tokens;
  for (std::int32_t count = 1; count <= most; ++count) {
    Heading heading(fmt::format("Accept {}", count));
    heading.help = "So many tokens come out of its next verify step, the bonus token included";
    table.headings.push_back(std::move(heading));
  }
  table.headings.emplace_back(
      ColumnWords{"Preempt", "It gives its blocks back and waits", ColumnKind::words});
  table.headings.emplace_back(ColumnWords{"Abort", "It ends", ColumnKind::words});
  const std::set<RequestId> editable = editable_requests(view);
  if (editable.empty()) table.note = "No request is there.";
  for (const RequestId request : editable) {
    const std::string& name = view.names.request(request);
    auto& cells = table.rows.emplace_back().cells;
    const auto add_box = [&](bool is_on, std::string_view command, const std::string& argument,
                             std::string mark) {
      cells.push_back(with_extras(flag_cell(is_on),
                                  {.clicks = {{command, argument}}, .mark = std::move(mark)}));
    };
    const auto has = [&](const std::vector<std::string>& names) {
      return std::ranges::find(names, name) != names.end();
    };
    cells.push_back(words_cell(name));
    cells.push_back(flag_cell(std::ranges::find(view.trace.rows, request, &RowTrace::request) !=
                              view.trace.rows.end()));
    const auto accept = std::ranges::find(script.accept, name, &RequestCount::request);
    for (std::int32_t count = 1; count <= most; ++count)
      add_box(accept != script.accept.end() && accept->count == count, "edit.accept",
              fmt::format("{} {}", quoted_word(name), count),
              fmt::format("accept {} {}", name, count));
    add_box(has(script.preempt), "edit.preempt", quoted_word(name), "preempt " + name);
    add_box(has(script.abort), "edit.abort", quoted_word(name), "abort " + name);
  }
  return table;
}

constexpr std::array<ColumnWords, 4> kChoiceColumns = {{{"Setting", "", ColumnKind::words},
                                                        {"Value", "", ColumnKind::words},
                                                        {"Values", "", ColumnKind::remark, true},
                                                        {"What", "", ColumnKind::wrapped}}};

// `values`: to choose from; `command` takes `before` and one of them.
TableRow setting_row(std::string_view name, TableCell value, std::span<const std::string> values,
                     const Click& command, std::string_view help) {
  CellExtras extras{.mark = std::string(name)};
  if (shown_words(value).empty()) extras.label = kAsTheProfileSays;
  for (const std::string& offered : values)
    extras.choices.push_back({offered, {command.command, command.argument + offered}});
  return {words_cell(name), with_extras(std::move(value), std::move(extras)),
          words_cell(fmt::format("{}", fmt::join(values, ", "))), words_cell(help)};
}

Table profile_table(const RunPlan& plan, const PlannedStep& planned, std::int64_t step) {
  std::vector<std::string> names;
  for (const EngineProfile& profile : named_profiles())
    names.push_back(engine_profile_name(profile));
  Table table{.title = "Engine profile from this step on",
              .note = profile_note(plan, step),
              .headings = headings_of(kChoiceColumns),
              .has_headings = false};
  table.rows.push_back(setting_row(
      "engine profile", words_cell(engine_profile_name(planned.profile)), names, {"edit.engine"},
      "safe: the invariants hold; reference: what the reference does, faults included; a release: "
      "what that release of vLLM does"));
  return table;
}

// The policies that may change while an engine runs.
Table policies_table(const PolicyOverrides& in_force) {
  Table table{.title = "Policies from this step on",
              .headings = headings_of(kChoiceColumns),
              .is_folded = true};
  for (const Policy& policy : policy_table()) {
    if (policy.is_caching()) continue;
    const auto names = policy.text.value_names();
    const std::vector<std::string> values(names.begin(), names.end());
    const auto value = in_force.values[policy.place];
    table.rows.push_back(
        setting_row(policy.text.name, value ? words_cell(values[*value]) : TableCell(), values,
                    {"edit.policy", fmt::format("{} ", policy.text.name)}, policy.text.help));
  }
  return table;
}

std::vector<PictureButton> step_buttons(const PlanHistory& plans, PrefixCacheReset reset) {
  return {{.label = "Undo",
           .click = {"edit.undo"},
           .tooltip = plans.can_undo() ? plans.undo_words() : "",
           .is_possible = plans.can_undo()},
          {.label = "Redo",
           .click = {"edit.redo"},
           .tooltip = plans.can_redo() ? plans.redo_words() : "",
           .is_possible = plans.can_redo()},
          {.label = "Reset the prefix cache",
           .click = {"edit.reset_prefix_cache"},
           .tooltip = "Done only if no request runs, as the engine does it",
           .is_on = reset == PrefixCacheReset::unless_running},
          {.label = "Preempt all and reset it",
           .click = {"edit.reset_prefix_cache_now"},
           .is_on = reset == PrefixCacheReset::preempting_running},
          {.label = "No script from here on",
           .click = {"edit.drop_script"},
           .tooltip = "What the scenario scripts for later steps is dropped"}};
}

}  // namespace

Picture next_step_picture(Workbench& workbench) {
  ShownRun* const run = workbench.run();
  if (run == nullptr || run->plan() == nullptr)
    return {.notes = {"They can be looked at, not changed: " +
                      (run == nullptr ? std::string("nothing is open") : run->why_no_plan()) +
                      "."}};
  const std::int64_t step = run->step() + 1;
  const PlannedStep planned = planned_step(*run->plan(), step);
  Picture picture{
      .notes = {fmt::format("Each change makes a fork of the run from step {} on.", step)},
      .tables = {planned_table(planned, step), coming_table(*run, workbench.has_step())},
      .fields = {{.mark = "add request",
                  .hint = "a new request: name, prompt tokens, max_tokens (B 16 8)",
                  .command = "edit.add_request",
                  .button = "Add"},
                 {.mark = "budget",
                  .hint = "tokens of budget of this step",
                  .command = "edit.budget",
                  .button = "Set"}},
      .buttons = step_buttons(workbench.plans(), planned.script.reset_prefix_cache),
      .is_page = true};
  if (workbench.has_step()) picture.tables.push_back(requests_table(run->view(), planned.script));
  picture.tables.push_back(profile_table(*run->plan(), planned, step));
  picture.tables.push_back(policies_table(planned.policies));
  return picture;
}

namespace {

void move_last(std::vector<PlanVersion>& from, std::vector<PlanVersion>& to, PlanVersion before) {
  HS_EXPECT(!from.empty());
  before.words = std::move(from.back().words);
  from.pop_back();
  to.push_back(std::move(before));
}

}  // namespace

void PlanHistory::clear() {
  undo_.clear();
  redo_.clear();
}

void PlanHistory::add(PlanVersion before) {
  undo_.push_back(std::move(before));
  if (undo_.size() > kMaxVersions) undo_.erase(undo_.begin());
  redo_.clear();
}

void PlanHistory::undone(PlanVersion before) { move_last(undo_, redo_, std::move(before)); }
void PlanHistory::redone(PlanVersion before) { move_last(redo_, undo_, std::move(before)); }

std::string words_of(const ForkAt& at) {
  std::vector<std::string> words;
  for (const ScenarioRequest& request : at.requests)
    words.push_back(fmt::format("add request {}", request.id));
  for (std::string& change : words_of(at.changes)) words.push_back(std::move(change));
  std::string all =
      words.empty() ? std::string() : fmt::format("{} in step {}", fmt::join(words, "; "), at.step);
  if (at.drop_script)
    all += fmt::format("{}nothing of the script from step {} on", all.empty() ? "" : "; ", at.step);
  return all;
}

namespace {

// A request of traffic joins at its arrival time or after others; one of a scenario, at its step.
std::vector<std::string> words_of_joining(const RunPlan& plan, std::int64_t step) {
  std::vector<std::string> words;
  for (const ArrivingRequest& arriving : plan.requests)
    if (arriving.at_step == step && arriving.arrival_us == 0 && arriving.after.empty())
      words.push_back(fmt::format("request {} joins ({} prompt tokens, max_tokens {})",
                                  arriving.request.name, num_prompt_tokens(arriving.request),
                                  arriving.request.max_tokens));
  return words;
}

void add_policy_words(const PolicyOverrides& policies, std::vector<std::string>& words) {
  for (const Policy& policy : policy_table())
    if (const auto value = policies.values[policy.place])
      words.push_back(fmt::format("policy {} {}", policy.text.name, policy.text.values[*value]));
}

}  // namespace

std::vector<std::string> words_of(const ScriptStep& changes) {
  std::vector<std::string> words;
  for (const RequestCount& accept : changes.accept)
    words.push_back(fmt::format("accept {} of {}", accept.count, accept.request));
  for (const RequestCount& drafts : changes.drafts)
    words.push_back(fmt::format("{} for {}", counted(drafts.count, "draft"), drafts.request));
  for (const std::string& request : changes.preempt) words.push_back("preempt " + request);
  for (const std::string& request : changes.abort) words.push_back("abort " + request);
  if (changes.budget) words.push_back(fmt::format("token budget {}", *changes.budget));
  if (changes.reset_prefix_cache == PrefixCacheReset::unless_running)
    words.emplace_back("reset the prefix cache if nothing runs");
  if (changes.reset_prefix_cache == PrefixCacheReset::preempting_running)
    words.emplace_back("preempt all and reset the prefix cache");
  if (changes.engine) words.push_back("engine profile " + engine_profile_name(*changes.engine));
  add_policy_words(changes.policies, words);
  return words;
}

PlannedStep planned_step(const RunPlan& plan, std::int64_t step) {
  PlannedStep planned{.budget = plan.setup.config.max_num_batched_tokens,
                      .profile = plan.settings.engine.value_or(EngineProfile::safe),
                      .policies = plan.settings.policies};
  for (const ScriptStep& entry : plan.script) {
    if (entry.step > step) break;
    if (entry.engine) planned.profile = *entry.engine;
    lay_over(planned.policies, entry.policies);
    if (entry.step == step) planned.script = entry;
  }
  if (planned.script.budget) planned.budget = *planned.script.budget;
  planned.words = words_of_joining(plan, step);
  for (std::string& words : words_of(planned.script)) planned.words.push_back(std::move(words));
  return planned;
}

}  // namespace hybridscope
