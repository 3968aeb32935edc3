#include "sessions/palette/palette.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "tests/sessions/palette/colour_measures.h"

namespace hybridscope::palette_test {
namespace {

using test::ColourVision;
using test::contrast_ratio;
using test::delta_e;
using test::simulate;
using testing::HasSubstr;

constexpr ColourVision kVisions[] = {ColourVision::normal, ColourVision::protanopia,
                                     ColourVision::deuteranopia, ColourVision::tritanopia};

struct Named {
  const char* name;
  Rgba colour;
};

class Palettes : public testing::TestWithParam<PaletteKind> {
 protected:
  std::vector<Named> events() const {
    return {{"copy", palette_.copy},
            {"conv_copy", palette_.conv_copy},
            {"eviction", palette_.eviction},
            {"preemption", palette_.preemption}};
  }
  std::vector<Named> verdicts() const {
    return {{"ok", palette_.ok}, {"warning", palette_.warning}, {"error", palette_.error}};
  }
  const Palette& palette_ = palette_of(GetParam());
};

constexpr const char* kKindNames[] = {"dark", "light", "high_contrast"};

INSTANTIATE_TEST_SUITE_P(
    , Palettes, testing::Values(PaletteKind::dark, PaletteKind::light, PaletteKind::high_contrast),
    [](const auto& test) { return kKindNames[static_cast<std::size_t>(test.param)]; });

// 20 (CIE76) for each of the four ways to see; about 2.3 is just noticeable side by side.
TEST_P(Palettes, EveryFillMeansOneThingHoweverOneSees) {
  for (const ColourVision vision : kVisions)
    for (std::size_t i = 0; i < kNumFills; ++i)
      for (std::size_t j = 0; j < i; ++j)
        EXPECT_GE(delta_e(simulate(palette_.fills[i].fill, vision),
                          simulate(palette_.fills[j].fill, vision)),
                  20)
            << fill_name(static_cast<Fill>(i)) << ", " << fill_name(static_cast<Fill>(j))
            << ", vision " << static_cast<int>(vision);
}

TEST_P(Palettes, EventsCanBeToldApartHoweverOneSees) {
  const std::vector<Named> all = events();
  for (const ColourVision vision : kVisions)
    for (std::size_t i = 0; i < all.size(); ++i)
      for (std::size_t j = 0; j < i; ++j)
        EXPECT_GE(delta_e(simulate(all[i].colour, vision), simulate(all[j].colour, vision)), 20)
            << all[i].name << ", " << all[j].name << ", vision " << static_cast<int>(vision);
}

TEST_P(Palettes, NoEventHasTheColourOfAFillOrAVerdict) {
  for (const Named& event : events()) {
    for (std::size_t i = 0; i < kNumFills; ++i)
      EXPECT_GE(delta_e(event.colour, palette_.fills[i].fill), 14)
          << event.name << ", " << fill_name(static_cast<Fill>(i));
    for (const Named& verdict : verdicts())
      EXPECT_GE(delta_e(event.colour, verdict.colour), 14) << event.name << ", " << verdict.name;
  }
}

// WCAG: 4.5 for letters, 3 for what a graphic needs to be understood.
TEST_P(Palettes, LettersAndPatternsAreReadOnTheirFill) {
  for (std::size_t i = 0; i < kNumFills; ++i) {
    const FillColours& colours = palette_.fills[i];
    EXPECT_GE(contrast_ratio(colours.text, colours.fill), 4.5) << fill_name(static_cast<Fill>(i));
    EXPECT_GE(contrast_ratio(colours.line, colours.fill), 3) << fill_name(static_cast<Fill>(i));
  }
}

TEST(PaletteCss, HasAVariableForEachMeaning) {
  const std::string css = palette_css(PaletteKind::dark);
  EXPECT_THAT(css, HasSubstr("--running: #5cc9ff;\n--running-text: #000000;\n"));
  EXPECT_THAT(css, HasSubstr("--null-block: #686e7b;\n"));
  EXPECT_THAT(css, HasSubstr("--conv-copy: #23e6be;\n"));
  EXPECT_THAT(css, HasSubstr("--changed-edge: #000000;\n"));
}

}  // namespace
}  // namespace hybridscope::palette_test
