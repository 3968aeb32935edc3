// Decides when an answer equals those of a vector of real recurrences: `bits` bit for bit, and
// `expect` within the tolerances of form recurrent (numerics: tolerances and verdicts).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "sessions/conformance/compare.h"
#include "sessions/conformance/numeric_op.h"

namespace hybridscope {

// Runs the operation and returns the first place that differs, first of `bits`, then of `expect`;
// NaN equals NaN. Outputs of tokens that are not in `compare_tokens` are not compared. Blocks that
// the vector does not name must keep their bits. Throws VectorError.
std::optional<VectorDifference> check_numeric(NumericOp op, const nlohmann::json& vector);

}  // namespace hybridscope
