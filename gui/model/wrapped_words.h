// Lines of fixed width that give way to a narrow panel.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace hybridscope {

// Each line of the text cut at spaces into lines of at most `columns` code points. The pieces are
// indented under the words behind the line's label, which two spaces end, but by half of the
// columns at most; a longer word is cut. Requires: columns > 0.
std::string wrap_lines(std::string_view text, std::size_t columns);

}  // namespace hybridscope
