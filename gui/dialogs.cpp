#include "gui/dialogs.h"

#include <fmt/core.h>

#include <algorithm>

#include "gui/model/command_table.h"
#include "gui/model/palette_model.h"
#include "gui/widgets.h"

namespace hybridscope {
namespace {

constexpr ImGuiWindowFlags kOverlay = ImGuiWindowFlags_NoTitleBar | ImGuiWindowFlags_NoResize |
                                      ImGuiWindowFlags_NoMove | ImGuiWindowFlags_NoSavedSettings |
                                      ImGuiWindowFlags_NoCollapse;

// A window over the others, in the middle, its upper edge at a share of the height.
void begin_overlay(const Look& look, const char* id, ImVec2 points, float top) {
  const ImGuiViewport& viewport = *ImGui::GetMainViewport();
  const ImVec2 size(std::min(look.px(points.x), viewport.Size.x - look.px(40)),
                    std::min(look.px(points.y), viewport.Size.y * (1 - top) - look.px(20)));
  ImGui::SetNextWindowPos(ImVec2(viewport.Pos.x + (viewport.Size.x - size.x) / 2,
                                 viewport.Pos.y + viewport.Size.y * top));
  ImGui::SetNextWindowSize(size);
  ImGui::SetNextWindowFocus();
  ImGui::PushStyleColor(ImGuiCol_WindowBg, packed(look.ui().panel));
  ImGui::PushStyleColor(ImGuiCol_Border, packed(look.ui().focus));
  ImGui::Begin(id, nullptr, kOverlay);
  ImGui::PopStyleColor(2);
}

// Presses since the last frame.
int times_pressed(const PanelContext& context, Key key) {
  return static_cast<int>(std::ranges::count(context.keys, KeyChord{.key = key}));
}

// Bytes of the letter that begins at `at`.
std::size_t letter_length(std::string_view text, std::size_t at) {
  std::size_t end = at + 1;
  while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) ++end;
  return end - at;
}

// Letters that were typed are bold and of another colour.
struct HighlightedText {
  std::string_view text;
  const std::vector<std::size_t>& letters;  // their first bytes, ascending
  ImFont* plain;
  ImFont* bold;
  Rgba colour;
  Rgba highlight;
};

void highlighted(const HighlightedText& of) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  ImDrawList& list = *ImGui::GetWindowDrawList();
  float x = at.x;
  for (std::size_t i = 0; i < of.text.size();) {
    const bool bold = std::ranges::binary_search(of.letters, i);
    ImFont* font = bold ? of.bold : of.plain;
    const std::string_view letter = of.text.substr(i, letter_length(of.text, i));
    draw_text(list, font, ImVec2(x, at.y), packed(bold ? of.highlight : of.colour), letter);
    x += text_width(font, letter);
    i += letter.size();
  }
  ImGui::Dummy(ImVec2(x - at.x, ImGui::GetTextLineHeight()));
}

void draw_title(const Look& look, const PaletteEntry& entry) {
  const UiColours& ui = look.ui();
  highlighted({.text = entry.title,
               .letters = entry.highlights,
               .plain = look.fonts.words,
               .bold = look.fonts.bold,
               .colour = entry.possible ? ui.text : ui.text_dim,
               .highlight = entry.possible ? ui.accent : ui.text_dim});
}

// Behind the title: whether the run changes, then the id and the first key, each in its column.
void draw_entry_notes(const Look& look, const PaletteEntry& entry) {
  if (entry.changes_run) {
    ImGui::SameLine(0, look.px(10));
    const TextColour colour(look.ui().warning);
    ImGui::TextUnformatted("changes the run");
  }
  const bool asks = entry.argument.empty();
  const std::string keys(asks ? entry.row->keys.substr(0, entry.row->keys.find(' ')) : "");
  const float right = ImGui::GetWindowContentRegionMax().x - look.px(4);
  const float ids = right - look.px(110);
  const FontScope fixed(look.fonts.fixed);
  ImGui::SameLine(ids - text_width(look.fonts.fixed, entry.id));
  highlighted({.text = entry.id,
               .letters = entry.id_highlights,
               .plain = look.fonts.fixed,
               .bold = look.fonts.fixed,
               .colour = look.ui().text_dim,
               .highlight = look.ui().accent});
  ImGui::SameLine(right - ImGui::CalcTextSize(keys.c_str()).x);
  dim_text(look, keys);
}

// Two cells of the hotkey sheet.
void draw_key(const Look& look, const CommandRow& row) {
  {
    const FontScope fixed(look.fonts.fixed);
    const TextColour colour(look.ui().accent);
    ImGui::TableNextColumn();
    fitted_text(row.keys);
  }
  ImGui::TableNextColumn();
  fitted_text(row.title);
}

}  // namespace

// A text too long for the field is left out, because the field would replace it with a part.
void Dialogs::begin_with(std::string_view text) {
  text_.front() = '\0';
  if (text.size() >= text_.size()) return;
  const auto end = std::ranges::copy(text, text_.begin()).out;
  *end = '\0';
}

void Dialogs::draw(PanelContext& context) {
  const Dialog dialog = context.workbench.view().dialog;
  if (dialog != shown_) {
    begin_with(context.workbench.view().dialog_text);
    picked_ = 0;
  }
  const bool is_new = dialog != shown_;
  shown_ = dialog;
  if (dialog == Dialog::none) return;
  if (dialog == Dialog::palette) draw_palette(context);
  if (dialog == Dialog::argument) draw_argument(context);
  if (dialog == Dialog::keys) draw_keys(context);
  if (dialog == Dialog::session) draw_sessions(context);
  if (dialog == Dialog::unsaved) draw_unsaved(context);
  if (!is_new && times_pressed(context, Key::escape) > 0) context.emit("view.close_dialog");
}

void Dialogs::draw_palette(PanelContext& context) {
  begin_overlay(context.look, "palette", ImVec2(900, 440), 0.12F);
  const auto entries = palette_entries(context.workbench, text_.data());
  const int count = static_cast<int>(entries.size());
  const int steps = times_pressed(context, Key::down) - times_pressed(context, Key::up);
  picked_ = std::clamp(picked_ + steps, 0, std::max(count - 1, 0));
  ImGui::SetNextItemWidth(-1);
  ImGui::SetKeyboardFocusHere();
  ImGui::InputTextWithHint("##query", "Type a part of the name of a panel or command", text_.data(),
                           text_.size());
  const bool entered = times_pressed(context, Key::enter) > 0;
  ImGui::BeginChild("entries");
  for (int i = 0; i < count; ++i) {
    const PaletteEntry& entry = entries[static_cast<std::size_t>(i)];
    ImGui::PushID(i);
    const ImVec2 at = ImGui::GetCursorPos();
    const bool clicked = ImGui::Selectable("##entry", i == picked_);
    if (i == picked_ && steps != 0) ImGui::SetScrollHereY();
    ImGui::SetCursorPos(at);
    draw_title(context.look, entry);
    draw_entry_notes(context.look, entry);
    if (clicked || (entered && i == picked_)) {
      context.emit("view.close_dialog");
      context.emit(std::string(entry.row->id), entry.argument);
    }
    ImGui::PopID();
  }
  if (count == 0) dim_text(context.look, "No panel or command is called so.");
  ImGui::EndChild();
  ImGui::End();
}

void Dialogs::draw_argument(PanelContext& context) {
  const ViewState& view = context.workbench.view();
  const CommandRow* row = find_command(view.dialog_command);
  if (row == nullptr) return;
  begin_overlay(context.look, "argument", ImVec2(560, view.dialog_error.empty() ? 108 : 180), 0.2F);
  heading(context.look, row->title);
  dim_text(context.look, row->argument);
  ImGui::SetNextItemWidth(-1);
  ImGui::SetKeyboardFocusHere();
  ImGui::InputText("##argument", text_.data(), text_.size());
  if (times_pressed(context, Key::enter) > 0 && text_.front() != '\0')
    context.emit(std::string(row->id), text_.data());
  if (!view.dialog_error.empty()) {
    const FontScope fixed(context.look.fonts.fixed);
    const TextColour colour(context.look.ui().error);
    wrapped_text(view.dialog_error);
  }
  ImGui::End();
}

void Dialogs::draw_keys(PanelContext& context) {
  const Look& look = context.look;
  begin_overlay(look, "keys", ImVec2(1080, 660), 0.06F);
  heading(look, "Keys", "Escape closes this sheet; every command is in the palette (F1)");
  ImGui::BeginChild("sheet");
  float keys = 0;
  float titles = 0;
  std::vector<const CommandRow*> rows;
  for (const CommandRow* row : all_commands()) {
    if (row->keys.empty()) continue;
    rows.push_back(row);
    keys = std::max(keys, text_width(look.fonts.fixed, row->keys));
    titles = std::max(titles, text_width(look.fonts.words, row->title));
  }
  // As wide as needed: a column that ImGui fits to its cells never gets wider than cut words are.
  const float padding = 4 * ImGui::GetStyle().CellPadding.x + 2;
  const float room = ImGui::GetContentRegionAvail().x;
  const std::size_t pairs = room >= 2 * (keys + titles + padding) ? 2 : 1;
  const float of_titles = std::min(titles, room / static_cast<float>(pairs) - keys - padding);
  if (ImGui::BeginTable("keys", static_cast<int>(2 * pairs), ImGuiTableFlags_SizingFixedFit)) {
    for (std::size_t pair = 0; pair < pairs; ++pair) {
      ImGui::TableSetupColumn("", ImGuiTableColumnFlags_WidthFixed, keys + 1);
      ImGui::TableSetupColumn("", ImGuiTableColumnFlags_WidthFixed, of_titles + 1);
    }
    const std::size_t lines = (rows.size() + pairs - 1) / pairs;
    for (std::size_t line = 0; line < lines; ++line)
      for (std::size_t pair = 0; pair < pairs; ++pair)
        if (const std::size_t at = pair * lines + line; at < rows.size()) draw_key(look, *rows[at]);
    ImGui::EndTable();
  }
  ImGui::EndChild();
  ImGui::End();
}

void Dialogs::draw_sessions(PanelContext& context) {
  const std::vector<SessionChoice>& sessions = context.workbench.sessions_to_choose();
  begin_overlay(context.look, "sessions", ImVec2(560, 320), 0.12F);
  heading(context.look, fmt::format("{} sessions are in the file", sessions.size()));
  dim_text(context.look, "last recorded first; Escape opens none");
  sessions_.draw(context, sessions_table(sessions),
                 {.id = "sessions", .size = ImGui::GetContentRegionAvail()});
  ImGui::End();
}

void Dialogs::draw_unsaved(PanelContext& context) {
  begin_overlay(context.look, "unsaved", ImVec2(460, 132), 0.2F);
  heading(context.look, "The run was edited and is not saved");
  wrapped_dim_text(context.look, "The last edit: " + context.workbench.plans().undo_words());
  ImGui::Spacing();
  if (ImGui::Button("Save...")) context.emit("file.save_session");
  context.mark("unsaved save");
  tooltip("As a session; what was asked for goes on when it is written");
  ImGui::SameLine();
  if (ImGui::Button("Discard")) context.emit("file.discard_edits");
  context.mark("unsaved discard");
  ImGui::SameLine();
  if (ImGui::Button("Cancel")) context.emit("view.close_dialog");
  context.mark("unsaved cancel");
  ImGui::End();
}

void draw_banner(PanelContext& context) {
  const Look& look = context.look;
  const std::string& words = context.workbench.banner();
  const float edge = look.px(8);
  const float left = edge + button_width("Dismiss") + look.px(12);
  const float room = std::max(ImGui::GetContentRegionAvail().x - left - edge, look.px(60));
  const float lines = wrapped_height(words, room);
  const float padding = ImGui::GetStyle().FramePadding.y;
  const float height = std::max(ImGui::GetFrameHeight(), lines + 2 * padding) + look.px(8);
  ImGui::PushStyleColor(ImGuiCol_ChildBg, packed(look.ui().banner_error));
  ImGui::BeginChild("banner", ImVec2(0, height), false);
  ImGui::SetCursorPos(ImVec2(edge, look.px(4)));
  if (ImGui::Button("Dismiss")) context.emit("view.dismiss_banner");
  context.mark("dismiss banner");
  ImGui::SetCursorPos(ImVec2(left, look.px(4) + padding));
  {
    const TextColour colour(look.ui().on_banner_error);
    ImGui::TextUnformatted(wrap_text(words, room).c_str());
  }
  ImGui::EndChild();
  ImGui::PopStyleColor();
}

}  // namespace hybridscope
