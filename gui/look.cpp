#include "gui/look.h"

#include <imgui_freetype.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <string_view>

namespace hybridscope {

namespace {

struct FontFamily {
  std::string_view name;
  const char* words;
  const char* bold;
  const char* fixed;
};

// Where distributions keep them; the first that exists is used.
constexpr std::array<FontFamily, 4> kFamilies{{
    {"DejaVu", "/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf",
     "/usr/share/fonts/truetype/dejavu/DejaVuSans-Bold.ttf",
     "/usr/share/fonts/truetype/dejavu/DejaVuSansMono.ttf"},
    {"DejaVu", "/usr/share/fonts/dejavu/DejaVuSans.ttf",
     "/usr/share/fonts/dejavu/DejaVuSans-Bold.ttf", "/usr/share/fonts/dejavu/DejaVuSansMono.ttf"},
    {"DejaVu", "/usr/share/fonts/TTF/DejaVuSans.ttf", "/usr/share/fonts/TTF/DejaVuSans-Bold.ttf",
     "/usr/share/fonts/TTF/DejaVuSansMono.ttf"},
    {"Liberation", "/usr/share/fonts/truetype/liberation/LiberationSans-Regular.ttf",
     "/usr/share/fonts/truetype/liberation/LiberationSans-Bold.ttf",
     "/usr/share/fonts/truetype/liberation/LiberationMono-Regular.ttf"},
}};

// Latin, Greek, Cyrillic, punctuation, arrows, mathematical signs, boxes and shapes.
constexpr ImWchar kGlyphs[] = {0x0020, 0x017F, 0x0370, 0x04FF, 0x2010, 0x203A,
                               0x2070, 0x209F, 0x2190, 0x21FF, 0x2200, 0x22FF,
                               0x2500, 0x25FF, 0x2600, 0x27BF, 0};

constexpr ImWchar kAscii[] = {0x0020, 0x007E, 0};

bool is_there(const FontFamily& family) {
  std::error_code ignored;
  return std::filesystem::exists(family.words, ignored) &&
         std::filesystem::exists(family.bold, ignored) &&
         std::filesystem::exists(family.fixed, ignored);
}

}  // namespace

Fonts load_fonts(float scale) {
  ImFontAtlas& atlas = *ImGui::GetIO().Fonts;
  atlas.Clear();
  atlas.FontBuilderIO = ImGuiFreeType::GetBuilderForFreeType();
  atlas.FontBuilderFlags = ImGuiFreeTypeBuilderFlags_LightHinting;
  const float size = std::round(kFontPixels * scale);
  const float small = std::round(kSmallFontPixels * scale);
  const float large = std::round(kLargeFontPixels * scale);
  Fonts fonts;
  for (const FontFamily& family : kFamilies) {
    if (!is_there(family)) continue;
    fonts.words = atlas.AddFontFromFileTTF(family.words, size, nullptr, kGlyphs);
    fonts.bold = atlas.AddFontFromFileTTF(family.bold, size, nullptr, kGlyphs);
    fonts.fixed = atlas.AddFontFromFileTTF(family.fixed, size, nullptr, kGlyphs);
    fonts.small = atlas.AddFontFromFileTTF(family.fixed, small, nullptr, kGlyphs);
    fonts.large = atlas.AddFontFromFileTTF(family.fixed, large, nullptr, kAscii);
    fonts.source = family.name;
    break;
  }
  if (fonts.words == nullptr || fonts.bold == nullptr || fonts.fixed == nullptr ||
      fonts.small == nullptr || fonts.large == nullptr) {
    atlas.Clear();
    ImFontConfig config;
    config.SizePixels = size;
    fonts.words = fonts.bold = fonts.fixed = atlas.AddFontDefault(&config);
    config.SizePixels = small;
    fonts.small = atlas.AddFontDefault(&config);
    config.SizePixels = large;
    fonts.large = atlas.AddFontDefault(&config);
    fonts.source = "built in";
  }
  ImGui::GetIO().FontDefault = fonts.words;
  atlas.Build();
  return fonts;
}

ImU32 packed(Rgba colour) { return IM_COL32(colour.r, colour.g, colour.b, colour.a); }

ImVec4 vec4(Rgba colour) {
  return {static_cast<float>(colour.r) / 255.0F, static_cast<float>(colour.g) / 255.0F,
          static_cast<float>(colour.b) / 255.0F, static_cast<float>(colour.a) / 255.0F};
}

namespace {

void set_sizes(ImGuiStyle& style, float scale) {
  style = ImGuiStyle();
  style.WindowPadding = {8, 6};
  style.FramePadding = {7, 4};
  style.ItemSpacing = {8, 5};
  style.ItemInnerSpacing = {5, 4};
  style.CellPadding = {6, 3};
  style.IndentSpacing = 18;
  style.ScrollbarSize = 13;
  style.GrabMinSize = 10;
  style.WindowRounding = 0;
  style.ChildRounding = 0;
  style.FrameRounding = 3;
  style.PopupRounding = 4;
  style.ScrollbarRounding = 3;
  style.GrabRounding = 3;
  style.TabRounding = 3;
  style.WindowBorderSize = 1;
  style.ChildBorderSize = 1;
  style.PopupBorderSize = 1;
  style.FrameBorderSize = 0;
  style.AntiAliasedLinesUseTex = false;  // would need an interpolated font texture
  style.ScaleAllSizes(scale);
}

void set_colours(ImGuiStyle& style, const UiColours& ui) {
  ImVec4* colours = style.Colors;
  const auto set = [&](ImGuiCol which, Rgba colour) { colours[which] = vec4(colour); };
  const Rgba none{0, 0, 0, 0};
  set(ImGuiCol_Text, ui.text);
  set(ImGuiCol_TextDisabled, ui.text_dim);
  set(ImGuiCol_WindowBg, ui.background);
  set(ImGuiCol_ChildBg, none);
  set(ImGuiCol_PopupBg, ui.panel);
  set(ImGuiCol_Border, ui.border);
  set(ImGuiCol_BorderShadow, none);
  set(ImGuiCol_FrameBg, ui.field);
  set(ImGuiCol_FrameBgHovered, ui.hover);
  set(ImGuiCol_FrameBgActive, ui.pressed);
  set(ImGuiCol_TitleBg, ui.header);
  set(ImGuiCol_TitleBgActive, ui.header);
  set(ImGuiCol_TitleBgCollapsed, ui.header);
  set(ImGuiCol_MenuBarBg, ui.header);
  set(ImGuiCol_ScrollbarBg, ui.background);
  set(ImGuiCol_ScrollbarGrab, ui.border);
  set(ImGuiCol_ScrollbarGrabHovered, ui.text_dim);
  set(ImGuiCol_ScrollbarGrabActive, ui.text_dim);
  set(ImGuiCol_CheckMark, ui.accent);
  set(ImGuiCol_SliderGrab, ui.accent);
  set(ImGuiCol_SliderGrabActive, ui.accent);
  set(ImGuiCol_Button, ui.field);
  set(ImGuiCol_ButtonHovered, ui.hover);
  set(ImGuiCol_ButtonActive, ui.pressed);
  set(ImGuiCol_Header, ui.selection);
  set(ImGuiCol_HeaderHovered, ui.hover);
  set(ImGuiCol_HeaderActive, ui.pressed);
  set(ImGuiCol_Separator, ui.border);
  set(ImGuiCol_SeparatorHovered, ui.accent);
  set(ImGuiCol_SeparatorActive, ui.accent);
  set(ImGuiCol_ResizeGrip, none);
  set(ImGuiCol_Tab, ui.header);
  set(ImGuiCol_TabHovered, ui.hover);
  set(ImGuiCol_TabActive, ui.panel);
  set(ImGuiCol_TabUnfocused, ui.header);
  set(ImGuiCol_TabUnfocusedActive, ui.panel);
  set(ImGuiCol_TableHeaderBg, ui.header);
  set(ImGuiCol_TableBorderStrong, ui.border);
  set(ImGuiCol_TableBorderLight, ui.grid);
  set(ImGuiCol_TableRowBg, none);
  set(ImGuiCol_TableRowBgAlt, none);
  set(ImGuiCol_TextSelectedBg, ui.selection);
  set(ImGuiCol_NavHighlight, ui.focus);
  set(ImGuiCol_DragDropTarget, ui.focus);
}

}  // namespace

void apply_style(const Look& look) {
  ImGuiStyle& style = ImGui::GetStyle();
  set_sizes(style, look.scale);
  // Where fields have the panel's colour, a border shows where they are.
  if (look.theme.kind == ThemeKind::high_contrast) style.FrameBorderSize = look.px(1);
  set_colours(style, look.ui());
}

}  // namespace hybridscope
