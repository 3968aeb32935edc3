#include "app/state_devices.h"

#include <fmt/core.h>

#include <memory>
#include <utility>

#include "app/vector_kernels.h"
#include "kernels/cpu/cpu_state_backend.h"
#include "kernels/cuda/cuda_state_backend.h"
#include "kernels/cuda/describe_cuda.h"
#include "kernels/language/cuda_language_machine.h"
#include "sessions/run/run_plan.h"

namespace hybridscope {
namespace {

Result<std::unique_ptr<StateBackend>> make_cpu_backend(StateRequest request) {
  auto made = CpuStateBackend::create(std::move(request.memory));
  if (!made.ok()) return made.error();
  return std::unique_ptr<StateBackend>(std::move(made).value());
}

std::string name_of_device(std::int32_t device) {
  const auto cuda = describe_cuda();
  if (!cuda.ok()) return {};
  for (const CudaDevice& one : cuda.value().devices)
    if (one.ordinal == device) return fmt::format("device {}: {}", device, one.name);
  return {};
}

}  // namespace

StateDevice cpu_state_device() {
  return {.make = &make_cpu_backend,
          .free_bytes = [](std::int32_t) { return Result<std::int64_t>(available_memory_bytes()); },
          .name = nullptr,
          .make_language = nullptr,
          .vector_kernels = &cpu_vector_kernels};
}

StateDevice cuda_state_device() {
  return {.make =
              [](StateRequest request) {
                return CudaStateBackend::create({.memory = std::move(request.memory),
                                                 .device = request.device,
                                                 .largest_step = request.largest_step});
              },
          .free_bytes = &free_cuda_bytes,
          .name = &name_of_device,
          .make_language = &CudaLanguageMachine::create,
          .vector_kernels = &cuda_vector_kernels};
}

Backends state_backends() {
  return {.cpu = cpu_state_device(),
          .cuda = cuda_state_device(),
          .describe_cuda = &describe_cuda_words};
}

std::string describe_cuda_words() {
  const auto cuda = describe_cuda();
  if (!cuda.ok()) return cuda.error().message;
  std::string words = fmt::format("CUDA {}, driver up to {}", cuda.value().runtime_version,
                                  cuda.value().driver_version);
  for (const CudaDevice& device : cuda.value().devices)
    words += fmt::format(", device {}: {} (compute {}.{}, {})", device.ordinal, device.name,
                         device.major, device.minor, rounded_byte_size(device.total_bytes));
  return words;
}

}  // namespace hybridscope
