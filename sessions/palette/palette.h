// The colours that mean something: one table for the window, for HTML reports and for pictures.
// Each means one thing, and everything that it shows is also shown by a letter, a pattern or a
// word.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "sessions/palette/colour.h"

namespace hybridscope {

enum class PaletteKind : std::uint8_t { dark, light, high_contrast };
inline constexpr std::size_t kNumPalettes = 3;

// What a filled area means: what a block is, or what a row does. A decode row has the colour of
// `running`, a verify row that of `speculative`.
enum class Fill : std::uint8_t {
  running,
  speculative,
  cached,
  shared,
  held,
  null_block,
  free_block,
  stale,
  padding,
  prefill,
};
inline constexpr std::size_t kNumFills = 10;
// "running", "null-block": the name of its CSS variable.
std::string_view fill_name(Fill fill);

struct FillColours {
  Rgba fill;
  Rgba text;  // on the fill
  Rgba line;  // of a pattern on the fill
};

// The colours of an HTML page that mean nothing. The window's are in gui/model/theme.
struct PageColours {
  Rgba page, card, text, muted, line, accent, hover;
};

struct Palette {
  std::array<FillColours, kNumFills> fills;    // by Fill
  Rgba copy, conv_copy, eviction, preemption;  // events, as lines and marks
  Rgba ok, warning, error;                     // verdicts, as text and marks
  Rgba ok_back, warning_back, error_back;      // behind text in the colour of the verdict
  PageColours page;
  const FillColours& of(Fill fill) const { return fills[static_cast<std::size_t>(fill)]; }
};

// The corner of what a step changed, in every palette: a colour and the edge around it.
inline constexpr Rgba kChangedColour = rgb(0xFFFF66);
inline constexpr Rgba kChangedEdge = rgb(0x000000);

const Palette& palette_of(PaletteKind kind);

// The palette as CSS variables, a line each: "--running: #5cc9ff;", "--running-text: ...",
// "--running-line: ...", "--copy: ...".
std::string palette_css(PaletteKind kind);
// The light palette for :root, and the dark one where the reader prefers it.
std::string page_palette_css();

}  // namespace hybridscope
