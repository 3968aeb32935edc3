// One side's value of a field that differs. Small, without memory of its own.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace hybridscope {

enum class DiffValueKind : std::uint8_t {
  absent,  // this side has no such element
  number,
  flag,   // 0 or 1
  block,  // an element that is there, told by its block
  hash,   // 64 bits, shown in hexadecimal
  shape,  // rows << 32 | cols; 0 cols: one dimension
  none,   // an array that the layers were not given
  word,   // an enum's name, a request's name or a literal
};

struct DiffValue {
  DiffValueKind kind = DiffValueKind::absent;
  std::int64_t number = 0;  // words too: the enum's code
  std::string_view word{};  // outlives the comparison

  // As reports show it: "-", "12", "yes", "block 3", "0x00c0ffee00c0ffee", "[3, 2]", "None",
  // "decode".
  std::string text() const;
  friend bool operator==(const DiffValue&, const DiffValue&) = default;
};

}  // namespace hybridscope
