// The pages for a browser: HTML reports, comparisons, plans, matrices and lessons are one document
// with one style sheet. page.js is where the scripts of reports, comparisons and plans begin.
#pragma once

#include <string>
#include <string_view>

namespace hybridscope {

// Made by cmake/EmbedText.cmake.
struct PageScript {
  std::string_view text;
  std::string_view sha256;  // of the text, as 64 hexadecimal digits
};

// Views of texts that outlive the call that makes the page.
struct PageParts {
  std::string_view title;  // words, which become no markup
  std::string_view body;   // markup
  // The page's own rules, after the light and the dark palette (sessions/palette) and page.css.
  std::string_view style = {};
  // Runs when the body is there. A browser runs no other script, whatever data the page holds; with
  // an empty text it runs none.
  PageScript script = {};
  std::string_view data_id = {};  // of the element that holds the data; empty: there is none
  std::string_view data = {};     // script_safe_json()
  // The names of files beside the page, in place of style and script. Empty: the page is one file.
  std::string_view style_file = {};
  std::string_view script_file = {};
  std::string_view head = {};  // markup with which the head begins
};

// The whole document.
std::string make_page(const PageParts& page);

// "null-block": the class of the role `null block`, without its prefix.
std::string css_word(std::string_view name);

}  // namespace hybridscope
