// The page that a report's data is put into: report.html with the style sheets and scripts beside
// it, built in (cmake/EmbedText.cmake).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace hybridscope {

// JSON that may stand inside a <script> element whatever its strings hold: ASCII, without < > &.
// Bytes that are no UTF-8 become U+FFFD.
std::string script_safe_json(const nlohmann::json& value);

// `data` is script_safe_json.
std::string fill_report_page(const std::string& data);

}  // namespace hybridscope
