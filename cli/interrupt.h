// The signals of every command. Ctrl-C, SIGTERM and SIGHUP end it with exit code 130; one that has
// something to finish is asked to stop, and a second signal kills it.
#pragma once

namespace hybridscope {

// From now on a SIGINT, SIGTERM or SIGHUP ends the program at once, with exit code 130. A SIGHUP
// that is ignored (nohup) stays ignored, here and below.
void end_at_interrupts();

// From now on the first SIGINT, SIGTERM or SIGHUP only sets was_interrupted(); the next one of the
// same kind kills it. For commands that look at was_interrupted() often.
void ask_for_interrupts();
// The program then ends with exit code 130, whatever the command returns.
bool was_interrupted();

// From now on a limit on the size of files (ulimit -f) fails the write that reaches it, with EFBIG,
// as a full disk does with ENOSPC; the signal SIGXFSZ does not kill the program.
void make_size_limit_an_error();

}  // namespace hybridscope
