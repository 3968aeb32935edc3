#include "gui/panels/panels.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "gui/cell_drawing.h"
#include "gui/model/command_table.h"
#include "gui/model/prefix_cache_model.h"
#include "gui/widgets.h"

namespace hybridscope {
namespace {

class PrefixCachePanel final : public Panel {
 public:
  void draw(PanelContext& context) override {
    ShownRun& run = *context.workbench.run();
    const Shown& shown = model_.get(context.workbench, [&] {
      const CacheReport* cache = run.cache_report();
      return Shown{make_prefix_cache_model(run.view(), cache),
                   find_earlier_lookup(run.view(), cache, context.workbench.selection().request),
                   make_retention_model(run, context.workbench.selection().request)};
    });
    wrapped_dim_text(context.look, smallest_prefix_line(run.config()));
    if (shown.cards.empty())
      wrapped_dim_text(context.look, no_lookups_words(run));
    else
      draw_legend(context.look);
    for (const LookupCard& card : shown.cards) draw_card(context, card);
    if (shown.earlier) {
      ImGui::Spacing();
      draw_reasons(shown.earlier->shared, shown.earlier->lost);
    }
    if (shown.retention) draw_retention(context, *shown.retention);
  }

 private:
  struct Shown {
    std::vector<LookupCard> cards;
    std::optional<EarlierLookup> earlier;     // of the selected request
    std::optional<RetentionModel> retention;  // of the selected request
  };

  // What was shared, and one bullet per reason.
  static void draw_reasons(const std::string& shared, const std::vector<std::string>& lost) {
    if (!shared.empty()) wrapped_text(shared);
    for (const std::string& sentence : lost) {
      ImGui::Bullet();
      wrapped_text(sentence);
    }
  }

  static void draw_legend(const Look& look) {
    wrapped_dim_text(look,
                     "Bars: the request's tokens, a mark at each block end. Filled: what the group "
                     "has. Framed: what all groups agreed on, the hit. Hatched: the first block "
                     "that is not there.");
  }

  static void draw_card(PanelContext& context, const LookupCard& card) {
    ImGui::PushID(card.request.value);
    ImGui::Spacing();
    const bool selected = card.request == context.workbench.selection().request;
    {
      const FontScope bold(context.look.fonts.bold);
      if (ImGui::Selectable(card.name.c_str(), selected))
        context.emit("select.request", quoted_word(card.name));
      context.mark("lookup " + card.name);
    }
    wrapped_text(card.words);
    draw_reasons(card.shared, card.lost);
    for (const LookupBar& bar : card.groups) draw_bar(context.look, card, bar);
    ImGui::PopID();
  }

  static void draw_bar(const Look& look, const LookupCard& card, const LookupBar& bar) {
    dim_text(look, bar.name);
    const float width = std::max(ImGui::GetContentRegionAvail().x, 1.0F);
    const float height = look.px(14);
    const ImVec2 at = ImGui::GetCursorScreenPos();
    ImGui::Dummy(ImVec2(width, height + look.px(2)));
    const float token = width / static_cast<float>(std::max(card.num_tokens, 1));
    const auto x_of = [&](std::int32_t tokens) {
      return at.x + token * static_cast<float>(std::min(tokens, card.num_tokens));
    };
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const float bottom = at.y + height;
    list.AddRectFilled(at, ImVec2(at.x + width, bottom), packed(look.ui().field));
    if (bar.present_length > 0) {
      // A recurrent group needs only the block that holds the state at the end.
      const std::int32_t from =
          bar.only_ends ? std::max(bar.present_length - bar.block_size, 0) : 0;
      const CellBox box{ImVec2(x_of(from), at.y), ImVec2(x_of(bar.present_length), bottom)};
      draw_cell(list, look, box,
                {.block = 1, .role = CellRole::cached, .state = CellState::written}, "");
    }
    if (bar.miss_token >= 0) {
      const CellBox box{ImVec2(x_of(bar.miss_token), at.y),
                        ImVec2(x_of(bar.miss_token + bar.block_size), bottom)};
      draw_missing(list, look, box);
    }
    const float step = token * static_cast<float>(bar.block_size);
    for (float x = at.x + step; step > 3 && x < at.x + width; x += step)
      list.AddLine(ImVec2(x, at.y), ImVec2(x, bottom), packed(look.ui().border));
    if (card.num_hit_tokens > 0)
      list.AddRect(at, ImVec2(x_of(card.num_hit_tokens), bottom), packed(look.ui().focus), 0, 0,
                   look.px(2));
    wrapped_text(bar.words);
  }

  static void draw_retention(PanelContext& context, const RetentionModel& model) {
    const Look& look = context.look;
    ImGui::Spacing();
    heading(look, "Kept states of " + model.name,
            fmt::format("{}, a prompt of {} tokens in blocks of {}", model.group_name,
                        model.num_prompt_tokens, model.block_size));
    tooltip(kRetentionHelp);
    context.mark("retention " + model.name);
    wrapped_text(model.words);
    if (!model.boundaries.empty()) draw_boundaries(look, model);
    if (!model.dropped.empty()) wrapped_dim_text(look, model.dropped);
  }

  // The prompt from left to right: a filled diamond with its number where a state is kept, a small
  // cross where it is dropped.
  static void draw_boundaries(const Look& look, const RetentionModel& model) {
    const float half = look.px(5);
    const float width = std::max(ImGui::GetContentRegionAvail().x - 4 * half, 1.0F);
    const ImVec2 at = ImGui::GetCursorScreenPos();
    ImGui::Dummy(ImVec2(width, 2 * half + look.fonts.small->FontSize + look.px(4)));
    const float y = at.y + half;
    const float token = width / static_cast<float>(model.num_prompt_tokens);
    ImDrawList& list = *ImGui::GetWindowDrawList();
    list.AddLine(ImVec2(at.x, y), ImVec2(at.x + width, y), packed(look.ui().border), look.px(1));
    float free_from = at.x;
    float last_cross = at.x - half;
    for (const PromptBoundary& boundary : model.boundaries) {
      const float x = at.x + token * static_cast<float>(boundary.num_tokens);
      if (!boundary.kept) {
        if (x < last_cross + half) continue;
        last_cross = x;
        const float arm = half * 0.6F;
        const ImU32 colour = packed(look.ui().text_dim);
        list.AddLine(ImVec2(x - arm, y - arm), ImVec2(x + arm, y + arm), colour, look.px(1.5F));
        list.AddLine(ImVec2(x - arm, y + arm), ImVec2(x + arm, y - arm), colour, look.px(1.5F));
        continue;
      }
      list.AddQuadFilled(ImVec2(x, y - half), ImVec2(x + half, y), ImVec2(x, y + half),
                         ImVec2(x - half, y), packed(look.ui().text));
      const std::string number = fmt::format("{}", boundary.num_tokens);
      const float room = text_width(look.fonts.small, number);
      if (x - room / 2 < free_from) continue;
      draw_centred_text(list, look.fonts.small, ImVec2(x, y + half + look.px(1)),
                        packed(look.ui().text), number);
      free_from = x + room / 2 + look.px(4);
    }
  }

  Cached<Shown> model_;
};

}  // namespace

std::unique_ptr<Panel> make_prefix_cache_panel() { return std::make_unique<PrefixCachePanel>(); }

}  // namespace hybridscope
