#include "gui/gui_bench.h"

#include <fmt/core.h>
#include <sys/resource.h>

#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <fstream>
#include <random>
#include <string_view>
#include <vector>

#include "gui/gui_loop.h"
#include "gui/model/live_run.h"
#include "sessions/live/live_player.h"

namespace hybridscope {
namespace {

constexpr int kWarmUpFrames = 10;
constexpr int kFrames = 200;
constexpr int kSteps = 200;
constexpr double kIdleSeconds = 10;

double ms_between(std::int64_t begin_us, std::int64_t end_us) {
  return static_cast<double>(end_us - begin_us) / 1000;
}

// Since the start of this process, in kernel ticks of usually 10 ms: field 22 of proc(5) stat.
double ms_of_process() {
  std::ifstream file("/proc/self/stat");
  std::string word;
  // The second field is the program's name in parentheses, which may contain spaces.
  std::getline(file, word, ')');
  for (int field = 3; field <= 22; ++field) file >> word;
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  const double begin = std::stod(word) / static_cast<double>(sysconf(_SC_CLK_TCK));
  return (static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9 - begin) * 1000;
}

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// Measurements of one action.
struct Timings {
  std::vector<double> wall_ms;
  std::vector<double> thread_ms;  // processor time of this thread, without the rasteriser
};

// Records the time from its start to each stop.
class Stopwatch {
 public:
  void stop(Timings& timings) const {
    timings.wall_ms.push_back(ms_between(begin_us_, now_us()));
    timings.thread_ms.push_back(thread_ms() - begin_thread_ms_);
  }

 private:
  static double thread_ms() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) / 1e6;
  }
  std::int64_t begin_us_ = now_us();
  double begin_thread_ms_ = thread_ms();
};

double quantile(std::vector<double> values, std::size_t percent) {
  std::sort(values.begin(), values.end());
  return values[(values.size() - 1) * percent / 100];
}

std::string heading() {
  return fmt::format("{:<44}{:>6}{:>9}{:>9}{:>9}{:>9}{:>14}\n", "milliseconds", "times", "least",
                     "median", "95 %", "worst", "this thread");
}
// The last column is the median of this thread's processor time.
std::string line_of(std::string_view what, const Timings& timings) {
  const std::vector<double>& wall = timings.wall_ms;
  return fmt::format("{:<44}{:>6}{:>9.2f}{:>9.2f}{:>9.2f}{:>9.2f}{:>14.2f}\n", what, wall.size(),
                     quantile(wall, 0), quantile(wall, 50), quantile(wall, 95), quantile(wall, 100),
                     quantile(timings.thread_ms, 50));
}

std::string title_of(const Surface& surface) {
  return fmt::format("{} x {} pixels, OpenGL {}", surface.size().width, surface.size().height,
                     opengl_words());
}

Timings time_frames(GuiSession& session) {
  for (int i = 0; i < kWarmUpFrames; ++i) session.draw_frame();
  Timings timings;
  for (int i = 0; i < kFrames; ++i) {
    const Stopwatch watch;
    session.draw_frame();
    watch.stop(timings);
  }
  return timings;
}

struct ScrubTimings {
  Timings shown;     // until the first picture of the step
  Timings settled;   // until everything for it is read and drawn
  std::string live;  // what that took of a live run; empty: a recorded session
};

// The player of a live run; null: the run is a recorded session.
const LivePlayer* live_player(const Workbench& workbench) {
  const auto* live = dynamic_cast<const LiveRun*>(workbench.run());
  return live == nullptr ? nullptr : &live->player();
}

Result<ScrubTimings> time_scrubbing(GuiSession& session) {
  Workbench& workbench = session.workbench();
  std::vector<std::int64_t> steps;
  for (const StepMark& mark : workbench.run()->marks()) steps.push_back(mark.step);
  std::mt19937 random(1);
  ScrubTimings timings;
  const LivePlayer* player = live_player(workbench);
  const std::int64_t before = player == nullptr ? 0 : player->num_steps_run();
  for (int i = 0; i < kSteps; ++i) {
    const std::string step = fmt::format("{}", steps[random() % steps.size()]);
    const Stopwatch watch;
    if (Status there = workbench.apply({"run.go_to", step}); !there.ok()) return there.error();
    session.draw_frame();
    watch.stop(timings.shown);
    settle(workbench);
    session.draw_frame();
    watch.stop(timings.settled);
  }
  if (player != nullptr)
    timings.live = fmt::format("{} jumps ran {} steps again, from {} snapshots\n", kSteps,
                               player->num_steps_run() - before, player->num_snapshots());
  return timings;
}

// Processor time of an idle window, in percent of one core.
std::string time_standing_still(GuiSession& session) {
  const std::int64_t begin = now_us();
  const double used = cpu_seconds();
  run_loop(session, [begin] { return ms_between(begin, now_us()) > kIdleSeconds * 1000; });
  const double share = (cpu_seconds() - used) / (ms_between(begin, now_us()) / 1000);
  return fmt::format("left alone for {:.0f} s: {:.2f} % of a core\n", kIdleSeconds, share * 100);
}

}  // namespace

Result<std::string> run_gui_bench(GuiSession& session) {
  session.draw_frame();
  const double first = ms_of_process();
  std::string report = title_of(session.surface()) + "\n";
  report += fmt::format("from the start of the process to the first frame: {:.0f} ms\n\n", first);
  report += heading();
  report += line_of("a frame, the step stays", time_frames(session));
  if (session.workbench().has_step()) {
    const auto times = time_scrubbing(session);
    if (!times.ok()) return times.error();
    report += line_of("to a known step at random, until it is seen", times.value().shown);
    report += line_of("until everything of it is read and drawn", times.value().settled);
    report += times.value().live;
  }
  if (session.surface().is_window()) report += "\n" + time_standing_still(session);
  return report;
}

}  // namespace hybridscope
