#include "sessions/palette/palette.h"

#include <fmt/core.h>

namespace hybridscope {
namespace {

// Fills began as the eight colours of Okabe and Ito and a blue for prefills. Any colour may change
// as long as the tests of the palette and of themes pass: its hue has the name of palette_words,
// and it can be told from the others however one sees.
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
    .ok = rgb(0xA4FE88),
    .warning = rgb(0xFFD53D),
    .error = rgb(0xFF9494),
    .ok_back = rgb(0x15332A),
    .warning_back = rgb(0x352D14),
    .error_back = rgb(0x3A1E1C),
    .page = {.page = rgb(0x14171B),
             .card = rgb(0x1D2126),
             .text = rgb(0xE8EAED),
             .muted = rgb(0xA3ABB5),
             .line = rgb(0x363C44),
             .accent = rgb(0x7CC4F2),
             .hover = rgb(0x272D34)},
};

constexpr Palette kLightPalette = {
    .fills = {{
        {.fill = rgb(0x77D9FC), .text = rgb(0x000000), .line = rgb(0x41778B)},  // running
        {.fill = rgb(0xBA7EE9), .text = rgb(0x000000), .line = rgb(0x473254)},  // speculative
        {.fill = rgb(0xA1E696), .text = rgb(0x000000), .line = rgb(0x597E52)},  // cached
        {.fill = rgb(0xF1A800), .text = rgb(0x000000), .line = rgb(0x745000)},  // shared
        {.fill = rgb(0x3C5A78), .text = rgb(0xFFFFFF), .line = rgb(0xC9D8EA)},  // held
        {.fill = rgb(0x7C8B95), .text = rgb(0x000000), .line = rgb(0x383F43)},  // null_block
        {.fill = rgb(0xFFFFFF), .text = rgb(0x000000), .line = rgb(0x919191)},  // free_block
        {.fill = rgb(0xCF3A30), .text = rgb(0xFFFFFF), .line = rgb(0xFFDEDB)},  // stale
        {.fill = rgb(0xC3BEB2), .text = rgb(0x000000), .line = rgb(0x696760)},  // padding
        {.fill = rgb(0x0F00E6), .text = rgb(0xFFFFFF), .line = rgb(0xB3AEFF)},  // prefill
    }},
    .copy = rgb(0xE23CB8),
    .conv_copy = rgb(0x0C8474),
    .eviction = rgb(0x918E4E),
    .preemption = rgb(0x4A2412),
    .ok = rgb(0x056C4A),
    .warning = rgb(0x7A5C00),
    .error = rgb(0x8A0022),
    .ok_back = rgb(0xE3F4EE),
    .warning_back = rgb(0xFBF3DC),
    .error_back = rgb(0xFDEBEA),
    .page = {.page = rgb(0xF4F5F7),
             .card = rgb(0xFFFFFF),
             .text = rgb(0x16191D),
             .muted = rgb(0x59616B),
             .line = rgb(0xD5D9DF),
             .accent = rgb(0x005B8F),
             .hover = rgb(0xE8EEF4)},
};

constexpr Palette kHighContrastPalette = {
    .fills = {{
        {.fill = rgb(0x7AB2D7), .text = rgb(0x000000), .line = rgb(0x3E5B6E)},  // running
        {.fill = rgb(0xC66DFF), .text = rgb(0x000000), .line = rgb(0x5F347A)},  // speculative
        {.fill = rgb(0x5BFF9D), .text = rgb(0x000000), .line = rgb(0x338F58)},  // cached
        {.fill = rgb(0xFCAB10), .text = rgb(0x000000), .line = rgb(0x78500A)},  // shared
        {.fill = rgb(0x3C4B69), .text = rgb(0xFFFFFF), .line = rgb(0xA9B9D9)},  // held
        {.fill = rgb(0x93988B), .text = rgb(0x000000), .line = rgb(0x474943)},  // null_block
        {.fill = rgb(0x000000), .text = rgb(0xFFFFFF), .line = rgb(0x5C5C5C)},  // free_block
        {.fill = rgb(0xFF6055), .text = rgb(0x000000), .line = rgb(0x6E2420)},  // stale
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
    .ok_back = rgb(0x0A2E10),
    .warning_back = rgb(0x332F00),
    .error_back = rgb(0x3A0E0C),
    .page = {.page = rgb(0x000000),
             .card = rgb(0x000000),
             .text = rgb(0xFFFFFF),
             .muted = rgb(0xEDEDED),
             .line = rgb(0xFFFFFF),
             .accent = rgb(0x00E5FF),
             .hover = rgb(0x333333)},
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
    case PaletteKind::light: return kLightPalette;
    case PaletteKind::high_contrast: return kHighContrastPalette;
    case PaletteKind::dark: break;
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
  css += variable("ok-back", "", palette.ok_back);
  css += variable("warning-back", "", palette.warning_back);
  css += variable("error-back", "", palette.error_back);
  css += variable("changed", "", kChangedColour);
  css += variable("changed-edge", "", kChangedEdge);
  css += variable("page", "", palette.page.page);
  css += variable("card", "", palette.page.card);
  css += variable("text", "", palette.page.text);
  css += variable("muted", "", palette.page.muted);
  css += variable("line", "", palette.page.line);
  css += variable("accent", "", palette.page.accent);
  css += variable("hover", "", palette.page.hover);
  return css;
}

std::string page_palette_css() {
  return fmt::format(
      ":root {{\ncolor-scheme: light dark;\n{}}}\n@media (prefers-color-scheme: dark) {{\n:root "
      "{{\n{}}}\n}}\n",
      palette_css(PaletteKind::light), palette_css(PaletteKind::dark));
}

namespace {

constexpr ColourWords kWords[] = {
    {"light blue", "running: read or written by the step's forward pass; decode rows"},
    {"purple, hatched", "speculative: states of drafts; verify rows"},
    {"green, dotted", "cached: registered, so that others can hit it"},
    {"orange, gridded", "shared by several requests"},
    {"dark blue, base line", "held: the request's own"},
    {"grey, crossed", "the null block"},
    {"background, outlined", "free"},
    {"red, hatched backwards", "stale: the worker has another block here"},
    {"pale grey, striped", "padding"},
    {"bright blue", "prefill rows"},
    {"pink", "copies of states and blocks"},
    {"teal", "copies of conv windows"},
    {"olive", "evictions"},
    {"brown", "preemptions"},
    {"green text", "fine: what was checked holds"},
    {"yellow text", "a warning"},
    {"red text", "an error: a finding, or what is wrong"},
    {"yellow corner", "changed in this step"},
};

}  // namespace

std::span<const ColourWords> palette_words() { return kWords; }

std::string palette_markdown() {
  std::string table = "| colour | means |\n|---|---|\n";
  for (const ColourWords& row : kWords)
    table += fmt::format("| {} | {} |\n", row.colour, row.means);
  return table;
}

}  // namespace hybridscope
