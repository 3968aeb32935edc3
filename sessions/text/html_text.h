// Text and data in HTML pages: escaped, so that no name can end the element it stands in.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace hybridscope {

// The text for the content of an element or an attribute in double quotes; control characters as
// escape_controls() shows them.
std::string html_escaped(std::string_view text);

// JSON that is safe inside a <script> element: ASCII, without < > &. Bytes that are not UTF-8
// become U+FFFD.
std::string script_safe_json(const nlohmann::json& value);
std::string script_safe_json(const nlohmann::ordered_json& value);

// Puts `text` in place of `mark`, a word of the page's template. Requires: the page contains it;
// the first one counts.
void fill_mark(std::string& page, std::string_view mark, std::string_view text);

}  // namespace hybridscope
