// Foreign text (names of scenarios, traces and files) made fit for terminals, logs and Markdown,
// and the word that a misspelt one may have meant.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hybridscope {

struct Character {
  std::uint32_t code = 0;
  std::size_t length = 0;  // bytes, 0: not UTF-8
};

// The first character of `text`, which is not empty. Overlong forms, surrogates and codes above
// 10FFFF are not UTF-8 (RFC 3629).
Character first_character(std::string_view text);

// Controls a terminal instead of being shown: C0, C1, DEL, and the marks that change the direction
// of the text after them.
bool is_control(std::uint32_t code);

// The first character of `text`, which is not empty, as it is shown; it is taken off the text. C0
// and bytes that are not UTF-8: \xNN. Other control characters: \uNNNN, which JSON reads as the
// same character.
std::string take_shown(std::string_view& text);

// Every control character but line ends and tabs as take_shown() shows it: what reaches a terminal
// or a Markdown file went through here.
std::string escape_controls(std::string_view text);

// How many bytes at the end of `text` may begin a character that goes on after it: 0 to 3.
std::size_t unfinished_bytes(std::string_view text);

// Line ends and tabs too, so that no text ends a line; at most `max_bytes`, cut between characters,
// with "..." for the rest.
std::string one_line(std::string_view text, std::size_t max_bytes = 200);

// The text in quotes, as one_line() shows it and cut to 60 bytes; for messages.
std::string quoted_text(std::string_view text);

// The lines of a message as one, joined with "; ": without indentation, and without lines that only
// mark a place (^~~).
std::string joined_lines(std::string_view text);

// Bytes that are not UTF-8, and characters that XML does not allow, as U+FFFD.
std::string valid_text(std::string_view text);

// The parts of the text between separators. Empty ones are left out.
std::vector<std::string> split_words(std::string_view text, char separator = ' ');

// Words of command lines that a reader of a report can paste into a shell.

// `word` as a POSIX shell reads it back: as it is, or in single quotes.
std::string shell_word(std::string_view word);

// The parts between separators, empty ones too: one more than there are separators.
std::vector<std::string_view> split_text(std::string_view text, char separator);

// How much two words differ in spelling.

// The Levenshtein distance: how many bytes must be inserted, removed or replaced to make `a` of
// `b`. The case of letters counts.
std::size_t edit_distance(std::string_view a, std::string_view b);

// ", did you mean \"prompt\"?", or empty when no known key is similar.
std::string nearest_key_hint(std::string_view key, const std::vector<std::string_view>& known_keys);

}  // namespace hybridscope
