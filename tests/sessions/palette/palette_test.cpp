#include "sessions/palette/palette.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <cmath>
#include <set>
#include <string_view>
#include <vector>

#include "sessions/text/json_reader.h"
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

TEST_P(Palettes, VerdictsCanBeToldApartHoweverOneSees) {
  const std::vector<Named> all = verdicts();
  for (const ColourVision vision : kVisions)
    for (std::size_t i = 0; i < all.size(); ++i)
      for (std::size_t j = 0; j < i; ++j)
        EXPECT_GE(delta_e(simulate(all[i].colour, vision), simulate(all[j].colour, vision)), 20)
            << all[i].name << ", " << all[j].name << ", vision " << static_cast<int>(vision);
}

TEST_P(Palettes, NoVerdictHasTheColourOfAFill) {
  for (const Named& verdict : verdicts())
    for (std::size_t i = 0; i < kNumFills; ++i)
      EXPECT_GE(delta_e(verdict.colour, palette_.fills[i].fill), 14)
          << verdict.name << ", " << fill_name(static_cast<Fill>(i));
}

TEST_P(Palettes, VerdictsAreReadOnPagesAndOnTheirOwnBackground) {
  const std::vector<Named> all = verdicts();
  const Rgba backs[] = {palette_.ok_back, palette_.warning_back, palette_.error_back};
  for (std::size_t i = 0; i < all.size(); ++i)
    for (const Rgba& below : {backs[i], palette_.page.page, palette_.page.card})
      EXPECT_GE(contrast_ratio(all[i].colour, below), 4.5) << all[i].name;
  for (const Rgba& below : {palette_.page.page, palette_.page.card, palette_.page.hover})
    for (const Rgba& text : {palette_.page.text, palette_.page.muted})
      EXPECT_GE(contrast_ratio(text, below), 4.5);
}

// Degrees of L*a*b*: red 40, orange 74, yellow 103, green 136, teal 196, blue 306, pink 350.
struct Hue {
  const char* name;
  double from;
  double to;
  Rgba colour;
};

// A slate of little colour is no teal; held is a blue as dark as it is dull.
double least_chroma(std::string_view name) { return name == "teal: conv copy" ? 30 : 9; }

// Names of docs/workbench.md.
TEST_P(Palettes, AColourIsCalledTheSameInEveryPalette) {
  const Palette& p = palette_;
  const Hue hues[] = {{"red: stale", 5, 45, p.of(Fill::stale).fill},
                      {"red: error", 5, 45, p.error},
                      {"yellow: warning", 80, 110, p.warning},
                      {"green: ok", 125, 170, p.ok},
                      {"green: cached", 125, 170, p.of(Fill::cached).fill},
                      {"orange: shared", 60, 80, p.of(Fill::shared).fill},
                      {"purple: speculative", 310, 325, p.of(Fill::speculative).fill},
                      {"blue: running", 225, 260, p.of(Fill::running).fill},
                      {"blue: held", 255, 310, p.of(Fill::held).fill},
                      {"blue: prefill", 255, 310, p.of(Fill::prefill).fill},
                      {"pink: copy", 325, 350, p.copy},
                      {"teal: conv copy", 165, 225, p.conv_copy},
                      {"olive: eviction", 95, 110, p.eviction},
                      {"brown: preemption", 30, 55, p.preemption}};
  for (const Hue& hue : hues) {
    const test::Lab lab = test::to_lab(hue.colour);
    const double degrees = std::atan2(lab.b, lab.a) * 180 / 3.14159265358979;
    const double positive = degrees < 0 ? degrees + 360 : degrees;
    EXPECT_GE(positive, hue.from) << hue.name;
    EXPECT_LE(positive, hue.to) << hue.name;
    EXPECT_GE(std::hypot(lab.a, lab.b), least_chroma(hue.name)) << hue.name << ": grey";
  }
}

TEST(PaletteWords, AreTheTableOfTheDocument) {
  const auto page = read_text_file(HYBRIDSCOPE_SOURCE_DIR "/docs/workbench.md");
  ASSERT_TRUE(page.ok());
  EXPECT_THAT(page.value(), HasSubstr("\n\n" + palette_markdown() + "\n"));
}

// Ten fills, four events, three verdicts, and the corner of what changed.
TEST(PaletteWords, NameEveryColourOnce) {
  EXPECT_EQ(palette_words().size(), kNumFills + 8);
  std::set<std::string_view> names;
  for (const ColourWords& row : palette_words()) EXPECT_TRUE(names.insert(row.colour).second);
}

// WCAG: 4.5 for letters, 7 at level AAA, which the small numbers of blocks that requests have in
// the light palette need on their patterns; 3 for what a graphic needs to be understood.
TEST_P(Palettes, LettersAndPatternsAreReadOnTheirFill) {
  for (std::size_t i = 0; i < kNumFills; ++i) {
    const FillColours& colours = palette_.fills[i];
    const bool is_live = static_cast<Fill>(i) <= Fill::held;
    const double least = is_live && GetParam() == PaletteKind::light ? 7 : 4.5;
    EXPECT_GE(contrast_ratio(colours.text, colours.fill), least) << fill_name(static_cast<Fill>(i));
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

using test::ColourVision;
using test::contrast_ratio;
using test::delta_e;
using test::Lab;
using test::simulate;
using test::to_lab;

constexpr Rgba kBlack = rgb(0x000000);
constexpr Rgba kWhite = rgb(0xFFFFFF);

TEST(Colour, HexIsRedGreenBlueAndOpaque) { EXPECT_EQ(rgb(0xE69F00), (Rgba{230, 159, 0, 255})); }

TEST(Contrast, BlackAndWhiteHaveTheMost) {
  EXPECT_NEAR(contrast_ratio(kBlack, kWhite), 21, 1e-9);
  EXPECT_NEAR(contrast_ratio(kWhite, kBlack), 21, 1e-9);
  EXPECT_NEAR(contrast_ratio(kWhite, kWhite), 1, 1e-9);
}

// The two greys between which WCAG's 4.5 on white lies, and pure colours as its tools give them.
TEST(Contrast, IsWcags) {
  EXPECT_NEAR(contrast_ratio(rgb(0x777777), kWhite), 4.48, 0.005);
  EXPECT_NEAR(contrast_ratio(rgb(0x767676), kWhite), 4.54, 0.005);
  EXPECT_NEAR(contrast_ratio(rgb(0xFF0000), kWhite), 4.00, 0.005);
  EXPECT_NEAR(contrast_ratio(rgb(0x0000FF), kWhite), 8.59, 0.005);
}

TEST(Lab, IsThatOfTheStandardForPrimaries) {
  const Lab red = to_lab(rgb(0xFF0000));
  EXPECT_NEAR(red.l, 53.24, 0.01);
  EXPECT_NEAR(red.a, 80.09, 0.01);
  EXPECT_NEAR(red.b, 67.20, 0.01);
  const Lab blue = to_lab(rgb(0x0000FF));
  EXPECT_NEAR(blue.l, 32.30, 0.01);
  EXPECT_NEAR(blue.a, 79.19, 0.01);
  EXPECT_NEAR(blue.b, -107.86, 0.01);
  EXPECT_NEAR(to_lab(kBlack).l, 0, 1e-9);
}

TEST(Lab, DistanceIsStraight) {
  EXPECT_NEAR(delta_e(kBlack, kWhite), 100, 0.01);
  EXPECT_NEAR(delta_e(rgb(0xFF0000), rgb(0x00FF00)), 170.57, 0.01);
  EXPECT_EQ(delta_e(kWhite, kWhite), 0);
}

TEST(ColourVision, NormalSeesWhatIsThere) {
  EXPECT_EQ(simulate(rgb(0xE69F00), ColourVision::normal), rgb(0xE69F00));
}

TEST(ColourVision, GreysStayGrey) {
  for (const ColourVision vision :
       {ColourVision::protanopia, ColourVision::deuteranopia, ColourVision::tritanopia}) {
    EXPECT_EQ(simulate(kBlack, vision), kBlack);
    EXPECT_EQ(simulate(rgb(0x808080), vision), rgb(0x808080));
    EXPECT_EQ(simulate(kWhite, vision), kWhite);
  }
}

// Red, linear (1, 0, 0), becomes the first column of each matrix: 0.152286 is 109, 0.114503 is 95.
TEST(ColourVision, RedIsTheFirstColumnOfTheMatrix) {
  EXPECT_EQ(simulate(rgb(0xFF0000), ColourVision::protanopia), rgb(0x6D5F00));
  EXPECT_EQ(simulate(rgb(0xFF0000), ColourVision::deuteranopia), rgb(0xA39000));
  EXPECT_EQ(simulate(rgb(0xFF0000), ColourVision::tritanopia), rgb(0xFF000F));
}

TEST(ColourVision, KeepsAlpha) {
  EXPECT_EQ(simulate({0, 0, 0, 40}, ColourVision::protanopia), (Rgba{0, 0, 0, 40}));
}

}  // namespace

}  // namespace hybridscope::palette_test
