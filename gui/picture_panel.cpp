#include "gui/picture_panel.h"

#include <fmt/core.h>

#include <algorithm>

#include "gui/strip_view.h"
#include "gui/widgets.h"

namespace hybridscope {
namespace {

// Points of scale 1.
constexpr float kLeastField = 120;
constexpr float kFilterWidth = 180;
constexpr float kLeastTableHeight = 120;  // height
constexpr float kLeastForUnfolded = 260;  // height of a panel whose short tables are unfolded
constexpr std::size_t kShortTable = 4;    // rows
constexpr float kShareOfList = 0.36F;     // of the width, beside the table of the selected row

float item_gap() { return ImGui::GetStyle().ItemSpacing.x; }

void draw_notes(const Look& look, const std::vector<Note>& notes) {
  for (const Note& note : notes) {
    if (note.is_heading)
      heading(look, note.text, "");
    else
      wrapped_text(colour_of(look, note.tone), note.text);
  }
}

}  // namespace

void PicturePanel::draw(PanelContext& context) {
  const Picture& picture =
      picture_.get(context.workbench, [&] { return make_(context.workbench); });
  draw_notes(context.look, picture.notes);
  draw_tools(context, picture);
  views_.resize(picture.tables.size());
  if (picture.is_page) return draw_page(context, picture);
  const std::size_t num_whole = std::min<std::size_t>(picture.has_detail ? 2 : 1, views_.size());
  const std::size_t first = picture.tables.size() - num_whole;
  for (std::size_t i = 0; i < first; ++i) draw_folded(context, picture.tables[i], views_[i]);
  for (std::size_t i = first; i < picture.tables.size(); ++i) {
    const float room = ImGui::GetContentRegionAvail().x;
    const bool is_list = i + 1 < picture.tables.size();
    const std::string& title = picture.tables[i].title;
    if (num_whole > 1)
      ImGui::BeginChild(title.c_str(), ImVec2(is_list ? room * kShareOfList : 0, 0));
    const float below = picture.help.empty() ? 0 : ImGui::GetFrameHeightWithSpacing();
    draw_table(context, picture.tables[i], views_[i], below);
    if (num_whole > 1) ImGui::EndChild();
    if (is_list) ImGui::SameLine();
  }
  if (picture.help.empty() || !ImGui::CollapsingHeader(picture.help_title.c_str())) return;
  const FontScope fixed(context.look.fonts.fixed);
  ImGui::TextUnformatted(picture.help.c_str());
}

void PicturePanel::draw_tools(PanelContext& context, const Picture& picture) {
  typed_.resize(picture.fields.size());
  for (std::size_t i = 0; i < picture.buttons.size(); ++i) {
    const PictureButton& button = picture.buttons[i];
    if (i > 0) flow(button_width(button.label.c_str()), context.look.px(4));
    ImGui::BeginDisabled(!button.is_possible);
    if (toggle(context.look, button.label.c_str(), button.is_on)) context.emit({button.click});
    context.mark(std::string(button.click.command));
    ImGui::EndDisabled();
    if (!button.tooltip.empty()) tooltip(button.tooltip);
  }
  for (std::size_t i = 0; i < picture.fields.size(); ++i) {
    if (i > 0 || !picture.buttons.empty()) flow(context.look.px(kFilterWidth), item_gap());
    draw_field(context, picture.fields[i], typed_[i]);
  }
}

// What was refused stays in the field, with the error below it.
void PicturePanel::draw_field(PanelContext& context, const PictureField& field, Typed& typed) {
  const bool has_button = !field.button.empty();
  if (!has_button && !typed.is_active) {
    typed.text.fill('\0');
    field.text.copy(typed.text.data(), typed.text.size() - 1);
  }
  const std::string button(field.button);
  const float room = ImGui::GetContentRegionAvail().x;
  ImGui::SetNextItemWidth(has_button ? std::max(room - button_width(button.c_str()) - item_gap(),
                                                context.look.px(kLeastField))
                                     : context.look.px(kFilterWidth));
  const std::string name = fmt::format("##{}", field.mark);
  const bool entered = ImGui::InputTextWithHint(
      name.c_str(), std::string(field.hint).c_str(), typed.text.data(), typed.text.size(),
      has_button ? ImGuiInputTextFlags_EnterReturnsTrue : 0);
  typed.is_active = ImGui::IsItemActive();
  context.mark(std::string(field.mark));
  if (!field.tooltip.empty()) tooltip(field.tooltip);
  bool pressed = false;
  if (has_button) {
    ImGui::SameLine();
    pressed = ImGui::Button(button.c_str());
    context.mark(std::string(field.command));
  }
  const bool is_empty = typed.text.front() == '\0';
  if ((entered || pressed) && (!has_button || !is_empty)) {
    const Status good =
        field.check == nullptr || is_empty ? Status(Ok{}) : field.check(typed.text.data());
    typed.error = good.ok() ? std::string() : good.error().message;
    if (good.ok()) {
      context.emit(std::string(is_empty ? field.if_empty : field.command), typed.text.data());
      if (has_button) typed.text.front() = '\0';
    }
  }
  if (typed.error.empty()) return;
  const FontScope fixed(context.look.fonts.fixed);
  wrapped_text(context.look.ui().error, typed.error);
}

void PicturePanel::draw_page(PanelContext& context, const Picture& picture) {
  for (std::size_t i = 0; i < picture.tables.size(); ++i) {
    const Table& table = picture.tables[i];
    ImGui::Spacing();
    if (table.is_folded) {
      draw_folded(context, table, views_[i]);
      continue;
    }
    heading(context.look, table.title, "");
    if (!table.note.empty()) wrapped_dim_text(context.look, table.note);
    draw_strips(context, table.strips);
    if (!table.rows.empty())
      views_[i].draw(context, table,
                     {.id = table.title.c_str(), .size = {ImGui::GetContentRegionAvail().x, 0}});
  }
}

void PicturePanel::draw_folded(PanelContext& context, const Table& table, TableView& view) {
  if (table.rows.empty()) return;
  const std::string title = fmt::format("{}: {}###{}", table.title, table.rows.size(), table.title);
  ImGui::SetNextItemOpen(table.rows.size() <= kShortTable &&
                             ImGui::GetContentRegionAvail().y >= context.look.px(kLeastForUnfolded),
                         ImGuiCond_Once);
  if (!ImGui::CollapsingHeader(title.c_str())) return;
  if (!table.note.empty()) wrapped_dim_text(context.look, table.note);
  view.draw(context, table,
            {.id = table.title.c_str(), .size = ImVec2(ImGui::GetContentRegionAvail().x, 0)});
}

void PicturePanel::draw_table(PanelContext& context, const Table& table, TableView& view,
                              float below) {
  if (!table.note.empty()) {
    wrapped_dim_text(context.look, table.note);
    if (!table.help.empty()) tooltip(table.help);
  }
  if (table.rows.empty()) return;
  const ImVec2 room = ImGui::GetContentRegionAvail();
  const float height = std::max(room.y - below, context.look.px(kLeastTableHeight));
  view.draw(context, table, {.id = table.title.c_str(), .size = ImVec2(room.x, height)});
}

}  // namespace hybridscope
