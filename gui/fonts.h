// The fonts of the workbench: one for words, a bold one for headings, one of fixed width for
// numbers. From a font package of the system; ImGui's own where there is none.
#pragma once

#include <imgui.h>

#include <string>

namespace hybridscope {

struct Fonts {
  ImFont* words = nullptr;
  ImFont* bold = nullptr;
  ImFont* fixed = nullptr;
  ImFont* small = nullptr;  // of fixed width, for cells
  std::string source;       // "DejaVu", "built in": for doctor and tests
};

// Sizes are those of scale 1.
inline constexpr float kFontPixels = 15.0F;
inline constexpr float kSmallFontPixels = 12.0F;

// Fills the font atlas anew. Requires an ImGui context and no frame under way; the renderer has to
// make its texture anew (ImGui_ImplOpenGL3_DestroyFontsTexture before the next frame).
Fonts load_fonts(float scale);

}  // namespace hybridscope
