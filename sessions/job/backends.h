// Functions of kernels/ and gui/ that jobs call without linking to them; app passes them in.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/base/result.h"
#include "core/language/language_machine.h"
#include "core/state/state_backend.h"
#include "sessions/conformance/vector_kernels.h"
#include "sessions/lessons/lesson.h"
#include "sessions/run/gui_start.h"

namespace hybridscope {

struct StateRequest {
  StateMemory memory;
  StepSize largest_step;
  std::int32_t device = 0;
};

// Memory that can hold state as bytes, and what computes there. `device` is 0 where there is only
// one.
struct StateDevice {
  Result<std::unique_ptr<StateBackend>> (*make)(StateRequest request) = nullptr;
  // Bytes that are free for state; -1: not known. Error: no such device, or it cannot be used.
  Result<std::int64_t> (*free_bytes)(std::int32_t device) = nullptr;
  // What the device is called; empty: this machine's memory.
  std::string (*name)(std::int32_t device) = nullptr;
  // Where a language model runs; null: on the host. Error: as MakeLanguageMachine.
  Result<std::unique_ptr<LanguageMachine>> (*make_language)(const LanguageMachineRequest& request,
                                                            std::int32_t device) = nullptr;
  // What vectors are recomputed with. Error: no such device, or it cannot be used.
  Result<VectorKernels> (*vector_kernels)(std::int32_t device) = nullptr;
};

struct Backends {
  StateDevice cpu = {};
  StateDevice cuda = {};
  // Driver, runtime and devices, or why there are none.
  std::string (*describe_cuda)() = nullptr;
  // Shows the workbench; null: built without it.
  Status (*run_gui)(GuiStart) = nullptr;
  // Libraries, OpenGL and font of the workbench; null: as above.
  std::string (*describe_gui)() = nullptr;
  // Makes the pages of `lessons export`; null: built without them.
  MakeLessonSite make_lesson_site = nullptr;
};

}  // namespace hybridscope
