// Text that grows at its end: a std::string whose appends are inline.
#pragma once

#include <algorithm>
#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

namespace hybridscope {

class TextBuffer {
 public:
  explicit TextBuffer(std::size_t usual_size) : bytes_(usual_size, '\0') {}

  void add(char character) {
    make_room(1);
    bytes_[size_++] = character;
  }
  void add(std::string_view text) {
    make_room(text.size());
    std::memcpy(bytes_.data() + size_, text.data(), text.size());
    size_ += text.size();
  }
  void add_number(std::integral auto number) {
    make_room(kMaxDigits);
    char* const begin = bytes_.data() + size_;
    size_ += static_cast<std::size_t>(std::to_chars(begin, begin + kMaxDigits, number).ptr - begin);
  }

  void clear() { size_ = 0; }

  std::size_t size() const { return size_; }
  std::string_view view() const { return {bytes_.data(), size_}; }
  // Its text; the buffer is not used any more.
  std::string take() {
    bytes_.resize(size_);
    return std::move(bytes_);
  }

 private:
  static constexpr std::size_t kMaxDigits = 24;  // of 64 bits, with a sign

  void make_room(std::size_t more) {
    if (bytes_.size() - size_ < more) bytes_.resize(std::max(2 * bytes_.size(), size_ + more));
  }

  std::string bytes_;  // longer than the text
  std::size_t size_ = 0;
};

}  // namespace hybridscope
