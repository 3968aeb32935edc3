// The states and block tables of a golden vector on a CUDA device, for tests in which a fused
// launch decides and copies in place of the host's list of copies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "kernels/cuda/device_buffer.cuh"
#include "kernels/cuda/fused_align.h"
#include "sessions/conformance/vector_value.h"

namespace hybridscope::test {

// Host bytes of each state tensor, by flat state index, as ExecuteCopies hands them out.
using HostStates = std::span<const std::span<std::byte>>;
using DeviceArray = DeviceBuffer<std::int32_t>;

// All of these throw std::runtime_error: the device's error.
void must(const Status& status);
DeviceArray on_device(const std::vector<std::int32_t>& values);
std::vector<std::int32_t> on_host(const DeviceArray& values);

class GoldenDevice {
 public:
  // `config` and `block_tables` of a vector of postprocess_align or precopy_align; uploads both
  // tables and states.
  GoldenDevice(const VectorValue& config, const VectorValue& block_tables, HostStates states);

  const FusedAlign& fused() const { return *fused_; }
  DeviceBlockTables block_tables() const { return table_pointers_; }
  // The device's bytes to where the states came from; waits for the launches before it.
  void download() const;

 private:
  // Host memory that states lie in, and its copy on the device. States of one page overlap.
  struct Region {
    std::byte* begin = nullptr;
    std::byte* end = nullptr;
    DeviceBuffer<std::byte> device = {};
  };
  void upload(HostStates states);
  std::vector<std::uintptr_t> addresses_of(HostStates states) const;

  std::vector<Region> regions_;
  std::vector<DeviceArray> tables_;
  std::vector<const std::int32_t*> table_pointers_;
  std::optional<FusedAlign> fused_;
};

}  // namespace hybridscope::test
