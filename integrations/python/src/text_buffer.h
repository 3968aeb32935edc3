// Text that an engine's thread leaves for later: appended, kept as arrays, or said again.
#pragma once

#include <pybind11/pybind11.h>
#include <algorithm>
#include <array>
#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "kernels/cuda/array_copies_cuda.h"

namespace hybridscope {

// Text that grows at its end: appends are inline, and memory is not cleared first.

class TextBuffer {
 public:
  explicit TextBuffer(std::size_t usual_size)
      : capacity_(usual_size), bytes_(std::make_unique_for_overwrite<char[]>(usual_size)) {}

  void add(char character) {
    make_room(1);
    bytes_[size_++] = character;
  }
  void add(std::string_view text) {
    if (text.empty()) return;
    make_room(text.size());
    std::memcpy(bytes_.get() + size_, text.data(), text.size());
    size_ += text.size();
  }
  void add_number(std::integral auto number) {
    make_room(kMaxDigits);
    char* const begin = bytes_.get() + size_;
    size_ += static_cast<std::size_t>(std::to_chars(begin, begin + kMaxDigits, number).ptr - begin);
  }
  void clear() { size_ = 0; }
  // Keeps the first `size` characters. Requires: there are as many.
  void cut(std::size_t size) { size_ = size; }

  std::size_t size() const { return size_; }
  std::string_view view() const { return {bytes_.get(), size_}; }

 private:
  static constexpr std::size_t kMaxDigits = 24;  // of 64 bits, with a sign

  void make_room(std::size_t more) {
    if (capacity_ - size_ < more) grow(std::max(2 * capacity_, size_ + more));
  }
  void grow(std::size_t capacity) {
    auto bytes = std::make_unique_for_overwrite<char[]>(capacity);
    std::copy_n(bytes_.get(), size_, bytes.get());
    bytes_ = std::move(bytes);
    capacity_ = capacity;
  }

  std::size_t size_ = 0;
  std::size_t capacity_;
  std::unique_ptr<char[]> bytes_;
};

// An array whose elements become text later; until then they are bytes of the host, or copies of a
// device's that are on their way.

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

// Texts of lists and dicts that come again with the same objects in them, step after step.

// Each function, the destructor too, requires the GIL.
class RepeatedTexts {
 public:
  // Containers of fewer items are not worth it.
  static constexpr std::size_t kMinItems = 32;

  RepeatedTexts() = default;
  RepeatedTexts(const RepeatedTexts&) = delete;
  RepeatedTexts& operator=(const RepeatedTexts&) = delete;
  ~RepeatedTexts();

  // What keep() was given at `place`, if `container` (a list, a tuple or a dict) has the same
  // objects in it; else null. The objects themselves are not looked at.
  std::shared_ptr<const std::string> find(std::size_t place, pybind11::handle container);
  // The container's items do not change. What differs each time is kept now and then only.
  void keep(std::size_t place, pybind11::handle container, std::string_view text);

 private:
  struct Kept {
    std::vector<PyObject*> items;  // owned: an address is not used again
    std::shared_ptr<const std::string> text;
    unsigned misses = 0;  // since the last hit
  };
  static constexpr std::size_t kMaxPlaces = 64;
  static constexpr unsigned kMaxMisses = 3;
  static constexpr unsigned kRetry = 16;

  static void forget(Kept& kept);

  std::unordered_map<std::size_t, Kept> places_;
};

}  // namespace hybridscope
