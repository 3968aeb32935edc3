// Text that grows at its end: appends are inline, and memory is not cleared first.
#pragma once

#include <algorithm>
#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

namespace hybridscope {

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

}  // namespace hybridscope
