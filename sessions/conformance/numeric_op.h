// The type of the functions of numeric_ops.h, for the table of kinds.
#pragma once

namespace hybridscope {

struct NumericAnswer;
struct NumericCase;

// Returns what form recurrent computes on the host. Throws VectorError.
using NumericOp = NumericAnswer (*)(const NumericCase& vector);

}  // namespace hybridscope
