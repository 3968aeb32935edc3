// The tokens of a batch in order, split by row, with the sections that the builders make.
#pragma once

#include "gui/model/batch_rows_model.h"
#include "gui/panel.h"

namespace hybridscope {

// As wide as the panel; scrolls if the rows do not fit. A click on a row selects its request.
void draw_token_axis(PanelContext& context, const BatchRowsModel& model);

}  // namespace hybridscope
