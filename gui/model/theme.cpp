#include "gui/model/theme.h"

#include "core/base/result.h"

namespace hybridscope {
namespace {

// Series are the eight colours of Okabe and Ito, moved by at most 30 (CIE76) so that contrasts and
// distances pass this unit's tests. Any colour may change as long as the tests pass. What a colour
// means is in the palette.
constexpr Theme kDark = {.kind = ThemeKind::dark,
                         .ui = {.background = rgb(0x16191D),
                                .panel = rgb(0x1E2328),
                                .field = rgb(0x2A3037),
                                .header = rgb(0x262C33),
                                .selection = rgb(0x23466A),
                                .hover = rgb(0x2F3841),
                                .pressed = rgb(0x39444F),
                                .text = rgb(0xE6E9EC),
                                .text_dim = rgb(0xAFB8C2),
                                .info = rgb(0x6FE6FE),
                                .border = rgb(0x8A95A1),
                                .focus = rgb(0xFFD166),
                                .grid = rgb(0x343B43),
                                .accent = rgb(0x4FA8E8),
                                .on_accent = rgb(0x0B1117),
                                .banner = rgb(0x4A3B00),
                                .on_banner = rgb(0xFFE9A8),
                                .banner_error = rgb(0x7A1F1A),
                                .on_banner_error = rgb(0xFFFFFF)},
                         .palette = {},
                         .series = {rgb(0xFF8F00), rgb(0xABA6E6), rgb(0x17CC78), rgb(0xFFFF7F),
                                    rgb(0x3375DD), rgb(0xDE3B2B), rgb(0xB08094), rgb(0xBFFFF6)}};

constexpr Theme kLight = {.kind = ThemeKind::light,
                          .ui = {.background = rgb(0xECEEF1),
                                 .panel = rgb(0xFFFFFF),
                                 .field = rgb(0xF6F7F9),
                                 .header = rgb(0xE3E7EB),
                                 .selection = rgb(0xC7DFF5),
                                 .hover = rgb(0xE6EDF4),
                                 .pressed = rgb(0xD3DEE9),
                                 .text = rgb(0x1B2026),
                                 .text_dim = rgb(0x4B5661),
                                 .info = rgb(0x333665),
                                 .border = rgb(0x747E89),
                                 .focus = rgb(0xA85400),
                                 .grid = rgb(0xD5DAE0),
                                 .accent = rgb(0x0B63A8),
                                 .on_accent = rgb(0xFFFFFF),
                                 .banner = rgb(0xFFF0C2),
                                 .on_banner = rgb(0x3D2E00),
                                 .banner_error = rgb(0xB3261E),
                                 .on_banner_error = rgb(0xFFFFFF)},
                          .palette = {},
                          .series = {rgb(0xBB7753), rgb(0x4D88E8), rgb(0x126154), rgb(0x978B00),
                                     rgb(0x1A2451), rgb(0x812100), rgb(0xE252A2), rgb(0x37080C)}};

constexpr Theme kHighContrast = {
    .kind = ThemeKind::high_contrast,
    .ui = {.background = rgb(0x000000),
           .panel = rgb(0x000000),
           .field = rgb(0x000000),
           .header = rgb(0x1A1A1A),
           .selection = rgb(0x003380),
           .hover = rgb(0x333333),
           .pressed = rgb(0x444444),
           .text = rgb(0xFFFFFF),
           .text_dim = rgb(0xEDEDED),
           .info = rgb(0xB0C9FB),
           .border = rgb(0xFFFFFF),
           .focus = rgb(0xFFFF00),
           .grid = rgb(0x808080),
           .accent = rgb(0x00E5FF),
           .on_accent = rgb(0x000000),
           .banner = rgb(0xFFD500),
           .on_banner = rgb(0x000000),
           .banner_error = rgb(0x8B0000),
           .on_banner_error = rgb(0xFFFFFF)},
    .palette = {},
    .series = {rgb(0xFFB606), rgb(0x5AEBFF), rgb(0x16A26E), rgb(0xF2EB8E), rgb(0x7C70E7),
               rgb(0xE12A0D), rgb(0xB84C9A), rgb(0xCCFFDA)}};

// After cividis (Nunez et al. 2018), which readers with any colour vision order in the same way;
// more is brighter on dark themes and darker on the light one.
constexpr std::array<HeatStyle, kNumHeatStyles> kHeat = {{{rgb(0x00306F), rgb(0xFFFFFF)},
                                                          {rgb(0x41516C), rgb(0xFFFFFF)},
                                                          {rgb(0x8A8678), rgb(0x000000)},
                                                          {rgb(0xC0AE6B), rgb(0x000000)},
                                                          {rgb(0xFDE737), rgb(0x000000)}}};
constexpr std::array<HeatStyle, kNumHeatStyles> kLightHeat = {{{rgb(0xF3F0DC), rgb(0x000000)},
                                                               {rgb(0xDDD3A0), rgb(0x000000)},
                                                               {rgb(0xA9A27A), rgb(0x000000)},
                                                               {rgb(0x575D6D), rgb(0xFFFFFF)},
                                                               {rgb(0x00224E), rgb(0xFFFFFF)}}};

// By CellRole; the same in every theme.
constexpr std::array<CellPattern, kNumCellRoles> kCellPatterns = {
    CellPattern::none,    CellPattern::hatch,      CellPattern::dots,
    CellPattern::grid,    CellPattern::base_line,  CellPattern::cross,
    CellPattern::outline, CellPattern::back_hatch, CellPattern::stripes};

struct ThemeName {
  ThemeKind kind;
  std::string_view name;
};
constexpr std::array<ThemeName, 3> kThemeNames = {{{ThemeKind::dark, "dark"},
                                                   {ThemeKind::light, "light"},
                                                   {ThemeKind::high_contrast, "high_contrast"}}};

constexpr std::size_t kNumMarkers = 8;

// The palette begins with the roles of cells.
static_assert(static_cast<int>(Fill::running) == static_cast<int>(CellRole::running));
static_assert(static_cast<int>(Fill::held) == static_cast<int>(CellRole::held));
static_assert(static_cast<int>(Fill::padding) == static_cast<int>(CellRole::padding));

Theme with_palette(Theme theme, PaletteKind kind) {
  theme.palette = palette_of(kind);
  theme.ui.ok = theme.palette.ok;
  theme.ui.warning = theme.palette.warning;
  theme.ui.error = theme.palette.error;
  return theme;
}

}  // namespace

HeatStyle heat_style(ThemeKind kind, std::size_t level) {
  HS_EXPECT(level < kNumHeatStyles);
  return (kind == ThemeKind::light ? kLightHeat : kHeat)[level];
}

std::string_view theme_name(ThemeKind kind) {
  return kThemeNames[static_cast<std::size_t>(kind)].name;
}

std::optional<ThemeKind> theme_of_name(std::string_view name) {
  for (const ThemeName& row : kThemeNames)
    if (row.name == name) return row.kind;
  return std::nullopt;
}

const Theme& theme_of(ThemeKind kind) {
  static const std::array<Theme, kThemeKinds.size()> themes = {
      with_palette(kDark, PaletteKind::dark), with_palette(kLight, PaletteKind::light),
      with_palette(kHighContrast, PaletteKind::high_contrast)};
  return themes[static_cast<std::size_t>(kind)];
}

CellStyle cell_style(const Theme& theme, CellRole role) {
  const auto index = static_cast<std::size_t>(role);
  HS_EXPECT(index < kNumCellRoles);
  const FillColours& colours = theme.palette.fills[index];
  return {.title = role_name(role),
          .fill = colours.fill,
          .text = colours.text,
          .line = colours.line,
          .letter = role_letter(role),
          .pattern = kCellPatterns[index]};
}

CellStyle row_style(const Theme& theme, RowClass row_class) {
  switch (row_class) {
    case RowClass::decode: return cell_style(theme, CellRole::running);
    case RowClass::verify: return cell_style(theme, CellRole::speculative);
    case RowClass::prefill: break;
    case RowClass::padding: return cell_style(theme, CellRole::padding);
  }
  const FillColours& colours = theme.palette.of(Fill::prefill);
  return {.title = "prefill",
          .fill = colours.fill,
          .text = colours.text,
          .line = colours.line,
          .letter = 'L'};
}

// Colour and plate are far apart, so one of them is far from any fill.
std::optional<CellMark> state_mark(CellState state) {
  switch (state) {
    case CellState::unwritten: return CellMark{MarkShape::ring, rgb(0xE0E0E0), rgb(0x000000)};
    case CellState::verified: return CellMark{MarkShape::tick, rgb(0x8CFFB8), rgb(0x00200F)};
    case CellState::wrong: return CellMark{MarkShape::cross, rgb(0xFFFFFF), rgb(0x8A0012)};
    case CellState::written: return std::nullopt;
    case CellState::unknown: break;
  }
  return CellMark{MarkShape::question, rgb(0xFFE08A), rgb(0x201800)};
}

CellMark changed_mark() { return {MarkShape::corner, kChangedColour, kChangedEdge}; }

SeriesStyle series_style(const Theme& theme, std::size_t number) {
  const std::size_t round = number / kNumSeriesColours;
  return {.colour = theme.series[number % kNumSeriesColours],
          .marker = static_cast<MarkerShape>((number + round) % kNumMarkers)};
}

}  // namespace hybridscope
