#include "gui/panels/panels.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <string_view>

#include "gui/model/command_arguments.h"
#include "gui/widgets.h"

namespace hybridscope {
namespace {

constexpr ImGuiTableFlags kTable = ImGuiTableFlags_ScrollY | ImGuiTableFlags_RowBg |
                                   ImGuiTableFlags_BordersInnerV | ImGuiTableFlags_Resizable;

constexpr std::size_t kMostWrapped = 300;  // rows
constexpr float kShareOfNames = 0.25F;     // of the width of a list of fields, at most
constexpr float kLeastForSettings = 260;   // points high; a lower panel has them folded

class DifferencesPanel final : public Panel {
 public:
  void draw(PanelContext& context) override {
    const Comparison* comparison = context.workbench.comparison();
    if (comparison == nullptr) {
      wrapped_dim_text(context.look, kNothingCompared);
      return;
    }
    draw_tools(context, *comparison);
    const float width = ImGui::GetContentRegionAvail().x * 0.36F;
    ImGui::BeginChild("steps", ImVec2(width, 0));
    draw_steps(context, *comparison);
    ImGui::EndChild();
    ImGui::SameLine();
    ImGui::BeginChild("fields");
    draw_fields(context, *comparison);
    ImGui::EndChild();
  }

 private:
  void draw_tools(PanelContext& context, const Comparison& comparison) {
    button(context, "First", "diff.first", "To the first divergence (Shift+F8)");
    button(context, "Previous", "diff.previous", "To the difference before this step (F7)");
    button(context, "Next", "diff.next", "To the difference behind this step (F8)");
    draw_filter(context);
    const std::string words = comparison.words();
    flow(ImGui::CalcTextSize(words.c_str()).x, ImGui::GetStyle().ItemSpacing.x);
    wrapped_dim_text(context.look, words);
    wrapped_dim_text(context.look, comparison.sides());
    draw_settings(context.look, comparison);
  }

  void draw_filter(PanelContext& context) {
    const std::string& filter = context.workbench.options().differences.filter;
    if (!typing_) {
      filter_.fill('\0');
      filter.copy(filter_.data(), filter_.size() - 1);
    }
    ImGui::SetNextItemWidth(context.look.px(150));
    if (ImGui::InputTextWithHint("##filter", "filter", filter_.data(), filter_.size())) {
      if (filter_.front() == '\0')
        context.emit("diff.show_all");
      else
        context.emit("diff.filter", filter_.data());
    }
    typing_ = ImGui::IsItemActive();
    context.mark("filter");
    tooltip(
        "Sections or fields to list and to go to: copies, rows.num_accepted_tokens, a request's "
        "name");
  }

  static void draw_settings(const Look& look, const Comparison& comparison) {
    if (comparison.settings().empty()) return;
    const std::string title =
        fmt::format("{}: {}###settings", kSettingsThatDiffer, comparison.settings().size());
    ImGui::SetNextItemOpen(comparison.settings().size() <= 4 &&
                               ImGui::GetContentRegionAvail().y >= look.px(kLeastForSettings),
                           ImGuiCond_Once);
    if (!ImGui::CollapsingHeader(title.c_str())) return;
    if (!ImGui::BeginTable("settings", 3, ImGuiTableFlags_RowBg | ImGuiTableFlags_Resizable))
      return;
    for (const std::string_view column : kSettingColumns) ImGui::TableSetupColumn(column.data());
    ImGui::TableHeadersRow();
    for (const ConfigDifference& setting : comparison.settings()) {
      ImGui::TableNextRow();
      for (const std::string* text : {&setting.setting, &setting.a, &setting.b})
        table_wrapped_cell(*text);
    }
    ImGui::EndTable();
  }

  static void button(PanelContext& context, const char* label, const char* command,
                     const char* help) {
    if (ImGui::Button(label)) context.emit(command);
    context.mark(command);
    tooltip(help);
    ImGui::SameLine(0, context.look.px(4));
  }

  void draw_steps(PanelContext& context, const Comparison& comparison) {
    filter_steps(context.workbench, comparison);
    if (!ImGui::BeginTable("steps", 3, kTable)) return;
    ImGui::TableSetupScrollFreeze(0, 1);
    constexpr std::array<float, kDifferingStepColumns.size()> kWidths = {46, 46, 0};
    for (std::size_t i = 0; i < kWidths.size(); ++i)
      ImGui::TableSetupColumn(
          kDifferingStepColumns[i].data(),
          kWidths[i] > 0 ? ImGuiTableColumnFlags_WidthFixed : ImGuiTableColumnFlags_WidthStretch,
          context.look.px(kWidths[i]));
    ImGui::TableHeadersRow();
    draw_rows(shown_.size(),
              [&](std::size_t i, bool wraps) { draw_step(context, *shown_[i], wraps); });
    ImGui::EndTable();
  }

  // Words wrap in short lists. In long ones rows are of one height, so that only the visible ones
  // are drawn, and words are cut.
  template <class Draw>
  static void draw_rows(std::size_t count, Draw&& draw) {
    if (count <= kMostWrapped) {
      for (std::size_t i = 0; i < count; ++i) draw(i, true);
      return;
    }
    ImGuiListClipper clipper;
    clipper.Begin(static_cast<int>(count));
    while (clipper.Step())
      for (int i = clipper.DisplayStart; i < clipper.DisplayEnd; ++i)
        draw(static_cast<std::size_t>(i), false);
  }

  // Begins the item of a row that can be clicked; its cells follow.
  static bool begin_row(std::span<const std::string_view> cells, bool selected, bool wraps) {
    const float height = wraps ? wrapped_row_height(cells) : 0;
    ImGui::TableSetColumnIndex(0);
    return ImGui::Selectable("##row", selected, ImGuiSelectableFlags_SpanAllColumns,
                             ImVec2(0, height));
  }

  static void draw_cells(std::span<const std::string_view> cells, bool wraps) {
    ImGui::SameLine(0, 0);
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (i > 0) ImGui::TableNextColumn();
      if (wraps)
        wrapped_text(cells[i]);
      else
        fitted_text(cells[i]);
    }
  }

  static void draw_step(PanelContext& context, const DifferingStep& step, bool wraps) {
    const Workbench& workbench = context.workbench;
    const bool here = step.step == workbench.comparison()->place(workbench.run()->step());
    const std::string number = step_words(step);
    const std::string fields = fmt::format("{}", step.num_fields);
    const std::string words = difference_words(step);
    const std::array<std::string_view, 3> cells = {number, fields, words};
    ImGui::PushID(number.c_str());
    ImGui::TableNextRow();
    if (begin_row(cells, here, wraps)) context.emit("diff.go_to", fmt::format("{}", step.step));
    context.mark_row(fmt::format("difference {}", step.step));
    draw_cells(cells, wraps);
    ImGui::PopID();
  }

  void draw_fields(PanelContext& context, const Comparison& comparison) {
    const std::int64_t here = comparison.place(context.workbench.run()->step());
    const auto& steps = comparison.steps();
    const auto found = std::ranges::find(steps, here, &DifferingStep::step);
    if (found == steps.end()) {
      dim_text(context.look, fmt::format("Step {} does not differ.", here));
      return;
    }
    lines_.clear();
    for (const DifferenceLine& line : found->lines)
      if (passes(line, context.workbench.options().differences.filter)) lines_.push_back(&line);
    if (lines_.empty()) {
      dim_text(context.look, "Nothing of this step passes the filter.");
      return;
    }
    const float names = names_width();
    // Another width makes another table: ImGui keeps the widths of columns.
    if (!ImGui::BeginTable(fmt::format("fields {}", names).c_str(), 5, kTable)) return;
    ImGui::TableSetupScrollFreeze(0, 1);
    ImGui::TableSetupColumn(kDifferenceColumns[0].data(), ImGuiTableColumnFlags_WidthFixed, names);
    constexpr std::array<float, kDifferenceColumns.size()> kWeights = {0, 2.0F, 1.6F, 1.1F, 1.1F};
    for (std::size_t i = 1; i < kWeights.size(); ++i)
      ImGui::TableSetupColumn(kDifferenceColumns[i].data(), ImGuiTableColumnFlags_WidthStretch,
                              kWeights[i]);
    ImGui::TableHeadersRow();
    draw_rows(lines_.size(), [&](std::size_t i, bool wraps) { draw_line(context, i, wraps); });
    ImGui::EndTable();
    if (found->num_fields > static_cast<std::int64_t>(found->lines.size()))
      dim_text(context.look, fmt::format("{} of {} shown", found->lines.size(), found->num_fields));
  }

  // The width of the column with requests: long names are cut, their header is not.
  float names_width() const {
    float width = ImGui::CalcTextSize(kDifferenceColumns[0].data()).x;
    const float most = std::max(width, ImGui::GetContentRegionAvail().x * kShareOfNames);
    for (const DifferenceLine* line : lines_)
      width = std::max(width, std::ceil(text_width(ImGui::GetFont(), line->request)));
    return std::floor(std::min(width, most)) + 1;
  }

  void draw_line(PanelContext& context, std::size_t index, bool wraps) const {
    const DifferenceLine& line = *lines_[index];
    ImGui::PushID(static_cast<int>(index));
    const std::string_view request = line.request.empty() ? kOfTheStep : line.request;
    const bool selected =
        !line.request.empty() && line.request == context.workbench.selection().request_name;
    const TextColour colour(selected ? context.look.ui().accent : context.look.ui().text);
    ImGui::TableNextRow();
    ImGui::TableSetColumnIndex(0);
    const std::string name =
        fit_middle(ImGui::GetFont(), request, ImGui::GetContentRegionAvail().x);
    const std::array<std::string_view, 5> cells = {name, line.field, line.place, line.a, line.b};
    if (begin_row(cells, false, wraps)) {
      if (!line.request.empty()) context.emit("select.request", quoted_word(line.request));
      if (line.list == DiffList::arrays && line.group >= 0)
        context.emit("metadata.array", fmt::format("{} {}", line.group, line.part));
    }
    context.mark_row(fmt::format("line {}", index));
    if (name.size() != request.size()) tooltip(request);
    draw_cells(cells, wraps);
    ImGui::PopID();
  }

  // The steps that pass the filter, updated only when something has changed.
  void filter_steps(const Workbench& workbench, const Comparison& comparison) {
    if (shown_revision_ == workbench.revision()) return;
    shown_revision_ = workbench.revision();
    shown_.clear();
    for (const DifferingStep& step : comparison.steps())
      if (passes(step, workbench.options().differences.filter)) shown_.push_back(&step);
  }

  std::array<char, 64> filter_{};
  bool typing_ = false;
  std::vector<const DifferingStep*> shown_;  // of this revision
  std::uint64_t shown_revision_ = 0;
  std::vector<const DifferenceLine*> lines_;  // of the frame
};

}  // namespace

std::unique_ptr<Panel> make_differences_panel() { return std::make_unique<DifferencesPanel>(); }

}  // namespace hybridscope
