// Whether the program was asked to stop, for what waits for somebody at the other end of a pipe.
#pragma once

#include "core/base/result.h"

namespace hybridscope {

// From now on stop_requested() asks `asked`, from any thread. Without this call nobody asks the
// program to stop.
void stop_waiting_when(bool (*asked)());
bool stop_requested();

// Error not_available, of who reads: the caller knows file and line.
Error interrupted_reading();

}  // namespace hybridscope
