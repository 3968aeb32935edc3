#include "gui/gui_main.h"

#include <fmt/core.h>
#include <sys/resource.h>
#include <unistd.h>
#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <random>
#include <string_view>
#include <utility>
#include <vector>

#include "gui/attached_bar.h"
#include "gui/gui_session.h"
#include "gui/model/command_table.h"
#include "gui/model/live_run.h"
#include "gui/model/open_run.h"
#include "gui/model/panel_infos.h"
#include "gui/panels/panels.h"
#include "gui/surface.h"
#include "sessions/live/live_player.h"
#include "sessions/text/input_file.h"
#include "sessions/text/json_reader.h"
#include "sessions/text/shown_text.h"

namespace hybridscope {
namespace {

void attach(Workbench& workbench, const GuiStart& start) {
  workbench.attach({.place = start.attach,
                    .record = start.record,
                    .level = record_level_of(start.record_level).value_or(RecordLevel::blocks)});
}

// The user can be asked only in a window that stays, without a script or commands.
Status open_start(Workbench& workbench, GuiStart& start, bool stays) {
  if (start.plan) {
    auto run = LiveRun::create(*std::move(start.plan));
    if (!run.ok()) return run.error();
    for (const std::string& file : start.plan_files) workbench.note_read(opened_file(file));
    workbench.open(std::move(run).value());
    return workbench.apply({"run.step"});
  } else if (!start.attach.empty()) {
    attach(workbench, start);
    return Ok{};
  } else if (!start.open.empty()) {
    const bool asks = start.script.empty() && start.commands.empty() && stays;
    const GuiCommand command{"file.open", start.open};
    return asks ? workbench.apply_in_window(command) : workbench.apply(command);
  }
  return Ok{};
}

Status start_to_speak(Workbench& workbench, const GuiStart& start) {
  workbench.set_language_machine(start.make_machine);
  if (start.weights.empty()) return Ok{};
  Status loaded = workbench.apply({"run.weights", start.weights});
  if (!loaded.ok() || start.form.empty()) return loaded;
  return workbench.apply({"run.form", start.form});
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

// Scripts can use named layouts too. Only a window that stays restores the last layout and lists
// recent files on the start screen.
void recall(Workbench& workbench, bool stays) {
  auto memory = UserMemory::at(variable);
  if (!memory.ok()) return;
  workbench.memory() = std::move(memory).value();
  if (!stays) return;
  for (std::string& note : workbench.memory().recall(workbench.view()))
    workbench.say(NoticeKind::warning, std::move(note));
  workbench.list_recent();
}

Result<std::vector<GuiCommand>> commands_of(const GuiStart& start) {
  std::vector<GuiCommand> commands;
  for (const std::string& line : start.commands) {
    auto read = read_gui_script(line, "--command");
    if (!read.ok()) return read.error();
    commands.insert(commands.end(), read.value().begin(), read.value().end());
  }
  if (start.script.empty()) return commands;
  const auto text = read_text_file(start.script);
  if (!text.ok()) return text.error();
  auto read = read_gui_script(text.value(), start.script);
  if (!read.ok()) return read.error();
  commands.insert(commands.end(), read.value().begin(), read.value().end());
  return commands;
}

// Draws until the requested pictures of panels are written, before the next command changes what
// they show.
Status draw_pictures(GuiSession& session) {
  Workbench& workbench = session.workbench();
  if (workbench.outbox().pictures.empty()) return Ok{};
  while (!workbench.outbox().pictures.empty()) {
    session.draw_frame();
    settle(workbench);  // what panels asked for of a file
  }
  return session.last_picture();
}

Status carry_out(GuiSession& session, const std::vector<GuiCommand>& commands) {
  Workbench& workbench = session.workbench();
  for (const GuiCommand& command : commands) {
    if (Status done = workbench.apply(command); !done.ok())
      return Error{done.error().kind,
                   fmt::format("{}: {}", to_text(command), joined_lines(done.error().message))};
    settle(workbench);
    if (stop_requested()) return interrupted_reading();
    if (const Status& waited = workbench.wait_status(); !waited.ok())
      return Error{waited.error().kind,
                   fmt::format("{}: {}", to_text(command), waited.error().message)};
    if (Status drawn = draw_pictures(session); !drawn.ok()) return drawn;
    if (!workbench.job_status().ok()) return workbench.job_status();
  }
  return Ok{};
}

// Layouts settle in the first few frames; movement ends after about a second at most.
constexpr int kFramesBeforeScreenshot = 4;
constexpr int kMostFramesBeforeScreenshot = 120;

Status take_screenshot(GuiSession& session, const GuiStart& start) {
  for (int i = 0; i < kMostFramesBeforeScreenshot; ++i) {
    if (i >= kFramesBeforeScreenshot && !session.is_settling()) break;
    session.draw_frame();
    settle(session.workbench());  // what panels asked for of a file
  }
  return write_png(read_pixels(session.surface()), start.screenshot);
}

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

// Draws the first frame of what is open, then the same step repeatedly, then known steps at
// random; a window is then left idle. Returns a table with one figure per line: milliseconds from a
// command until the pixels are there. Errors: those of going to a step.
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

Status print_bench(GuiSession& session) {
  const auto report = session.workbench().attached() == nullptr ? run_gui_bench(session)
                                                                : run_attached_bench(session);
  if (!report.ok()) return report.error();
  fmt::print("{}", report.value());
  return Ok{};
}

// The requested size, or that of the last window that stayed.
PixelSize window_size(const GuiStart& start, bool stays) {
  if (start.width > 0) return {start.width, start.height};
  WindowSize size;
  if (stays) {
    auto memory = UserMemory::at(variable);
    ViewState ignored;
    if (memory.ok()) (void)memory.value().recall(ignored);
    if (memory.ok()) size = memory.value().window();
  }
  return {size.width, size.height};
}

}  // namespace

Status run_gui(GuiStart start) {
  if (start.lists_commands) {
    fmt::print("{}", command_list(panel_infos()));
    return Ok{};
  }
  const bool stays = start.screenshot.empty() && !start.bench;
  auto session =
      GuiSession::create({.size = window_size(start, stays), .offscreen = start.offscreen});
  if (!session.ok()) return session.error();
  Workbench& workbench = session.value()->workbench();
  workbench.set_program(start.program);
  const auto commands = commands_of(start);
  if (!commands.ok()) return commands.error();
  recall(workbench, stays);
  if (Status opened = open_start(workbench, start, stays); !opened.ok() && !stays) return opened;
  if (Status speaks = start_to_speak(workbench, start); !speaks.ok()) return speaks;
  if (!stays && !start.bench) wait_for_engine(workbench);
  if (!stays && stop_requested()) return interrupted_reading();
  if (workbench.run() == nullptr) workbench.list_shipped();
  if (Status done = carry_out(*session.value(), commands.value()); !done.ok() && !stays)
    return done;
  if (start.bench) return print_bench(*session.value());
  if (!stays) return take_screenshot(*session.value(), start);
  run_loop(*session.value(), [&start] { return start.is_interrupted && start.is_interrupted(); });
  const PixelSize size = session.value()->surface().size();
  workbench.memory().set_window({.width = size.width, .height = size.height});
  return workbench.memory().keep(workbench.view());
}

std::string describe_gui() {
  const char* display = std::getenv("DISPLAY");
  const std::string where =
      display == nullptr || *display == '\0' ? "no display" : fmt::format("display {}", display);
  auto session = GuiSession::create({.size = {320, 320}, .offscreen = true});
  if (!session.ok())
    return fmt::format("ImGui {}, {}, {}", IMGUI_VERSION, where, session.error().message);
  session.value()->draw_frame();
  return fmt::format("ImGui {}, OpenGL {}, font {}, {}", IMGUI_VERSION, opengl_words(),
                     session.value()->look().fonts.source, where);
}

}  // namespace hybridscope
