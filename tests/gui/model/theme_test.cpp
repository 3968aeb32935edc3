#include "gui/model/theme.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/sessions/palette/colour_measures.h"

namespace hybridscope::theme_test {
namespace {

using test::ColourVision;
using test::contrast_ratio;
using test::delta_e;
using test::simulate;

constexpr double kGraphic = 3.0;  // WCAG: what a graphic needs to be understood
// Between two series, for each of the four ways to see (palette_test.cpp has it for fills).
// About 2.3 is just noticeable side by side.
constexpr double kLeastDistance = 20;

constexpr ColourVision kVisions[] = {ColourVision::normal, ColourVision::protanopia,
                                     ColourVision::deuteranopia, ColourVision::tritanopia};

struct NamedColour {
  const char* name;
  Rgba colour;
};

std::vector<NamedColour> surfaces(const UiColours& ui) {
  return {{"background", ui.background}, {"panel", ui.panel},         {"field", ui.field},
          {"header", ui.header},         {"selection", ui.selection}, {"hover", ui.hover},
          {"pressed", ui.pressed}};
}

class Themes : public ::testing::TestWithParam<std::string> {
 protected:
  const Theme& theme_ = theme_of(*theme_of_name(GetParam()));
  // WCAG: 4.5 for text, 7 at level AAA.
  const double text_ = GetParam() == "high_contrast" ? 7.0 : 4.5;

  void expect_on(const NamedColour& colour, const std::vector<NamedColour>& below, double least) {
    for (const NamedColour& surface : below)
      EXPECT_GE(contrast_ratio(colour.colour, surface.colour), least)
          << colour.name << " on " << surface.name;
  }

  std::vector<CellStyle> cells() const {
    std::vector<CellStyle> styles;
    for (std::size_t i = 0; i < kNumCellRoles; ++i)
      styles.push_back(cell_style(theme_, static_cast<CellRole>(i)));
    return styles;
  }
};

INSTANTIATE_TEST_SUITE_P(, Themes, ::testing::Values("dark", "light", "high_contrast"),
                         [](const auto& name) { return name.param; });

TEST_P(Themes, TextIsReadOnEverySurface) {
  const UiColours& ui = theme_.ui;
  expect_on({"text", ui.text}, surfaces(ui), text_);
  expect_on({"text_dim", ui.text_dim}, surfaces(ui), text_);
}

TEST_P(Themes, StatesAreReadWhereTextStands) {
  const UiColours& ui = theme_.ui;
  std::vector<NamedColour> below = surfaces(ui);
  below.resize(5);
  expect_on({"ok", ui.ok}, below, text_);
  expect_on({"warning", ui.warning}, below, text_);
  expect_on({"error", ui.error}, below, text_);
  expect_on({"info", ui.info}, below, text_);
}

// White on each fill gets less or more readable level by level, whatever the reader sees.
TEST_P(Themes, HeatIsReadAndOrderedByLightness) {
  const Rgba white = rgb(0xFFFFFF);
  for (const ColourVision vision : kVisions) {
    double before = 0;
    for (std::size_t level = 0; level < kNumHeatStyles; ++level) {
      const HeatStyle style = heat_style(theme_.kind, level);
      EXPECT_GE(contrast_ratio(style.text, style.fill), 4.5) << level;
      const double contrast = contrast_ratio(white, simulate(style.fill, vision));
      const bool rises = theme_.kind == ThemeKind::light;
      if (level > 0) EXPECT_TRUE(rises ? contrast > before : contrast < before) << level;
      before = contrast;
    }
  }
}

TEST_P(Themes, TextOnAccentAndBannersIsRead) {
  const UiColours& ui = theme_.ui;
  EXPECT_GE(contrast_ratio(ui.on_accent, ui.accent), text_);
  EXPECT_GE(contrast_ratio(ui.on_banner, ui.banner), text_);
  EXPECT_GE(contrast_ratio(ui.on_banner_error, ui.banner_error), text_);
}

TEST_P(Themes, BordersFocusAndAccentStandOutFromEverySurface) {
  const UiColours& ui = theme_.ui;
  std::vector<NamedColour> below = surfaces(ui);
  below.resize(6);  // buttons have no separate border
  expect_on({"border", ui.border}, below, kGraphic);
  expect_on({"focus", ui.focus}, below, kGraphic);
  expect_on({"accent", ui.accent}, below, kGraphic);
}

TEST_P(Themes, SelectionHoverAndPressedCanBeToldFromThePanel) {
  const UiColours& ui = theme_.ui;
  for (const Rgba& surface : {ui.selection, ui.hover, ui.pressed})
    EXPECT_GE(delta_e(surface, ui.panel), 5);
  EXPECT_GE(delta_e(ui.selection, ui.hover), 5);
}

TEST_P(Themes, LettersAreReadOnTheirCell) {
  for (const CellStyle& style : cells())
    EXPECT_GE(contrast_ratio(style.text, style.fill), text_) << style.title;
}

TEST_P(Themes, PatternsStandOutFromTheirCell) {
  for (const CellStyle& style : cells())
    EXPECT_GE(contrast_ratio(style.line, style.fill), kGraphic) << style.title;
}

TEST_P(Themes, NoTwoRolesShareALetterAPatternOrATitle) {
  std::set<char> letters;
  std::set<CellPattern> patterns;
  std::set<std::string_view> titles;
  for (const CellStyle& style : cells()) {
    EXPECT_TRUE(letters.insert(style.letter).second) << style.title;
    EXPECT_TRUE(patterns.insert(style.pattern).second) << style.title;
    EXPECT_TRUE(titles.insert(style.title).second) << style.title;
  }
}

std::vector<CellMark> all_marks() {
  std::vector<CellMark> marks = {changed_mark()};
  for (const CellState state : {CellState::unwritten, CellState::written, CellState::verified,
                                CellState::wrong, CellState::unknown})
    if (const auto mark = state_mark(state)) marks.push_back(*mark);
  return marks;
}

TEST_P(Themes, AMarkOrItsPlateStandsOutFromEveryFill) {
  for (const CellMark& mark : all_marks())
    for (const CellStyle& style : cells())
      EXPECT_GE(
          std::max(contrast_ratio(mark.colour, style.fill), contrast_ratio(mark.plate, style.fill)),
          kGraphic)
          << style.title << ", mark " << static_cast<int>(mark.shape);
}

TEST(Marks, AreReadOnTheirPlateAndDifferInShape) {
  std::set<MarkShape> shapes;
  for (const CellMark& mark : all_marks()) {
    EXPECT_GE(contrast_ratio(mark.colour, mark.plate), 7) << static_cast<int>(mark.shape);
    EXPECT_TRUE(shapes.insert(mark.shape).second) << static_cast<int>(mark.shape);
  }
}

TEST_P(Themes, SeriesStandOutFromWhatTheyAreDrawnOn) {
  for (std::size_t i = 0; i < kNumSeriesColours; ++i)
    for (const NamedColour& surface :
         {NamedColour{"panel", theme_.ui.panel}, NamedColour{"field", theme_.ui.field}})
      EXPECT_GE(contrast_ratio(theme_.series[i], surface.colour), kGraphic)
          << i << " on " << surface.name;
}

TEST_P(Themes, SeriesCanBeToldApartHoweverOneSees) {
  for (const ColourVision vision : kVisions)
    for (std::size_t i = 0; i < kNumSeriesColours; ++i)
      for (std::size_t j = 0; j < i; ++j)
        EXPECT_GE(delta_e(simulate(theme_.series[i], vision), simulate(theme_.series[j], vision)),
                  kLeastDistance)
            << i << ", " << j << ", vision " << static_cast<int>(vision);
}

TEST(Series, TheFirstEightDifferInColourAndMarker) {
  const Theme& theme = theme_of(ThemeKind::dark);
  std::set<MarkerShape> markers;
  for (std::size_t i = 0; i < 8; ++i) {
    EXPECT_EQ(series_style(theme, i).colour, theme.series[i]);
    EXPECT_TRUE(markers.insert(series_style(theme, i).marker).second) << i;
  }
}

TEST(Series, TheFirst64AreAllDifferentAndThenTheyComeAgain) {
  const Theme& theme = theme_of(ThemeKind::light);
  for (std::size_t i = 0; i < 64; ++i)
    for (std::size_t j = 0; j < i; ++j)
      EXPECT_FALSE(series_style(theme, i) == series_style(theme, j)) << i << ", " << j;
  EXPECT_EQ(series_style(theme, 64), series_style(theme, 0));
}

TEST(ThemeNames, AreThree) {
  for (const ThemeKind kind : kThemeKinds) {
    EXPECT_EQ(theme_of(kind).kind, kind);
    EXPECT_EQ(theme_of_name(theme_name(kind)), kind);
  }
  EXPECT_EQ(theme_of_name("dark"), ThemeKind::dark);
  EXPECT_EQ(theme_of_name("high_contrast"), ThemeKind::high_contrast);
  EXPECT_EQ(theme_of_name("Dark"), std::nullopt);
  EXPECT_EQ(theme_of_name(""), std::nullopt);
}

}  // namespace
}  // namespace hybridscope::theme_test
