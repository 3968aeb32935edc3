// How everything looks: current theme, fonts and scale. Panels take colours from here by meaning,
// and sizes in points of scale 1.
#pragma once

#include <imgui.h>

#include <string>

#include "gui/model/theme.h"

namespace hybridscope {

// The fonts of the workbench: one for words, a bold one for headings, one of fixed width for
// numbers. From a font package of the system; ImGui's own where there is none.

struct Fonts {
  ImFont* words = nullptr;
  ImFont* bold = nullptr;
  ImFont* fixed = nullptr;
  ImFont* small = nullptr;  // of fixed width, for cells
  ImFont* large = nullptr;  // of fixed width, for large cells; ASCII only
  std::string source;       // "DejaVu", "built in": for doctor and tests
};

// Sizes are those of scale 1.
inline constexpr float kFontPixels = 15.0F;
inline constexpr float kSmallFontPixels = 12.0F;
inline constexpr float kLargeFontPixels = 24.0F;

// Rebuilds the font atlas. Requires an ImGui context and no frame under way; the renderer has to
// rebuild its texture (ImGui_ImplOpenGL3_DestroyFontsTexture before the next frame).
Fonts load_fonts(float scale);

struct Look {
  Theme theme;
  Fonts fonts;
  float scale = 1;

  const UiColours& ui() const { return theme.ui; }
  // Points of scale 1 in pixels.
  float px(float points) const { return points * scale; }
};

// ImGui's packed colour.
ImU32 packed(Rgba colour);
ImVec4 vec4(Rgba colour);

// Sets ImGui's style to the look. Requires an ImGui context.
void apply_style(const Look& look);

// Text in another font or colour for as long as it lives.
class FontScope {
 public:
  explicit FontScope(ImFont* font) { ImGui::PushFont(font); }
  ~FontScope() { ImGui::PopFont(); }
  FontScope(const FontScope&) = delete;
  FontScope& operator=(const FontScope&) = delete;
};
class TextColour {
 public:
  explicit TextColour(Rgba colour) { ImGui::PushStyleColor(ImGuiCol_Text, packed(colour)); }
  ~TextColour() { ImGui::PopStyleColor(); }
  TextColour(const TextColour&) = delete;
  TextColour& operator=(const TextColour&) = delete;
};

}  // namespace hybridscope
