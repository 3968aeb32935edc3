#include "gui/panels/panels.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "gui/model/finding_chains.h"
#include "gui/row_scroll.h"
#include "gui/widgets.h"

namespace hybridscope {
namespace {

// Points of scale 1. A narrow panel hides rule and request, which the words also contain; in a
// narrower one they begin with the chain.
constexpr float kLeastForAll = 900;
constexpr float kLeastForChains = 460;
constexpr int kStep = 0;
constexpr int kWrite = 1;
constexpr int kChain = 2;
constexpr int kRule = 3;
constexpr int kRequest = 4;
constexpr int kWhat = 5;

class FindingsPanel final : public Panel {
 public:
  void draw(PanelContext& context) override {
    const ShownRun& run = *context.workbench.run();
    if (run.findings().empty()) {
      dim_text(context.look, kNoFindings);
      return;
    }
    if (const std::string& note = note_.get(context.workbench, [&] { return findings_note(run); });
        !note.empty())
      wrapped_dim_text(context.look, note);
    constexpr ImGuiTableFlags kFlags = ImGuiTableFlags_ScrollY | ImGuiTableFlags_RowBg |
                                       ImGuiTableFlags_Resizable | ImGuiTableFlags_BordersInnerV |
                                       ImGuiTableFlags_Hideable;
    if (!ImGui::BeginTable("findings", static_cast<int>(kFindingColumns.size()), kFlags)) return;
    ImGui::TableSetupScrollFreeze(0, 1);
    constexpr std::array<float, kFindingColumns.size()> kWidths = {40, 44, 78, 190, 70, 0};
    for (std::size_t i = 0; i < kWidths.size(); ++i)
      ImGui::TableSetupColumn(
          kFindingColumns[i].data(),
          kWidths[i] > 0 ? ImGuiTableColumnFlags_WidthFixed : ImGuiTableColumnFlags_WidthStretch,
          context.look.px(kWidths[i]));
    const bool narrow = ImGui::GetWindowWidth() < context.look.px(kLeastForAll);
    ImGui::TableSetColumnEnabled(kChain,
                                 ImGui::GetWindowWidth() >= context.look.px(kLeastForChains));
    ImGui::TableSetColumnEnabled(kRule, !narrow);
    ImGui::TableSetColumnEnabled(kRequest, !narrow);
    ImGui::TableHeadersRow();
    follows_ = follower_.moves_to(context.workbench.selection().finding);
    const std::vector<FindingRow>& rows =
        rows_.get(context.workbench, [&] { return finding_rows(run); });
    scroll_.begin(table_header_height());
    for (const FindingRow& row : rows) draw_row(context, row, narrow);
    scroll_.end();
    ImGui::EndTable();
  }

 private:
  static void go_to(PanelContext& context, int index, std::int64_t step) {
    context.emit("run.go_to", fmt::format("{}", step));
    context.emit("select.finding", fmt::format("{}", index + 1));
  }

  static void draw_cause(PanelContext& context, const ShownFinding& shown, int index) {
    const Workbench& workbench = context.workbench;
    if (const std::string_view cause = workbench.cause_of(shown); !cause.empty()) {
      wrapped_text(context.look.ui().accent, std::string(cause));
    } else if (workbench.run()->plan() != nullptr) {
      if (ImGui::SmallButton("Known bug?")) {
        context.emit("select.finding", fmt::format("{}", index + 1));
        context.emit("select.cause");
      }
      context.mark(fmt::format("finding {} cause", index));
      tooltip("Search for the known bug, or the policy, that this finding comes from");
    }
  }

  static void draw_chain(const Look& look, const std::string& chain) {
    wrapped_dim_text(look, chain);
    tooltip(
        "first: nothing that was wrong before explains it, and so many findings follow from it; "
        "from N: it follows from the finding of step N");
  }

  void draw_row(PanelContext& context, const FindingRow& row, bool narrow) {
    const ShownFinding& shown = row.shown;
    const auto index = static_cast<int>(row.members.front());
    const Finding& finding = shown.finding;
    const ShownRun& run = *context.workbench.run();
    ImGui::PushID(index);
    const RuleInfo& rule = rule_info(finding.rule);
    ImGui::TableNextRow();
    const bool has_chain_column = ImGui::TableSetColumnIndex(kChain);
    const float chain_height =
        has_chain_column ? wrapped_height(row.chain, ImGui::GetContentRegionAvail().x) : 0;
    ImGui::TableSetColumnIndex(kWhat);
    const float top = ImGui::GetCursorPosY();
    if (!has_chain_column && !row.chain.empty()) draw_chain(context.look, row.chain);
    if (!shown.decision.empty()) wrapped_text(context.look.ui().error, shown.decision);
    if (row.is_first) draw_cause(context, shown, index);
    wrapped_text(narrow ? shown.text : finding_message(shown, run.names()));
    const float height =
        std::max(ImGui::GetCursorPosY() - top - ImGui::GetStyle().ItemSpacing.y, chain_height);
    ImGui::TableSetColumnIndex(kStep);
    const std::ptrdiff_t selected = context.workbench.selection().finding;
    const bool is_selected =
        selected >= 0 && std::ranges::count(row.members, static_cast<std::size_t>(selected)) > 0;
    const bool here = selected >= 0 ? is_selected : finding.step == run.step();
    if (ImGui::Selectable(
            fmt::format("{}", finding.step).c_str(), here,
            ImGuiSelectableFlags_SpanAllColumns | ImGuiSelectableFlags_AllowItemOverlap,
            ImVec2(0, height)))
      go_to(context, index, finding.step);
    context.mark_row(fmt::format("finding {}", index));
    scroll_.add(is_selected && follows_);
    tooltip(rule.meaning);
    ImGui::TableSetColumnIndex(kWrite);
    if (finding.cause.kind != WriteKind::never) {
      if (ImGui::SmallButton(fmt::format("{}", finding.cause.step).c_str()))
        go_to(context, index, finding.cause.step);
      context.mark(fmt::format("finding {} write", index));
      tooltip("Go to the step whose write left what was found");
    }
    if (ImGui::TableSetColumnIndex(kChain)) draw_chain(context.look, row.chain);
    if (ImGui::TableSetColumnIndex(kRule)) {
      const TextColour colour(rule.severity == Severity::error ? context.look.ui().error
                                                               : context.look.ui().warning);
      ImGui::TextUnformatted(rule.slug.data(), rule.slug.data() + rule.slug.size());
    }
    if (ImGui::TableSetColumnIndex(kRequest) && finding.request.value >= 0)
      fitted_text(run.names().request(finding.request));
    ImGui::PopID();
  }

  Cached<std::string> note_;
  Cached<std::vector<FindingRow>> rows_;
  Follower<std::ptrdiff_t> follower_;
  RowScroll scroll_;
  bool follows_ = false;  // the selected one must be scrolled into view
};

}  // namespace

std::unique_ptr<Panel> make_findings_panel() { return std::make_unique<FindingsPanel>(); }

}  // namespace hybridscope
