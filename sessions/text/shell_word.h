// Words of command lines that a reader of a report can paste into a shell.
#pragma once

#include <string>
#include <string_view>

namespace hybridscope {

// `word` as a POSIX shell reads it back: as it is, or in single quotes.
std::string shell_word(std::string_view word);

}  // namespace hybridscope
