#include "gui/attached_bar.h"

#include <algorithm>

#include "gui/model/attached_model.h"
#include "gui/widgets.h"

namespace hybridscope {
namespace {

constexpr float kMostPlaceWidth = 260;

Rgba tone_colour(const Look& look, AttachedTone tone) {
  switch (tone) {
    case AttachedTone::ok:
      return look.ui().ok;
    case AttachedTone::waits:
      return look.ui().warning;
    case AttachedTone::bad:
      return look.ui().error;
  }
  return look.ui().text;
}

void coloured_text(Rgba colour, const std::string& text) {
  const TextColour scope(colour);
  ImGui::TextUnformatted(text.c_str());
}

void next_item(PanelContext& context, float gap) { ImGui::SameLine(0, context.look.px(gap)); }

void draw_place(PanelContext& context, const AttachedModel& model) {
  const float room = std::min(context.look.px(kMostPlaceWidth), ImGui::GetContentRegionAvail().x);
  dim_text(context.look, fit_middle(context.look.fonts.words, model.place, room));
  context.mark("attached place");
  tooltip(model.place);
}

void draw_hold_buttons(PanelContext& context, const AttachedModel& model) {
  if (!model.can_hold) {
    dim_text(context.look, "a file: the engine cannot be held");
    tooltip("Only an engine that is reached through unix:PATH can be asked to hold");
    return;
  }
  if (ImGui::Button(model.is_held ? "Continue" : "Hold"))
    context.emit(model.is_held ? "engine.continue" : "engine.hold");
  context.mark(model.is_held ? "engine.continue" : "engine.hold");
  tooltip(model.is_held ? "Let the engine make its next step (C)"
                        : "Ask the engine to wait before its next step (H)");
  next_item(context, 4);
  if (toggle(context.look, "Hold at findings", model.holds_at_findings))
    context.emit("engine.hold_at_findings");
  context.mark("engine.hold_at_findings");
  tooltip("Ask the engine to wait as soon as a step has a finding; breakpoints hold it too");
}

// The rest of the line, cut if there is no room.
void draw_words(PanelContext& context, const AttachedModel& model) {
  const UiColours& ui = context.look.ui();
  if (!model.behind.empty()) {
    next_item(context, 14);
    coloured_text(ui.warning, model.behind);
    context.mark("attached behind");
    tooltip("Steps that were received, or are in the file, and are not judged and shown yet");
  }
  const std::string& words = model.error.empty() ? model.hold : model.error;
  if (words.empty()) return;
  next_item(context, 14);
  const TextColour scope(model.error.empty() ? ui.warning : ui.error);
  fitted_text(words);
  context.mark("attached words");
}

}  // namespace

void draw_attached_bar(PanelContext& context) {
  const Workbench& workbench = context.workbench;
  const AttachedModel model = make_attached_model(*workbench.attached(), workbench.run());
  ImGui::AlignTextToFramePadding();
  coloured_text(tone_colour(context.look, model.tone), model.state);
  context.mark("attached state");
  next_item(context, 8);
  draw_place(context, model);
  next_item(context, 14);
  if (toggle(context.look, "Follow", model.follows)) context.emit("engine.follow");
  context.mark("engine.follow");
  tooltip("Show the newest step as it comes (F, End); going to another step stays there");
  if (!model.newest.empty()) {
    next_item(context, 8);
    ImGui::TextUnformatted(model.newest.c_str());
    context.mark("attached newest");
  }
  next_item(context, 14);
  draw_hold_buttons(context, model);
  draw_words(context, model);
}

void draw_waiting(PanelContext& context) {
  ImGui::Dummy(ImVec2(0, context.look.px(12)));
  wrapped_text(waiting_words(*context.workbench.attached()));
  context.mark("attached waiting");
}

}  // namespace hybridscope
