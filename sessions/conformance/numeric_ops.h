// Vectors of real recurrences: one operation of a layer on the blocks of its pool.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sessions/conformance/numeric_values.h"
#include "sessions/conformance/vector_kernels.h"
#include "sessions/text/json_value.h"

namespace hybridscope {

struct NumericAnswer {
  std::vector<float> y;                      // as the vector's
  std::map<std::string, NumericPool> pools;  // as they are after the call, by name in `input`
};

struct NumericCase {
  std::string op;  // "conv_prefill"
  JsonValue config;
  JsonValue input;
  const NumericKernels& kernels;
};

// Does each output of the operation depend on one input alone (exp, softplus, sigma, silu)?
bool is_elementwise(std::string_view op);

// numeric_ops.cpp
NumericAnswer run_arith(const NumericCase& vector);
NumericAnswer run_rope(const NumericCase& vector);
NumericAnswer run_rms_norm(const NumericCase& vector);
NumericAnswer run_gated_norm(const NumericCase& vector);
NumericAnswer run_norm_gated(const NumericCase& vector);
NumericAnswer run_mlp(const NumericCase& vector);
NumericAnswer run_attention(const NumericCase& vector);
// numeric_state_ops.cpp; *_chunked: form chunked
NumericAnswer run_mamba2_prefill_chunked(const NumericCase& vector);
NumericAnswer run_gdn_prefill_chunked(const NumericCase& vector);
NumericAnswer run_kda_prefill_chunked(const NumericCase& vector);
NumericAnswer run_conv_prefill(const NumericCase& vector);
NumericAnswer run_conv_update(const NumericCase& vector);
NumericAnswer run_short_conv(const NumericCase& vector);
NumericAnswer run_mamba2_prefill(const NumericCase& vector);
NumericAnswer run_mamba2_update(const NumericCase& vector);
NumericAnswer run_mamba1_prefill(const NumericCase& vector);
NumericAnswer run_mamba1_update(const NumericCase& vector);
NumericAnswer run_gdn_prefill(const NumericCase& vector);
NumericAnswer run_gdn_update(const NumericCase& vector);
NumericAnswer run_kda_prefill(const NumericCase& vector);
NumericAnswer run_kda_update(const NumericCase& vector);
NumericAnswer run_lightning_prefill(const NumericCase& vector);
NumericAnswer run_lightning_update(const NumericCase& vector);

// The type of these functions, for the table of kinds: what one form computes with the kernels of
// the case. Throws JsonFault and VectorKernelError.
using NumericOp = NumericAnswer (*)(const NumericCase& vector);

}  // namespace hybridscope
