// Ctrl-C: the first one asks a command to stop cleanly, the second one kills it.
#pragma once

namespace hybridscope {

// From here on SIGINT asks instead of ending the program.
void ask_for_interrupts();
bool was_interrupted();

}  // namespace hybridscope
