// The raw buffers that state tensors of a vector lie in (FORMAT, "Memory model").
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "core/state/state_copy.h"
#include "core/state/state_tensor.h"
#include "sessions/conformance/vector_kinds.h"
#include "sessions/conformance/vector_value.h"

namespace hybridscope {

class VectorMemory {
 public:
  // `config.memory`; `tensors` were read from the same config. Throws when a state leaves its
  // buffer, or when the buffers are larger than a test vector has reason to be.
  VectorMemory(const VectorValue& config, const MambaStateTensors& tensors);

  // Runs the copies in order; throws when one leaves its buffer.
  void execute(std::span<const StateCopy> copies, ExecuteCopies execute_copies);
  // Does one copy write what another reads or writes? The order of such copies would matter.
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
  void read_raw_buffers(const VectorValue& memory);
  Place read_place(const VectorValue& state, const StateTensor& tensor) const;
  void check(const StateCopy& copy) const;
  std::uint32_t crc32_of(const Place& place) const;

  std::string pointer_;  // of `config.memory`
  std::size_t num_kinds_ = 0;
  std::vector<Place> places_;  // by flat state index
  std::vector<std::vector<std::byte>> raw_;
};

}  // namespace hybridscope
