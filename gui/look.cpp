#include "gui/look.h"

namespace hybridscope {

ImU32 packed(Rgba colour) { return IM_COL32(colour.r, colour.g, colour.b, colour.a); }

ImVec4 vec4(Rgba colour) {
  return {static_cast<float>(colour.r) / 255.0F, static_cast<float>(colour.g) / 255.0F,
          static_cast<float>(colour.b) / 255.0F, static_cast<float>(colour.a) / 255.0F};
}

namespace {

void set_sizes(ImGuiStyle& style, float scale) {
  style = ImGuiStyle();
  style.WindowPadding = {8, 6};
  style.FramePadding = {7, 4};
  style.ItemSpacing = {8, 5};
  style.ItemInnerSpacing = {5, 4};
  style.CellPadding = {6, 3};
  style.IndentSpacing = 18;
  style.ScrollbarSize = 13;
  style.GrabMinSize = 10;
  style.WindowRounding = 0;
  style.ChildRounding = 0;
  style.FrameRounding = 3;
  style.PopupRounding = 4;
  style.ScrollbarRounding = 3;
  style.GrabRounding = 3;
  style.TabRounding = 3;
  style.WindowBorderSize = 1;
  style.ChildBorderSize = 1;
  style.PopupBorderSize = 1;
  style.FrameBorderSize = 0;
  style.AntiAliasedLinesUseTex = false;  // which needs the font texture to be interpolated
  style.ScaleAllSizes(scale);
}

void set_colours(ImGuiStyle& style, const UiColours& ui) {
  ImVec4* colours = style.Colors;
  const auto set = [&](ImGuiCol which, Rgba colour) { colours[which] = vec4(colour); };
  const Rgba none{0, 0, 0, 0};
  set(ImGuiCol_Text, ui.text);
  set(ImGuiCol_TextDisabled, ui.text_dim);
  set(ImGuiCol_WindowBg, ui.background);
  set(ImGuiCol_ChildBg, none);
  set(ImGuiCol_PopupBg, ui.panel);
  set(ImGuiCol_Border, ui.border);
  set(ImGuiCol_BorderShadow, none);
  set(ImGuiCol_FrameBg, ui.field);
  set(ImGuiCol_FrameBgHovered, ui.hover);
  set(ImGuiCol_FrameBgActive, ui.pressed);
  set(ImGuiCol_TitleBg, ui.header);
  set(ImGuiCol_TitleBgActive, ui.header);
  set(ImGuiCol_TitleBgCollapsed, ui.header);
  set(ImGuiCol_MenuBarBg, ui.header);
  set(ImGuiCol_ScrollbarBg, ui.background);
  set(ImGuiCol_ScrollbarGrab, ui.border);
  set(ImGuiCol_ScrollbarGrabHovered, ui.text_dim);
  set(ImGuiCol_ScrollbarGrabActive, ui.text_dim);
  set(ImGuiCol_CheckMark, ui.accent);
  set(ImGuiCol_SliderGrab, ui.accent);
  set(ImGuiCol_SliderGrabActive, ui.accent);
  set(ImGuiCol_Button, ui.field);
  set(ImGuiCol_ButtonHovered, ui.hover);
  set(ImGuiCol_ButtonActive, ui.pressed);
  set(ImGuiCol_Header, ui.selection);
  set(ImGuiCol_HeaderHovered, ui.hover);
  set(ImGuiCol_HeaderActive, ui.pressed);
  set(ImGuiCol_Separator, ui.border);
  set(ImGuiCol_SeparatorHovered, ui.accent);
  set(ImGuiCol_SeparatorActive, ui.accent);
  set(ImGuiCol_ResizeGrip, none);
  set(ImGuiCol_Tab, ui.header);
  set(ImGuiCol_TabHovered, ui.hover);
  set(ImGuiCol_TabActive, ui.panel);
  set(ImGuiCol_TabUnfocused, ui.header);
  set(ImGuiCol_TabUnfocusedActive, ui.panel);
  set(ImGuiCol_TableHeaderBg, ui.header);
  set(ImGuiCol_TableBorderStrong, ui.border);
  set(ImGuiCol_TableBorderLight, ui.grid);
  set(ImGuiCol_TableRowBg, none);
  set(ImGuiCol_TableRowBgAlt, none);
  set(ImGuiCol_TextSelectedBg, ui.selection);
  set(ImGuiCol_NavHighlight, ui.focus);
  set(ImGuiCol_DragDropTarget, ui.focus);
}

}  // namespace

void apply_style(const Look& look) {
  ImGuiStyle& style = ImGui::GetStyle();
  set_sizes(style, look.scale);
  // Where fields have the colour of the panel, a line shows where they are.
  if (look.theme.kind == ThemeKind::high_contrast) style.FrameBorderSize = look.px(1);
  set_colours(style, look.ui());
}

}  // namespace hybridscope
