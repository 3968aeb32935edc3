// A pasted text as a POSIX shell splits it into words and simple commands, with the text between
// the words kept.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace hybridscope {

struct ShellWord {
  std::string before = {};  // white space, prompts, comments, ";" and redirections before it
  std::string raw = {};     // as written, with quotes
  std::string value = {};   // without quotes and backslashes; variables are not replaced
  std::size_t command = 0;  // the number of its simple command
};

struct ShellWords {
  std::vector<ShellWord> words;
  std::string after;  // what stands behind the last word
};

std::string join_shell_words(const ShellWords& line);

// More than a shell: prompts ("user@host:~$ ") are no words; a line goes on if it ends with a
// backslash, with white space behind it or not (with ` or ^ on Windows), or if the next one begins
// with "-" or further to the right than the command.
// Errors: a quote or a bracket that is not closed; a placeholder such as <TP>.
Result<ShellWords> split_shell_words(std::string_view text);

// Does it say NAME=VALUE?
bool is_assignment(std::string_view word);

}  // namespace hybridscope
