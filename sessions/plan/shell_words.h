// A command line as a POSIX shell splits it, with the text between the words kept.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace hybridscope {

struct ShellWord {
  std::string before;  // white space before it, with backslash-newlines
  std::string raw;     // as written, with quotes
  std::string value;   // without quotes and backslashes; variables are not replaced
};

struct ShellWords {
  std::vector<ShellWord> words;
  std::string after;  // white space after the last word
};

// Errors: a quote that is not closed; ; & | < > ( ) outside quotes, which end a simple command.
Result<ShellWords> split_shell_words(std::string_view line);

std::string join_shell_words(const ShellWords& line);

}  // namespace hybridscope
