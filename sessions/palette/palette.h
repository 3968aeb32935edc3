// The colours that mean something: one table for the window, for HTML reports and for pictures.
// Each means one thing, and everything that it shows is also shown by a letter, a pattern or a
// word.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace hybridscope {

// A colour.

// sRGB, 8 bits each.
struct Rgba {
  std::uint8_t r = 0;
  std::uint8_t g = 0;
  std::uint8_t b = 0;
  std::uint8_t a = 255;  // 0: invisible
  friend bool operator==(const Rgba&, const Rgba&) = default;
};

// 0xE69F00; opaque.
constexpr Rgba rgb(std::uint32_t hex) {
  return {static_cast<std::uint8_t>(hex >> 16 & 0xFF), static_cast<std::uint8_t>(hex >> 8 & 0xFF),
          static_cast<std::uint8_t>(hex & 0xFF), 255};
}

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

// What the colours of the palette are called and mean, for legends in documents.

struct ColourWords {
  std::string_view colour;  // "green, dotted"
  std::string_view means;
};

// The fills in their order, then events, verdicts, and the corner of what changed.
std::span<const ColourWords> palette_words();
// The colours with their meanings as a table of Markdown, which docs/workbench.md has.
std::string palette_markdown();

}  // namespace hybridscope
