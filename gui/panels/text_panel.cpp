#include "gui/panels/panels.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "gui/model/command_table.h"
#include "gui/model/text_model.h"
#include "gui/table_view.h"
#include "gui/widgets.h"

namespace hybridscope {
namespace {

// Points of scale 1.
constexpr float kChancesHeight = 168;
constexpr float kLeastTexts = 90;

class TextPanel final : public Panel {
 public:
  void draw(PanelContext& context) override {
    const TextModel& model = model_.get(context.workbench, [&] {
      return make_text_model(*context.workbench.run(), context.workbench.selection(),
                             context.workbench.options().text);
    });
    if (!model.empty.empty()) {
      wrapped_dim_text(context.look, model.empty);
      return;
    }
    wrapped_dim_text(context.look, model.model + ". " + std::string(kTextLegend));
    if (!model.progress.empty()) wrapped_text(context.look.ui().info, model.progress);
    const float room = ImGui::GetContentRegionAvail().y;
    const float chances = model.chances.table.rows.empty() ? 0 : context.look.px(kChancesHeight);
    ImGui::BeginChild("texts", ImVec2(0, std::max(room - chances, context.look.px(kLeastTexts))));
    for (const RequestText& text : model.requests) draw_text_of(context, model, text);
    if (!model.left_out.empty()) wrapped_dim_text(context.look, model.left_out);
    ImGui::EndChild();
    draw_chances(context, model.chances);
  }

 private:
  void draw_text_of(PanelContext& context, const TextModel& model, const RequestText& text) {
    const Look& look = context.look;
    ImGui::PushID(text.request.value);
    {
      const bool selected = text.request == context.workbench.selection().request;
      const TextColour colour(selected ? look.ui().accent : look.ui().text);
      heading(look, text.name);
    }
    if (ImGui::IsItemClicked()) context.emit("select.request", quoted_word(text.name));
    context.mark("text of " + text.name);
    wrapped_text(text.parts ? look.ui().error : look.ui().text_dim, text.verdict);
    const FontScope fixed(look.fonts.fixed);
    draw_prompt(look, text.prompt);
    draw_columns(context, model, text);
    ImGui::PopID();
  }

  static float label_width() { return ImGui::CalcTextSize("prompt ").x; }

  // Broken where the line ends, as it has no words.
  static void draw_prompt(const Look& look, const std::string& prompt) {
    const float letter = ImGui::CalcTextSize("0").x;
    const auto room = static_cast<std::size_t>(
        std::max((ImGui::GetContentRegionAvail().x - label_width()) / letter, 8.0F));
    const TextColour dim(look.ui().text_dim);
    for (std::size_t at = 0; at == 0 || at < prompt.size(); at += room) {
      ImGui::TextUnformatted(at == 0 ? "prompt" : "");
      ImGui::SameLine(label_width());
      ImGui::TextUnformatted(prompt.substr(at, room).c_str());
    }
  }

  struct Line {
    std::size_t first = 0;
    std::size_t end = 0;
  };

  static float column_width(const TextModel& model, const TextColumn& column, float letter) {
    const std::size_t letters = std::max(column.said.size(), column.alone.size());
    return letter * static_cast<float>(letters + (model.spaced ? 1 : 0));
  }

  // The run's tokens, and below each the lone run's where the texts part.
  void draw_columns(PanelContext& context, const TextModel& model, const RequestText& text) {
    const Look& look = context.look;
    const float letter = ImGui::CalcTextSize("0").x;
    const float left = label_width();
    const float room = std::max(ImGui::GetContentRegionAvail().x - left, letter * 8);
    std::vector<Line> lines(1);
    float wide = 0;
    for (std::size_t i = 0; i < text.columns.size(); ++i) {
      const float width = column_width(model, text.columns[i], letter);
      if (wide + width > room && i > lines.back().first) {
        lines.push_back({i, i});
        wide = 0;
      }
      wide += width;
      lines.back().end = i + 1;
    }
    const float line_height = ImGui::GetTextLineHeight() + look.px(3);
    const float height = line_height * (text.parts ? 2 : 1) + look.px(5);
    const ImVec2 at = ImGui::GetCursorScreenPos();
    ImGui::InvisibleButton(
        "tokens", ImVec2(left + room, std::max(height * static_cast<float>(lines.size()), 1.0F)));
    ImDrawList& list = *ImGui::GetWindowDrawList();
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const float top = at.y + height * static_cast<float>(i);
      if (top + height < list.GetClipRectMin().y || top > list.GetClipRectMax().y) continue;
      const ImU32 dim = packed(look.ui().text_dim);
      draw_text(list, look.fonts.fixed, ImVec2(at.x, top), dim, i == 0 ? "run" : "");
      if (text.parts)
        draw_text(list, look.fonts.fixed, ImVec2(at.x, top + line_height), dim,
                  i == 0 ? "alone" : "");
      ImVec2 min(at.x + left, top);
      for (std::size_t c = lines[i].first; c < lines[i].end; ++c) {
        const float width = column_width(model, text.columns[c], letter);
        const ItemBox box{min, ImVec2(min.x + width, min.y + height - look.px(4))};
        draw_column(context, model, text, text.columns[c], box);
        min.x += width;
      }
    }
  }

  static void draw_column(PanelContext& context, const TextModel& model, const RequestText& text,
                          const TextColumn& column, const ItemBox& box) {
    const Look& look = context.look;
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const float line_height = ImGui::GetTextLineHeight() + look.px(3);
    const float wide = text_width(look.fonts.fixed, column.said);
    const float base = box.min.y + ImGui::GetTextLineHeight();
    if (column.in_step)
      list.AddRectFilled(ImVec2(box.min.x, box.min.y), ImVec2(box.max.x, base + look.px(1)),
                         packed(look.ui().selection));
    const Rgba colour = column.is_rejected || column.is_forced ? look.ui().text_dim
                        : column.differs                       ? look.ui().error
                                                               : look.ui().text;
    draw_text(list, look.fonts.fixed, box.min, packed(colour), column.said);
    if (column.is_rejected) {
      const float middle = std::floor((box.min.y + base) / 2 + look.px(1));
      list.AddLine(ImVec2(box.min.x, middle), ImVec2(box.min.x + wide, middle),
                   packed(look.ui().text), look.px(1.5F));
    }
    if (!column.alone.empty())
      draw_text(list, look.fonts.fixed, ImVec2(box.min.x, box.min.y + line_height),
                packed(look.ui().text), column.alone);
    if (column.differs)
      list.AddLine(ImVec2(box.min.x, base + look.px(1)),
                   ImVec2(box.min.x + std::max(wide, look.px(4)), base + look.px(1)),
                   packed(look.ui().error), look.px(1.5F));
    if (column.is_first_difference)
      list.AddRect(ImVec2(box.min.x - look.px(1), box.min.y - look.px(1)),
                   ImVec2(box.max.x + look.px(1), box.max.y), packed(look.ui().error), 0, 0,
                   look.px(2));
    if (column.is_rejected) return;
    context.mark(fmt::format("token {} of {}", column.token, text.name), box);
    if (text.request == model.chances.request && column.token == model.chances.token)
      list.AddRect(ImVec2(box.min.x, box.min.y), ImVec2(box.max.x, base + look.px(2)),
                   packed(look.ui().focus), 0, 0, look.px(1));
    if (!ImGui::IsItemHovered() || !ImGui::IsMouseHoveringRect(box.min, box.max)) return;
    tooltip(fmt::format(
        "token {}, said in step {}{}", column.token, column.step,
        column.differs ? fmt::format("; the lone run says \"{}\"", column.alone) : std::string()));
    if (!ImGui::IsItemClicked()) return;
    context.emit("select.request", quoted_word(text.name));
    context.emit("text.token", fmt::format("{}", column.token));
  }

  void draw_chances(PanelContext& context, const TokenChances& chances) {
    if (chances.table.rows.empty()) return;
    heading(context.look, chances.table.title, chances.table.note);
    chances_.draw(context, chances.table,
                  {.id = "chances", .size = ImVec2(ImGui::GetContentRegionAvail().x, 0)});
  }

  Cached<TextModel> model_;
  TableView chances_;
};

}  // namespace

std::unique_ptr<Panel> make_text_panel() { return std::make_unique<TextPanel>(); }

}  // namespace hybridscope
