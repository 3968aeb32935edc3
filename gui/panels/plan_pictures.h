// The pictures of the Plan panel: combinations by two goals, and what one of them has in its
// blocks.
#pragma once

#include "gui/model/plan_model.h"
#include "gui/panel.h"

namespace hybridscope {

// Both draw into the current window, `size` large in pixels.

// A click selects a combination, a double click opens its run at its worst step.
void draw_plan_scatter(PanelContext& context, const PlanModel& model, ImVec2 size);

// A double click opens the run at the step there.
void draw_plan_memory(PanelContext& context, const PlanModel& model, ImVec2 size);

// The sign of a combination in the scatter, the table and the legend.
void draw_plan_sign(ImDrawList& list, const Look& look, ImVec2 centre, PlanMark mark);

}  // namespace hybridscope
