// The type of the functions of numeric_ops.h, for the table of kinds.
#pragma once

namespace hybridscope {

struct NumericAnswer;
struct NumericCase;

// Returns what one form computes with the kernels of the case.
// Throws JsonFault and VectorKernelError.
using NumericOp = NumericAnswer (*)(const NumericCase& vector);

}  // namespace hybridscope
