// Known bugs, or parts of them, without an entry, and why.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace hybridscope {

struct LeftOutBug {
  std::int32_t number = 0;
  std::string_view id;
  std::string_view reason;     // half a sentence
  std::string_view part = {};  // empty: all of it; else what of a bug that has an entry
};

std::span<const LeftOutBug> left_out_bugs();

}  // namespace hybridscope
