#include "sessions/runner.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "sessions/scenario_requests.h"

namespace hybridscope {

Result<Runner> Runner::create(RunPlan plan) {
  auto engine = Engine::create(plan.setup.config);
  if (!engine.ok()) return engine.error();
  return Runner(std::move(plan), std::move(engine).value());
}

Runner::Runner(RunPlan plan, Engine engine) : plan_(std::move(plan)), engine_(std::move(engine)) {}

bool Runner::done() const {
  return next_request_ == plan_.requests.size() && next_script_ == plan_.script.size() &&
         engine_.num_unfinished() == 0;
}

RequestId Runner::find(std::string_view name) const {
  const auto found = ids_.find(name);
  return found == ids_.end() ? RequestId{} : found->second;
}

// Steps before the next request or command are left out when nothing runs.
void Runner::skip_idle_steps() {
  if (engine_.num_unfinished() > 0) return;
  std::int64_t next = std::numeric_limits<std::int64_t>::max();
  if (next_request_ < plan_.requests.size())
    next = std::min<std::int64_t>(next, plan_.requests[next_request_].at_step);
  if (next_script_ < plan_.script.size())
    next = std::min<std::int64_t>(next, plan_.script[next_script_].step);
  if (next == std::numeric_limits<std::int64_t>::max() || next <= next_step_) return;
  next_step_ = next;
  engine_.advance_to_step(next);
}

Status Runner::join_due_requests() {
  const bool idle = engine_.num_unfinished() == 0;
  if (idle && next_request_ < plan_.requests.size() &&
      plan_.requests[next_request_].at_step <= next_step_)
    engine_.advance_to(plan_.requests[next_request_].arrival_us);
  for (; next_request_ < plan_.requests.size(); ++next_request_) {
    ArrivingRequest& arriving = plan_.requests[next_request_];
    if (arriving.at_step > next_step_ || arriving.arrival_us > engine_.now_us()) break;
    const auto added = engine_.add_request(arriving.request);
    if (!added.ok()) return added.error();
    if (!plan_.script.empty()) ids_[arriving.request.name] = added.value();
    arriving.request.prompt = {};  // the engine has its own copy
  }
  return Ok{};
}

Status Runner::apply_script() {
  for (; next_script_ < plan_.script.size() && plan_.script[next_script_].step <= next_step_;
       ++next_script_)
    for (const Command& command : script_commands(
             plan_.script[next_script_], [this](std::string_view name) { return find(name); }))
      if (Status applied = engine_.apply(command); !applied.ok()) return applied.error();
  return Ok{};
}

Result<const StepTrace*> Runner::step() {
  skip_idle_steps();
  if (Status joined = join_due_requests(); !joined.ok()) return joined.error();
  if (Status applied = apply_script(); !applied.ok()) return applied.error();
  const auto pending =
      (plan_.requests.size() - next_request_) + (plan_.script.size() - next_script_);
  engine_.set_num_pending_commands(static_cast<std::int32_t>(pending));
  ++next_step_;
  return &engine_.step();
}

}  // namespace hybridscope
