#include "gui/model/edited_session.h"

#include "sessions/live/fork.h"
#include "sessions/record/step_digests.h"

namespace hybridscope {

Result<std::unique_ptr<LiveRun>> make_edited_session(const ShownRun& session, const RunPlan& plan,
                                                     std::int64_t step) {
  const auto recorded = session.source();
  if (!recorded.ok()) return recorded.error();
  auto run = LiveRun::create(plan, {.scope = session.header().check});
  if (!run.ok()) return run.error();
  ForkGuard guard(*recorded.value(), step + 1);
  StepDigester digester(run.value()->names().request);
  while (run.value()->step() < step) {
    const Result<bool> moved = run.value()->forward();
    if (!moved.ok()) return moved.error();
    if (!moved.value()) break;
    const StepView view = run.value()->view();
    if (Status same = guard.check(view.trace.step, digester.digest(view.trace, view.findings));
        !same.ok())
      return same.error();
  }
  if (run.value()->step() < step)
    if (Status same = guard.finish(); !same.ok()) return same.error();
  return run;
}

}  // namespace hybridscope
