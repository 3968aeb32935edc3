// What executes copies on real bytes. From kernels/, which cli does not know: app hands it in.
#pragma once

#include "sessions/conformance/vector_kinds.h"

namespace hybridscope {

struct Backends {
  ExecuteCopies execute_copies = nullptr;  // on the CPU
};

}  // namespace hybridscope
