// Grids as textures, drawn without a display.
#include "gui/grid_texture.h"

#include <GL/gl.h>
#include <backends/imgui_impl_opengl3.h>
#include <gtest/gtest.h>

#include <array>
#include <functional>

#include "tests/gui/gui_driver.h"

namespace hybridscope::test::grid_texture_test {
namespace {

constexpr ImU32 kRed = IM_COL32(255, 0, 0, 255);
constexpr ImU32 kBlue = IM_COL32(0, 0, 255, 255);

Image drawn(Surface& surface, const std::function<void(ImDrawList&)>& draw) {
  ImGui_ImplOpenGL3_NewFrame();
  surface.begin_frame();
  ImGui::NewFrame();
  draw(*ImGui::GetForegroundDrawList());
  ImGui::Render();
  glClear(GL_COLOR_BUFFER_BIT);
  ImGui_ImplOpenGL3_RenderDrawData(ImGui::GetDrawData());
  return read_pixels(surface);
}

// "R" and "B" of the cells of 8 pixels, row by row.
std::string cells_of(const Image& image, int columns, int rows) {
  std::string cells;
  for (int row = 0; row < rows; ++row) {
    for (int column = 0; column < columns; ++column) {
      const auto at = static_cast<std::size_t>(((row * 8 + 4) * image.size.width + column * 8 + 4));
      cells += image.rgba[at * 4] == 255 ? 'R' : image.rgba[at * 4 + 2] == 255 ? 'B' : '.';
    }
    cells += ' ';
  }
  return cells;
}

TEST(GridTexture, AGridLargerThanATextureIsSeveralBesideEachOther) {
  const auto driver = GuiDriver::create({64, 64});
  if (driver == nullptr) GTEST_SKIP() << GuiDriver::reason();
  driver->frames();
  constexpr std::array<std::uint32_t, 15> kPixels{kRed,  kBlue, kRed,  kRed, kBlue,  //
                                                  kBlue, kBlue, kRed,  kRed, kRed,   //
                                                  kRed,  kRed,  kBlue, kRed, kBlue};
  GridTexture texture;
  for (const std::int32_t max_side : {1, 2, 3, 16}) {
    texture.set({}, 0, 0);
    texture.set(kPixels, 5, 3, max_side);
    const Image image = drawn(driver->surface(), [&](ImDrawList& list) {
      texture.draw(list, ImVec2(0, 0), ImVec2(8, 8));
    });
    EXPECT_EQ(cells_of(image, 6, 4), "RBRRB. BBRRR. RRBRB. ...... ") << max_side;
  }
}

}  // namespace
}  // namespace hybridscope::test::grid_texture_test
