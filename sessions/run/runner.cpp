#include "sessions/run/runner.h"

#include <fmt/core.h>
#include <algorithm>
#include <limits>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "core/base/policy_set.h"
#include "core/base/result.h"
#include "sessions/scenario/scenario_requests.h"
#include "sessions/text/json_value.h"

namespace hybridscope {
namespace {

Error bad_after(std::size_t index, const std::string& message) {
  return invalid_input(fmt::format("/requests/{}/after: {}", index, message));
}

}  // namespace

Result<WaitingRequests> WaitingRequests::create(std::span<const ArrivingRequest> requests) {
  WaitingRequests result;
  const auto waits = [](const ArrivingRequest& r) { return !r.after.empty(); };
  if (std::none_of(requests.begin(), requests.end(), waits)) return result;
  std::unordered_map<std::string_view, std::size_t> index_of;
  for (std::size_t i = 0; i < requests.size(); ++i) index_of.emplace(requests[i].request.name, i);
  auto links = std::make_shared<Links>();
  links->num_awaited.resize(requests.size());
  links->waiting.resize(requests.size());
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const ArrivingRequest& arriving = requests[i];
    links->earliest.push_back({arriving.at_step, arriving.arrival_us, i});
    links->delay_us.push_back(arriving.delay_us);
    links->num_awaited[i] = static_cast<std::int32_t>(arriving.after.size());
    result.progress_.push_back({.num_left = links->num_awaited[i]});
    for (const std::string& name : arriving.after) {
      const auto other = index_of.find(name);
      if (other == index_of.end())
        return bad_after(i, fmt::format("there is no request {}", quoted_text(name)));
      links->waiting[other->second].push_back(i);
    }
  }
  // Whoever is never reached from those that wait for nobody waits for itself.
  std::vector<std::int32_t> left = links->num_awaited;
  std::vector<std::size_t> reached;
  for (std::size_t i = 0; i < requests.size(); ++i)
    if (left[i] == 0) reached.push_back(i);
  for (std::size_t at = 0; at < reached.size(); ++at)
    for (const std::size_t next : links->waiting[reached[at]])
      if (--left[next] == 0) reached.push_back(next);
  if (reached.size() < requests.size()) {
    const auto circle =
        std::find_if(left.begin(), left.end(), [](std::int32_t n) { return n > 0; });
    const auto index = static_cast<std::size_t>(circle - left.begin());
    return bad_after(index, fmt::format("request {} waits for itself, or for one that does",
                                        quoted_text(requests[index].request.name)));
  }
  result.links_ = std::move(links);
  return result;
}

DueRequest WaitingRequests::due(std::size_t index) const {
  DueRequest due = links_->earliest[index];
  due.due_us = std::max(due.due_us, progress_[index].last_end_us + links_->delay_us[index]);
  return due;
}

void WaitingRequests::take_end(std::size_t index, std::int64_t time_us) {
  if (!links_) return;
  for (const std::size_t next : links_->waiting[index]) {
    Progress& progress = progress_[next];
    progress.last_end_us = std::max(progress.last_end_us, time_us);
    if (--progress.num_left == 0) ready_.insert(due(next));
  }
}

void WaitingRequests::take_join(std::size_t index) {
  const std::size_t erased = ready_.erase(due(index));
  HS_EXPECT(erased == 1);
}

Result<Runner> Runner::create(RunPlan plan, FoldedPrompts folded) {
  HS_EXPECT(folded == nullptr || folded->size() == plan.requests.size());
  auto engine = Engine::create(plan.setup.config);
  if (!engine.ok()) return engine.error();
  auto waiting = WaitingRequests::create(plan.requests);
  if (!waiting.ok()) return waiting.error();
  Runner runner(std::make_shared<const RunPlan>(std::move(plan)), std::move(engine).value(),
                std::move(waiting).value());
  runner.folded_ = std::move(folded);
  runner.engine_.set_step_clock(runner.plan_->step_clock);
  return runner;
}

void Runner::follow(std::shared_ptr<const RunPlan> plan) {
  plan_ = std::move(plan);
  folded_ = nullptr;
  ids_.clear();
  for (std::int32_t id = 0; id < engine_.num_requests(); ++id)
    ids_[engine_.name_of(RequestId{id})] = RequestId{id};
  auto waiting = WaitingRequests::create(plan_->requests);
  waiting_ = std::move(waiting).value();
  joined_.assign(plan_->requests.size(), false);
  num_joined_ = 0;
  for (std::size_t i = 0; i < plan_->requests.size(); ++i) {
    const auto id = ids_.find(plan_->requests[i].request.name);
    if (id == ids_.end()) continue;
    joined_[i] = true;
    ++num_joined_;
    index_of_[static_cast<std::size_t>(id->second.value)] = i;
  }
  HS_EXPECT(num_joined_ == ids_.size());
  for (std::size_t id = 0; id < ends_.size(); ++id)
    if (ends_[id] >= 0) waiting_.take_end(index_of_[id], ends_[id]);
  for (const std::size_t index : index_of_)
    if (waiting_.waits(index)) waiting_.take_join(index);
  next_request_ = 0;
  skip_joined();
  const auto behind = std::find_if(plan_->script.begin(), plan_->script.end(),
                                   [&](const ScriptStep& s) { return s.step >= next_step_; });
  next_script_ = static_cast<std::size_t>(behind - plan_->script.begin());
}

Runner::Runner(std::shared_ptr<const RunPlan> plan, Engine engine, WaitingRequests waiting)
    : plan_(std::move(plan)),
      engine_(std::move(engine)),
      policies_(plan_->settings),
      waiting_(std::move(waiting)),
      joined_(plan_->requests.size(), false) {
  skip_joined();
}

bool Runner::done() const {
  return num_joined_ == plan_->requests.size() && next_script_ == plan_->script.size() && is_idle();
}

// No request runs or waits, and no frame is in flight.
bool Runner::is_idle() const {
  return engine_.num_unfinished() == 0 && !engine_.has_frame_in_flight();
}

// When nothing runs, skips the steps before the next request or command.
void Runner::skip_idle_steps() {
  if (!is_idle()) return;
  std::int64_t next = std::numeric_limits<std::int64_t>::max();
  if (next_request_ < plan_->requests.size())
    next = std::min<std::int64_t>(next, plan_->requests[next_request_].at_step);
  if (!waiting_.ready().empty())
    next = std::min<std::int64_t>(next, waiting_.ready().begin()->at_step);
  if (next_script_ < plan_->script.size())
    next = std::min<std::int64_t>(next, plan_->script[next_script_].step);
  if (next == std::numeric_limits<std::int64_t>::max() || next <= next_step_) return;
  next_step_ = next;
  engine_.advance_to_step(next);
}

// Requests that wait for others join by way of waiting_.
void Runner::skip_joined() {
  while (next_request_ < joined_.size() &&
         (joined_[next_request_] || waiting_.waits(next_request_)))
    ++next_request_;
}

// Requests are sorted by (at_step, arrival_us). After the first request of an at_step that is not
// due, the next due one must have a later at_step.
void Runner::find_due_arrivals() {
  const auto& requests = plan_->requests;
  for (std::size_t i = next_request_; i < requests.size() && requests[i].at_step <= next_step_;) {
    if (joined_[i] || waiting_.waits(i)) {
      ++i;
    } else if (requests[i].arrival_us <= engine_.now_us()) {
      due_.push_back({requests[i].at_step, requests[i].arrival_us, i++});
    } else {
      const auto next_group = std::upper_bound(
          requests.begin() + static_cast<std::ptrdiff_t>(i), requests.end(), requests[i].at_step,
          [](std::int32_t step, const ArrivingRequest& r) { return step < r.at_step; });
      i = static_cast<std::size_t>(next_group - requests.begin());
    }
  }
}

// Finds the requests that waited for others and are due, as find_due_arrivals() finds the others.
void Runner::find_due_waiting() {
  const std::set<DueRequest>& ready = waiting_.ready();
  for (auto next = ready.begin(); next != ready.end() && next->at_step <= next_step_;) {
    if (next->due_us <= engine_.now_us())
      due_.push_back(*next++);
    else
      next = ready.lower_bound({.at_step = next->at_step + 1, .due_us = 0, .index = 0});
  }
}

Status Runner::join_due_requests() {
  if (is_idle()) jump_to_next_arrival();
  due_.clear();
  find_due_arrivals();
  const std::size_t num_arrivals = due_.size();
  find_due_waiting();
  if (due_.size() > num_arrivals) std::sort(due_.begin(), due_.end());
  for (const DueRequest& due : due_)
    if (Status joined = join(due.index); !joined.ok()) return joined;
  skip_joined();
  return Ok{};
}

void Runner::jump_to_next_arrival() {
  std::int64_t earliest = std::numeric_limits<std::int64_t>::max();
  const auto& requests = plan_->requests;
  for (std::size_t i = next_request_; i < requests.size() && requests[i].at_step <= next_step_;
       ++i) {
    if (joined_[i] || waiting_.waits(i)) continue;
    earliest = std::min(earliest, requests[i].arrival_us);
    if (requests[i].at_step == requests.back().at_step) break;  // the others arrive later
  }
  for (const DueRequest& due : waiting_.ready()) {
    if (due.at_step > next_step_) break;
    earliest = std::min(earliest, due.due_us);
    if (due.at_step == waiting_.ready().rbegin()->at_step) break;  // as above
  }
  if (earliest != std::numeric_limits<std::int64_t>::max()) engine_.advance_to(earliest);
}

Status Runner::join(std::size_t index) {
  const ArrivingRequest& arriving = plan_->requests[index];
  const auto added =
      engine_.add_request(arriving.request, folded_ == nullptr ? nullptr : &(*folded_)[index]);
  if (!added.ok()) return added.error();
  if (!plan_->script.empty()) ids_[arriving.request.name] = added.value();
  joined_[index] = true;
  ++num_joined_;
  if (waiting_.waits(index)) waiting_.take_join(index);
  const auto id = static_cast<std::size_t>(added.value().value);
  HS_EXPECT(id == index_of_.size());
  index_of_.push_back(index);
  ends_.push_back(-1);
  return Ok{};
}

Status Runner::apply_script() {
  for (; next_script_ < plan_->script.size() && plan_->script[next_script_].step <= next_step_;
       ++next_script_) {
    std::string missing;
    const auto find = [&](std::string_view name) {
      const auto found = ids_.find(name);
      if (found == ids_.end()) missing = name;
      return found == ids_.end() ? RequestId{} : found->second;
    };
    const ScriptStep& step = plan_->script[next_script_];
    if (const std::optional<PolicySet> policies = policies_.change(step))
      if (Status applied = engine_.apply(SetPolicies{*policies}); !applied.ok()) return applied;
    const std::vector<Command> commands = script_commands(step, find);
    if (!missing.empty())
      return invalid_input("the script of step " + std::to_string(next_step_) +
                           " names request \"" + missing + "\", which has not joined yet");
    for (const Command& command : commands)
      if (Status applied = engine_.apply(command); !applied.ok()) return applied;
  }
  return Ok{};
}

Result<const StepTrace*> Runner::step() {
  skip_idle_steps();
  if (Status joined = join_due_requests(); !joined.ok()) return joined.error();
  if (Status applied = apply_script(); !applied.ok()) return applied.error();
  const auto pending =
      (plan_->requests.size() - num_joined_) + (plan_->script.size() - next_script_);
  engine_.set_num_pending_commands(static_cast<std::int32_t>(pending));
  ++next_step_;
  const StepTrace& trace = engine_.step();
  take_ends(trace);
  return &trace;
}

// A request ends when its last token has returned, at the end of that step, or with its abort, at
// the beginning.
void Runner::take_ends(const StepTrace& trace) {
  const auto take = [this](RequestId request, std::int64_t time_us) {
    const auto id = static_cast<std::size_t>(request.value);
    ends_[id] = time_us;
    waiting_.take_end(index_of_[id], time_us);
  };
  for (const CommandTrace& command : trace.commands)
    if (command.command == CommandKind::abort && command.outcome == CommandOutcome::done)
      take(command.request, trace.time_us);
  for (const CommitTrace& commit : trace.committed)
    if (commit.finished) take(commit.request, engine_.now_us());
}

}  // namespace hybridscope
