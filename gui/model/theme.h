// Colours by meaning. Panels name roles; only the palette (sessions/palette), which HTML reports
// share, and the tables here name colours. Whatever a cell shows by its colour it also shows by a
// letter and a pattern.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

#include "core/metadata/common_attention_metadata.h"
#include "gui/model/block_cell.h"
#include "sessions/palette/palette.h"

namespace hybridscope {

enum class ThemeKind { dark, light, high_contrast };
inline constexpr std::array<ThemeKind, 3> kThemeKinds = {ThemeKind::dark, ThemeKind::light,
                                                         ThemeKind::high_contrast};
// "dark", "light", "high_contrast"; nothing for any other name.
std::string_view theme_name(ThemeKind kind);
std::optional<ThemeKind> theme_of_name(std::string_view name);

// Text and text_dim are readable on each of the first seven, the colours of states on the first
// five.
struct UiColours {
  Rgba background, panel, field, header, selection;  // field: where something is typed
  Rgba hover, pressed;
  Rgba text, text_dim;
  Rgba info;                               // as text; always with a word
  Rgba ok = {}, warning = {}, error = {};  // likewise; those of the palette
  Rgba border, focus;                      // focus: around the item with keyboard focus
  Rgba grid;                               // fine decorative lines
  Rgba accent, on_accent;                  // buttons; text on them
  Rgba banner, on_banner;                  // a warning across the window; text on it
  Rgba banner_error, on_banner_error;
};

// Each role has a different one.
enum class CellPattern { none, hatch, dots, grid, cross, outline, back_hatch, stripes, base_line };

struct CellStyle {
  std::string_view title;  // for legends: "null block"
  Rgba fill;
  Rgba text;  // on the fill
  Rgba line;  // of the pattern; a letter on it needs a patch of the fill
  char letter = '\0';
  CellPattern pattern = CellPattern::none;
};

enum class MarkShape { ring, tick, cross, question, corner };
// A small sign over a cell; on its plate it is visible on any fill of any theme.
struct CellMark {
  MarkShape shape = MarkShape::ring;
  Rgba colour;
  Rgba plate;
};
// Empty for `written`, the most common state.
std::optional<CellMark> state_mark(CellState state);
// In the upper right corner of cells that this step changed.
CellMark changed_mark();

enum class MarkerShape { disc, square, diamond, triangle, ring, frame, plus, bar };
struct SeriesStyle {
  Rgba colour;
  MarkerShape marker = MarkerShape::disc;
  friend bool operator==(const SeriesStyle&, const SeriesStyle&) = default;
};
inline constexpr std::size_t kNumSeriesColours = 8;

// A cell of a heat map, from no difference to the largest. Cells also say the number.
struct HeatStyle {
  Rgba fill;
  Rgba text;  // on the fill
};
inline constexpr std::size_t kNumHeatStyles = 5;
// `level` below kNumHeatStyles.
HeatStyle heat_style(ThemeKind kind, std::size_t level);

struct Theme {
  ThemeKind kind = ThemeKind::dark;
  UiColours ui;
  Palette palette;                             // of what cells, rows and events mean
  std::array<Rgba, kNumSeriesColours> series;  // on panels and fields: the first, second, ... thing
};

const Theme& theme_of(ThemeKind kind);
CellStyle cell_style(const Theme& theme, CellRole role);
// What a row of a batch does; decode, verify and padding rows look like their cells.
CellStyle row_style(const Theme& theme, RowClass row_class);
// For request number 0, 1, 2, ...: the first 64 differ in colour or marker, the first 8 in both.
SeriesStyle series_style(const Theme& theme, std::size_t number);

}  // namespace hybridscope
