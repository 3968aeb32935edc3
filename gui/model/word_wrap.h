// Words broken into lines or cut, in a font that is measured by the caller. Texts may come from
// elsewhere and be of any length: what is measured grows with what is shown, not with the text, and
// with the text only once where all of it is shown.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace hybridscope {

// Pixels that a piece of text takes.
using MeasureText = std::function<float(std::string_view)>;

// The text in lines of at most `width` pixels: broken at spaces, so that "0.26.0" or
// "block_table[3]" stays whole. A word that is wider alone is broken after one of "_/.,:;-", or
// else anywhere. A line's indent is kept; every line has at least one letter.
std::string wrap_words(std::string_view text, float width, const MeasureText& measure);

// The text if it is at most `width` pixels wide, else as much of its beginning as fits, followed by
// "...".
std::string cut_end(std::string_view text, float width, const MeasureText& measure);
// The text with "..." between as much of its beginning and its end as fits.
std::string cut_middle(std::string_view text, float width, const MeasureText& measure);

// The beginning of the text, in whole letters: at most `bytes` of it.
std::string_view first_bytes(std::string_view text, std::size_t bytes);

}  // namespace hybridscope
