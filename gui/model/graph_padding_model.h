// Which captured graph a step runs in and what is padded for it: requested against captured sizes,
// every captured graph, and what the arrays that a replay reads hold after the real rows.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gui/model/picture.h"
#include "gui/model/shown_run.h"

namespace hybridscope {

class Workbench;

struct PaddingBar {
  std::int32_t real = 0;
  std::int32_t padding = 0;
};

// The captured graphs of one kind, ascending.
struct CapturedGraphs {
  std::string title;                // "FULL, uniform decodes"
  std::vector<std::int32_t> sizes;  // tokens
  std::ptrdiff_t picked = -1;       // index into sizes
};

enum class PaddedPart : std::uint8_t {
  real,
  padding,    // of a padding row
  no_row,     // written, but the array is longer than the batch has rows
  left_over,  // after what the build wrote: left there by an earlier step
  gap,        // in place of elements that are left out
};
struct PaddedElement {
  PaddedPart part = PaddedPart::real;
  std::string text;  // "8", "3 4 9", "12 more"
};

struct PaddedArray {
  std::string name;
  std::vector<PaddedElement> elements = {};  // one per row
  std::string note = {};                     // what padding rows hold; what was not written
  bool stale = false;                        // no build wrote it in this step
};

struct PaddedGroup {
  std::string title;
  std::string note;  // refreshed, or the step it was last refreshed in
  bool stale = false;
  std::vector<PaddedArray> arrays = {};
};

struct GraphPaddingModel {
  bool has_batch = false;
  std::string runtime_mode;  // "FULL"
  std::string words;         // the graph that ran, and why
  PaddingBar tokens;
  std::optional<PaddingBar> rows;  // empty: the session does not record rows
  std::string setting;             // the resolved mode, "FULL_AND_PIECEWISE"
  std::vector<CapturedGraphs> captured;
  std::vector<PaddedGroup> groups;
  std::string arrays_note;  // why no arrays are listed; empty: there are arrays
};

// Requires: run.step() > 0.
GraphPaddingModel make_graph_padding_model(ShownRun& run);

// What the panel shows. Requires: a step is shown.
Picture graph_padding_picture(Workbench& workbench);

}  // namespace hybridscope
