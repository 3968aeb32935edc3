// Operations on recurrent states: convolutions and recurrences of every kind of layer.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>
#include <span>
#include <type_traits>

#include "core/numeric/recurrences.h"
#include "sessions/conformance/numeric_ops.h"
#include "sessions/conformance/vector_kernels.h"

namespace hybridscope {
namespace {

using Part = NumericPart;
using Shape = std::vector<std::int32_t>;

NumericTensor read_shaped(const JsonValue& value, const Shape& shape) {
  NumericTensor tensor = read_numeric_tensor(value);
  if (tensor.shape != shape)
    value["shape"].fail(fmt::format("expected [{}], found [{}]", fmt::join(shape, ", "),
                                    fmt::join(tensor.shape, ", ")));
  return tensor;
}

// A pool, and what an operation on it leaves.
NumericAnswer answer_of(std::vector<float> y, const char* name, NumericPool pool) {
  NumericAnswer answer{.y = std::move(y), .pools = {}};
  answer.pools.emplace(name, std::move(pool));
  return answer;
}

ConvActivation read_activation(const JsonValue& config) {
  if (!config.has_non_null("activation")) return ConvActivation::none;
  static_cast<void>(config["activation"].one_of({"silu"}));
  return ConvActivation::silu;
}

// Arrays that a ConvLayer views.
struct ConvCase {
  NumericTensor weight, bias;
  NumericPool pool;

  ConvCase(const JsonValue& input, std::int32_t dim)
      : weight(read_numeric_tensor(input["weight"], 2)),
        bias(read_optional_tensor(input["bias"])),
        pool(read_numeric_pool(input["conv_state"])) {
    if (weight.size(0) != dim || weight.size(1) < 2)
      input["weight"]["shape"].fail(fmt::format("expected [{}, W], W at least 2", dim));
    if (!bias.data.empty() && bias.shape != Shape{dim})
      input["bias"]["shape"].fail(fmt::format("expected [{}]", dim));
    if (pool.shape.size() != 3 || pool.shape[2] != dim || pool.shape[1] < weight.size(1) - 1)
      input["conv_state"]["shape"].fail(fmt::format("expected [blocks, at least W - 1, {}]", dim));
  }
  ConvLayer layer(ConvActivation activation) const {
    return {.dim = weight.size(0),
            .width = weight.size(1),
            .state_len = pool.shape[1],
            .weight = weight.data,
            .bias = bias.data,
            .activation = activation};
  }
};

void expect_reads_inside(const JsonValue& input, const ConvLayer& layer, const DecodeRows& rows) {
  for (std::int32_t row = 0; row < rows.num_rows(); ++row)
    if (rows.offset(row) + layer.width - 1 > layer.state_len)
      input["num_accepted_tokens"].fail(fmt::format("row {} reads behind its block", row));
}

// Runs `prefill` or `update` on the layer, the rows of a batch of `num_tokens`, the pool and
// `tokens`.
template <class Prefill, class Update, class Layer, class... Tokens>
void run_part(Part part, const JsonValue& input, std::int32_t num_tokens, NumericPool& pool,
              const Prefill& prefill, const Update& update, const Layer& layer,
              const Tokens&... tokens) {
  if (part == Part::prefill) {
    const NumericPrefillRows rows(input, num_tokens, pool.shape.front());
    expect_launched(prefill(layer, rows.rows(), pool.view(), tokens...));
  } else {
    const NumericDecodeRows rows(input, num_tokens, pool.shape.front());
    if constexpr (std::is_same_v<Layer, ConvLayer>) expect_reads_inside(input, layer, rows.rows());
    expect_launched(update(layer, rows.rows(), pool.view(), tokens...));
  }
}

// The chunks of a Mamba2 batch, as its builder cuts them.
class ChunkArrays {
 public:
  ChunkArrays(const JsonValue& input, std::int32_t num_rows)
      : cu_chunk_seqlen_(input["cu_chunk_seqlen_p"].int32s()),
        seq_idx_(input["seq_idx_p"].int32s()),
        last_chunk_indices_(input["last_chunk_indices_p"].int32s(num_rows)),
        chunk_size_(input["chunk_size"].int32({1, kMaxChunkSize})) {
    if (cu_chunk_seqlen_.size() != seq_idx_.size() + 1)
      input["cu_chunk_seqlen_p"].fail(fmt::format("expected {} elements", seq_idx_.size() + 1));
  }
  Mamba2Chunks view() const {
    return {cu_chunk_seqlen_, seq_idx_, last_chunk_indices_, chunk_size_};
  }

 private:
  static constexpr std::int32_t kMaxChunkSize = 1 << 20;
  std::vector<std::int32_t> cu_chunk_seqlen_, seq_idx_, last_chunk_indices_;
  std::int32_t chunk_size_;
};

// Chunks of the FLA kernels, from each row's first token on.
std::vector<RowChunk> row_chunks(const PrefillRows& rows) {
  constexpr std::int32_t kFlaChunk = 64;
  std::vector<RowChunk> chunks;
  for (std::int32_t row = 0; row < rows.num_rows(); ++row) {
    const BatchTokens tokens = rows.tokens(row);
    for (std::int32_t first = tokens.first; first < tokens.last; first += kFlaChunk)
      chunks.push_back({row, first, std::min(first + kFlaChunk, tokens.last)});
  }
  return chunks;
}

}  // namespace

NumericAnswer run_conv(Part part, const NumericCase& vector) {
  const auto& [op, config, input, kernels] = vector;
  const NumericTensor x = read_numeric_tensor(input["x"], 2);
  ConvCase conv(input, x.size(1));
  const ConvLayer layer = conv.layer(read_activation(config));
  std::vector<float> y(x.data.size());
  run_part(part, input, x.size(0), conv.pool, kernels.conv_prefill, kernels.conv_update, layer,
           ConvTokens{x.data, y});
  return answer_of(std::move(y), "conv_state", std::move(conv.pool));
}

NumericAnswer run_mamba2(Part part, const NumericCase& vector) {
  const auto& [op, config, input, kernels] = vector;
  const NumericTensor x = read_numeric_tensor(input["x"], 3);
  const NumericTensor B = read_numeric_tensor(input["B"], 3);
  const std::int32_t heads = x.size(1);
  const std::int32_t groups = B.size(1);
  if (groups < 1 || heads % groups != 0) input["B"].fail("expected groups that divide the heads");
  const NumericTensor C = read_shaped(input["C"], {x.size(0), groups, B.size(2)});
  const NumericTensor dt = read_shaped(input["dt"], {x.size(0), heads});
  const NumericTensor A_log = read_shaped(input["A_log"], {heads});
  const NumericTensor D = read_shaped(input["D"], {heads});
  const NumericTensor dt_bias = read_shaped(input["dt_bias"], {heads});
  NumericPool pool = read_numeric_pool(input["ssm_state"], {heads, x.size(2), B.size(2)});
  const Mamba2Layer layer{.num_heads = heads,
                          .head_dim = x.size(2),
                          .state_size = B.size(2),
                          .num_groups = groups,
                          .A_log = A_log.data,
                          .D = D.data,
                          .dt_bias = dt_bias.data};
  std::vector<float> y(x.data.size());
  const Mamba2Tokens tokens{x.data, dt.data, B.data, C.data, y};
  if (part == Part::prefill_chunked) {
    const NumericPrefillRows rows(input, x.size(0), pool.shape.front());
    const ChunkArrays chunks(input, rows.rows().num_rows());
    expect_launched(kernels.mamba2_prefill_chunked(layer, rows.rows(), pool.view(), tokens,
                                                   input["prep_initial_states"].int32({0, 1}) == 1,
                                                   chunks.view()));
  } else {
    const auto prefill = [&](const auto&... all) {
      return vector.kernels.mamba2_prefill(all...,
                                           vector.input["prep_initial_states"].int32({0, 1}) == 1);
    };
    run_part(part, input, x.size(0), pool, prefill, kernels.mamba2_update, layer, tokens);
  }
  return answer_of(std::move(y), "ssm_state", std::move(pool));
}

NumericAnswer run_mamba1(Part part, const NumericCase& vector) {
  const auto& [op, config, input, kernels] = vector;
  const NumericTensor x = read_numeric_tensor(input["x"], 2);
  const NumericTensor B = read_numeric_tensor(input["B"], 2);
  const std::int32_t channels = x.size(1);
  const NumericTensor delta = read_shaped(input["delta"], x.shape);
  const NumericTensor z = read_shaped(input["z"], x.shape);
  const NumericTensor C = read_shaped(input["C"], {x.size(0), B.size(1)});
  const NumericTensor A_log = read_shaped(input["A_log"], {channels, B.size(1)});
  const NumericTensor D = read_shaped(input["D"], {channels});
  const NumericTensor dt_bias = read_shaped(input["dt_bias"], {channels});
  NumericPool pool = read_numeric_pool(input["ssm_state"], {channels, B.size(1)});
  const Mamba1Layer layer{.intermediate_size = channels,
                          .state_size = B.size(1),
                          .A_log = A_log.data,
                          .D = D.data,
                          .dt_bias = dt_bias.data};
  std::vector<float> y(x.data.size());
  const Mamba1Tokens tokens{x.data, delta.data, B.data, C.data, z.data, y};
  run_part(part, input, x.size(0), pool, kernels.mamba1_prefill, kernels.mamba1_update, layer,
           tokens);
  return answer_of(std::move(y), "ssm_state", std::move(pool));
}

NumericAnswer run_delta_rule(Part part, DecayOf decay_of, const NumericCase& vector) {
  const auto& [op, config, input, kernels] = vector;
  const NumericTensor q = read_numeric_tensor(input["q"], 3);
  const NumericTensor v = read_numeric_tensor(input["v"], 3);
  const std::int32_t tokens = q.size(0);
  const std::int32_t key_dim = q.size(2);
  const std::int32_t heads = v.size(1);
  if (q.size(1) < 1 || heads % q.size(1) != 0)
    input["v"].fail("expected value heads that are a multiple of the key heads");
  const bool of_head = decay_of == DecayOf::head;
  const NumericTensor k = read_shaped(input["k"], q.shape);
  const NumericTensor a = of_head ? read_shaped(input["a"], {tokens, heads})
                                  : read_shaped(input["f"], {tokens, heads, key_dim});
  const NumericTensor b = read_shaped(input["b"], {tokens, heads});
  const NumericTensor A_log = read_shaped(input["A_log"], {heads});
  const NumericTensor dt_bias =
      read_shaped(input["dt_bias"], of_head ? Shape{heads} : Shape{heads, key_dim});
  if (v.size(0) != tokens) input["v"].fail("expected the tokens of q");
  NumericPool pool = read_numeric_pool(input["ssm_state"], {heads, v.size(2), key_dim});
  const DeltaRuleLayer layer{.num_key_heads = q.size(1),
                             .num_value_heads = heads,
                             .key_dim = key_dim,
                             .value_dim = v.size(2),
                             .decay_of = decay_of,
                             .A_log = A_log.data,
                             .dt_bias = dt_bias.data};
  std::vector<float> o(v.data.size());
  const DeltaRuleTokens io{q.data, k.data, v.data, a.data, b.data, o};
  if (part == Part::prefill_chunked) {
    const NumericPrefillRows rows(input, tokens, pool.shape.front());
    expect_launched(kernels.delta_rule_prefill_chunked(layer, rows.rows(), pool.view(), io,
                                                       row_chunks(rows.rows())));
  } else {
    run_part(part, input, tokens, pool, kernels.delta_rule_prefill, kernels.delta_rule_update,
             layer, io);
  }
  return answer_of(std::move(o), "ssm_state", std::move(pool));
}

NumericAnswer run_lightning(Part part, const NumericCase& vector) {
  const auto& [op, config, input, kernels] = vector;
  const NumericTensor q = read_numeric_tensor(input["q"], 3);
  const NumericTensor k = read_shaped(input["k"], q.shape);
  const NumericTensor v = read_shaped(input["v"], q.shape);
  const NumericTensor rate = read_shaped(input["rate"], {q.size(1)});
  NumericPool pool = read_numeric_pool(input["kv_state"], {q.size(1), q.size(2), q.size(2)});
  const LightningLayer layer{.num_heads = q.size(1), .head_dim = q.size(2), .rate = rate.data};
  std::vector<float> o(q.data.size());
  const LightningTokens io{q.data, k.data, v.data, o};
  run_part(part, input, q.size(0), pool, kernels.lightning_prefill, kernels.lightning_update, layer,
           io);
  return answer_of(std::move(o), "kv_state", std::move(pool));
}

NumericAnswer run_short_conv(const NumericCase& vector) {
  const auto& [op, config, input, kernels] = vector;
  const NumericTensor BCx = read_numeric_tensor(input["BCx"], 2);
  if (BCx.size(1) % 3 != 0) input["BCx"]["shape"].fail("expected [tokens, 3 dim]");
  ConvCase conv(input, BCx.size(1) / 3);
  const ConvLayer layer = conv.layer(ConvActivation::none);
  const Part part =
      config["part"].one_of({"prefill", "update"}) == 0 ? Part::prefill : Part::update;
  std::vector<float> y(BCx.data.size() / 3);
  run_part(part, input, BCx.size(0), conv.pool, kernels.short_conv_prefill,
           kernels.short_conv_update, layer, BCx.data, std::span<float>(y));
  return answer_of(std::move(y), "conv_state", std::move(conv.pool));
}

}  // namespace hybridscope
