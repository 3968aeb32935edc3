// Numbers as people read them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace hybridscope {

// 12031 -> "12,031".
std::string grouped_number(std::int64_t value);
// "1 finding", "2 findings", "12,031 findings".
std::string counted(std::int64_t count, std::string_view noun);

}  // namespace hybridscope
