#include "gui/gui_main.h"

#include <fmt/core.h>

#include <cstdlib>
#include <utility>

#include "gui/attached_bench.h"
#include "gui/gui_bench.h"
#include "gui/gui_loop.h"
#include "gui/gui_session.h"
#include "gui/model/command_list.h"
#include "gui/model/live_run.h"
#include "gui/model/open_run.h"
#include "gui/model/panel_infos.h"
#include "gui/panels/panel_table.h"
#include "gui/png_file.h"
#include "sessions/text/json_reader.h"
#include "sessions/text/shown_text.h"
#include "sessions/text/stop_request.h"

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
