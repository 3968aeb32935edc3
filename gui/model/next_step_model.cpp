#include "gui/model/next_step_model.h"

#include <fmt/core.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <set>
#include <utility>

#include "core/base/result.h"
#include "core/engine/policy_table.h"
#include "gui/model/timeline_model.h"
#include "sessions/explain/explain_schedule.h"
#include "sessions/scenario/scenario_requests.h"
#include "sessions/text/number_words.h"

namespace hybridscope {
namespace {

// Requests that hold blocks, run or wait with a lookup, and did not finish in this step.
std::vector<EditableRequest> editable_requests(const StepView& view) {
  std::set<RequestId> known;
  for (const RequestId request : view.scheduler_tables.requests()) known.insert(request);
  for (const ScheduledTrace& scheduled : view.trace.scheduled) known.insert(scheduled.request);
  for (const SkippedRequest& skipped : view.trace.skipped) known.insert(skipped.request);
  for (const RequestId preempted : view.trace.preempted) known.insert(preempted);
  for (const CommitTrace& commit : view.trace.committed)
    if (commit.finished) known.erase(commit.request);
  std::vector<EditableRequest> requests;
  for (const RequestId request : known) {
    const bool runs = std::ranges::any_of(
        view.trace.rows, [&](const RowTrace& row) { return row.request == request; });
    requests.push_back({.request = request,
                        .name = view.names.request(request),
                        .runs = runs,
                        .max_num_accepted_tokens = 1 + view.config.num_speculative_tokens});
  }
  return requests;
}

void plan_request(EditableRequest& request, const ScriptStep& script) {
  const auto has = [&](const std::vector<std::string>& names) {
    return std::ranges::find(names, request.name) != names.end();
  };
  const auto accept = std::ranges::find(script.accept, request.name, &RequestCount::request);
  request.accepts = accept == script.accept.end() ? 0 : accept->count;
  request.preempted = has(script.preempt);
  request.aborted = has(script.abort);
}

std::vector<EditablePolicy> editable_policies(const PolicyOverrides& in_force) {
  std::vector<EditablePolicy> policies;
  for (const Policy& policy : policy_table()) {
    if (policy.is_caching()) continue;
    const auto values = policy.text.value_names();
    const auto value = in_force.values[policy.place];
    policies.push_back({.place = policy.place,
                        .name = policy.text.name,
                        .help = policy.text.help,
                        .values = {values.begin(), values.end()},
                        .value = value ? std::string(values[*value]) : std::string()});
  }
  return policies;
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

NextStepModel make_next_step_model(Workbench& workbench) {
  NextStepModel model;
  ShownRun* run = workbench.run();
  if (run == nullptr || run->plan() == nullptr) {
    model.why_not = "They can be looked at, not changed: " +
                    (run == nullptr ? std::string("nothing is open") : run->why_no_plan()) + ".";
    return model;
  }
  model.step = run->step() + 1;
  if (workbench.has_step()) model.requests = editable_requests(run->view());
  model.planned = planned_step(*run->plan(), model.step);
  ComingStep coming = run->coming_step();
  if (workbench.has_step()) name_running(coming, run->view());
  model.coming = coming_words(coming);
  for (EditableRequest& request : model.requests) plan_request(request, model.planned.script);
  model.policies = editable_policies(model.planned.policies);
  for (const EngineProfile& profile : named_profiles())
    model.profiles.push_back({profile, engine_profile_name(profile)});
  model.profile = engine_profile_name(model.planned.profile);
  model.profile_note = profile_note(*run->plan(), model.step);
  if (workbench.plans().can_undo()) model.undo = workbench.plans().undo_words();
  if (workbench.plans().can_redo()) model.redo = workbench.plans().redo_words();
  return model;
}

Picture next_step_picture(Workbench& workbench) {
  const NextStepModel model = make_next_step_model(workbench);
  if (!model.why_not.empty()) return {.notes = {model.why_not}};
  Table planned{.title = fmt::format("Planned for step {}", model.step),
                .note = fmt::format("token budget {}, engine profile {}", model.planned.budget,
                                    engine_profile_name(model.planned.profile)),
                .headings = {"What"}};
  for (const std::string& words : model.planned.words) planned.rows.push_back({words_cell(words)});
  Table coming{.title = "If you just step", .headings = {"What"}};
  for (const std::string& words : model.coming) coming.rows.push_back({words_cell(words)});
  Table requests{.title = fmt::format("Step {}", model.step),
                 .headings = {"Request", "In the batch", "Most accepted tokens"}};
  for (const EditableRequest& request : model.requests)
    requests.rows.push_back({words_cell(request.name), flag_cell(request.runs),
                             number_cell(request.max_num_accepted_tokens)});
  Table policies{.title = "Policies", .headings = {"Policy", "Value", "Values", "What"}};
  for (const EditablePolicy& policy : model.policies) {
    std::string values;
    for (const std::string_view value : policy.values)
      values += fmt::format("{}{}", values.empty() ? "" : ", ", value);
    policies.rows.push_back({words_cell(policy.name), words_cell(policy.value), words_cell(values),
                             words_cell(policy.help)});
  }
  Picture content{
      .tables = {std::move(planned), std::move(coming), std::move(requests), std::move(policies)}};
  if (!model.undo.empty()) content.notes.push_back("Undo: " + model.undo);
  if (!model.redo.empty()) content.notes.push_back("Redo: " + model.redo);
  return content;
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
