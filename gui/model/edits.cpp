#include "gui/model/edits.h"

#include <fmt/core.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <cstddef>
#include <utility>

#include "core/base/check.h"
#include "core/engine/policy_table.h"
#include "sessions/text/number_words.h"

namespace hybridscope {
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
