// What the colours of the palette are called and mean, for legends in documents.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace hybridscope {

struct ColourWords {
  std::string_view colour;  // "green, dotted"
  std::string_view means;
};

// The fills in their order, then events, verdicts, and the corner of what changed.
std::span<const ColourWords> palette_words();
// The colours with their meanings as a table of Markdown, which docs/workbench.md has.
std::string palette_markdown();

}  // namespace hybridscope
