// Ctrl-C: the first one asks a command to come to an end in order, the second one ends it.
#pragma once

namespace hybridscope {

// From here on SIGINT asks instead of ending the program.
void ask_for_interrupts();
bool was_interrupted();

}  // namespace hybridscope
