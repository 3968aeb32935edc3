// Decides when an answer equals those of a vector of real recurrences: `bits` bit for bit, and
// `expect` within the tolerances of each form (numerics: tolerances and verdicts).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "sessions/conformance/compare.h"
#include "sessions/conformance/numeric_kernels.h"
#include "sessions/conformance/numeric_op.h"

namespace hybridscope {

struct NumericForms {
  NumericOp recurrent = nullptr;
  NumericOp chunked = nullptr;  // null: there is none
};

// Runs the operation with `kernels` and returns the first place that differs: of `bits` and of
// `expect` in form recurrent, then of `expect` in form chunked with its wider tolerances. NaN
// equals NaN. Outputs of tokens that are not in `compare_tokens` are not compared. Blocks that the
// vector does not name must keep their bits. Throws JsonFault and VectorKernelError.
std::optional<VectorDifference> check_numeric(const NumericForms& forms,
                                              const nlohmann::json& vector,
                                              const NumericKernels& kernels);

}  // namespace hybridscope
