// A comparison of two runs as one self-contained HTML file that opens offline, at the first
// divergence. The page is diff.html with the style sheet and scripts beside it, built in by
// cmake/EmbedText.cmake.
#pragma once

#include <string>

namespace hybridscope {

// The page with its data filled in. `data`: text from script_safe_json of the document that
// `hybridscope diff --json` prints, with a member `program` ("hybridscope 0.1.0").
std::string fill_diff_page(const std::string& data);

}  // namespace hybridscope
