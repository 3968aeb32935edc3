// The raw buffers that hold a vector's state tensors, and whether copies of one launch conflict.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/state/state_copy.h"
#include "core/state/state_tensor.h"
#include "sessions/conformance/vector_kernels.h"
#include "sessions/text/json_value.h"

namespace hybridscope {

// Bytes [begin, end) of a buffer that one copy reads or writes.
struct ByteRange {
  std::size_t buffer = 0;
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::size_t owner = 0;  // index of the copy
  bool written = false;
};

// Do two ranges of different copies overlap, at least one of them written?
bool ranges_conflict(std::vector<ByteRange> ranges);

class VectorMemory {
 public:
  // Reads `config.memory`; `tensors` were read from the same config. Throws when a state leaves its
  // buffer or the buffers are larger than a test vector needs.
  VectorMemory(const JsonValue& config, const MambaStateTensors& tensors);

  // Runs the copies in order, if any of them moves anything. Throws when one leaves its buffer, and
  // as expect_launched().
  void execute(std::span<const StateCopy> copies, const VectorKernels& kernels);
  // Bytes of each state, by flat state index, for a launch that makes these copies by itself.
  // Throws when one leaves its buffer.
  std::vector<std::span<std::byte>> bytes_for(std::span<const StateCopy> copies);
  // Does one copy write what another one reads or writes? Then their order would matter.
  bool conflict(std::span<const StateCopy> copies) const;

  nlohmann::json raw_crc32() const;    // per raw buffer
  nlohmann::json state_crc32() const;  // [layer][state], logical elements without padding

 private:
  struct Place {
    StateTensor tensor;
    std::size_t raw = 0;
    std::size_t byte_offset = 0;
  };
  const Place& place_of(const StateCopy& copy) const;
  void read_raw_buffers(const JsonValue& memory);
  Place read_place(const JsonValue& state, const StateTensor& tensor) const;
  void check(const StateCopy& copy) const;
  std::uint32_t crc32_of(const Place& place) const;

  std::string pointer_;  // of `config.memory`
  std::size_t num_kinds_ = 0;
  std::vector<Place> places_;  // by flat state index
  std::vector<std::vector<std::byte>> raw_;
};

}  // namespace hybridscope
