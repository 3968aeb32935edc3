#include "gui/run_bar.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "gui/widgets.h"

namespace hybridscope {
namespace {

std::string speed_words(const RunControl& control) {
  const std::int32_t speed = RunControl::kSpeeds[static_cast<std::size_t>(control.speed())];
  return speed == 0 ? std::string("fastest") : fmt::format("{} steps/s", speed);
}

void button(PanelContext& context, const char* label, const char* command, const char* help) {
  if (ImGui::Button(label)) context.emit(command);
  context.mark(command);
  tooltip(help);
  ImGui::SameLine(0, context.look.px(4));
}

constexpr float kLane = 4;  // points
constexpr float kFlag = 8;  // the lane of bookmarks

struct RulerBox {
  ImVec2 at;
  float width = 0;
  float step = 1;  // of a column

  float left(std::size_t column) const {
    return at.x + std::floor(static_cast<float>(column) * step);
  }
};

// Colour of a lane other than bookmarks; findings are `error` or `warning`.
Rgba lane_colour(const Look& look, RulerLane lane, bool errs) {
  switch (lane) {
    case RulerLane::bookmarks: return look.ui().text;
    case RulerLane::findings: return errs ? look.ui().error : look.ui().warning;
    case RulerLane::preemptions: return look.theme.palette.preemption;
    case RulerLane::evictions: return look.theme.palette.eviction;
    case RulerLane::copies: return look.theme.palette.copy;
  }
  return look.ui().text;
}

// If there are no gaps between columns, adjacent columns that look alike are one rectangle.
void draw_lane(ImDrawList& list, const Look& look, const RulerBox& ruler,
               std::span<const RulerColumn> columns, RulerLane lane) {
  const float height = look.px(kLane);
  const float y =
      ruler.at.y + look.px(kFlag + 2) + height * static_cast<float>(static_cast<int>(lane) - 1);
  const bool has_gaps = ruler.step > 4;
  const auto alike = [&](std::size_t a, std::size_t b) {
    return has(columns[b], lane) && columns[a].marks.errs == columns[b].marks.errs;
  };
  for (std::size_t c = 0; c < columns.size();) {
    std::size_t end = c + 1;
    if (has(columns[c], lane)) {
      while (!has_gaps && end < columns.size() && alike(c, end)) ++end;
      const float left = ruler.left(c);
      const float right = std::max(ruler.left(end) - (has_gaps ? 1.0F : 0.0F), left + 1);
      list.AddRectFilled(ImVec2(left, y), ImVec2(right, y + height - 1),
                         packed(lane_colour(look, lane, columns[c].marks.errs)));
    }
    c = end;
  }
}

// A pennant on its pole in the colour of text, which no lane has.
void draw_bookmark(PanelContext& context, const RulerBox& ruler, std::size_t column,
                   const RulerColumn& marked) {
  const Look& look = context.look;
  const ImU32 colour = packed(look.ui().text);
  const float size = look.px(kFlag - 1);
  const ImVec2 at(ruler.left(column) + look.px(1), ruler.at.y + look.px(1));
  const ImVec2 foot(at.x + std::max(1.0F, look.px(1.5F)), at.y + size + look.px(kLane));
  ImDrawList& list = *ImGui::GetWindowDrawList();
  list.AddRectFilled(at, foot, colour);
  list.AddTriangleFilled(at, ImVec2(at.x + size, at.y + size / 2), ImVec2(at.x, at.y + size),
                         colour);
  context.mark(fmt::format("bookmark {}", marked.first), {at, ImVec2(at.x + size, foot.y)});
}

// The lanes from top to bottom; lanes without events in these steps are dim.
void ruler_tooltip(const Look& look, const ShownRun& run, std::span<const RulerColumn> columns,
                   std::size_t column) {
  ImGui::BeginTooltip();
  ImGui::PushTextWrapPos(ImGui::GetFontSize() * 32);
  ImGui::TextUnformatted(column_words(columns[column]).c_str());
  for (std::size_t i = 0; i < kRulerLanes.size(); ++i) {
    const auto lane = static_cast<RulerLane>(i);
    const bool here = has(columns[column], lane);
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const float side = ImGui::GetTextLineHeight();
    ImGui::Dummy(ImVec2(side, side));
    const ImVec2 min(at.x, at.y + side * 0.3F);
    const ImVec2 max(at.x + side, at.y + side * 0.7F);
    const ImU32 colour = packed(lane_colour(look, lane, columns[column].marks.errs));
    ImDrawList& list = *ImGui::GetWindowDrawList();
    if (here)
      list.AddRectFilled(min, max, colour);
    else
      list.AddRect(min, max, colour, 0, 0, 1);
    ImGui::SameLine(0, look.px(6));
    const TextColour words(here ? look.ui().text : look.ui().text_dim);
    ImGui::TextUnformatted(kRulerLanes[i].data());
  }
  const std::string bookmarks = bookmark_words(run, columns, column);
  if (!bookmarks.empty()) ImGui::TextUnformatted(bookmarks.c_str());
  ImGui::PopTextWrapPos();
  ImGui::EndTooltip();
}

}  // namespace

void RunBar::draw_buttons(PanelContext& context) {
  const Workbench& workbench = context.workbench;
  const ShownRun& run = *workbench.run();
  button(context, "|<", "run.start", "To the first step (Home)");
  button(context, " < ", "run.step_back", "One step back (Left)");
  button(context, workbench.is_moving() ? "Pause" : "Play ", "run.play", "Play or pause (Space)");
  button(context, " > ", "run.step", "One step (Right)");
  button(context, ">|", "run.end", "Run to the end (End)");
  ImGui::SameLine(0, context.look.px(14));
  button(context, "-##slower", "run.slower", "Play slower ([)");
  ImGui::AlignTextToFramePadding();
  ImGui::TextUnformatted(speed_words(workbench.control()).c_str());
  ImGui::SameLine(0, context.look.px(4));
  button(context, "+##faster", "run.faster", "Play faster (])");
  ImGui::SameLine(0, context.look.px(14));
  ImGui::AlignTextToFramePadding();
  ImGui::TextUnformatted("Step");
  ImGui::SameLine();
  ImGui::SetNextItemWidth(context.look.px(76));
  if (!typing_) wanted_step_ = static_cast<int>(run.step());
  if (ImGui::InputInt("##step", &wanted_step_, 0, 0, ImGuiInputTextFlags_EnterReturnsTrue))
    context.emit("run.go_to", fmt::format("{}", wanted_step_));
  typing_ = ImGui::IsItemActive();
  tooltip("The step that is shown; type another one and press Enter (G)");
  ImGui::SameLine();
  ImGui::AlignTextToFramePadding();
  dim_text(context.look,
           fmt::format("of {}{}", run.last_known_step(), run.is_whole() ? "" : " so far"));
}

const std::vector<RulerColumn>& RunBar::columns_of(const Workbench& workbench, std::int32_t width) {
  if (columns_revision_ == workbench.revision() && columns_width_ == width) return columns_;
  columns_revision_ = workbench.revision();
  columns_width_ = width;
  columns_ = make_ruler(*workbench.run(), width);
  return columns_;
}

void RunBar::draw_ruler(PanelContext& context) {
  const Look& look = context.look;
  const ShownRun& run = *context.workbench.run();
  RulerBox ruler{.at = ImGui::GetCursorScreenPos(), .width = ImGui::GetContentRegionAvail().x};
  const float height = look.px(kFlag + kLane * 4 + 4);
  ImGui::InvisibleButton("ruler", ImVec2(ruler.width, height));
  context.mark("ruler");
  ImDrawList& list = *ImGui::GetWindowDrawList();
  list.AddRectFilled(ruler.at, ImVec2(ruler.at.x + ruler.width, ruler.at.y + height),
                     packed(look.ui().field), look.px(3));
  const std::vector<RulerColumn>& columns =
      columns_of(context.workbench, static_cast<std::int32_t>(ruler.width));
  if (columns.empty()) return;
  ruler.step = ruler.width / static_cast<float>(columns.size());
  for (const RulerLane lane :
       {RulerLane::findings, RulerLane::preemptions, RulerLane::evictions, RulerLane::copies})
    draw_lane(list, look, ruler, columns, lane);
  const std::int32_t here = ruler_column_of(columns, run.step());
  if (here >= 0) {
    const float x = ruler.left(static_cast<std::size_t>(here));
    const float right = std::max(ruler.left(static_cast<std::size_t>(here) + 1), x + look.px(2));
    list.AddRect(ImVec2(x - 1, ruler.at.y), ImVec2(right, ruler.at.y + height),
                 packed(look.ui().focus), 0, 0, look.px(1.5F));
  }
  for (std::size_t c = 0; c < columns.size(); ++c)
    if (columns[c].bookmarked) draw_bookmark(context, ruler, c, columns[c]);
  const auto under_mouse =
      static_cast<std::size_t>(std::clamp((ImGui::GetMousePos().x - ruler.at.x) / ruler.step, 0.0F,
                                          static_cast<float>(columns.size() - 1)));
  if (ImGui::IsItemActive() && columns[under_mouse].first != run.step())
    context.emit("run.go_to", fmt::format("{}", columns[under_mouse].first));
  if (ImGui::IsItemHovered()) ruler_tooltip(look, run, columns, under_mouse);
}

void RunBar::draw(PanelContext& context) {
  draw_buttons(context);
  draw_ruler(context);
}

}  // namespace hybridscope
