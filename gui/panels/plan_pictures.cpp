#include "gui/panels/plan_pictures.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cfloat>
#include <cmath>
#include <numbers>
#include <vector>

#include "gui/cell_drawing.h"
#include "gui/widgets.h"
#include "sessions/text/number_words.h"

namespace hybridscope {
namespace {

// Points of scale 1.
constexpr float kNear = 12;    // from a dot that is still on it
constexpr float kInset = 14;   // between the frame and the outermost dots
constexpr float kSample = 10;  // of a legend

struct PictureFrame {
  ImVec2 min, max;
  float width() const { return max.x - min.x; }
  float height() const { return max.y - min.y; }
};

Rgba colour_of(const Look& look, PlanMark mark) {
  return mark == PlanMark::recommended ? look.ui().accent
         : mark == PlanMark::front     ? look.ui().text
                                       : look.ui().text_dim;
}

void draw_star(ImDrawList& list, ImVec2 centre, float radius, ImU32 colour) {
  constexpr int kCorners = 10;
  std::array<ImVec2, kCorners> corners;
  for (int i = 0; i < kCorners; ++i) {
    const float angle = std::numbers::pi_v<float> * (static_cast<float>(i) / 5 - 0.5F);
    const float reach = i % 2 == 0 ? radius : radius * 0.42F;
    corners[static_cast<std::size_t>(i)] =
        ImVec2(centre.x + reach * std::cos(angle), centre.y + reach * std::sin(angle));
  }
  // Ten triangles: a star is not convex.
  for (std::size_t i = 0; i < corners.size(); ++i)
    list.AddTriangleFilled(centre, corners[i], corners[(i + 1) % corners.size()], colour);
}

ImVec2 place_of(const PlanDot& dot, const PictureFrame& frame) {
  return {frame.min.x + static_cast<float>(dot.x) * frame.width(),
          frame.max.y - static_cast<float>(dot.y) * frame.height()};
}

void draw_front_line(ImDrawList& list, const Look& look, const PlanModel& model,
                     const PictureFrame& frame) {
  for (std::size_t i = 1; i < model.front_line.size(); ++i)
    list.AddLine(place_of(model.dots[model.front_line[i - 1]], frame),
                 place_of(model.dots[model.front_line[i]], frame), packed(look.ui().text_dim),
                 look.px(1.5F));
}

// The dots at the place that is nearest to the mouse; empty: none is near.
std::vector<const PlanDot*> dots_at(const PlanModel& model, const PictureFrame& frame, ImVec2 at,
                                    float near) {
  std::vector<const PlanDot*> found;
  float least = near * near;
  for (const PlanDot& dot : model.dots) {
    const ImVec2 place = place_of(dot, frame);
    const float square = (place.x - at.x) * (place.x - at.x) + (place.y - at.y) * (place.y - at.y);
    if (square > least) continue;
    if (square < least) found.clear();
    least = square;
    found.push_back(&dot);
  }
  return found;
}

// What a click on them selects: the first, or the one after the selected one.
const PlanDot& dot_to_select(const PlanModel& model, const std::vector<const PlanDot*>& dots) {
  for (std::size_t i = 0; i < dots.size(); ++i)
    if (model.names[dots[i]->result] == model.selected) return *dots[(i + 1) % dots.size()];
  return *dots.front();
}

std::string words_of(const PlanModel& model, const std::vector<const PlanDot*>& dots) {
  std::string words = dots.front()->words;
  for (const PlanDot* dot : dots)
    if (model.names[dot->result] == model.selected) words = dot->words;
  if (dots.size() > 1)
    words +=
        fmt::format("\n{} here: click again", counted(std::ssize(dots) - 1, "more combination"));
  return words;
}

void draw_axes(ImDrawList& list, const Look& look, const PlanModel& model,
               const PictureFrame& outer) {
  const ImU32 dim = packed(look.ui().text_dim);
  ImFont* const font = look.fonts.words;
  const float line = font->FontSize;
  list.AddRect(outer.min, outer.max, packed(look.ui().border));
  draw_text(list, font, ImVec2(outer.min.x, outer.min.y - line - look.px(3)), dim, model.y.title);
  const float below = outer.max.y + look.px(3);
  draw_text(list, font, ImVec2(outer.min.x, below), dim, model.x.least);
  draw_text(list, font, ImVec2(outer.max.x - text_width(font, model.x.most), below), dim,
            model.x.most);
  draw_centred_text(list, font, ImVec2((outer.min.x + outer.max.x) / 2, below), dim, model.x.title);
  for (const auto& [text, y] :
       {std::pair(&model.y.most, outer.min.y), std::pair(&model.y.least, outer.max.y - line)})
    draw_text(list, font, ImVec2(outer.min.x - text_width(font, *text) - look.px(5), y), dim,
              *text);
}

}  // namespace

void draw_plan_sign(ImDrawList& list, const Look& look, ImVec2 centre, PlanMark mark) {
  const ImU32 colour = packed(colour_of(look, mark));
  const float r = look.px(mark == PlanMark::recommended ? 9.0F
                          : mark == PlanMark::front     ? 6.5F
                                                        : 4);
  if (mark == PlanMark::recommended) return draw_star(list, centre, r, colour);
  if (mark == PlanMark::other) return list.AddCircle(centre, r, colour, 0, look.px(1.5F));
  if (mark == PlanMark::stuck) {
    list.AddLine(ImVec2(centre.x - r, centre.y - r), ImVec2(centre.x + r, centre.y + r), colour,
                 look.px(2));
    return list.AddLine(ImVec2(centre.x - r, centre.y + r), ImVec2(centre.x + r, centre.y - r),
                        colour, look.px(2));
  }
  list.AddQuadFilled(ImVec2(centre.x, centre.y - r), ImVec2(centre.x + r, centre.y),
                     ImVec2(centre.x, centre.y + r), ImVec2(centre.x - r, centre.y), colour);
}

namespace {

// "* recommended  * on the front  o other" up to `right`, where it leaves room for `before` pixels.
void draw_sign_legend(ImDrawList& list, const Look& look, ImVec2 left, float right, float before) {
  constexpr std::array kMarks = {PlanMark::recommended, PlanMark::front, PlanMark::other};
  const auto words = [](PlanMark mark) {
    return mark == PlanMark::other ? std::string_view("other") : plan_mark_words(mark);
  };
  ImFont* const font = look.fonts.words;
  const float sign = look.px(20);  // with the gap behind it
  const float gap = look.px(12);
  float width = -gap;
  for (const PlanMark mark : kMarks) width += sign + text_width(font, words(mark)) + gap;
  if (left.x + before + gap + width > right) return;
  ImVec2 at(right - width, left.y);
  for (const PlanMark mark : kMarks) {
    draw_plan_sign(list, look, ImVec2(at.x + look.px(9), at.y + font->FontSize / 2), mark);
    draw_text(list, font, ImVec2(at.x + sign, at.y), packed(look.ui().text_dim), words(mark));
    at.x += sign + text_width(font, words(mark)) + gap;
  }
}

}  // namespace

void draw_plan_scatter(PanelContext& context, const PlanModel& model, ImVec2 size) {
  const Look& look = context.look;
  ImFont* const font = look.fonts.words;
  const ImVec2 at = ImGui::GetCursorScreenPos();
  ImGui::InvisibleButton("scatter", size);
  context.mark("plan scatter");
  const float left =
      std::max(text_width(font, model.y.least), text_width(font, model.y.most)) + look.px(8);
  const float line = font->FontSize + look.px(4);
  const PictureFrame outer{ImVec2(at.x + left, at.y + line),
                           ImVec2(at.x + size.x - look.px(4), at.y + size.y - line)};
  const float inset = look.px(kInset);
  const PictureFrame frame{ImVec2(outer.min.x + inset, outer.min.y + inset),
                           ImVec2(outer.max.x - inset, outer.max.y - inset)};
  ImDrawList& list = *ImGui::GetWindowDrawList();
  draw_axes(list, look, model, outer);
  draw_sign_legend(list, look, ImVec2(outer.min.x, at.y), outer.max.x,
                   text_width(font, model.y.title));
  draw_front_line(list, look, model, frame);
  for (const PlanMark mark : {PlanMark::other, PlanMark::front, PlanMark::recommended})
    for (const PlanDot& dot : model.dots)
      if (dot.mark == mark) draw_plan_sign(list, look, place_of(dot, frame), mark);
  for (const PlanDot& dot : model.dots) {
    const ImVec2 place = place_of(dot, frame);
    const std::string& name = model.names[dot.result];
    const float r = look.px(kNear);
    context.mark("plan dot " + name,
                 {ImVec2(place.x - r, place.y - r), ImVec2(place.x + r, place.y + r)});
    if (name == model.selected) list.AddCircle(place, r, packed(look.ui().focus), 0, look.px(2));
  }
  if (!ImGui::IsItemHovered()) return;
  const auto dots = dots_at(model, frame, ImGui::GetMousePos(), look.px(kNear));
  if (dots.empty()) return;
  tooltip(words_of(model, dots));
  // Where several dots are at one place, each click selects the next, so a double click names none
  // of them.
  if (ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left) && dots.size() == 1)
    context.emit("plan.run", "worst");
  else if (ImGui::IsItemClicked())
    context.emit("plan.select", model.names[dot_to_select(model, dots).result]);
}

namespace {

// A third of `a`.
Rgba mixed(Rgba a, Rgba b) {
  const auto mean = [](std::uint8_t x, std::uint8_t y) {
    return static_cast<std::uint8_t>((x + 2 * y) / 3);
  };
  return {mean(a.r, b.r), mean(a.g, b.g), mean(a.b, b.b), 255};
}

// Cells of what the blocks are, as in the page of `plan --html`.
CellStyle area_style(const Look& look, std::size_t area) {
  constexpr std::array kRoles = {CellRole::held, CellRole::running, CellRole::speculative,
                                 CellRole::cached, CellRole::free_block};
  static_assert(kRoles.size() == kNumPlanAreas);
  CellStyle style = cell_style(look.theme, kRoles[area]);
  if (kRoles[area] == CellRole::held) style.pattern = CellPattern::none;
  if (kRoles[area] != CellRole::free_block) return style;
  style.line = cell_style(look.theme, CellRole::cached).fill;
  style.fill = mixed(style.line, style.fill);
  style.pattern = CellPattern::dots;
  return style;
}

// The stacked areas of a run over its steps.
class MemoryPicture {
 public:
  MemoryPicture(const Look& look, const PlanMemory& memory, const PictureFrame& frame)
      : look_(look), memory_(memory), frame_(frame) {
    for (const PlanPiece& piece : memory.pieces) {
      double sum = 0;
      for (const double blocks : piece.blocks) sum += blocks;
      most_ = std::max(most_, sum);
    }
    most_ = std::max(most_, static_cast<double>(memory.num_blocks));
  }

  void draw(ImDrawList& list) const {
    for (const PlanPiece& piece : memory_.pieces) draw_piece(list, piece);
    const float worst = x_of(memory_.worst_step);
    const ImU32 colour = packed(look_.ui().text);
    const ImVec2 top(worst, frame_.min.y);
    const ImVec2 bottom(worst, frame_.max.y);
    list.AddLine(top, bottom, packed(look_.ui().panel), look_.px(5));
    list.AddLine(top, bottom, colour, look_.px(2));
    draw_arrow_head(list, look_, ImVec2(worst, frame_.min.y + look_.px(8)), 1, colour);
    list.AddRect(frame_.min, frame_.max, packed(look_.ui().border));
  }

  // The piece of the run at x; null: there is none.
  const PlanPiece* piece_at(float x) const {
    for (const PlanPiece& piece : memory_.pieces)
      if (x >= x_of(piece.first_step) && x < x_of(piece.last_step + 1)) return &piece;
    return nullptr;
  }

 private:
  float x_of(std::int64_t step) const {
    const double share = static_cast<double>(step - 1) / static_cast<double>(memory_.last_step);
    return frame_.min.x + static_cast<float>(share) * frame_.width();
  }

  void draw_piece(ImDrawList& list, const PlanPiece& piece) const {
    const float left = x_of(piece.first_step);
    const float right = std::max(x_of(piece.last_step + 1), left + 1);
    double below = 0;
    for (std::size_t area = 0; area < kNumPlanAreas; ++area) {
      const double above = below + piece.blocks[area];
      const float bottom = y_of(below);
      const float top = y_of(above);
      below = above;
      if (bottom - top < 0.5F) continue;
      draw_filled(list, look_, {ImVec2(left, top), ImVec2(right, bottom)}, area_style(look_, area),
                  "");
      list.AddLine(ImVec2(left, top), ImVec2(right, top), packed(look_.ui().panel));
    }
  }

  float y_of(double blocks) const {
    return frame_.max.y - static_cast<float>(blocks / most_) * frame_.height();
  }

  const Look& look_;
  const PlanMemory& memory_;
  PictureFrame frame_;
  double most_ = 1;
};

std::string words_of(const PlanPiece& piece) {
  std::string words =
      piece.first_step == piece.last_step
          ? fmt::format("step {}", grouped_number(piece.first_step))
          : fmt::format("steps {} to {}, on average", grouped_number(piece.first_step),
                        grouped_number(piece.last_step));
  words += fmt::format("\nrunning requests {:.1f}", piece.running);
  for (std::size_t area = kNumPlanAreas; area-- > 0;)
    words += fmt::format("\n{} {:.1f}", plan_area_words(area), piece.blocks[area]);
  return words + "\ndouble click: open the run here";
}

void draw_memory_legend(const Look& look, const PlanMemory& memory) {
  for (std::size_t area = 0; area < kNumPlanAreas; ++area) {
    if (memory.average[area] == 0) continue;
    const std::string words = fmt::format("{} {:.1f}", plan_area_words(area), memory.average[area]);
    const float side = look.px(kSample);
    flow(side + look.px(4) + ImGui::CalcTextSize(words.c_str()).x, look.px(12));
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const float above = (ImGui::GetTextLineHeight() - side) / 2;
    ImGui::Dummy(ImVec2(side, ImGui::GetTextLineHeight()));
    draw_filled(*ImGui::GetWindowDrawList(), look,
                {ImVec2(at.x, at.y + above), ImVec2(at.x + side, at.y + above + side)},
                area_style(look, area), "");
    ImGui::SameLine(0, look.px(4));
    ImGui::TextUnformatted(words.c_str());
  }
}

}  // namespace

void draw_plan_memory(PanelContext& context, const PlanModel& model, ImVec2 size) {
  const Look& look = context.look;
  const PlanMemory& memory = model.memory;
  ImGui::BeginChild("memory", size, false, ImGuiWindowFlags_NoScrollbar);
  if (memory.pieces.empty()) {
    wrapped_dim_text(look, memory.empty);
    ImGui::EndChild();
    return;
  }
  dim_text(look,
           fmt::format("blocks on average, of {} in the pool:", grouped_number(memory.num_blocks)));
  draw_memory_legend(look, memory);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const ImVec2 room = ImGui::GetContentRegionAvail();
  const float line = look.fonts.words->FontSize + look.px(4);
  ImGui::InvisibleButton("blocks", ImVec2(room.x, std::max(room.y, look.px(40))));
  context.mark("plan memory");
  const PictureFrame frame{at, ImVec2(at.x + room.x - look.px(4), at.y + room.y - line)};
  ImDrawList& list = *ImGui::GetWindowDrawList();
  const MemoryPicture picture(look, memory, frame);
  picture.draw(list);
  const ImU32 dim = packed(look.ui().text_dim);
  draw_text(list, look.fonts.words, ImVec2(frame.min.x, frame.max.y + look.px(3)), dim, "step 1");
  const std::string last = grouped_number(memory.last_step);
  draw_text(list, look.fonts.words,
            ImVec2(frame.max.x - text_width(look.fonts.words, last), frame.max.y + look.px(3)), dim,
            last);
  draw_centred_text(list, look.fonts.words,
                    ImVec2((frame.min.x + frame.max.x) / 2, frame.max.y + look.px(3)), dim,
                    fmt::format("fewest free blocks: step {}", grouped_number(memory.worst_step)));
  if (ImGui::IsItemHovered())
    if (const PlanPiece* piece = picture.piece_at(ImGui::GetMousePos().x)) {
      tooltip(words_of(*piece));
      if (ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left))
        context.emit("plan.run", fmt::format("{}", piece->first_step));
    }
  ImGui::EndChild();
}

}  // namespace hybridscope
