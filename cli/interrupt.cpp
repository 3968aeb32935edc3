#include "cli/interrupt.h"

#include <unistd.h>

#include <csignal>

#include "cli/report_error.h"

namespace hybridscope {
namespace {

// Global, because a signal handler can reach nothing else.
volatile std::sig_atomic_t interrupted = 0;

extern "C" void on_interrupt(int signal) {
  interrupted = 1;
  std::signal(signal, SIG_DFL);
}

extern "C" void end_program(int) { _exit(kExitInterrupted); }

void handle_interrupts(void (*handler)(int)) {
  std::signal(SIGINT, handler);
  std::signal(SIGTERM, handler);
  if (std::signal(SIGHUP, handler) == SIG_IGN) std::signal(SIGHUP, SIG_IGN);
}

}  // namespace

void end_at_interrupts() { handle_interrupts(end_program); }

void ask_for_interrupts() { handle_interrupts(on_interrupt); }

bool was_interrupted() { return interrupted != 0; }

void make_size_limit_an_error() { std::signal(SIGXFSZ, SIG_IGN); }

}  // namespace hybridscope
