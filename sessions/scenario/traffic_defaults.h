// What a file of traffic is run on where nothing else was said.
#pragma once

namespace hybridscope {

inline constexpr const char* kDefaultTrafficModel = "qwen3-next-80b-a3b";

}  // namespace hybridscope
