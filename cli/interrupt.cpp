#include "cli/interrupt.h"

#include <csignal>

namespace hybridscope {
namespace {

// Global, because a signal handler can reach nothing else.
volatile std::sig_atomic_t interrupted = 0;

extern "C" void on_interrupt(int) {
  interrupted = 1;
  std::signal(SIGINT, SIG_DFL);
}

}  // namespace

void ask_for_interrupts() { std::signal(SIGINT, on_interrupt); }
bool was_interrupted() { return interrupted != 0; }

}  // namespace hybridscope
