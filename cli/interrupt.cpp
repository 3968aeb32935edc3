#include "cli/interrupt.h"

#include <csignal>

namespace hybridscope {
namespace {

// Global, because a signal handler can reach nothing else.
volatile std::sig_atomic_t interrupted = 0;

extern "C" void on_interrupt(int signal) {
  interrupted = 1;
  std::signal(signal, SIG_DFL);
}

}  // namespace

void ask_for_interrupts() {
  std::signal(SIGINT, on_interrupt);
  std::signal(SIGTERM, on_interrupt);
  if (std::signal(SIGHUP, on_interrupt) == SIG_IGN) std::signal(SIGHUP, SIG_IGN);
}

bool was_interrupted() { return interrupted != 0; }

}  // namespace hybridscope
