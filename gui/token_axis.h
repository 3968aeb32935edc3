// The tokens of a batch in order, split by row, with what the builders divide it into.
#pragma once

#include "gui/model/batch_rows_model.h"
#include "gui/panel.h"

namespace hybridscope {

// As wide as the panel; where rows do not fit it scrolls. A click on a row selects its request.
void draw_token_axis(PanelContext& context, const BatchRowsModel& model);

}  // namespace hybridscope
