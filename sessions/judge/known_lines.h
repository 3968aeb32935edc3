// Recognises the lines of a trace that is sent again from its beginning, as after a reconnect.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace hybridscope {

class KnownLines {
 public:
  enum class Is : std::uint8_t {
    news,     // the line after the known ones; known from now on
    known,    // it was there before
    another,  // another line stood here: this is another trace
  };

  // The lines that follow are sent from the first one again.
  void begin_again() { next_ = 0; }
  void forget() {
    hashes_.clear();
    next_ = 0;
  }
  Is take(std::string_view line);
  // The number of known lines.
  std::size_t count() const { return hashes_.size(); }
  // The number of lines taken since they are sent from the first one.
  std::size_t position() const { return next_; }

 private:
  std::vector<std::uint64_t> hashes_;  // of the lines, 8 bytes each
  std::size_t next_ = 0;
};

}  // namespace hybridscope
