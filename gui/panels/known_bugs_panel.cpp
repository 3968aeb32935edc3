#include "gui/panels/panels.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "gui/model/known_bugs_model.h"
#include "gui/row_scroll.h"
#include "gui/widgets.h"

namespace hybridscope {
namespace {

constexpr float kLeastForIds = 900;  // points of scale 1
constexpr int kNumber = 0;
constexpr int kTitle = 3;
constexpr int kId = 4;

class KnownBugsPanel final : public Panel {
 public:
  void draw(PanelContext& context) override {
    draw_filter(context);
    const std::string shown = bug_shown_by(context.workbench.run());
    const auto bug = std::ranges::find(rows_, shown, &KnownBugRow::id);
    if (bug != rows_.end()) draw_words(context, *bug);
    draw_list(context, shown);
  }

 private:
  void draw_filter(PanelContext& context) {
    wrapped_dim_text(context.look, kKnownBugsIntroduction);
    ImGui::SetNextItemWidth(context.look.px(180));
    const bool changed =
        ImGui::InputTextWithHint("##filter", "filter", filter_.data(), filter_.size());
    context.mark("known bugs filter");
    if (changed || !made_) rows_ = make_known_bugs_model(filter_.data());
    made_ = true;
    ImGui::SameLine();
    dim_text(context.look, fmt::format("{} known bugs", rows_.size()));
  }

  static void draw_words(PanelContext& context, const KnownBugRow& bug) {
    heading(context.look, bug.id, "");
    for (const std::string& words : bug.words) wrapped_text(words);
    ImGui::Spacing();
  }

  void draw_list(PanelContext& context, const std::string& shown) {
    constexpr ImGuiTableFlags kFlags = ImGuiTableFlags_ScrollY | ImGuiTableFlags_RowBg |
                                       ImGuiTableFlags_Resizable | ImGuiTableFlags_BordersInnerV |
                                       ImGuiTableFlags_Hideable;
    if (!ImGui::BeginTable("bugs", static_cast<int>(kKnownBugColumns.size()), kFlags)) return;
    ImGui::TableSetupScrollFreeze(0, 1);
    constexpr std::array<float, kKnownBugColumns.size()> kWidths = {40, 130, 130, 0, 300};
    for (std::size_t i = 0; i < kWidths.size(); ++i)
      ImGui::TableSetupColumn(
          kKnownBugColumns[i].title.data(),
          kWidths[i] > 0 ? ImGuiTableColumnFlags_WidthFixed : ImGuiTableColumnFlags_WidthStretch,
          context.look.px(kWidths[i]));
    ImGui::TableSetColumnEnabled(kId, ImGui::GetWindowWidth() >= context.look.px(kLeastForIds));
    table_headers(kKnownBugColumns);
    follows_ = follower_.moves_to(shown);
    scroll_.begin(table_header_height());
    for (const KnownBugRow& row : rows_) draw_row(context, row, row.id == shown);
    scroll_.end();
    ImGui::EndTable();
  }

  void draw_row(PanelContext& context, const KnownBugRow& row, bool shown) {
    ImGui::PushID(row.id.c_str());
    ImGui::TableNextRow();
    ImGui::TableSetColumnIndex(kTitle);
    wrapped_text(row.title);
    const float height = ImGui::GetItemRectSize().y;
    ImGui::TableSetColumnIndex(kNumber);
    const std::string label = row.number.empty() ? "##row" : row.number + "##row";
    if (ImGui::Selectable(
            label.c_str(), shown,
            ImGuiSelectableFlags_SpanAllColumns | ImGuiSelectableFlags_AllowItemOverlap,
            ImVec2(0, height)))
      context.emit("bug.open", row.id);
    context.mark_row("bug " + row.id);
    scroll_.add(shown && follows_);
    tooltip(row.id);
    table_cell(row.v1);
    table_cell(row.v2);
    if (ImGui::TableSetColumnIndex(kId)) fitted_text(row.id);
    ImGui::PopID();
  }

  std::vector<KnownBugRow> rows_;
  std::array<char, 128> filter_{};
  bool made_ = false;
  Follower<std::string> follower_;
  RowScroll scroll_;
  bool follows_ = false;  // the shown one must be scrolled into view
};

}  // namespace

std::unique_ptr<Panel> make_known_bugs_panel() { return std::make_unique<KnownBugsPanel>(); }

}  // namespace hybridscope
