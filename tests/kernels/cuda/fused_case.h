// Random states and batches for the fused align launches, in host memory and on the device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "core/base/tensor_view.h"
#include "core/state/copy_launch.h"
#include "core/state/state_copy.h"
#include "core/state/state_memory.h"
#include "kernels/cuda/device_buffer.cuh"

namespace hybridscope::test {

// A number of [least, most].
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : engine_(seed) {}
  std::int32_t operator()(std::int32_t least, std::int32_t most) {
    return std::uniform_int_distribution<std::int32_t>(least, most)(engine_);
  }
  bool one_in(std::int32_t times) { return (*this)(1, times) == times; }

 private:
  std::mt19937_64 engine_;
};

// Layers of random shape; every byte of their memory random, padding included.
struct RandomStates {
  MambaStateTensors tensors;
  StateLayout layout;
  std::vector<std::int64_t> state_offsets;  // [states] of each tensor in the memory
  std::vector<std::byte> bytes;

  // Copies run on `bytes`, which are then what a launch must give.
  void execute(const std::vector<StateCopy>& copies);
  // What decisions[r] of row r copies with these tables, in order of the mamba groups. Throws
  // std::runtime_error where a block lies outside a state.
  std::vector<StateCopy> plan(std::span<const StateCopyDecision> decisions,
                              std::span<const TensorView<std::int32_t>> tables) const;
};
struct RandomStatesOptions {
  std::int32_t num_blocks = 0;
  std::int64_t table_columns = 0;
  bool large = false;  // tiles of the engine's size and more
};
RandomStates draw_states(Draw& draw, const RandomStatesOptions& options);

// Block tables of `num_groups` groups, [rows, columns], no block twice.
struct RandomTables {
  std::int32_t rows = 0;
  std::int32_t columns = 0;
  std::vector<std::vector<std::int32_t>> groups;

  std::vector<TensorView<std::int32_t>> views() const;
};
RandomTables draw_tables(Draw& draw, std::int32_t num_groups, std::int32_t rows,
                         std::int32_t columns);

// What is on the device: states and tables as on the host.
class DeviceStates {
 public:
  // Throws std::runtime_error: the device's error.
  DeviceStates(const RandomStates& states, const RandomTables& tables);
  std::vector<std::uintptr_t> state_base_addrs(const RandomStates& states) const;
  std::span<const std::int32_t* const> block_tables() const { return tables_of_groups_; }
  std::vector<std::byte> bytes() const;

 private:
  DeviceBuffer<std::byte> memory_;
  std::vector<DeviceBuffer<std::int32_t>> tables_;
  std::vector<const std::int32_t*> tables_of_groups_;
};

DeviceBuffer<std::int32_t> on_device(const std::vector<std::int32_t>& values);
std::vector<std::int32_t> on_host(const DeviceBuffer<std::int32_t>& values);

// Why there is no device to test on; empty: there is one.
std::string why_no_device();

}  // namespace hybridscope::test
