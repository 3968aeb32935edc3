// Ctrl-C, SIGTERM and SIGHUP: the first one asks a command to stop cleanly, the second one kills
// it.
#pragma once

namespace hybridscope {

// From now on the first SIGINT, SIGTERM or SIGHUP only sets was_interrupted(); the next one of the
// same kind ends the program. A SIGHUP that is ignored (nohup) stays ignored.
void ask_for_interrupts();
bool was_interrupted();

}  // namespace hybridscope
