// Logs what the rows of a step do to state, as operations for a StateBackend
// (core/state/state_ops.h). Costs nothing while logging is off.
#pragma once

#include "core/check/check_context.h"
#include "core/check/symbolic_state.h"

namespace hybridscope {

// Logs the tokens of the step's rows, in the order of the batch. Call after truth.fold().
void log_tokens(CheckContext& context, const RowTruth& truth);

// Logs a write of the current row.
inline void log_row_write(CheckContext& context, const ForwardWrite& write) {
  if (StateOps* ops = context.ops()) ops->writes.push_back(write);
}

// Appends the row whose writes were logged since the previous row; a row without writes is left
// out. Fills in first_write and num_writes.
void append_row(StateOps& ops, ForwardRow row);
inline void log_row(CheckContext& context, const ForwardRow& row) {
  if (StateOps* ops = context.ops()) append_row(*ops, row);
}

// Logs a padding row, which folds one token of its own, kPoison.
void log_padding_row(CheckContext& context, ForwardRow row);

}  // namespace hybridscope
