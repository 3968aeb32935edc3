// The tokens of a request in one step as a strip: what each is, and where the state after it is.
#pragma once

#include "gui/model/speculative_model.h"
#include "gui/panel.h"

namespace hybridscope {

// In pixels.
float token_strip_height(const Look& look);
float token_strip_width(const Look& look, const SpeculativeRow& row);
// A click on a state selects its cell.
void draw_token_strip(PanelContext& context, const SpeculativeModel& model,
                      const SpeculativeRow& row);

}  // namespace hybridscope
