// Ctrl-C: the first one asks a command to stop cleanly, the second one kills it.
#pragma once

namespace hybridscope {

// From now on the first SIGINT only sets was_interrupted(); the next one ends the program.
void ask_for_interrupts();
bool was_interrupted();

}  // namespace hybridscope
