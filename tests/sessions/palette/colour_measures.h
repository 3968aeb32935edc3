// Measures of colours: contrast (WCAG 2), distance (CIELAB), and how a colour looks to people with
// colour blindness.
#pragma once

#include "sessions/palette/palette.h"

namespace hybridscope::test {

// The functions below ignore alpha.

// WCAG 2: from 0, black, to 1, white.
double relative_luminance(const Rgba& colour);
// WCAG 2: from 1, no contrast, to 21, black and white; symmetric. WCAG asks for 4.5 for text (7 at
// level AAA) and for 3 for the meaningful parts of a graphic.
double contrast_ratio(const Rgba& one, const Rgba& other);

// CIE 1976 L*a*b*, white point D65.
struct Lab {
  double l = 0;  // 0 to 100
  double a = 0;
  double b = 0;
};
Lab to_lab(const Rgba& colour);
// CIE76: the distance in L*a*b*. About 2.3 is just noticeable side by side.
double delta_e(const Rgba& one, const Rgba& other);

enum class ColourVision { normal, protanopia, deuteranopia, tritanopia };
// Machado, Oliveira and Fernandes (2009) at severity 1.0, on linear RGB and clamped. Their model is
// less accurate for tritanopia than for the other two.
Rgba simulate(const Rgba& colour, ColourVision vision);

}  // namespace hybridscope::test
