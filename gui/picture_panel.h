// Draws a picture: its sentences, what can be pressed and typed, then its tables.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "gui/model/picture.h"
#include "gui/panel.h"
#include "gui/table_view.h"

namespace hybridscope {

// Draws what `make` returns, which is called again whenever the workbench has changed.
class PicturePanel final : public Panel {
 public:
  explicit PicturePanel(Picture (*make)(Workbench&)) : make_(make) {}
  void draw(PanelContext& context) override;

 private:
  struct Typed {
    std::array<char, 512> text{};
    bool is_active = false;
    std::string error;
  };
  void draw_tools(PanelContext& context, const Picture& picture);
  void draw_field(PanelContext& context, const PictureField& field, Typed& typed);
  void draw_page(PanelContext& context, const Picture& picture);
  void draw_folded(PanelContext& context, const Table& table, TableView& view);
  // Leaves so many pixels below it.
  void draw_table(PanelContext& context, const Table& table, TableView& view, float below);

  Picture (*make_)(Workbench&);
  Cached<Picture> picture_;
  std::vector<TableView> views_;  // [tables]
  std::vector<Typed> typed_;      // [fields]
};

}  // namespace hybridscope
