#include "gui/fonts.h"

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

// Where distributions keep them, the first that is there is taken.
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
  Fonts fonts;
  for (const FontFamily& family : kFamilies) {
    if (!is_there(family)) continue;
    fonts.words = atlas.AddFontFromFileTTF(family.words, size, nullptr, kGlyphs);
    fonts.bold = atlas.AddFontFromFileTTF(family.bold, size, nullptr, kGlyphs);
    fonts.fixed = atlas.AddFontFromFileTTF(family.fixed, size, nullptr, kGlyphs);
    fonts.small = atlas.AddFontFromFileTTF(family.fixed, small, nullptr, kGlyphs);
    fonts.source = family.name;
    break;
  }
  if (fonts.words == nullptr || fonts.bold == nullptr || fonts.fixed == nullptr ||
      fonts.small == nullptr) {
    atlas.Clear();
    ImFontConfig config;
    config.SizePixels = size;
    fonts.words = fonts.bold = fonts.fixed = atlas.AddFontDefault(&config);
    config.SizePixels = small;
    fonts.small = atlas.AddFontDefault(&config);
    fonts.source = "built in";
  }
  ImGui::GetIO().FontDefault = fonts.words;
  atlas.Build();
  return fonts;
}

}  // namespace hybridscope
