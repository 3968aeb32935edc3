#include "sessions/palette/palette.h"

#include <fmt/core.h>

namespace hybridscope {
namespace {

// Fills are the eight colours of Okabe and Ito, moved by at most 30 (CIE76), and a blue for
// prefills. Any colour may change as long as the tests of the palette and of themes pass.
constexpr Palette kDarkPalette = {
    .fills = {{
        {.fill = rgb(0x5CC9FF), .text = rgb(0x000000), .line = rgb(0x316B87)},  // running
        {.fill = rgb(0x8D43AB), .text = rgb(0xFFFFFF), .line = rgb(0xCFB0DC)},  // speculative
        {.fill = rgb(0x378E54), .text = rgb(0x000000), .line = rgb(0x173A22)},  // cached
        {.fill = rgb(0xD29326), .text = rgb(0x000000), .line = rgb(0x694A13)},  // shared
        {.fill = rgb(0x2D4669), .text = rgb(0xFFFFFF), .line = rgb(0x8FA9CC)},  // held
        {.fill = rgb(0x686E7B), .text = rgb(0xFFFFFF), .line = rgb(0xC6C8CD)},  // null_block
        {.fill = rgb(0x252930), .text = rgb(0xFFFFFF), .line = rgb(0x717478)},  // free_block
        {.fill = rgb(0xAB0006), .text = rgb(0xFFFFFF), .line = rgb(0xDB9194)},  // stale
        {.fill = rgb(0xC0B9B7), .text = rgb(0x000000), .line = rgb(0x666261)},  // padding
        {.fill = rgb(0x3C54FF), .text = rgb(0xFFFFFF), .line = rgb(0xD0D6FF)},  // prefill
    }},
    .copy = rgb(0xF721BA),
    .conv_copy = rgb(0x23E6BE),
    .eviction = rgb(0x827E05),
    .preemption = rgb(0xA86F5F),
    .ok = rgb(0xABE0B7),
    .warning = rgb(0xFFD53D),
    .error = rgb(0xFC9961),
};

constexpr Palette kLightPalette = {
    .fills = {{
        {.fill = rgb(0x77D9FC), .text = rgb(0x000000), .line = rgb(0x41778B)},  // running
        {.fill = rgb(0xA272C0), .text = rgb(0x000000), .line = rgb(0x473254)},  // speculative
        {.fill = rgb(0xA1E696), .text = rgb(0x000000), .line = rgb(0x597E52)},  // cached
        {.fill = rgb(0xE5B538), .text = rgb(0x000000), .line = rgb(0x79601E)},  // shared
        {.fill = rgb(0x3C5A78), .text = rgb(0xFFFFFF), .line = rgb(0xC9D8EA)},  // held
        {.fill = rgb(0x7C8B95), .text = rgb(0x000000), .line = rgb(0x383F43)},  // null_block
        {.fill = rgb(0xFFFFFF), .text = rgb(0x000000), .line = rgb(0x919191)},  // free_block
        {.fill = rgb(0xE76C4A), .text = rgb(0x000000), .line = rgb(0x6D3323)},  // stale
        {.fill = rgb(0xC3BEB2), .text = rgb(0x000000), .line = rgb(0x696760)},  // padding
        {.fill = rgb(0x0F00E6), .text = rgb(0xFFFFFF), .line = rgb(0xB3AEFF)},  // prefill
    }},
    .copy = rgb(0xE23CB8),
    .conv_copy = rgb(0x274045),
    .eviction = rgb(0x918E4E),
    .preemption = rgb(0x4A2412),
    .ok = rgb(0x056C65),
    .warning = rgb(0x934F00),
    .error = rgb(0x8A0022),
};

constexpr Palette kHighContrastPalette = {
    .fills = {{
        {.fill = rgb(0x7AB2D7), .text = rgb(0x000000), .line = rgb(0x3E5B6E)},  // running
        {.fill = rgb(0xC66DFF), .text = rgb(0x000000), .line = rgb(0x5F347A)},  // speculative
        {.fill = rgb(0x5BFF9D), .text = rgb(0x000000), .line = rgb(0x338F58)},  // cached
        {.fill = rgb(0xF3C808), .text = rgb(0x000000), .line = rgb(0x866E04)},  // shared
        {.fill = rgb(0x3C4B69), .text = rgb(0xFFFFFF), .line = rgb(0xA9B9D9)},  // held
        {.fill = rgb(0x93988B), .text = rgb(0x000000), .line = rgb(0x474943)},  // null_block
        {.fill = rgb(0x000000), .text = rgb(0xFFFFFF), .line = rgb(0x5C5C5C)},  // free_block
        {.fill = rgb(0xED723E), .text = rgb(0x000000), .line = rgb(0x72371E)},  // stale
        {.fill = rgb(0xD9EDEA), .text = rgb(0x000000), .line = rgb(0x7A8583)},  // padding
        {.fill = rgb(0x2E0DFF), .text = rgb(0xFFFFFF), .line = rgb(0xB9ADFF)},  // prefill
    }},
    .copy = rgb(0xFC34ED),
    .conv_copy = rgb(0x6CEEDB),
    .eviction = rgb(0x8A8806),
    .preemption = rgb(0xB5695F),
    .ok = rgb(0x73FF7B),
    .warning = rgb(0xFFFD27),
    .error = rgb(0xFFB6B4),
};

constexpr std::array<std::string_view, kNumFills> kFillNames = {
    "running",    "speculative", "cached", "shared",  "held",
    "null-block", "free-block",  "stale",  "padding", "prefill"};

std::string variable(std::string_view name, std::string_view part, Rgba colour) {
  return fmt::format("--{}{}: #{:02x}{:02x}{:02x};\n", name, part, colour.r, colour.g, colour.b);
}

}  // namespace

std::string_view fill_name(Fill fill) { return kFillNames[static_cast<std::size_t>(fill)]; }

const Palette& palette_of(PaletteKind kind) {
  switch (kind) {
    case PaletteKind::light:
      return kLightPalette;
    case PaletteKind::high_contrast:
      return kHighContrastPalette;
    case PaletteKind::dark:
      break;
  }
  return kDarkPalette;
}

std::string palette_css(PaletteKind kind) {
  const Palette& palette = palette_of(kind);
  std::string css;
  for (std::size_t i = 0; i < kNumFills; ++i) {
    const FillColours& colours = palette.fills[i];
    css += variable(kFillNames[i], "", colours.fill);
    css += variable(kFillNames[i], "-text", colours.text);
    css += variable(kFillNames[i], "-line", colours.line);
  }
  css += variable("copy", "", palette.copy);
  css += variable("conv-copy", "", palette.conv_copy);
  css += variable("eviction", "", palette.eviction);
  css += variable("preemption", "", palette.preemption);
  css += variable("ok", "", palette.ok);
  css += variable("warning", "", palette.warning);
  css += variable("error", "", palette.error);
  css += variable("changed", "", kChangedColour);
  css += variable("changed-edge", "", kChangedEdge);
  return css;
}

}  // namespace hybridscope
