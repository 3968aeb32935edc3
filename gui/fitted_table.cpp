#include "gui/fitted_table.h"

#include <algorithm>
#include <cfloat>

#include "gui/widgets.h"

namespace hybridscope {
namespace {

// Points.
constexpr float kLeastRemark = 36;  // a few letters and "..."
constexpr float kLeastName = 72;    // both ends of a name
constexpr float kTightPadding = 2;  // pixels
constexpr std::string_view kMark = " +";
constexpr float kBorder = 1;

ImFont* font_or_current(ImFont* font) { return font == nullptr ? ImGui::GetFont() : font; }

}  // namespace

bool FittedTable::starts_over(const PanelContext& context) {
  const float size = ImGui::GetFontSize();
  if (revision_ == context.workbench.revision() && font_size_ == size) return false;
  revision_ = context.workbench.revision();
  font_size_ = size;
  needs_.clear();
  return true;
}

void FittedTable::add_column(const Look& look, const Shape& shape, std::size_t column) {
  ImFont* font = font_or_current(shape.headers);
  const bool is_marked = static_cast<int>(column) == shape.marked;
  const float title =
      text_width(font, shape.columns[column].title) + (is_marked ? text_width(font, kMark) : 0) + 1;
  const bool is_hidden = static_cast<int>(column) == shape.hidden;
  const ColumnKind kind = shape.columns[column].kind;
  needs_.push_back(is_hidden ? ColumnNeed{} : ColumnNeed{title, title, kind == ColumnKind::name});
  least_ = kind == ColumnKind::name     ? std::max(look.px(kLeastName), title)
           : kind == ColumnKind::remark ? std::max(look.px(kLeastRemark), title)
                                        : FLT_MAX;
}

void FittedTable::add_cell(const Shape& shape, std::size_t column, std::string_view text) {
  if (static_cast<int>(column) == shape.hidden) return;
  ColumnNeed& need = needs_.back();
  const bool is_number = shape.columns[column].kind == ColumnKind::number;
  ImFont* font = font_or_current(is_number ? shape.numbers : nullptr);
  need.wanted = std::max(need.wanted, text_width(font, text) + 1);
  need.least = std::min(need.wanted, least_);
}

// Less padding comes before names and remarks that are cut, and these before a scrollbar.
FittedTable::Fit FittedTable::fit(const Shape& shape) const {
  const ImGuiStyle& style = ImGui::GetStyle();
  const auto shown = static_cast<float>(
      std::ranges::count_if(needs_, [](const ColumnNeed& need) { return need.wanted > 0; }));
  const float line = ImGui::GetTextLineHeight() + 2 * style.CellPadding.y;
  const bool scrolls = line * static_cast<float>(shape.rows + 1) > shape.size.y;
  const float room = shape.size.x - (scrolls ? style.ScrollbarSize : 0);
  float wanted = 0;
  for (const ColumnNeed& need : needs_) wanted += need.wanted;
  const auto room_with = [&](float padding) { return room - shown * (2 * padding + kBorder); };
  const float padding =
      wanted <= room_with(style.CellPadding.x) ? style.CellPadding.x : kTightPadding;
  Fit fitted{.columns = fit_columns(needs_, room_with(padding)), .padding = padding};
  // What stays while the table scrolls must leave room for the rest.
  for (std::size_t i = 0; !fitted.columns.fits && i < static_cast<std::size_t>(shape.num_frozen);
       ++i)
    fitted.columns.widths[i] = needs_[i].least;
  if (!fitted.columns.fits)
    fitted.whole = shape.size.x - room +
                   whole_columns(fitted.columns.widths,
                                 {.room = room,
                                  .gap = 2 * padding + kBorder,
                                  .least = static_cast<std::size_t>(shape.num_frozen) + 1});
  return fitted;
}

bool FittedTable::begin(const Shape& shape) const {
  const Fit fitted = fit(shape);
  constexpr ImGuiTableFlags kFlags = ImGuiTableFlags_ScrollY | ImGuiTableFlags_ScrollX |
                                     ImGuiTableFlags_RowBg | ImGuiTableFlags_BordersInnerV |
                                     ImGuiTableFlags_Hideable;
  const float above = ImGui::GetStyle().CellPadding.y;
  ImGui::PushStyleVar(ImGuiStyleVar_CellPadding, ImVec2(fitted.padding, above));
  const ImVec2 size(fitted.columns.fits ? shape.size.x : fitted.whole, shape.size.y);
  const bool open =
      ImGui::BeginTable(shape.id, static_cast<int>(shape.columns.size()), kFlags, size);
  ImGui::PopStyleVar();
  if (!open) return false;
  ImGui::TableSetupScrollFreeze(shape.num_frozen, 1);
  for (std::size_t i = 0; i < shape.columns.size(); ++i)
    ImGui::TableSetupColumn(shape.columns[i].title.data(), ImGuiTableColumnFlags_WidthFixed,
                            fitted.columns.widths[i]);
  if (shape.hidden >= 0) ImGui::TableSetColumnEnabled(shape.hidden, false);
  return true;
}

}  // namespace hybridscope
