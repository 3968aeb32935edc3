#include "sessions/text/stop_request.h"

#include <atomic>

namespace hybridscope {
namespace {

// Global, because what it asks is: a signal handler can reach nothing else.
std::atomic<bool (*)()> stop_asked = nullptr;

}  // namespace

void stop_waiting_when(bool (*asked)()) { stop_asked = asked; }

bool stop_requested() {
  bool (*const asked)() = stop_asked;
  return asked != nullptr && asked();
}

Error interrupted_reading() { return {ErrorKind::not_available, "interrupted while it was read"}; }

}  // namespace hybridscope
