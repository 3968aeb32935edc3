#include "gui/gui_loop.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "sessions/text/stop_request.h"

namespace hybridscope {
namespace {

// Work on a run between two frames.
constexpr std::int64_t kSliceUs = 10'000;
// ImGui settles over a few frames after each change.
constexpr int kFramesAChange = 3;
constexpr double kIdleWaitSeconds = 0.5;
// While an engine is attached, whose steps can come at any time.
constexpr double kAttachedWaitSeconds = 0.05;
constexpr std::int64_t kEnginePatienceUs = 10'000'000;
// Redraws the progress of a comparison, which nothing else does.
constexpr std::int64_t kComparedEveryUs = 200'000;

// The progress of the file being written, in steps of its bar; -1: none.
int written_share(const Workbench& workbench) {
  const FileJob* job = workbench.job();
  if (job == nullptr) return -1;
  return static_cast<int>(job->num_done() * 100 / std::max<std::int64_t>(job->num_steps(), 1));
}

}  // namespace

std::int64_t now_us() {
  return std::chrono::duration_cast<std::chrono::microseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

void run_loop(GuiSession& session, const std::function<bool()>& is_over) {
  Workbench& workbench = session.workbench();
  std::uint64_t drawn = 0;
  int frames_due = kFramesAChange;
  int shown_share = -1;
  std::int64_t compared_shown_us = 0;
  while (!workbench.wants_to_quit() && !is_over()) {
    if (session.surface().should_close()) {
      session.surface().keep_open();
      (void)workbench.apply_in_window({"file.quit"});
    }
    if (!workbench.outbox().pictures.empty()) frames_due = kFramesAChange;
    const bool busy = workbench.is_busy() || frames_due > 0;
    const double idle_wait =
        workbench.attached() == nullptr ? kIdleWaitSeconds : kAttachedWaitSeconds;
    if (session.surface().wait(busy ? 0.0 : idle_wait)) frames_due = kFramesAChange;
    workbench.advance(kSliceUs, now_us);
    if (workbench.revision() != drawn) frames_due = kFramesAChange;
    if (const int share = written_share(workbench); std::exchange(shown_share, share) != share)
      frames_due = kFramesAChange;
    const Comparison* comparison = workbench.comparison();
    if (comparison != nullptr && !comparison->complete() &&
        now_us() - compared_shown_us > kComparedEveryUs) {
      compared_shown_us = now_us();
      frames_due = std::max(frames_due, 1);
    }
    if (frames_due <= 0) {
      if (workbench.is_busy() || workbench.attached() != nullptr)
        std::this_thread::sleep_for(std::chrono::milliseconds(4));
      continue;
    }
    --frames_due;
    drawn = workbench.revision();
    session.draw_frame();
    if (session.is_settling()) frames_due = std::max(frames_due, 1);
  }
}

void wait_for_engine(Workbench& workbench) {
  const std::int64_t start = now_us();
  const auto is_over = [&] {
    const AttachedEngine* engine = workbench.attached();
    return engine == nullptr || stop_requested() || engine->has_caught_up() ||
           now_us() - start > kEnginePatienceUs ||
           (engine->status().state == AttachState::ended && engine->num_behind() == 0);
  };
  while (!is_over()) {
    workbench.advance(kSliceUs, now_us);
    std::this_thread::sleep_for(std::chrono::milliseconds(4));
  }
}

void settle(Workbench& workbench) {
  std::uint64_t before = 0;
  while (!stop_requested() && (workbench.is_busy() || before != workbench.revision())) {
    before = workbench.revision();
    workbench.advance(kSliceUs, now_us);
    // The steps that are waited for are judged by other threads.
    if (workbench.attached() != nullptr) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace hybridscope
