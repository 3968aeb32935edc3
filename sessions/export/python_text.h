// Foreign text inside Python sources.
#pragma once

#include <string>
#include <string_view>

namespace hybridscope {

// A literal in double quotes; control characters are escaped, bytes that are no UTF-8 become
// U+FFFD.
std::string python_string(std::string_view text);

// Fit for the rest of a comment: one line, control characters escaped.
std::string python_comment(std::string_view text);

}  // namespace hybridscope
