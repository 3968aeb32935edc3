#include "gui/panels/panels.h"

#include <fmt/core.h>

#include "gui/model/block_story.h"
#include "gui/model/command_table.h"
#include "gui/widgets.h"

namespace hybridscope {
namespace {

class StateInspectorPanel final : public Panel {
 public:
  void draw(PanelContext& context) override {
    const Workbench& workbench = context.workbench;
    const std::int32_t block = workbench.selection().block;
    if (block < 0 || block >= workbench.run()->config().kv_cache_config.num_blocks) {
      wrapped_dim_text(context.look, kNoBlockSelected);
      return;
    }
    const BlockStory& story =
        story_.get(workbench, [&] { return make_block_story(*context.workbench.run(), block); });
    heading(context.look, fmt::format("Block {}", block));
    if (!story.not_kept.empty()) {
      wrapped_dim_text(context.look, story.not_kept);
      return;
    }
    draw_verdict(context.look, story);
    draw_wrong_since(context, story.wrong_since);
    draw_facts(context.look, "facts", story.facts);
    draw_registration(context, story);
    draw_holders(context, story);
    for (const ContentStory& content : story.contents) draw_content(context, content);
  }

 private:
  static void draw_verdict(const Look& look, const BlockStory& story) {
    if (story.holds.empty()) return;
    const TextColour colour(story.disagrees ? look.ui().error : look.ui().text);
    wrapped_text(story.holds);
  }

  // The decision that was wrong, not the last write that it spoilt.
  static void draw_wrong_since(PanelContext& context, const ChainStart& start) {
    if (start.step == 0) return;
    dim_text(context.look, kWrongSince);
    ImGui::SameLine();
    if (ImGui::SmallButton(fmt::format("step {}", start.step).c_str()))
      context.emit("run.go_to", fmt::format("{}", start.step));
    context.mark("wrong since");
    tooltip("Go to the step of the first finding, which the others follow from");
    const TextColour colour(context.look.ui().error);
    wrapped_text(start.words);
  }

  static void draw_registration(PanelContext& context, const BlockStory& story) {
    if (story.registered_in == 0) return;
    if (ImGui::SmallButton(fmt::format("registered in step {}", story.registered_in).c_str()))
      context.emit("run.go_to", fmt::format("{}", story.registered_in));
    context.mark("registered in");
    tooltip("Go to the step that gave the block the hash by which it can be hit");
  }

  static void draw_holders(PanelContext& context, const BlockStory& story) {
    if (story.block == kNullBlock) return;
    ImGui::Spacing();
    heading(context.look, "Held by");
    if (story.holders.empty()) dim_text(context.look, kNoHolder);
    int index = 0;
    for (const BlockHolder& holder : story.holders) {
      ImGui::PushID(index++);
      const std::string label = fmt::format("{}, {}, column {}{}", holder.name,
                                            context.workbench.run()->names().group(holder.group),
                                            holder.column, holder_note(holder));
      if (ImGui::Selectable("##holder"))
        context.emit("select.cell",
                     fmt::format("{} {} {} {}", quoted_word(holder.name), holder.group,
                                 holder.column, holder.in_scheduler ? "scheduler" : "worker"));
      ImGui::SameLine(0, 0);
      ImGui::TextUnformatted(label.c_str());
      ImGui::PopID();
    }
  }

  static void draw_content(PanelContext& context, const ContentStory& story) {
    ImGui::Spacing();
    heading(context.look, story.title, kStoryOrder);
    ImGui::PushID(story.title.c_str());
    for (std::size_t i = 0; i < story.links.size(); ++i) draw_link(context, story, i);
    wrapped_dim_text(context.look, story.end);
    ImGui::PopID();
  }

  // The step as a button, then what was written; below it, indented, what that copied.
  static void draw_link(PanelContext& context, const ContentStory& story, std::size_t index) {
    const StoryLink& link = story.links[index];
    ImGui::PushID(static_cast<int>(index));
    const float indent = context.look.px(14) * static_cast<float>(std::min<std::size_t>(index, 6));
    ImGui::SetCursorPosX(ImGui::GetCursorPosX() + indent);
    if (ImGui::SmallButton(fmt::format("step {}", link.step).c_str())) {
      context.emit("run.go_to", fmt::format("{}", link.step));
      context.emit("select.block", fmt::format("{}", link.block));
    }
    context.mark(fmt::format("why {} {}", story.title, index));
    tooltip("Go to this step and select the block that was written");
    ImGui::SameLine();
    {
      const TextColour colour(context.look.ui().accent);
      ImGui::TextUnformatted(link.what.c_str());
    }
    ImGui::SameLine();
    wrapped_text(link.words);
    if (!link.fault.empty()) {
      ImGui::SetCursorPosX(ImGui::GetCursorPosX() + indent);
      const TextColour colour(context.look.ui().error);
      wrapped_text(link.fault);
    }
    ImGui::PopID();
  }

  Cached<BlockStory> story_;
};

}  // namespace

std::unique_ptr<Panel> make_state_inspector_panel() {
  return std::make_unique<StateInspectorPanel>();
}

}  // namespace hybridscope
