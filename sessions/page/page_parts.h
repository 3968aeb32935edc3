// What the pages for a browser share: a style sheet, and how a script gets into a page. page.js is
// where the script of each begins.
#pragma once

#include <string>
#include <string_view>

namespace hybridscope {

// The light and the dark palette (sessions/palette), page.css, then the page's own rules.
std::string page_style(std::string_view own);

// Made by cmake/EmbedText.cmake.
struct PageScript {
  std::string_view text;
  std::string_view sha256;  // of the text, as 64 hexadecimal digits
};

// Puts the script at the mark /*script*/ of a page, and its hash at the mark /*script-source*/ of
// the page's Content-Security-Policy: a browser runs no other script, whatever data the page holds.
// Requires: between the tags of the element is the mark alone.
void fill_page_script(std::string& page, const PageScript& script);

}  // namespace hybridscope
