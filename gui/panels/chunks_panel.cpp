#include "gui/panels/panels.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "gui/cell_drawing.h"
#include "gui/model/chunks_model.h"
#include "gui/model/command_table.h"
#include "gui/widgets.h"

namespace hybridscope {
namespace {

// Packed tokens as a bar from left to right.
struct Bar {
  ImVec2 origin;
  float width = 0;
  float tokens = 1;
  float x(std::int32_t token) const {
    return origin.x + width * static_cast<float>(token) / tokens;
  }
};

class ChunksPanel final : public Panel {
 public:
  void draw(PanelContext& context) override {
    const ChunksModel& model =
        model_.get(context.workbench, [&] { return make_chunks_model(*context.workbench.run()); });
    if (!model.empty.empty()) {
      wrapped_text(context.look.ui().text_dim, model.empty);
      return;
    }
    ImGui::BeginChild("chunks");
    for (const ChunkGroup& group : model.groups) draw_group(context, group);
    ImGui::EndChild();
  }

 private:
  void draw_group(PanelContext& context, const ChunkGroup& group) const {
    const Look& look = context.look;
    ImGui::PushID(group.group);
    heading(look, group.title, "");
    wrapped_text(look.ui().text_dim, chunk_counts(group));
    Bar bar{.origin = {},
            .width = std::max(ImGui::GetContentRegionAvail().x - look.px(92), look.px(100)),
            .tokens = static_cast<float>(std::max(group.num_tokens, 1))};
    draw_sequences(context, group, bar);
    draw_logical(context, group, bar);
    draw_boundaries(look, group, bar);
    draw_physical(look, group, bar);
    wrapped_text(look.ui().text_dim, group.rule);
    wrapped_text(look.ui().text_dim, legend(group));
    for (const ChunkArray& array : group.arrays) {
      const FontScope fixed(look.fonts.fixed);
      wrapped_text(look.ui().text, fmt::format("{:<21}{}", array.name, array.values));
    }
    ImGui::Dummy(ImVec2(0, look.px(8)));
    ImGui::PopID();
  }

  static std::string legend(const ChunkGroup& group) {
    std::string words =
        "Letters and colours are sequences (seq_idx). A thick right edge: the last chunk of its "
        "sequence";
    if (!group.boundaries.empty())
      words += "; triangles: a block is full and its state is stored (mode all)";
    return words + ".";
  }

  // The line's title on the left; moves the bar to it.
  static void begin_line(const Look& look, const char* title, const char* help, Bar& bar) {
    const float height = ImGui::GetTextLineHeight() + look.px(6);
    const ImVec2 at = ImGui::GetCursorScreenPos();
    ImGui::GetWindowDrawList()->AddText(ImVec2(at.x, at.y + look.px(3)), packed(look.ui().text_dim),
                                        title);
    bar.origin = ImVec2(at.x + look.px(84), at.y);
    ImGui::Dummy(ImVec2(look.px(84) + bar.width, height));
    const ImVec2 mouse = ImGui::GetMousePos();
    if (mouse.x < bar.origin.x) tooltip(help);
  }

  static CellBox box_of(const Look& look, const Bar& bar, std::int32_t first, std::int32_t last) {
    const float height = ImGui::GetTextLineHeight() + look.px(6);
    const float right = std::max(bar.x(last) - 1, bar.x(first) + 1);
    return {ImVec2(bar.x(first), bar.origin.y), ImVec2(right, bar.origin.y + height)};
  }

  static void centred(const Look& look, const CellBox& box, const std::string& text) {
    const ImVec2 size(std::ceil(text_width(ImGui::GetFont(), text)), ImGui::GetFontSize());
    if (size.x + look.px(2) > box.max.x - box.min.x) return;
    ImGui::GetWindowDrawList()->AddText(
        ImVec2((box.min.x + box.max.x - size.x) / 2, (box.min.y + box.max.y - size.y) / 2),
        packed(look.ui().text), text.c_str());
  }

  static void band(const Look& look, const CellBox& box, std::int32_t sequence) {
    const float height = look.px(4);
    ImGui::GetWindowDrawList()->AddRectFilled(
        ImVec2(box.min.x, box.max.y - height), box.max,
        packed(series_style(look.theme, static_cast<std::size_t>(std::max(sequence, 0))).colour));
  }

  static std::string letter(std::int32_t sequence) {
    return sequence < 0    ? "?"
           : sequence < 26 ? std::string(1, static_cast<char>('a' + sequence))
                           : fmt::format("{}", sequence);
  }

  static bool is_hovered(const CellBox& box) {
    return ImGui::IsItemHovered() && ImGui::IsMouseHoveringRect(box.min, box.max);
  }

  void draw_sequences(PanelContext& context, const ChunkGroup& group, Bar& bar) const {
    const Look& look = context.look;
    begin_line(look, "Sequences", "Rows that the scan works on, in the order of the batch", bar);
    const RequestId selected = context.workbench.selection().request;
    for (const ChunkSequence& sequence : group.sequences) {
      if (sequence.last == sequence.first) continue;
      const CellBox box = box_of(look, bar, sequence.first, sequence.last);
      ImDrawList& list = *ImGui::GetWindowDrawList();
      list.AddRectFilled(
          box.min, box.max,
          packed(sequence.request == selected ? look.ui().selection : look.ui().field));
      const std::string name = fmt::format("{}: {}", letter(sequence.number), sequence.name);
      const std::string all =
          fmt::format("{}, {} tokens from {}", name, sequence.last - sequence.first,
                      sequence.num_computed_tokens);
      centred(look, box, text_width(ImGui::GetFont(), all) < box.max.x - box.min.x ? all : name);
      band(look, box, sequence.number);
      context.mark("sequence " + sequence.name, {box.min, box.max});
      if (!is_hovered(box)) continue;
      const std::vector<Fact> facts{
          {"request", sequence.name},
          {"seq_idx", fmt::format("{}", sequence.number)},
          {"packed tokens", fmt::format("{}..{}", sequence.first, sequence.last - 1)},
          {"positions",
           fmt::format("{}..{}", sequence.num_computed_tokens,
                       sequence.num_computed_tokens + sequence.last - sequence.first - 1)}};
      facts_tooltip(look, facts);
      if (ImGui::IsMouseClicked(0)) context.emit("select.request", quoted_word(sequence.name));
    }
  }

  void draw_logical(PanelContext& context, const ChunkGroup& group, Bar& bar) const {
    const Look& look = context.look;
    begin_line(look, "Logical", "Chunks that the scan works on: cu_chunk_seqlen, seq_idx", bar);
    ImDrawList& list = *ImGui::GetWindowDrawList();
    for (const LogicalChunk& chunk : group.logical) {
      const CellBox box = box_of(look, bar, chunk.first, chunk.last);
      list.AddRectFilled(box.min, box.max, packed(look.ui().field));
      centred(look, box, fmt::format("{}{}", chunk.number, letter(chunk.sequence)));
      band(look, box, chunk.sequence);
      if (chunk.is_last)
        list.AddRectFilled(ImVec2(box.max.x - look.px(3), box.min.y), box.max,
                           packed(look.ui().text));
      context.mark(fmt::format("chunk {}", chunk.number), {box.min, box.max});
      if (!is_hovered(box)) continue;
      facts_tooltip(look, describe_chunk(group, chunk));
      const auto sequence = static_cast<std::size_t>(chunk.sequence);
      if (ImGui::IsMouseClicked(0) && sequence < group.sequences.size())
        context.emit("select.request", quoted_word(group.sequences[sequence].name));
    }
  }

  static void draw_boundaries(const Look& look, const ChunkGroup& group, const Bar& bar) {
    if (group.boundaries.empty()) return;
    const float y = ImGui::GetItemRectMax().y;
    const float side = look.px(4);
    for (const std::int32_t token : group.boundaries) {
      const float x = bar.x(token) - 1;
      ImGui::GetWindowDrawList()->AddTriangleFilled(ImVec2(x - side, y + side * 1.5F),
                                                    ImVec2(x + side, y + side * 1.5F), ImVec2(x, y),
                                                    packed(look.ui().warning));
    }
    ImGui::Dummy(ImVec2(1, side));
  }

  static void draw_physical(const Look& look, const ChunkGroup& group, Bar& bar) {
    begin_line(look, "Physical", "The grid of chunk_size packed tokens, wherever sequences begin",
               bar);
    ImDrawList& list = *ImGui::GetWindowDrawList();
    for (std::size_t i = 0; i < group.physical.size(); ++i) {
      const std::int32_t last =
          i + 1 < group.physical.size() ? group.physical[i + 1] : group.num_tokens;
      const CellBox box = box_of(look, bar, group.physical[i], last);
      list.AddRect(box.min, box.max, packed(look.ui().text_dim), 0, 0, look.px(1));
      centred(look, box, fmt::format("{}..{}", group.physical[i], last - 1));
    }
  }

  Cached<ChunksModel> model_;
};

}  // namespace

std::unique_ptr<Panel> make_chunks_panel() { return std::make_unique<ChunksPanel>(); }

}  // namespace hybridscope
