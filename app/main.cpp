#include "app/state_devices.h"
#include "cli/command_line.h"
#include "gui/web/lesson_site.h"
#ifdef HYBRIDSCOPE_GUI
#include "gui/gui_main.h"
#endif

int main(int argc, char** argv) {
  hybridscope::Backends backends = hybridscope::state_backends();
  backends.make_lesson_site = &hybridscope::make_lesson_site;
#ifdef HYBRIDSCOPE_GUI
  backends.run_gui = &hybridscope::run_gui;
  backends.describe_gui = &hybridscope::describe_gui;
#endif
  return hybridscope::run_command_line(argc, argv, backends);
}
