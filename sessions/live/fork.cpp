#include "sessions/live/fork.h"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <string_view>
#include <tuple>
#include <utility>

#include "core/engine/engine.h"
#include "sessions/scenario/scenario_parts.h"
#include "sessions/scenario/scenario_requests.h"
#include "sessions/text/json_value.h"

namespace hybridscope {
namespace {

// Keeps the counts sorted by request name, as in a script that was read.
void lay_over(std::vector<RequestCount>& counts, const std::vector<RequestCount>& changes) {
  for (const RequestCount& change : changes) {
    const auto place = std::lower_bound(
        counts.begin(), counts.end(), change.request,
        [](const RequestCount& count, const std::string& name) { return count.request < name; });
    if (place != counts.end() && place->request == change.request)
      place->count = change.count;
    else
      counts.insert(place, change);
  }
}

void lay_over(std::vector<std::string>& names, const std::vector<std::string>& changes) {
  for (const std::string& name : changes)
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
}

void lay_over(ScriptStep& step, const ScriptStep& changes) {
  if (changes.budget) step.budget = changes.budget;
  lay_over(step.accept, changes.accept);
  lay_over(step.drafts, changes.drafts);
  lay_over(step.preempt, changes.preempt);
  lay_over(step.abort, changes.abort);
  if (changes.reset_prefix_cache != PrefixCacheReset::none)
    step.reset_prefix_cache = changes.reset_prefix_cache;
  if (changes.engine) step.engine = changes.engine;
  lay_over(step.policies, changes.policies);
}

std::vector<ScriptStep>::iterator place_of(std::vector<ScriptStep>& script, std::int32_t step) {
  return std::lower_bound(script.begin(), script.end(), step,
                          [](const ScriptStep& s, std::int32_t number) { return s.step < number; });
}

// The script's entry for the step; created if there is none.
ScriptStep& entry_of(std::vector<ScriptStep>& script, std::int32_t step) {
  auto place = place_of(script, step);
  if (place == script.end() || place->step != step)
    place = script.insert(place, ScriptStep{.step = step});
  return *place;
}

Status add_request(RunPlan& plan, const ScenarioRequest& request, std::int32_t step) {
  for (const ArrivingRequest& arriving : plan.requests)
    if (arriving.request.name == request.id)
      return invalid_input(fmt::format("request {} is there already", quoted_text(request.id)));
  auto resolved = resolve_request(request, plan.requests);
  if (!resolved.ok()) return resolved.error();
  ArrivingRequest added{
      .at_step = step, .arrival_us = request.arrival_us, .request = std::move(resolved).value()};
  if (Status fits = check_request_fits(plan.setup, added.request); !fits.ok()) return fits;
  const auto joins = [](const ArrivingRequest& r) { return std::tie(r.at_step, r.arrival_us); };
  const auto place = std::upper_bound(
      plan.requests.begin(), plan.requests.end(), added,
      [&](const ArrivingRequest& a, const ArrivingRequest& b) { return joins(a) < joins(b); });
  plan.requests.insert(place, std::move(added));
  return Ok{};
}

// The ranges that the reader of scenarios holds its numbers to; changes also come as values.
Status check_ranges(const ForkAt& at) {
  const auto check = [](std::string_view what, std::int32_t number, std::int32_t most) -> Status {
    if (number >= 1 && number <= most) return Ok{};
    return invalid_input(fmt::format("{}: expected 1 to {}, found {}", what, most, number));
  };
  if (at.changes.budget)
    if (Status fits = check("budget", *at.changes.budget, kMaxPromptTokens); !fits.ok())
      return fits;
  for (const ScenarioRequest& request : at.requests) {
    if (Status fits = check("prompt tokens", request.prompt.tokens, kMaxPromptTokens); !fits.ok())
      return fits;
    if (Status fits = check("max_tokens", request.max_tokens, kMaxOutputTokens); !fits.ok())
      return fits;
  }
  return Ok{};
}

JoinSteps join_steps(const RunPlan& plan) {
  JoinSteps steps;
  for (const ArrivingRequest& arriving : plan.requests)
    steps.emplace(arriving.request.name, arriving.at_step);
  return steps;
}

auto as_tuple(const ArrivingRequest& arriving) {
  const AddRequest& request = arriving.request;
  return std::tie(arriving.at_step, arriving.arrival_us, arriving.after, arriving.delay_us,
                  request.name, request.prompt, request.max_tokens, request.priority,
                  request.cache_salt, request.key);
}

// The step of the first entry that differs; both lists ascend by step.
template <class Entry, class Same, class StepOf>
std::int64_t first_different(const std::vector<Entry>& a, const std::vector<Entry>& b, Same same,
                             StepOf step_of) {
  const auto [in_a, in_b] = std::mismatch(a.begin(), a.end(), b.begin(), b.end(), same);
  std::int64_t step = std::int64_t{kMaxStep} + 1;
  if (in_a != a.end()) step = std::min<std::int64_t>(step, step_of(*in_a));
  if (in_b != b.end()) step = std::min<std::int64_t>(step, step_of(*in_b));
  return step;
}

}  // namespace

std::int64_t num_agreed_steps(const RunPlan& a, const RunPlan& b) {
  if (a.settings != b.settings || a.setup.layout.model.name != b.setup.layout.model.name) return 0;
  const std::int64_t join = first_different(
      a.requests, b.requests,
      [](const ArrivingRequest& x, const ArrivingRequest& y) { return as_tuple(x) == as_tuple(y); },
      [](const ArrivingRequest& request) { return request.at_step; });
  const std::int64_t scripted = first_different(a.script, b.script, std::equal_to<ScriptStep>(),
                                                [](const ScriptStep& entry) { return entry.step; });
  return std::min(join, scripted) - 1;
}

Result<RunPlan> fork_plan(const RunPlan& plan, const ForkAt& at) {
  const std::string here = fmt::format("fork at step {}", at.step);
  if (at.step < 1 || at.step > kMaxStep)
    return invalid_input(fmt::format("{}: expected a step from 1 to {}", here, kMaxStep));
  if (Status ranges = check_ranges(at); !ranges.ok())
    return Error{ranges.error().kind, fmt::format("{}: {}", here, ranges.error().message)};
  RunPlan fork = plan;
  fork.expect = {};
  if (at.drop_script) fork.script.erase(place_of(fork.script, at.step), fork.script.end());
  for (const ScenarioRequest& request : at.requests)
    if (Status added = add_request(fork, request, at.step); !added.ok())
      return Error{added.error().kind, fmt::format("{}: {}", here, added.error().message)};
  ScriptStep changes = at.changes;
  changes.step = at.step;
  if (changes == ScriptStep{.step = at.step}) return fork;
  ScriptStep& entry = entry_of(fork.script, at.step);
  lay_over(entry, changes);
  const Status checked = read_json(here, [&] {
    check_script_step({.step = entry, .pointer = ""}, fork.settings, join_steps(fork));
  });
  if (!checked.ok()) return checked.error();
  for (std::string& note : scripted_policy_notes(fork.settings, {entry}))
    fork.notes.push_back(std::move(note));
  return fork;
}

Error ForkGuard::differs(std::int64_t step, const std::string& how) const {
  return {ErrorKind::invalid_input,
          fmt::format("step {}: {} {}: the session does not reproduce here, so it cannot be "
                      "forked at step {}",
                      step, how, parent_.title(), step_)};
}

std::string ForkGuard::note() const {
  const std::string other = other_digests(parent_);
  return other.empty() ? other
                       : other + ": of the steps before the fork's only the numbers are compared";
}

Status ForkGuard::check(std::int64_t step, const StepDigests& digests) {
  if (agreed_) return Ok{};
  const auto recorded = parent_.next();
  if (!recorded.ok()) return recorded.error();
  const std::int64_t parents = recorded.value() == nullptr ? step_ : recorded.value()->step;
  if (step >= step_ && parents >= step_) {
    agreed_ = true;
    return Ok{};
  }
  if (step < parents) return differs(step, "there is no such step in");
  if (parents < step) return differs(parents, "the fork lacks a step of");
  if (parent_.digest_version() != kDigestVersion || recorded.value()->digests == digests)
    return Ok{};
  return differs(step, section_list(different_sections(recorded.value()->digests, digests)) +
                           " are not those of");
}

Status ForkGuard::finish() {
  if (agreed_) return Ok{};
  const auto recorded = parent_.next();
  if (!recorded.ok()) return recorded.error();
  if (recorded.value() == nullptr || recorded.value()->step >= step_) return Ok{};
  return differs(recorded.value()->step, "the fork lacks a step of");
}

namespace {

void count(std::int64_t step, std::int64_t& number, std::int64_t& first) {
  if (number++ == 0) first = step;
}

void compare(const StepStamp& recorded, const StepDigests& made, RerunReport& report) {
  if (recorded.digests == made) {
    ++report.num_equal;
    return;
  }
  if (report.num_different == 0) report.sections = different_sections(recorded.digests, made);
  count(recorded.step, report.num_different, report.first_different);
}

}  // namespace

Result<RerunReport> rerun(StepSource& again, StepSource& recorded, RecordedEnd end) {
  if (again.digest_version() != recorded.digest_version())
    return Error{ErrorKind::not_available,
                 other_digests(recorded) + ": its steps cannot be compared with those made now"};
  constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::max();
  RerunReport report;
  auto stored = recorded.next();
  auto made = again.next();
  while (stored.ok() && made.ok() && (stored.value() != nullptr || made.value() != nullptr)) {
    const std::int64_t then = stored.value() == nullptr ? kNone : stored.value()->step;
    const std::int64_t now = made.value() == nullptr ? kNone : made.value()->step;
    if (then == kNone && end == RecordedEnd::before_it) break;
    if (then == now) compare(*stored.value(), made.value()->digests, report);
    if (then < now) count(then, report.num_missing, report.first_missing);
    if (now < then) count(now, report.num_extra, report.first_extra);
    if (then <= now) stored = recorded.next();
    if (now <= then) made = again.next();
  }
  if (!stored.ok()) return stored.error();
  if (!made.ok()) return made.error();
  return report;
}

std::string other_digests(const StepSource& recorded) {
  if (recorded.digest_version() == kDigestVersion) return {};
  return fmt::format("{} was recorded with other digests (version {}, this program makes {})",
                     recorded.title(), recorded.digest_version(), kDigestVersion);
}

std::vector<StepSection> different_sections(const StepDigests& a, const StepDigests& b) {
  std::vector<StepSection> sections;
  for (std::size_t i = 0; i < kNumStepSections; ++i)
    if (const auto section = static_cast<StepSection>(i); a[section] != b[section])
      sections.push_back(section);
  return sections;
}

std::string section_list(const std::vector<StepSection>& sections) {
  std::string list;
  for (std::size_t i = 0; i < sections.size(); ++i) {
    if (i > 0) list += i + 1 == sections.size() ? " and " : ", ";
    list += step_section_name(sections[i]);
  }
  return list;
}

}  // namespace hybridscope
