// The tokens of a request in one step as a strip: what each is, and where the state after it is.
#pragma once

#include "gui/model/batch_rows_model.h"
#include "gui/model/speculative_model.h"
#include "gui/panel.h"

namespace hybridscope {

// The tokens of a batch in order, split by row, with the sections that the builders make.

// As wide as the panel; scrolls if the rows do not fit. A click on a row selects its request.
void draw_token_axis(PanelContext& context, const BatchRowsModel& model);

// In pixels.
float token_strip_height(const Look& look);
float token_strip_width(const Look& look, const SpeculativeRow& row);
// A click on a state selects its cell.
void draw_token_strip(PanelContext& context, const SpeculativeModel& model,
                      const SpeculativeRow& row);

}  // namespace hybridscope
