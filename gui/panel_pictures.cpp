#include "gui/panel_pictures.h"

#include <fmt/core.h>

#include <cmath>

#include "gui/surface.h"

namespace hybridscope {
namespace {

// Frames until a panel has settled.
constexpr int kFramesBeforePicture = 4;

PixelRect pixels_of(const ItemBox& box) {
  const ImVec2 scale = ImGui::GetIO().DisplayFramebufferScale;
  const auto whole = [](float value) { return static_cast<std::int32_t>(std::floor(value)); };
  return {.x = whole(box.min.x * scale.x),
          .y = whole(box.min.y * scale.y),
          .width = whole((box.max.x - box.min.x) * scale.x),
          .height = whole((box.max.y - box.min.y) * scale.y)};
}

}  // namespace

void PanelPictures::take(Workbench& workbench, const ItemMarks& marks, const Surface& surface) {
  std::vector<PanelPicture>& due = workbench.outbox().pictures;
  if (due.empty() || ++frames_ < kFramesBeforePicture) return;
  frames_ = 0;
  const PanelPicture picture = due.front();
  due.erase(due.begin());
  const auto box = marks.find("panel " + picture.panel);
  const Image image =
      box == marks.end() ? Image() : cut_out(read_pixels(surface), pixels_of(box->second));
  last_ = image.rgba.empty()
              ? Status(Error{ErrorKind::not_available,
                             fmt::format("{}: not written, panel {} has no room in the window",
                                         picture.path, picture.panel)})
              : write_png(image, picture.path);
  if (last_.ok())
    workbench.say(NoticeKind::info, fmt::format("Exported: {} as {}, {} x {} pixels",
                                                workbench.view().find_panel(picture.panel)->title,
                                                picture.path, image.size.width, image.size.height));
  else
    workbench.say(NoticeKind::error, last_.error().message);
  workbench.touch();
}

}  // namespace hybridscope
