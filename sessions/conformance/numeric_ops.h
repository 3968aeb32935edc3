// Vectors of real recurrences: one operation of a layer on the blocks of its pool, and the tensors,
// pools and batches that it is given.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/numeric/dense_layers.h"
#include "core/numeric/recurrences.h"
#include "core/numeric/state_rows.h"
#include "sessions/conformance/vector_kernels.h"
#include "sessions/conformance/vector_states.h"
#include "sessions/text/json_value.h"

namespace hybridscope {

// Arrays of floats in vectors of real recurrences: tensors, and pools of blocks.

// {"shape": [...], "f32": base64}: little-endian, row-major.
struct NumericTensor {
  std::vector<std::int32_t> shape;
  std::vector<float> data;

  // Throws when there are fewer dimensions.
  std::int32_t size(std::size_t dimension) const { return shape.at(dimension); }
};
// Throws JsonFault for another length than the shape's, and for more than kMaxVectorElements.
NumericTensor read_numeric_tensor(const JsonValue& value);
// Reads a tensor that must have that many dimensions.
NumericTensor read_numeric_tensor(const JsonValue& value, std::size_t dimensions);
// Reads a tensor or null, which gives an empty one.
NumericTensor read_optional_tensor(const JsonValue& value);

// Floats of a base64 text. A non-negative `length` is the required number.
std::vector<float> read_floats(const JsonValue& base64, std::int64_t length);

// {"shape": [blocks, ...], "blocks": {"3": base64}}: every other block is NaN.
struct NumericPool {
  std::vector<std::int32_t> shape;
  std::vector<float> data;

  std::int64_t block_elements() const;
  StatePool view() { return {data, block_elements()}; }
};
NumericPool read_numeric_pool(const JsonValue& value);
// Reads a pool whose shape must have these dimensions behind the number of blocks.
NumericPool read_numeric_pool(const JsonValue& value, const std::vector<std::int32_t>& block);

// The metadata of a batch in vectors of real recurrences, whose sizes are checked before core reads
// them.

// Own the arrays that rows() views. `num_tokens`: of the batch.
class NumericDecodeRows {
 public:
  // `num_blocks`: of the pool.
  NumericDecodeRows(const JsonValue& input, std::int32_t num_tokens, std::int32_t num_blocks);
  DecodeRows rows() const;

 private:
  VectorTable state_indices_;
  std::vector<std::int32_t> query_start_loc_, num_accepted_tokens_, source_column_,
      destination_column_;
};

class NumericPrefillRows {
 public:
  NumericPrefillRows(const JsonValue& input, std::int32_t num_tokens, std::int32_t num_blocks);
  PrefillRows rows() const;

 private:
  VectorTable state_indices_;
  std::vector<std::int32_t> query_start_loc_, first_scheduled_, last_scheduled_, last_computed_,
      num_computed_tokens_;
  std::vector<std::uint8_t> has_initial_states_;
  std::int32_t mamba_block_size_ = 0;
};

class NumericAttentionRows {
 public:
  NumericAttentionRows(const JsonValue& input, std::int32_t num_tokens, std::int32_t num_blocks,
                       std::int32_t block_size);
  AttentionRows rows() const;

 private:
  VectorTable block_table_;
  std::vector<std::int32_t> query_start_loc_, seq_lens_;
};

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

// What one form computes with the kernels of the case. Throws JsonFault and VectorKernelError.
using NumericOp = NumericAnswer(const NumericCase& vector);

// numeric_ops.cpp
NumericOp run_arith, run_rope, run_rms_norm, run_gated_norm, run_norm_gated, run_mlp, run_attention;
// numeric_state_ops.cpp
NumericOp run_short_conv;
enum class NumericPart : std::uint8_t { prefill, prefill_chunked, update };  // chunked: the form
NumericAnswer run_conv(NumericPart part, const NumericCase& vector);
NumericAnswer run_mamba1(NumericPart part, const NumericCase& vector);
NumericAnswer run_mamba2(NumericPart part, const NumericCase& vector);
NumericAnswer run_delta_rule(NumericPart part, DecayOf decay_of, const NumericCase& vector);
NumericAnswer run_lightning(NumericPart part, const NumericCase& vector);

// One of the functions above for these arguments, for the table of kinds.
template <auto kRun, auto... kArguments>
NumericAnswer run_as(const NumericCase& vector) {
  return kRun(kArguments..., vector);
}

}  // namespace hybridscope
