#include "gui/panels/panels.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "gui/cell_drawing.h"
#include "gui/grid_texture.h"
#include "gui/model/pool_model.h"
#include "gui/widgets.h"
#include "sessions/text/text_page.h"

namespace hybridscope {
namespace {

// More blocks than this are drawn as a texture, without their numbers.
constexpr std::size_t kMostReadable = 1024;
// Points.
constexpr float kQueueCell = 32;
constexpr float kLeastMap = 64;    // where there is less room, the whole panel scrolls
constexpr float kLeastBlock = 46;  // wide
constexpr float kMostBlock = 92;
constexpr float kOwnerEdge = 4;  // left and right of an owner together

class PhysicalBlocksPanel final : public Panel {
 public:
  void draw(PanelContext& context) override {
    const PoolModel& pool =
        model_.get(context.workbench, [&] { return make_pool_model(*context.workbench.run()); });
    if (!pool.not_kept.empty()) {
      wrapped_dim_text(context.look, pool.not_kept);
      return;
    }
    draw_counts(context.look, pool);
    draw_queue(context, pool);
    wrapped_dim_text(context.look, kOwnerWords);
    const float room = ImGui::GetContentRegionAvail().y;
    ImGui::BeginChild("map", ImVec2(0, std::max(room, context.look.px(kLeastMap))));
    draw_map(context, pool);
    ImGui::EndChild();
  }

 private:
  static void draw_counts(const Look& look, const PoolModel& pool) {
    heading(look, fmt::format("{} blocks", pool.cells.size()));
    wrapped_dim_text(look, counts_words(pool));
    tooltip(
        "All of it when the step is over, the null block left out. held: by a request, or its free "
        "is deferred. shared: by several. free: in the free queue. cached: registered, so that a "
        "request with the same prefix can hit it; a free one until it is given out.");
    for (const CellRole role : kPoolRoles)
      draw_role_sample(look, role, role_name(role),
                       role == kPoolRoles.front() ? SamplePlace::first : SamplePlace::next);
    draw_changed_sample(look, "Given out, freed, registered or evicted.", SamplePlace::next);
    draw_state_sample(look, CellState::wrong, SamplePlace::next);
  }

  static void draw_queue(PanelContext& context, const PoolModel& pool) {
    wrapped_dim_text(context.look, queue_words(pool));
    if (!pool.queue_known) return;
    const float width = ImGui::GetContentRegionAvail().x;
    const float cell = context.look.px(kQueueCell);
    const std::size_t count =
        queue_shown(pool.queue.size(), pool.queue_length, width / cell,
                    text_width(context.look.fonts.words, left_out_words(pool.queue_length)) / cell);
    const ImVec2 at = ImGui::GetCursorScreenPos();
    ImGui::InvisibleButton("queue", ImVec2(std::max(width, 1.0F), context.look.px(21)));
    for (std::size_t i = 0; i < count; ++i) {
      const float x = at.x + cell * static_cast<float>(i);
      const CellBox box{ImVec2(x, at.y), ImVec2(x + cell - 1, at.y + context.look.px(20))};
      const std::int32_t block = pool.queue[i];
      draw_cell(*ImGui::GetWindowDrawList(), context.look, box,
                pool.cells[static_cast<std::size_t>(block)], fmt::format("{}", block));
      if (ImGui::IsItemClicked() && ImGui::IsMouseHoveringRect(box.min, box.max))
        context.emit("select.block", fmt::format("{}", block));
    }
    if (count == pool.queue_length) return;
    draw_text(*ImGui::GetWindowDrawList(), context.look.fonts.words,
              ImVec2(at.x + cell * static_cast<float>(count) + context.look.px(4), at.y),
              packed(context.look.ui().text_dim), left_out_words(pool.queue_length - count));
    context.mark("queue left out");
  }

  void draw_map(PanelContext& context, const PoolModel& pool) {
    const Look& look = context.look;
    const bool readable = pool.cells.size() <= kMostReadable;
    const float width = std::max(ImGui::GetContentRegionAvail().x, 1.0F);
    const float wide = readable ? block_width(context, pool) : look.px(6);
    const float high = look.px(readable ? 34 : 6);
    const auto columns = std::max(1, static_cast<std::int32_t>(width / wide));
    const auto rows = (static_cast<std::int32_t>(pool.cells.size()) + columns - 1) / columns;
    const ImVec2 at = ImGui::GetCursorScreenPos();
    ImGui::InvisibleButton(
        "blocks", ImVec2(wide * static_cast<float>(columns), high * static_cast<float>(rows)));
    const auto box_of = [&](std::int32_t block) {
      const ImVec2 min(at.x + wide * static_cast<float>(block % columns),
                       at.y + high * static_cast<float>(block / columns));
      return CellBox{min, ImVec2(min.x + wide - 1, min.y + high - 1)};
    };
    ImDrawList& list = *ImGui::GetWindowDrawList();
    if (readable) {
      for (const BlockCell& cell : pool.cells) {
        const CellBox box = box_of(cell.block);
        if (box.max.y < list.GetClipRectMin().y || box.min.y > list.GetClipRectMax().y) continue;
        draw_block(list, look, box, cell,
                   owner_words(pool, context.workbench.run()->names(), cell.block));
        context.mark(fmt::format("block {}", cell.block), {box.min, box.max});
      }
    } else {
      upload(context, pool, columns, rows);
      texture_.draw(list, at, ImVec2(wide, high));
    }
    const std::int32_t selected = context.workbench.selection().block;
    if (selected >= 0 && static_cast<std::size_t>(selected) < pool.cells.size())
      draw_frame(list, look, box_of(selected), FrameKind::selected);
    if (!ImGui::IsItemHovered()) return;
    const ImVec2 mouse = ImGui::GetMousePos();
    const auto column = static_cast<std::int32_t>((mouse.x - at.x) / wide);
    const std::int32_t block =
        static_cast<std::int32_t>((mouse.y - at.y) / high) * columns + column;
    if (column >= columns || block < 0 || static_cast<std::size_t>(block) >= pool.cells.size())
      return;
    facts_tooltip(look, describe_block(*context.workbench.run(), pool, block));
    if (ImGui::IsItemClicked()) context.emit("select.block", fmt::format("{}", block));
  }

  // As wide as the longest owner needs, within bounds; measured when something has changed.
  float block_width(const PanelContext& context, const PoolModel& pool) {
    const Look& look = context.look;
    const float widest = longest_owner_.get(context.workbench, [&] {
      std::size_t most = 0;
      for (const BlockCell& cell : pool.cells)
        most = std::max(
            most,
            text_width(to_text(owner_words(pool, context.workbench.run()->names(), cell.block))));
      return static_cast<float>(most);
    });
    const float letter = text_width(look.fonts.small, "0");
    return std::clamp(std::ceil(widest * letter + look.px(kOwnerEdge) + 2), look.px(kLeastBlock),
                      look.px(kMostBlock));
  }

  // What is short of room is the name: which place it is says more.
  static std::string fitted_owner(ImFont* font, const OwnerWords& owner, float width) {
    const std::string whole = to_text(owner);
    if (text_width(font, whole) <= width) return whole;
    const float room = width - text_width(font, " " + owner.place);
    const std::string name = fit_middle(font, owner.request, room);
    return text_width(font, name) <= room ? fmt::format("{} {}", name, owner.place) : owner.place;
  }

  // The block's number, and its owner below.
  static void draw_block(ImDrawList& list, const Look& look, const CellBox& box,
                         const BlockCell& cell, const OwnerWords& owner) {
    const std::string number = fmt::format("{}", cell.block);
    draw_cell(list, look, box, cell, owner.place.empty() ? number : "");
    if (owner.place.empty()) return;
    const CellStyle style = cell_style(look.theme, cell.role);
    ImFont* font = look.fonts.small;
    const float width = box.max.x - box.min.x - look.px(kOwnerEdge);
    const auto line = [&](const std::string& text, float top) {
      const float wide = font->CalcTextSizeA(font->FontSize, FLT_MAX, 0, text.c_str()).x;
      const ImVec2 at(std::floor((box.min.x + box.max.x - wide) / 2), top);
      list.AddRectFilled(ImVec2(at.x - 2, at.y), ImVec2(at.x + wide + 2, at.y + font->FontSize),
                         packed(style.fill));
      list.AddText(font, font->FontSize, at, packed(style.text), text.c_str());
    };
    line(number, box.min.y + look.px(2));
    line(fitted_owner(font, owner, width), box.max.y - font->FontSize - look.px(4));
  }

  void upload(const PanelContext& context, const PoolModel& pool, std::int32_t columns,
              std::int32_t rows) {
    const Uploaded now{context.workbench.revision(), columns, context.look.theme.kind};
    if (now == uploaded_) return;
    uploaded_ = now;
    std::vector<std::uint32_t> pixels(
        static_cast<std::size_t>(columns) * static_cast<std::size_t>(rows),
        packed(context.look.ui().panel));
    for (std::size_t i = 0; i < pool.cells.size(); ++i)
      pixels[i] = cell_pixel(context.look, pool.cells[i]);
    texture_.set(pixels, columns, rows);
  }

  struct Uploaded {
    std::uint64_t revision = 0;
    std::int32_t columns = 0;
    ThemeKind theme = ThemeKind::dark;
    friend bool operator==(const Uploaded&, const Uploaded&) = default;
  };

  Cached<PoolModel> model_;
  Cached<float> longest_owner_;  // letters
  GridTexture texture_;
  Uploaded uploaded_;
};

}  // namespace

std::unique_ptr<Panel> make_physical_blocks_panel() {
  return std::make_unique<PhysicalBlocksPanel>();
}

}  // namespace hybridscope
