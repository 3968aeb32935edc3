#include "cli/command_line.h"
#include "kernels/cpu/state_copy_cpu.h"

int main(int argc, char** argv) {
  return hybridscope::run_command_line(argc, argv,
                                       {.execute_copies = &hybridscope::execute_copies});
}
