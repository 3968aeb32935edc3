// What the matrix says nothing about, because hybridscope does not model it.
#pragma once

#include <array>
#include <string_view>

namespace hybridscope {

struct NotModelled {
  std::string_view name;
  std::string_view why;
};

inline constexpr std::array kNotModelled = {
    NotModelled{"retention interval", "every block boundary keeps its state until it is evicted"},
    NotModelled{"partial hits", "a hit ends at a block boundary of every group"},
    NotModelled{"connectors",
                "blocks are written by the engine's own frames only; of a KV consumer "
                "just its deferred frees are there"},
    NotModelled{"pipeline parallelism", "one stage; at most one frame is in flight"},
};

}  // namespace hybridscope
