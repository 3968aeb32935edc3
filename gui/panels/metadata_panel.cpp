#include "gui/panels/panels.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "gui/cell_drawing.h"
#include "gui/model/command_table.h"
#include "gui/model/metadata_model.h"
#include "gui/table_view.h"
#include "gui/widgets.h"

namespace hybridscope {
namespace {

// Points of scale 1.
constexpr float kLeastTable = 300;  // a narrower panel scrolls it

// A vector is laid out in lines of as many elements as fit.
struct GridShape {
  std::int64_t elements = 0;
  std::int64_t columns = 1;
  std::int64_t rows = 0;
  bool is_matrix = false;
  float cell_width = 0;
  float cell_height = 0;
  float label_width = 0;
  ImVec2 origin;  // of element 0

  CellBox box_of(std::int64_t index) const {
    const ImVec2 min(origin.x + cell_width * static_cast<float>(index % columns),
                     origin.y + cell_height * static_cast<float>(index / columns));
    return {min, ImVec2(min.x + cell_width - 1, min.y + cell_height - 1)};
  }
};

std::string request_of(const ShownRun& run, const MetadataSection& section,
                       const MetadataArray& array, std::int64_t index) {
  const StepView view = run.view();
  const std::int32_t row = section.rows.batch_row(array.array.rows, index / array.num_columns());
  if (row < 0 || static_cast<std::size_t>(row) >= view.trace.rows.size()) return {};
  return view.names.request(view.trace.rows[static_cast<std::size_t>(row)].request);
}

GridShape shape_of(const Look& look, const MetadataArray& array) {
  GridShape shape;
  shape.elements = num_elements(array.array);
  shape.is_matrix = array.array.dims.size() == 2;
  const std::size_t most = std::max<std::size_t>(array.widest, 3);
  const float digit = ImGui::CalcTextSize("0").x;
  shape.cell_width = std::floor(digit * static_cast<float>(most) + look.px(12));
  shape.cell_height = std::floor(ImGui::GetTextLineHeight() + look.px(5));
  shape.label_width = look.px(shape.is_matrix ? 130 : 60);
  const float room = ImGui::GetContentRegionAvail().x - shape.label_width - look.px(14);
  shape.columns = shape.is_matrix ? std::max<std::int64_t>(array.num_columns(), 1)
                                  : std::clamp<std::int64_t>(
                                        static_cast<std::int64_t>(room / shape.cell_width), 1,
                                        std::clamp<std::int64_t>(shape.elements, 1, 16));
  shape.rows = (shape.elements + shape.columns - 1) / shape.columns;
  return shape;
}

// Indices [first, last) between two edges.
struct Range {
  std::int64_t first = 0;
  std::int64_t last = 0;
};
Range range_of(float from, float to, float step, std::int64_t count) {
  return {std::clamp<std::int64_t>(static_cast<std::int64_t>(std::floor(from / step)), 0, count),
          std::clamp<std::int64_t>(static_cast<std::int64_t>(std::ceil(to / step)), 0, count)};
}

// Draws one array with all its values as a grid with row and column numbers.
class GridDrawing {
 public:
  GridDrawing(PanelContext& context, const MetadataSection& section, const MetadataArray& array)
      : context_(context), section_(section), array_(array), shape_(shape_of(context.look, array)) {
    const DifferenceMarks* marks = context.workbench.differences();
    if (marks != nullptr) differences_ = marks->of(section.group, array.array.name);
    const ImVec2 at = ImGui::GetCursorScreenPos();
    shape_.origin = ImVec2(at.x + shape_.label_width, at.y + shape_.cell_height);
    ImGui::InvisibleButton(
        "elements",
        ImVec2(shape_.label_width + shape_.cell_width * static_cast<float>(shape_.columns),
               shape_.cell_height * static_cast<float>(shape_.rows + 1)));
    const ImVec2 clip_min = ImGui::GetWindowDrawList()->GetClipRectMin();
    const ImVec2 clip_max = ImGui::GetWindowDrawList()->GetClipRectMax();
    columns_ = range_of(clip_min.x - shape_.origin.x, clip_max.x - shape_.origin.x,
                        shape_.cell_width, shape_.columns);
    rows_ = range_of(clip_min.y - shape_.origin.y, clip_max.y - shape_.origin.y, shape_.cell_height,
                     shape_.rows);
  }

  void draw() {
    draw_labels();
    for (std::int64_t row = rows_.first; row < rows_.last; ++row)
      for (std::int64_t column = columns_.first; column < columns_.last; ++column)
        if (const std::int64_t index = row * shape_.columns + column; index < shape_.elements)
          draw_element(index);
    handle_mouse();
  }

 private:
  void write(ImVec2 at, Rgba colour, const std::string& text) const {
    ImGui::GetWindowDrawList()->AddText(at, packed(colour), text.c_str());
  }

  void draw_labels() const {
    const Look& look = context_.look;
    for (std::int64_t column = columns_.first; column < columns_.last; ++column) {
      const std::string text = fmt::format("{}{}", shape_.is_matrix ? "" : "+", column);
      const float x = shape_.origin.x + shape_.cell_width * static_cast<float>(column + 1) -
                      look.px(6) - ImGui::CalcTextSize(text.c_str()).x;
      write(ImVec2(x, shape_.origin.y - shape_.cell_height + look.px(2)), look.ui().text_dim, text);
    }
    for (std::int64_t row = rows_.first; row < rows_.last; ++row) {
      const float y = shape_.origin.y + shape_.cell_height * static_cast<float>(row) + look.px(2);
      std::string text = fmt::format("{}", row * (shape_.is_matrix ? 1 : shape_.columns));
      if (shape_.is_matrix) {
        const std::string name =
            request_of(*context_.workbench.run(), section_, array_, row * shape_.columns);
        if (!name.empty()) text += "  " + name;
      }
      const bool selected = shape_.is_matrix && row == array_.selected_row;
      write(ImVec2(shape_.origin.x - shape_.label_width, y),
            selected ? look.ui().accent : look.ui().text_dim,
            fit_text(ImGui::GetFont(), text, shape_.label_width - look.px(8)));
    }
  }

  void draw_element(std::int64_t index) const {
    const Look& look = context_.look;
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const CellBox box = shape_.box_of(index);
    const std::int64_t value = element_at(array_.array, index);
    const bool in_row =
        array_.selected_row >= 0 && index / array_.num_columns() == array_.selected_row;
    list.AddRectFilled(box.min, box.max, packed(in_row ? look.ui().selection : look.ui().field));
    const std::string text = element_text(value);
    write(ImVec2(box.max.x - look.px(5) - ImGui::CalcTextSize(text.c_str()).x,
                 box.min.y + look.px(2)),
          look.ui().text, text);
    if (differs(index)) draw_frame(list, look, box, FrameKind::differs);
    if (array_.is_changed(index)) draw_changed_corner(list, look, box);
    const std::int32_t block = context_.workbench.selection().block;
    if (array_.holds_blocks && block > 0 && value == block)
      draw_frame(list, look, box, FrameKind::same_block);
    context_.mark(fmt::format("element {} {}", array_.array.name, index), {box.min, box.max});
  }

  bool differs(std::int64_t index) const {
    return differences_ != nullptr && differences_->contains(index);
  }

  void handle_mouse() const {
    if (!ImGui::IsItemHovered()) return;
    const ImVec2 mouse = ImGui::GetMousePos();
    const auto row =
        static_cast<std::int64_t>(std::floor((mouse.y - shape_.origin.y) / shape_.cell_height));
    const auto column =
        static_cast<std::int64_t>(std::floor((mouse.x - shape_.origin.x) / shape_.cell_width));
    if (row < 0 || column < 0 || column >= shape_.columns) return;
    const std::int64_t index = row * shape_.columns + column;
    if (index >= shape_.elements) return;
    std::vector<Fact> facts = describe_element(*context_.workbench.run(), section_, array_, index);
    if (differs(index)) facts.push_back({"compared", std::string(kDiffers)});
    facts_tooltip(context_.look, facts);
    if (!ImGui::IsItemClicked()) return;
    const std::string name = request_of(*context_.workbench.run(), section_, array_, index);
    if (!name.empty()) context_.emit("select.request", quoted_word(name));
    const std::int64_t value = element_at(array_.array, index);
    if (array_.holds_blocks && value > 0) context_.emit("select.block", fmt::format("{}", value));
  }

  PanelContext& context_;
  const MetadataSection& section_;
  const MetadataArray& array_;
  GridShape shape_;
  const std::set<std::int64_t>* differences_ = nullptr;  // null: none
  Range columns_;
  Range rows_;
};

class MetadataPanel final : public Panel {
 public:
  void draw(PanelContext& context) override {
    Workbench& workbench = context.workbench;
    const Shown& made = shown_.get(workbench, [&] {
      Shown shown{make_metadata_model(*context.workbench.run(), workbench.selection().request), {}};
      for (const MetadataSection& section : shown.model.sections)
        shown.tables.push_back(arrays_table(section, workbench));
      return shown;
    });
    const MetadataModel& model = made.model;
    views_.resize(made.tables.size());
    draw_notes(context, model);
    const MetadataSection* section = nullptr;
    const MetadataArray* whole = find_whole(context, model, &section);
    const bool wants_whole = !context.workbench.options().metadata.array.empty();
    const float room = ImGui::GetContentRegionAvail().y;
    ImGui::BeginChild("arrays", ImVec2(0, wants_whole ? room * 0.55F : 0), false,
                      ImGuiWindowFlags_HorizontalScrollbar);
    for (std::size_t i = 0; i < made.tables.size(); ++i)
      draw_section(context, model.sections[i], made.tables[i], views_[i]);
    ImGui::EndChild();
    if (wants_whole) draw_whole(context, section, whole);
  }

 private:
  static void draw_notes(const PanelContext& context, const MetadataModel& model) {
    const Look& look = context.look;
    if (context.workbench.run()->level() != RecordLevel::full) {
      dim_text(look, kNoMetadata);
      return;
    }
    const float side = ImGui::GetTextLineHeight();
    const ImVec2 at = ImGui::GetCursorScreenPos();
    ImGui::Dummy(ImVec2(side * 0.6F, side));
    draw_changed_corner(*ImGui::GetWindowDrawList(), look,
                        {at, ImVec2(at.x + side * 0.6F, at.y + side)});
    ImGui::SameLine(0, look.px(4));
    wrapped_dim_text(look, model.note);
    wrapped_in_window(look.ui().text_dim, kSignLegend);
  }

  static const MetadataArray* find_whole(const PanelContext& context, const MetadataModel& model,
                                         const MetadataSection** of) {
    const MetadataOptions& wanted = context.workbench.options().metadata;
    for (const MetadataSection& section : model.sections)
      for (const MetadataArray& array : section.arrays)
        if (section.group == wanted.group && array.array.name == wanted.array &&
            array.note.empty()) {
          *of = &section;
          return &array;
        }
    return nullptr;
  }

  static void draw_section(PanelContext& context, const MetadataSection& section,
                           const Table& table, TableView& view) {
    const Look& look = context.look;
    ImGui::PushID(section.group);
    ImGui::Dummy(ImVec2(0, look.px(3)));
    heading(look, section.title, section.builder);
    if (!section.note.empty()) wrapped_in_window(look.ui().text_dim, section.note);
    if (!section.warning.empty()) wrapped_in_window(look.ui().warning, "! " + section.warning);
    for (const std::string& line : section.checkpoints) wrapped_in_window(look.ui().text, line);
    for (const std::string& line : section.replayed) wrapped_in_window(look.ui().warning, line);
    const float width = ImGui::GetWindowWidth() - ImGui::GetStyle().ScrollbarSize - look.px(2);
    view.draw(context, table,
              {.id = "arrays", .size = ImVec2(std::max(width, look.px(kLeastTable)), 0)});
    if (!section.absent.empty()) wrapped_in_window(look.ui().text_dim, "None: " + section.absent);
    ImGui::PopID();
  }

  static void draw_whole(PanelContext& context, const MetadataSection* section,
                         const MetadataArray* array) {
    const Look& look = context.look;
    ImGui::Separator();
    if (ImGui::Button("Close")) context.emit("metadata.close_array");
    context.mark("metadata.close");
    ImGui::SameLine();
    heading(look, context.workbench.options().metadata.array);
    if (array == nullptr) {
      dim_text(look, "The array is None in this step.");
      return;
    }
    wrapped_in_window(look.ui().text_dim,
                      fmt::format("{} {} of {}, {} changed", array->dtype, array->shape,
                                  section->title, array->num_changed));
    const FontScope fixed(look.fonts.fixed);
    ImGui::BeginChild("grid", ImVec2(0, 0), false, ImGuiWindowFlags_HorizontalScrollbar);
    if (num_elements(array->array) == 0)
      dim_text(look, "The array is empty.");
    else
      GridDrawing(context, *section, *array).draw();
    ImGui::EndChild();
  }

  struct Shown {
    MetadataModel model;
    std::vector<Table> tables;  // [sections]
  };
  Cached<Shown> shown_;
  std::vector<TableView> views_;  // [sections]
};

}  // namespace

std::unique_ptr<Panel> make_metadata_panel() { return std::make_unique<MetadataPanel>(); }

}  // namespace hybridscope
