// Decides when an answer equals those of a vector of real recurrences or of a whole model: `bits`
// bit for bit, and `expect` within the tolerances of each form (numerics: tolerances and verdicts).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>

#include "sessions/conformance/numeric_ops.h"
#include "sessions/conformance/recognise.h"
#include "sessions/conformance/vector_kernels.h"

namespace hybridscope {

struct NumericForms {
  NumericOp* recurrent = nullptr;
  NumericOp* chunked = nullptr;  // null: there is none
};

// Runs the operation with `kernels` and returns the first place that differs: of `bits` and of
// `expect` in form recurrent, then of `expect` in form chunked with its wider tolerances. NaN
// equals NaN. Outputs of tokens that are not in `compare_tokens` are not compared. Blocks that the
// vector does not name must keep their bits. Throws JsonFault and VectorKernelError.
std::optional<VectorDifference> check_numeric(const NumericForms& forms,
                                              const nlohmann::json& vector,
                                              const NumericKernels& kernels);

// Compares arrays of floats with those of a vector: bit for bit, or within tolerances.

// Two stretches of equal length: a token's outputs, or a block.
struct ComparedFloats {
  std::string place;
  std::span<const float> expected;
  std::span<const float> got;
};

// |got - expected| <= absolute max(1, largest expected) + relative |expected|, and the root mean
// square of the errors to that of the values.
struct FloatTolerance {
  double relative = 0;
  double absolute = 0;
  double error_ratio = 0;  // 0: not compared
};

// NaN equals NaN.
std::optional<VectorDifference> differing_bits(std::span<const ComparedFloats> parts);
// The parts are one tensor.
std::optional<VectorDifference> differing_values(std::span<const ComparedFloats> parts,
                                                 const FloatTolerance& tolerance);
// For elementwise functions, where a large output says nothing about how exact a small one is:
// |got - expected| <= relative |expected| + the smallest normal float, for each value.
std::optional<VectorDifference> differing_elements(std::span<const ComparedFloats> parts,
                                                   double relative);

// Vectors of whole models: weights in a folder beside the file, prompts, and what the model makes
// of them.

// Runs the model of `folder`/CONFIG.FOLDER in form recurrent. `config.what`: logits (of a prompt
// in one piece and in the pieces of `split`, which must not differ in a bit), state (of every
// recurrent layer after the prompt), greedy (the tokens it goes on with), missing_tokens (logits
// behind recurrent states that miss the prompt's last tokens). Returns the first place that
// differs. Throws JsonFault, also where the weights cannot be loaded.
std::optional<VectorDifference> check_model_vector(const nlohmann::json& vector,
                                                   const std::string& folder);

}  // namespace hybridscope
