#include "gui/table_view.h"

#include <fmt/core.h>

#include <algorithm>
#include <cfloat>

#include "gui/cell_drawing.h"
#include "gui/table_cells.h"
#include "gui/widgets.h"

namespace hybridscope {
namespace {

// Points.
constexpr float kLeastRemark = 36;         // a few letters and "..."
constexpr float kLeastName = 72;           // both ends of a name
constexpr float kLeastWrapped = 110;       // two or three words
constexpr float kRoomForSpare = 300;       // of wrapped words or values beside spare columns
constexpr float kTightPadding = 2;         // pixels
constexpr std::size_t kMostWrapped = 300;  // rows; in a longer list all are of one height and cut
constexpr float kBorder = 1;

bool can_sort(const Table& table) { return !table.sort_command.empty(); }

// Numbers that are compared down a column are in a font of fixed width.
ImFont* font_of(const Look& look, const Table& table, std::size_t column) {
  const bool is_fixed = can_sort(table) && table.headings[column].kind == ColumnKind::number;
  return is_fixed ? look.fonts.fixed : ImGui::GetFont();
}

std::string title_of(const Table& table, std::size_t column) {
  const Heading& heading = table.headings[column];
  const bool is_drawn = heading.kind != ColumnKind::sign && heading.kind != ColumnKind::action;
  std::string title = is_drawn ? heading.title : std::string();
  if (static_cast<std::ptrdiff_t>(column) == table.sorted)
    title += std::string(title.empty() ? "" : " ") + (table.is_descending ? "-" : "+");
  return title;
}

// The cell of an item of the list: an empty number is "-".
std::string item_text(const Table& table, const TableRow& row, std::size_t column) {
  std::string text = shown_words(row.cells[column]);
  const bool is_number = table.headings[column].kind == ColumnKind::number;
  return text.empty() && is_number && !row.mark.empty() ? "-" : text;
}

const std::string& wrapped_words(const TableCell& cell, const std::string& words, bool is_short) {
  return is_short && cell.extras != nullptr && !cell.extras->whole.empty() ? cell.extras->whole
                                                                           : words;
}

// The height of a wrapped cell with the lines above its words, in a column of this width.
float wrapped_cell_height(const TableCell& cell, float width, bool is_short) {
  float height = 0;
  const float gap = ImGui::GetStyle().ItemSpacing.y;
  if (cell.extras != nullptr)
    for (const TableCell& line : cell.extras->above)
      height += gap + (takes_clicks(line) ? ImGui::GetTextLineHeight()
                                          : wrapped_height(shown_words(line), width));
  const std::string words = shown_words(cell);
  return height + wrapped_height(wrapped_words(cell, words, is_short), width);
}

// A click sorts by command; ImGui's own sort order would not be saved.
void draw_sorting_headings(PanelContext& context, const Table& table) {
  const Look& look = context.look;
  const FontScope bold(look.fonts.bold);
  for (std::size_t column = 0; column < table.headings.size(); ++column) {
    if (!ImGui::TableSetColumnIndex(static_cast<int>(column))) continue;
    const Heading& heading = table.headings[column];
    const bool is_sorted = static_cast<std::ptrdiff_t>(column) == table.sorted;
    const TextColour colour(is_sorted ? look.ui().accent : look.ui().text);
    const std::string title =
        fit_text(look.fonts.bold, title_of(table, column), ImGui::GetContentRegionAvail().x);
    ImGui::PushID(static_cast<int>(column));
    if (ImGui::Selectable((title + "##sort").c_str()))
      context.emit(std::string(table.sort_command), heading.sort);
    ImGui::PopID();
    context.mark(fmt::format("{} {}", table.sort_command, heading.sort));
    if (!heading.help.empty()) tooltip(heading.help);
  }
}

void draw_headings(PanelContext& context, const Table& table) {
  ImGui::TableNextRow(ImGuiTableRowFlags_Headers);
  if (can_sort(table)) return draw_sorting_headings(context, table);
  for (std::size_t column = 0; column < table.headings.size(); ++column) {
    if (!ImGui::TableSetColumnIndex(static_cast<int>(column))) continue;
    ImGui::TableHeader(ImGui::TableGetColumnName(static_cast<int>(column)));
    if (!table.headings[column].help.empty()) tooltip(table.headings[column].help);
  }
}

// The columns that name a row, which stay while the table scrolls sideways.
std::size_t num_frozen(const Table& table) {
  const auto name = std::ranges::find(table.headings, ColumnKind::name, &Heading::kind);
  return name == table.headings.end() ? 1
                                      : static_cast<std::size_t>(name - table.headings.begin()) + 1;
}

}  // namespace

Rgba colour_of(const Look& look, Tone tone) {
  switch (tone) {
    case Tone::normal: break;
    case Tone::dim: return look.ui().text_dim;
    case Tone::accent: return look.ui().accent;
    case Tone::info: return look.ui().info;
    case Tone::warning: return look.ui().warning;
    case Tone::error: return look.ui().error;
  }
  return look.ui().text;
}

ColumnNeed TableView::measured_column(const Look& look, const Table& table,
                                      std::size_t column) const {
  const ColumnKind kind = table.headings[column].kind;
  ImFont* const header = can_sort(table) ? look.fonts.bold : ImGui::GetFont();
  ImFont* const font = font_of(look, table, column);
  const float title = text_width(header, title_of(table, column)) + 1;
  const bool is_first = kind == ColumnKind::values ||
                        (wraps_ ? kind == ColumnKind::wrapped || kind == ColumnKind::remark
                                : kind == ColumnKind::name);
  ColumnNeed need{title, title, is_first};
  const float least = kind == ColumnKind::name      ? std::max(look.px(kLeastName), title)
                      : kind == ColumnKind::remark  ? std::max(look.px(kLeastRemark), title)
                      : kind == ColumnKind::wrapped ? std::max(look.px(kLeastWrapped), title)
                      : kind == ColumnKind::values  ? std::max(look.px(kLeastWrapped), title)
                                                    : FLT_MAX;
  for (const TableRow& row : table.rows) {
    const TableCell& cell = row.cells[column];
    const std::string text = kind == ColumnKind::sign ? "##" : item_text(table, row, column);
    need.wanted = std::max(need.wanted, cell_width(look, font, cell, text));
    need.least = std::min(need.wanted, least);
  }
  return need;
}

// Anew whenever the workbench or the font has changed.
void TableView::measure(const PanelContext& context, const Table& table) {
  const float size = ImGui::GetFontSize();
  if (revision_ == context.workbench.revision() && font_size_ == size) return;
  revision_ = context.workbench.revision();
  font_size_ = size;
  wraps_ = table.rows.size() <= kMostWrapped &&
           std::ranges::count(table.headings, ColumnKind::wrapped, &Heading::kind) > 0;
  has_buttons_ = std::ranges::any_of(table.rows, [](const TableRow& row) {
    return std::ranges::any_of(row.cells, [](const TableCell& cell) {
      return takes_clicks(cell) ||
             (cell.extras != nullptr && std::ranges::any_of(cell.extras->above, takes_clicks));
    });
  });
  needs_.clear();
  whole_widths_.clear();
  for (std::size_t column = 0; column < table.headings.size(); ++column) {
    needs_.push_back(measured_column(context.look, table, column));
    float& widest = whole_widths_.emplace_back();
    for (const TableRow& row : table.rows)
      if (const CellExtras* extras = row.cells[column].extras.get(); extras != nullptr)
        widest = std::max(widest, text_width(ImGui::GetFont(), extras->whole) + 1);
  }
}

// Spare columns are left out first. Words are wrapped before there is less padding, which comes
// before words that are cut, and these before a scrollbar.
TableView::Fit TableView::fit(const Look& look, const Table& table, const TablePlace& place) const {
  const ImGuiStyle& style = ImGui::GetStyle();
  const float line = ImGui::GetTextLineHeight() + 2 * style.CellPadding.y;
  const bool scrolls = place.size.y > 0 &&
                       (wraps_ || line * static_cast<float>(table.rows.size() + 1) > place.size.y);
  const float room = place.size.x - (scrolls ? style.ScrollbarSize : 0);
  std::vector<ColumnNeed> needs = needs_;
  const auto shown = [&] {
    return static_cast<float>(
        std::ranges::count_if(needs, [](const ColumnNeed& need) { return need.wanted > 0; }));
  };
  const auto room_with = [&](float padding) { return room - shown() * (2 * padding + kBorder); };
  Fit fitted;
  float beside = 0;  // what all columns but wrapped ones need
  float wrapped = 0;
  for (std::size_t column = 0; column < needs.size(); ++column)
    if (table.headings[column].kind == ColumnKind::wrapped ||
        table.headings[column].kind == ColumnKind::values)
      wrapped += needs[column].wanted;
    else
      beside += needs[column].least;
  fitted.is_short = wrapped > 0 && room_with(style.CellPadding.x) - beside <
                                       std::min(wrapped, look.px(kRoomForSpare));
  for (std::size_t column = 0; column < needs.size(); ++column)
    if (fitted.is_short && table.headings[column].is_spare)
      needs[column] = {};
    else if (fitted.is_short)
      needs[column].wanted = std::max(needs[column].wanted, whole_widths_[column]);
  float wanted = 0;  // wrapped words need as little as they may have
  for (const ColumnNeed& need : needs) wanted += wraps_ ? need.least : need.wanted;
  fitted.padding = wanted <= room_with(style.CellPadding.x) ? style.CellPadding.x : kTightPadding;
  fitted.columns = fit_columns(needs, room_with(fitted.padding));
  if (fitted.columns.fits) return fitted;
  // What stays while the table scrolls must leave room for the rest.
  for (std::size_t column = 0; column < num_frozen(table); ++column)
    fitted.columns.widths[column] = needs[column].least;
  fitted.whole = place.size.x - room +
                 whole_columns(fitted.columns.widths, {.room = room,
                                                       .gap = 2 * fitted.padding + kBorder,
                                                       .least = num_frozen(table) + 1});
  return fitted;
}

bool TableView::scrolls_sideways(PanelContext& context, const Table& table,
                                 const TablePlace& place) {
  measure(context, table);
  return !fit(context.look, table, place).columns.fits;
}

bool TableView::begin(const Table& table, const TablePlace& place, const Fit& fit) const {
  const ImGuiTableFlags scrolls =
      place.size.y > 0 ? ImGuiTableFlags_ScrollY | ImGuiTableFlags_ScrollX : 0;
  const ImGuiTableFlags flags =
      ImGuiTableFlags_RowBg | ImGuiTableFlags_BordersInnerV | ImGuiTableFlags_Hideable | scrolls;
  const float above = ImGui::GetStyle().CellPadding.y;
  ImGui::PushStyleVar(ImGuiStyleVar_CellPadding, ImVec2(fit.padding, above));
  const ImVec2 size(fit.columns.fits ? place.size.x : fit.whole, place.size.y);
  const bool open =
      ImGui::BeginTable(place.id, static_cast<int>(table.headings.size()), flags, size);
  ImGui::PopStyleVar();
  if (!open) return false;
  ImGui::TableSetupScrollFreeze(static_cast<int>(num_frozen(table)), has_headings_ ? 1 : 0);
  for (std::size_t column = 0; column < table.headings.size(); ++column) {
    const ColumnKind kind = table.headings[column].kind;
    const bool has_title = kind != ColumnKind::sign && kind != ColumnKind::action;
    ImGui::TableSetupColumn(has_title ? table.headings[column].title.c_str() : "",
                            ImGuiTableColumnFlags_WidthFixed, fit.columns.widths[column]);
    if (table.headings[column].is_spare)
      ImGui::TableSetColumnEnabled(static_cast<int>(column), !fit.is_short);
  }
  return true;
}

void TableView::draw(PanelContext& context, const Table& table, const TablePlace& place) {
  measure(context, table);
  const Fit fitted = fit(context.look, table, place);
  is_short_ = fitted.is_short;
  const auto is_left_out = [&](const Heading& heading) { return is_short_ && heading.is_spare; };
  first_ = static_cast<int>(std::ranges::find_if_not(table.headings, is_left_out) -
                            table.headings.begin());
  has_headings_ = table.has_headings && std::ranges::count_if(table.headings, is_left_out) + 1 <
                                            std::ssize(table.headings);
  if (!begin(table, place, fitted)) return;
  if (has_headings_) draw_headings(context, table);
  draw_rows(context, table, place);
  ImGui::EndTable();
}

void TableView::draw_rows(PanelContext& context, const Table& table, const TablePlace& place) {
  const auto selected = std::ranges::find(table.rows, true, &TableRow::is_selected);
  const std::ptrdiff_t wanted = table.wanted >= 0              ? table.wanted
                                : selected == table.rows.end() ? -1
                                                               : selected - table.rows.begin();
  const bool moves =
      follower_.moves_to(wanted < 0 ? "" : table.rows[static_cast<std::size_t>(wanted)].mark);
  follows_ = moves ? wanted : -1;
  const float line = table_header_height();
  drawn_height_ = line * static_cast<float>(table.rows.size() + (has_headings_ ? 1 : 0));
  if (wraps_) {
    scroll_.begin(has_headings_ ? line : 0);
    for (std::size_t index = 0; index < table.rows.size(); ++index)
      draw_row(context, table, place, index);
    if (place.size.y > 0) scroll_.end();
    return;
  }
  if (follows_ >= 0 && place.size.y > 0) scroll_to_row(follows_, line);
  ImGuiListClipper clipper;
  clipper.Begin(static_cast<int>(table.rows.size()));
  while (clipper.Step())
    for (int index = clipper.DisplayStart; index < clipper.DisplayEnd; ++index)
      draw_row(context, table, place, static_cast<std::size_t>(index));
}

// The item that spans the row, and may be clicked. Returns whether the row is seen.
bool TableView::draw_row_item(PanelContext& context, const Table& table, std::size_t index) {
  const TableRow& row = table.rows[index];
  float height = 0;
  for (std::size_t column = 0; wraps_ && column < row.cells.size(); ++column)
    if (table.headings[column].kind == ColumnKind::wrapped &&
        ImGui::TableSetColumnIndex(static_cast<int>(column)))
      height = std::max(height, wrapped_cell_height(row.cells[column],
                                                    ImGui::GetContentRegionAvail().x, is_short_));
  ImGui::TableSetColumnIndex(first_);
  if (wraps_) drawn_height_ = ImGui::GetCursorPosY() + height + 2 * ImGui::GetStyle().CellPadding.y;
  const ImGuiSelectableFlags flags =
      ImGuiSelectableFlags_SpanAllColumns |
      (has_buttons_ ? ImGuiSelectableFlags_AllowItemOverlap : 0) |
      (row.double_clicks.empty() ? 0 : ImGuiSelectableFlags_AllowDoubleClick);
  if (ImGui::Selectable("##row", row.is_selected, flags, ImVec2(0, height))) {
    context.emit(row.clicks);
    if (!row.double_clicks.empty() && ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left))
      context.emit(row.double_clicks);
  }
  const bool is_seen = ImGui::IsItemVisible();
  context.mark_row(row.mark);
  if (wraps_) scroll_.add(follows_ == static_cast<std::ptrdiff_t>(index));
  if (!row.tooltip.empty()) tooltip(row.tooltip);
  if (table.facts != nullptr && ImGui::IsItemHovered())
    facts_tooltip(context.look, table.facts(index));
  if (row.differs) draw_row_differs(context.look);
  if (is_seen) ImGui::SameLine(0, 0);  // else the next row would be as high as this one
  return is_seen;
}

void TableView::draw_row(PanelContext& context, const Table& table, const TablePlace& place,
                         std::size_t index) {
  const TableRow& row = table.rows[index];
  ImGui::PushID(static_cast<int>(index));
  ImGui::TableNextRow();
  ImGui::TableSetColumnIndex(first_);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  // A row out of sight needs its height only.
  const bool is_seen = row.mark.empty() || draw_row_item(context, table, index);
  if (is_seen && place.sign != nullptr) place.sign(index, at);
  for (std::size_t column = 0; is_seen && column < row.cells.size(); ++column)
    if (ImGui::TableSetColumnIndex(static_cast<int>(column)))
      draw_cell(context, table, row, column);
  ImGui::PopID();
}

void TableView::draw_cell(PanelContext& context, const Table& table, const TableRow& row,
                          std::size_t column) const {
  const TableCell& cell = row.cells[column];
  const ColumnKind kind = table.headings[column].kind;
  if (kind == ColumnKind::sign) return;
  if (cell.extras != nullptr)
    for (const TableCell& line : cell.extras->above) draw_line_above(context, line);
  if (draw_extras(context, cell, kind == ColumnKind::wrapped)) return;
  const TextColour colour(colour_of(context.look, cell.tone));
  const FontScope font(font_of(context.look, table, column));
  const std::string text = item_text(table, row, column);
  if (kind == ColumnKind::wrapped && wraps_)
    wrapped_text(wrapped_words(cell, text, is_short_));
  else if (kind == ColumnKind::name)
    fitted_name(text);
  else if (kind == ColumnKind::number && column > 0)
    right_aligned(text);
  else
    fitted_text(text);
  if (cell.extras != nullptr && !cell.extras->tooltip.empty()) tooltip(cell.extras->tooltip);
}

}  // namespace hybridscope
