#include "sessions/conformance/numeric_ops.h"

#include <fmt/format.h>
#include <algorithm>

#include "core/numeric/dense_layers.h"

namespace hybridscope {
namespace {

// The most angles of a table of rotary positions.
constexpr std::int64_t kMaxAngles = std::int64_t{1} << 22;

float read_eps(const JsonValue& config) { return static_cast<float>(config["eps"].number()); }

// A vector [n].
NumericTensor read_vector(const JsonValue& value, std::int32_t n) {
  NumericTensor tensor = read_numeric_tensor(value, 1);
  if (tensor.size(0) != n)
    value["shape"].fail(fmt::format("expected {} elements, found {}", n, tensor.size(0)));
  return tensor;
}

// Elements of the last dimension.
std::int32_t last_size(const NumericTensor& tensor) { return tensor.shape.back(); }

// y as large as x.
NumericAnswer answer_like(const NumericTensor& x) {
  return {.y = std::vector<float>(x.data.size()), .pools = {}};
}

NumericTensor read_like(const JsonValue& value, const NumericTensor& other) {
  NumericTensor tensor = read_numeric_tensor(value);
  if (tensor.shape != other.shape) value["shape"].fail("expected the shape of x");
  return tensor;
}

}  // namespace

bool is_elementwise(std::string_view op) {
  return op == "exp" || op == "softplus" || op == "sigma" || op == "silu";
}

NumericAnswer run_arith(const NumericCase& vector) {
  const auto& [op, config, input, kernels] = vector;
  NumericAnswer answer;
  if (op == "dot") {
    const NumericTensor a = read_numeric_tensor(input["a"], 2);
    const NumericTensor b = read_like(input["b"], a);
    answer.y.resize(static_cast<std::size_t>(a.size(0)));
    expect_launched(kernels.dots(a.data, b.data, answer.y));
    return answer;
  }
  const NumericKernels::Elementwise& function = op == "exp"        ? kernels.exp
                                                : op == "softplus" ? kernels.softplus
                                                : op == "sigma"    ? kernels.sigma
                                                                   : kernels.silu;
  const NumericTensor x = read_numeric_tensor(input["x"]);
  answer.y.resize(x.data.size());
  expect_launched(function(x.data, answer.y));
  return answer;
}

NumericAnswer run_rope(const NumericCase& vector) {
  const auto& [op, config, input, kernels] = vector;
  const NumericTensor x = read_numeric_tensor(input["x"], 3);
  const std::int32_t rotary_dim = config["rotary_dim"].int32({0, x.size(2)});
  RopeTable table(rotary_dim, config["theta"].number());
  NumericAnswer answer{.y = x.data, .pools = {}};
  const std::vector<std::int32_t> positions = input["positions"].int32s(x.size(0));
  for (const std::int32_t position : positions)
    if (position < 0 || position > kMaxAngles / std::max(rotary_dim, 1))
      input["positions"].fail(
          fmt::format("expected positions from 0 to {}", kMaxAngles / std::max(rotary_dim, 1)));
  expect_launched(kernels.rope(table, positions, x.size(2), answer.y));
  return answer;
}

NumericAnswer run_rms_norm(const NumericCase& vector) {
  const auto& [op, config, input, kernels] = vector;
  const NumericTensor x = read_numeric_tensor(input["x"]);
  const NumericTensor weight = read_vector(input["weight"], last_size(x));
  const RmsNorm norm{weight.data, read_eps(config),
                     config["plus_one"].boolean() ? NormWeight::plus_one : NormWeight::plain};
  NumericAnswer answer = answer_like(x);
  expect_launched(kernels.rms_norm(norm, x.data, answer.y));
  return answer;
}

NumericAnswer run_gated_norm(const NumericCase& vector) {
  const auto& [op, config, input, kernels] = vector;
  const NumericTensor x = read_numeric_tensor(input["x"]);
  const NumericTensor z = read_like(input["z"], x);
  const NumericTensor weight = read_vector(input["weight"], last_size(x));
  const std::int32_t groups = config["groups"].int32({1, std::max(last_size(x), 1)});
  if (last_size(x) % groups != 0) config["groups"].fail("expected a divisor of the last size");
  const RmsNorm norm{weight.data, read_eps(config)};
  NumericAnswer answer = answer_like(x);
  expect_launched(kernels.gated_norm(norm, groups, x.data, z.data, answer.y));
  return answer;
}

NumericAnswer run_norm_gated(const NumericCase& vector) {
  const auto& [op, config, input, kernels] = vector;
  const NumericTensor x = read_numeric_tensor(input["x"]);
  const NumericTensor z = read_like(input["z"], x);
  const NumericTensor weight = read_vector(input["weight"], last_size(x));
  const RmsNorm norm{weight.data, read_eps(config)};
  const OutputGate gate =
      config["gate"].one_of({"silu", "sigma"}) == 0 ? OutputGate::silu : OutputGate::sigma;
  NumericAnswer answer = answer_like(x);
  expect_launched(kernels.norm_gated(norm, gate, x.data, z.data, answer.y));
  return answer;
}

NumericAnswer run_mlp(const NumericCase& vector) {
  const JsonValue& input = vector.input;
  const NumericTensor x = read_numeric_tensor(input["x"], 2);
  const NumericTensor gate = read_numeric_tensor(input["gate"], 2);
  const NumericTensor up = read_like(input["up"], gate);
  const NumericTensor down = read_numeric_tensor(input["down"], 2);
  if (gate.size(1) != x.size(1) || down.size(1) != gate.size(0))
    input["gate"].fail("expected gate and up [inner, x] and down [y, inner]");
  const GatedMlp mlp{gate.data, up.data, down.data, gate.size(0)};
  const auto outputs = static_cast<std::size_t>(x.size(0)) * static_cast<std::size_t>(down.size(0));
  NumericAnswer answer{.y = std::vector<float>(outputs), .pools = {}};
  expect_launched(vector.kernels.gated_mlp(mlp, x.size(0), x.data, answer.y));
  return answer;
}

NumericAnswer run_attention(const NumericCase& vector) {
  const auto& [op, config, input, kernels] = vector;
  const NumericTensor q = read_numeric_tensor(input["q"], 3);
  const NumericTensor k = read_numeric_tensor(input["k"], 3);
  const NumericTensor v = read_like(input["v"], k);
  const std::int32_t block_size = config["block_size"].int32({1, kMaxVectorElements});
  const AttentionLayer layer{.num_heads = q.size(1),
                             .num_kv_heads = k.size(1),
                             .head_dim = q.size(2),
                             .block_size = block_size};
  if (k.size(0) != q.size(0) || k.size(2) != q.size(2) || k.size(1) < 1 ||
      q.size(1) % k.size(1) != 0)
    input["k"].fail("expected k [tokens, Hkv, D] beside q [tokens, H, D], H a multiple of Hkv");
  const std::vector<std::int32_t> slots{block_size, k.size(1), k.size(2)};
  NumericPool keys = read_numeric_pool(input["key_cache"], slots);
  NumericPool values = read_numeric_pool(input["value_cache"], slots);
  if (values.shape != keys.shape) input["value_cache"].fail("expected the shape of key_cache");
  const NumericAttentionRows rows(input, q.size(0), keys.shape.front(), block_size);
  NumericAnswer answer = answer_like(q);
  expect_launched(kernels.paged_attention(layer, rows.rows(), {keys.data, values.data},
                                          {.q = q.data, .k = k.data, .v = v.data, .o = answer.y}));
  answer.pools.emplace("key_cache", std::move(keys));
  answer.pools.emplace("value_cache", std::move(values));
  return answer;
}

}  // namespace hybridscope
