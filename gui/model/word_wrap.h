// Words broken into lines, in a font that is measured by the caller.
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

}  // namespace hybridscope
