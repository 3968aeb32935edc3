#include "gui/panels/panels.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "gui/cell_drawing.h"
#include "gui/model/command_table.h"
#include "gui/model/timeline_model.h"
#include "gui/widgets.h"

namespace hybridscope {
namespace {

// Points of scale 1: in a smaller panel the legend is a tooltip.
const ImVec2 kLeastWithLegend = {400, 140};

struct LaneGrid {
  float name_width = 0;
  float header = 0;
  float cell_width = 0;
  float cell_height = 0;
  ImVec2 origin;

  CellBox box_of(std::size_t lane, std::size_t column) const {
    const ImVec2 min(origin.x + cell_width * static_cast<float>(column),
                     origin.y + cell_height * static_cast<float>(lane));
    const float gap = cell_width > 6 ? 2.0F : 1.0F;
    return {min, ImVec2(min.x + cell_width - gap, min.y + cell_height - 2)};
  }
};

// Lanes from `first`, before `last`.
struct LaneRange {
  std::size_t first = 0;
  std::size_t last = 0;
};

// The row that did the work; the text in the cell says the same.
RowClass row_class_of(ActivityKind kind) {
  if (kind == ActivityKind::prefill) return RowClass::prefill;
  return kind == ActivityKind::verify ? RowClass::verify : RowClass::decode;
}

class TimelinePanel final : public Panel {
 public:
  void draw(PanelContext& context) override {
    const TimelineModel& model = model_.get(context.workbench, [&] {
      return make_timeline_model(*context.workbench.run(), context.workbench.options().timeline);
    });
    const ImVec2 room = ImGui::GetContentRegionAvail();
    const bool has_legend = room.y > context.look.px(kLeastWithLegend.y) &&
                            room.x > context.look.px(kLeastWithLegend.x);
    draw_tools(context, model, has_legend);
    if (model.lanes.empty()) {
      dim_text(context.look, kNoLanes);
      return;
    }
    ImGui::BeginChild("lanes", ImVec2(0, has_legend ? -legend_height_ : 0), false,
                      ImGuiWindowFlags_HorizontalScrollbar);
    draw_lanes(context, model);
    ImGui::EndChild();
    if (!has_legend) return;
    const float top = ImGui::GetCursorPosY();
    draw_legend(context.look, LegendShape::lines);
    legend_height_ = std::max(ImGui::GetCursorPosY() - top, 1.0F);
  }

 private:
  static void draw_tools(PanelContext& context, const TimelineModel& model, bool has_legend) {
    const std::int32_t steps = context.workbench.options().timeline.num_steps;
    if (ImGui::Button("-##steps"))
      context.emit("timeline.steps",
                   fmt::format("{}", std::min(steps * 3 / 2, kMostTimelineSteps)));
    tooltip("More steps at once (Ctrl and the mouse wheel)");
    ImGui::SameLine();
    if (ImGui::Button("+##steps"))
      context.emit("timeline.steps", fmt::format("{}", std::max(steps * 2 / 3, 5)));
    context.mark("timeline.closer");
    tooltip("Fewer steps at once (Ctrl and the mouse wheel)");
    ImGui::SameLine();
    dim_text(context.look, fmt::format("{} of {}", model.columns.size(), model.known));
    if (!has_legend && !model.lanes.empty()) {
      flow(ImGui::CalcTextSize("Legend").x, context.look.px(18));
      dim_text(context.look, "Legend");
      if (ImGui::IsItemHovered()) {
        ImGui::BeginTooltip();
        draw_legend(context.look, LegendShape::column);
        ImGui::EndTooltip();
      }
    }
    if (model.note.empty()) return;
    flow(ImGui::CalcTextSize(model.note.c_str()).x, ImGui::GetStyle().ItemSpacing.x);
    wrapped_dim_text(context.look, model.note);
  }

  void draw_lanes(PanelContext& context, const TimelineModel& model) {
    const Look& look = context.look;
    LaneGrid grid;
    grid.name_width = look.px(70);
    const float line = look.fonts.small->FontSize + look.px(4);
    grid.header = model.asynchronous ? line * 2 : line;
    grid.cell_height = look.px(21);
    const float room = ImGui::GetContentRegionAvail().x - grid.name_width;
    grid.cell_width =
        std::clamp(room / static_cast<float>(model.columns.size() + (model.goes_on ? 1 : 0)),
                   look.px(4), look.px(64));
    const ImVec2 at = ImGui::GetCursorScreenPos();
    grid.origin = ImVec2(at.x + grid.name_width, at.y + grid.header);
    const RequestId selected = context.workbench.selection().request;
    const auto lane_of = std::ranges::find(model.lanes, selected, &TimelineLane::request);
    if (follower_.moves_to(selected) && lane_of != model.lanes.end())
      scroll_into_view(ImGui::GetCursorPosY() + grid.header +
                           grid.cell_height * static_cast<float>(lane_of - model.lanes.begin()),
                       grid.cell_height);
    ImGui::InvisibleButton(
        "lanes",
        ImVec2(grid.name_width + grid.cell_width * static_cast<float>(model.columns.size() +
                                                                      (model.goes_on ? 1 : 0)),
               grid.header + grid.cell_height * static_cast<float>(model.lanes.size())));
    draw_header(look, model, grid, line);
    const ImDrawList& list = *ImGui::GetWindowDrawList();
    const auto lane_at = [&](float y) {
      const float lane = std::floor((y - grid.origin.y) / grid.cell_height);
      return static_cast<std::size_t>(
          std::clamp(lane, 0.0F, static_cast<float>(model.lanes.size())));
    };
    const LaneRange seen{lane_at(list.GetClipRectMin().y),
                         std::min(lane_at(list.GetClipRectMax().y) + 1, model.lanes.size())};
    if (model.goes_on) draw_goes_on(look, model, grid, seen);
    for (std::size_t lane = seen.first; lane < seen.last; ++lane)
      draw_lane(context, model, grid, lane);
    handle_mouse(context, model, grid);
  }

  static void small_text(const Look& look, ImVec2 at, Rgba colour, const std::string& text) {
    ImFont* font = look.fonts.small;
    ImGui::GetWindowDrawList()->AddText(font, font->FontSize, at, packed(colour), text.c_str());
  }

  static float small_width(const Look& look, const std::string& text) {
    ImFont* font = look.fonts.small;
    return font->CalcTextSizeA(font->FontSize, FLT_MAX, 0, text.c_str()).x;
  }

  // Step numbers; below them the frame that returned, if it is a different one.
  static void draw_header(const Look& look, const TimelineModel& model, const LaneGrid& grid,
                          float line) {
    const float x = grid.origin.x - grid.name_width;
    const float y = grid.origin.y - grid.header;
    small_text(look, ImVec2(x, y), look.ui().text_dim, "step");
    if (model.asynchronous)
      small_text(look, ImVec2(x, y + line), look.ui().text_dim, std::string(kReturns));
    const float widest = small_width(look, fmt::format("{}", model.columns.back().step));
    const auto every = static_cast<std::size_t>(std::ceil((widest + look.px(6)) / grid.cell_width));
    for (std::size_t column = 0; column < model.columns.size(); ++column) {
      const TimelineColumn& step = model.columns[column];
      const CellBox box = grid.box_of(0, column);
      if (step.is_shown)
        ImGui::GetWindowDrawList()->AddRectFilled(
            ImVec2(box.min.x - 1, y),
            ImVec2(box.max.x + 1,
                   grid.origin.y + grid.cell_height * static_cast<float>(model.lanes.size())),
            packed(look.ui().selection));
      if (column % every != 0 && !step.is_shown) continue;
      // Beside the number of the shown step there is no room for another one.
      if (every > 1 && !step.is_shown && is_near_shown(model, column, every)) continue;
      small_text(look, ImVec2(box.min.x, y), step.is_shown ? look.ui().accent : look.ui().text_dim,
                 fmt::format("{}", step.step));
      if (model.asynchronous && step.committed_step > 0)
        small_text(look, ImVec2(box.min.x, y + line), look.ui().text_dim,
                   fmt::format("{}", step.committed_step));
    }
  }

  // Draws a mark behind the last known step: more steps can come.
  static void draw_goes_on(const Look& look, const TimelineModel& model, const LaneGrid& grid,
                           const LaneRange& lanes) {
    const std::size_t column = model.columns.size();
    const CellBox first = grid.box_of(0, column);
    small_text(look, ImVec2(first.min.x, grid.origin.y - grid.header), look.ui().text_dim, "...");
    for (std::size_t lane = lanes.first; lane < lanes.last; ++lane)
      draw_missing(*ImGui::GetWindowDrawList(), look, grid.box_of(lane, column));
  }

  static bool is_near_shown(const TimelineModel& model, std::size_t column, std::size_t every) {
    const std::size_t first = column < every ? 0 : column - every + 1;
    const std::size_t last = std::min(column + every, model.columns.size());
    for (std::size_t near = first; near < last; ++near)
      if (model.columns[near].is_shown) return true;
    return false;
  }

  static void draw_lane(PanelContext& context, const TimelineModel& model, const LaneGrid& grid,
                        std::size_t lane) {
    const Look& look = context.look;
    const bool selected = model.lanes[lane].request == context.workbench.selection().request;
    const ImVec2 at(grid.origin.x - grid.name_width,
                    grid.origin.y + grid.cell_height * static_cast<float>(lane) + look.px(2));
    small_text(look, at, selected ? look.ui().accent : look.ui().text,
               fit_middle(look.fonts.small, model.lanes[lane].name, grid.name_width - look.px(6)));
    for (std::size_t column = 0; column < model.columns.size(); ++column) {
      const CellBox box = grid.box_of(lane, column);
      draw_activity(look, box, model.columns[column], model.at(lane, column));
      if (model.at(lane, column).is_there)
        context.mark(fmt::format("lane {} {}", model.lanes[lane].name, model.columns[column].step),
                     {box.min, box.max});
    }
    if (!selected) return;
    const CellBox first = grid.box_of(lane, 0);
    const CellBox last = grid.box_of(lane, model.columns.size() - 1);
    draw_frame(*ImGui::GetWindowDrawList(), look, {first.min, last.max}, FrameKind::same_block);
  }

  static void draw_activity(const Look& look, const CellBox& box, const TimelineColumn& step,
                            const TimelineCell& cell) {
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const float width = box.max.x - box.min.x;
    const auto write = [&](Rgba colour, const std::string& text) {
      const float wide = small_width(look, text);
      if (wide <= width)
        small_text(look, ImVec2(box.min.x + (width - wide) / 2, box.min.y + look.px(1)), colour,
                   text);
    };
    if (!step.known) return write(look.ui().text_dim, "?");
    if (!cell.is_there) return;
    const RequestActivity& activity = cell.activity;
    const bool works = activity.num_tokens > 0;
    const bool preempted = activity.kind == ActivityKind::preempted;
    if (works)
      draw_filled(list, look, box, row_style(look.theme, row_class_of(activity.kind)), cell.text);
    if (preempted)
      list.AddRect(box.min, box.max, packed(look.theme.palette.preemption), 0, 0, look.px(2));
    if (!works) write(preempted ? look.ui().text : look.ui().text_dim, cell.text);
    if (activity.admitted)
      list.AddTriangleFilled(box.min, ImVec2(box.min.x + look.px(7), box.min.y),
                             ImVec2(box.min.x, box.min.y + look.px(7)), packed(look.ui().ok));
    if (activity.finished)
      list.AddRectFilled(ImVec2(box.max.x - look.px(4), box.min.y), box.max,
                         packed(look.ui().text));
  }

  static void handle_mouse(PanelContext& context, const TimelineModel& model,
                           const LaneGrid& grid) {
    if (!ImGui::IsItemHovered()) return;
    const ImGuiIO& io = ImGui::GetIO();
    const std::int32_t steps = context.workbench.options().timeline.num_steps;
    if (io.KeyCtrl && io.MouseWheel != 0)
      context.emit("timeline.steps",
                   fmt::format("{}", std::clamp(io.MouseWheel > 0 ? steps * 2 / 3 : steps * 3 / 2,
                                                5, kMostTimelineSteps)));
    const ImVec2 mouse = ImGui::GetMousePos();
    const float lane = std::floor((mouse.y - grid.origin.y) / grid.cell_height);
    const float column = std::floor((mouse.x - grid.origin.x) / grid.cell_width);
    const auto l = static_cast<std::size_t>(std::max(lane, 0.0F));
    const auto c = static_cast<std::size_t>(std::max(column, 0.0F));
    const bool on_lane = lane >= 0 && l < model.lanes.size();
    const bool on_step = column >= 0 && c < model.columns.size();
    if (on_lane && on_step) facts_tooltip(context.look, describe_activity(model, l, c));
    if (model.goes_on && c == model.columns.size()) tooltip("More steps can come: Right makes one");
    if (!ImGui::IsItemClicked()) return;
    if (on_step) context.emit("run.go_to", fmt::format("{}", model.columns[c].step));
    if (on_lane) context.emit("select.request", quoted_word(model.lanes[l].name));
  }

  static void draw_legend(const Look& look, LegendShape shape) {
    const float side = ImGui::GetTextLineHeight();
    bool first = true;
    const auto item = [&](const char* words, auto&& sample) {
      if (!first && shape == LegendShape::lines)
        flow(side + look.px(3) + ImGui::CalcTextSize(words).x, look.px(10));
      first = false;
      const ImVec2 at = ImGui::GetCursorScreenPos();
      ImGui::Dummy(ImVec2(side, side));
      sample(CellBox{at, ImVec2(at.x + side, at.y + side)});
      ImGui::SameLine(0, look.px(3));
      dim_text(look, words);
    };
    const auto cell = [&](const char* words, RequestActivity activity, const char* text) {
      item(words, [&](const CellBox& box) {
        draw_activity(look, box, {.known = true}, {true, text, activity});
      });
    };
    cell("prefill", {.kind = ActivityKind::prefill, .num_tokens = 8}, "8");
    cell("decode", {.kind = ActivityKind::decode, .num_tokens = 1}, "1");
    cell("accepted/drafts", {.kind = ActivityKind::verify, .num_tokens = 3}, "");
    cell("preempted", {.kind = ActivityKind::preempted}, "P");
    cell("waiting", {.kind = ActivityKind::waiting}, "w");
    cell("running, no tokens", {.kind = ActivityKind::held_back}, "-");
    cell("in flight", {.kind = ActivityKind::in_flight}, "f");
    cell("joins", {.kind = ActivityKind::prefill, .admitted = true, .num_tokens = 8}, "");
    cell("ends", {.kind = ActivityKind::decode, .finished = true, .num_tokens = 1}, "");
  }

  Cached<TimelineModel> model_;
  SelectionFollower follower_;
  float legend_height_ = 22;  // pixels, of the frame before
};

}  // namespace

std::unique_ptr<Panel> make_timeline_panel() { return std::make_unique<TimelinePanel>(); }

}  // namespace hybridscope
