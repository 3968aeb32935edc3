// An array whose elements become text later; until then they are bytes of the host, or copies of a
// device's that are on their way.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "integrations/python/src/text_buffer.h"
#include "kernels/cuda/array_copies_cuda.h"

namespace hybridscope {

// Arrays of a device that come to the host together.
struct DeviceBatch {
  std::shared_ptr<const CopiedArrays> copied;  // null until they are launched
};

struct ElementType {
  char format = 0;  // as Python's module struct has it
  std::size_t size = 0;
  void (*append)(const char* element, TextBuffer& line) = nullptr;  // null: no known number

  static ElementType of(std::string_view format, std::size_t size);
};

struct KeptArray {
  static constexpr std::size_t kMaxDimensions = 4;

  ElementType type;
  std::size_t begin = 0;  // of its elements in the host's bytes, or in the batch's
  std::size_t num_dimensions = 0;
  std::array<std::size_t, kMaxDimensions> shape{};
  std::shared_ptr<const DeviceBatch> batch;  // null: in the host's bytes
  bool tells_empty_shape = false;  // {"shape":[0,2],"data":[]} for a matrix without elements
  bool has_rows = false;           // only `rows` of the first dimension, in their order
  std::vector<std::int64_t> rows;

  std::size_t num_elements() const;
  // Its first element; waits for the device. Throws std::runtime_error: the device does not give
  // it.
  const char* elements(std::string_view host_bytes) const;
  // Waits for the device. Throws std::runtime_error: as above, or a row that the array does not
  // have.
  void append_to(TextBuffer& line, std::string_view host_bytes) const;
};

}  // namespace hybridscope
