#include "sessions/conformance/numeric_ops.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/numeric/arithmetic.h"
#include "core/numeric/dense_layers.h"
#include "sessions/conformance/numeric_rows.h"

namespace hybridscope {
namespace {

// Of a table of rotary positions.
constexpr std::int64_t kMaxAngles = std::int64_t{1} << 22;

float read_eps(const VectorValue& config) { return static_cast<float>(config["eps"].number()); }

// A vector [n].
NumericTensor read_vector(const VectorValue& value, std::int32_t n) {
  NumericTensor tensor = read_numeric_tensor(value, 1);
  if (tensor.size(0) != n)
    value["shape"].fail(fmt::format("expected {} elements, found {}", n, tensor.size(0)));
  return tensor;
}

// Elements of the last dimension.
std::int32_t last_size(const NumericTensor& tensor) { return tensor.shape.back(); }

// `norm(x row, z row, y row)` for every row of the last dimension.
template <class Norm>
NumericAnswer for_each_row(const NumericTensor& x, const NumericTensor& z, Norm&& norm) {
  NumericAnswer answer{.y = std::vector<float>(x.data.size()), .pools = {}};
  const auto n = static_cast<std::size_t>(last_size(x));
  const std::span<const float> from(x.data);
  const std::span<const float> gate(z.data);
  for (std::size_t first = 0; first < x.data.size(); first += n)
    norm(from.subspan(first, n), gate.empty() ? gate : gate.subspan(first, n),
         std::span<float>(answer.y).subspan(first, n));
  return answer;
}

NumericTensor read_like(const VectorValue& value, const NumericTensor& other) {
  NumericTensor tensor = read_numeric_tensor(value);
  if (tensor.shape != other.shape) value["shape"].fail("expected the shape of x");
  return tensor;
}

}  // namespace

NumericAnswer run_arith(const NumericCase& vector) {
  const auto& [op, config, input] = vector;
  NumericAnswer answer;
  if (op == "dot") {
    const NumericTensor a = read_numeric_tensor(input["a"], 2);
    const NumericTensor b = read_like(input["b"], a);
    const auto n = static_cast<std::int64_t>(last_size(a));
    for (std::int64_t row = 0; row < a.size(0); ++row)
      answer.y.push_back(OrderedSum::dot(a.data.data() + row * n, b.data.data() + row * n, n));
    return answer;
  }
  float (*function)(float) = op == "exp"        ? &exp_f32
                             : op == "softplus" ? &softplus_f32
                             : op == "sigma"    ? &sigma_f32
                                                : &silu_f32;
  for (const float x : read_numeric_tensor(input["x"]).data) answer.y.push_back(function(x));
  return answer;
}

NumericAnswer run_rope(const NumericCase& vector) {
  const auto& [op, config, input] = vector;
  const NumericTensor x = read_numeric_tensor(input["x"], 3);
  const std::int32_t rotary_dim = config["rotary_dim"].int32_in(0, x.size(2));
  RopeTable table(rotary_dim, config["theta"].number());
  NumericAnswer answer{.y = x.data, .pools = {}};
  const auto dim = static_cast<std::size_t>(x.size(2));
  const auto heads = static_cast<std::size_t>(x.size(1));
  const std::vector<std::int32_t> positions = input["positions"].int32s(x.size(0));
  for (std::size_t t = 0; t < positions.size(); ++t) {
    if (positions[t] < 0 || positions[t] > kMaxAngles / std::max(rotary_dim, 1))
      input["positions"].fail(
          fmt::format("expected positions from 0 to {}", kMaxAngles / std::max(rotary_dim, 1)));
    for (std::size_t head = 0; head < heads; ++head)
      table.turn(positions[t], std::span<float>(answer.y).subspan((t * heads + head) * dim, dim));
  }
  return answer;
}

NumericAnswer run_rms_norm(const NumericCase& vector) {
  const auto& [op, config, input] = vector;
  const NumericTensor x = read_numeric_tensor(input["x"]);
  const NumericTensor weight = read_vector(input["weight"], last_size(x));
  const RmsNorm norm{weight.data, read_eps(config),
                     config["plus_one"].boolean() ? NormWeight::plus_one : NormWeight::plain};
  return for_each_row(x, {}, [&](auto from, auto, auto to) { rms_norm(norm, from, to); });
}

NumericAnswer run_gated_norm(const NumericCase& vector) {
  const auto& [op, config, input] = vector;
  const NumericTensor x = read_numeric_tensor(input["x"]);
  const NumericTensor z = read_like(input["z"], x);
  const NumericTensor weight = read_vector(input["weight"], last_size(x));
  const std::int32_t groups = config["groups"].int32_in(1, std::max(last_size(x), 1));
  if (last_size(x) % groups != 0) config["groups"].fail("expected a divisor of the last size");
  const RmsNorm norm{weight.data, read_eps(config)};
  return for_each_row(
      x, z, [&](auto from, auto gate, auto to) { gated_norm(norm, groups, from, gate, to); });
}

NumericAnswer run_norm_gated(const NumericCase& vector) {
  const auto& [op, config, input] = vector;
  const NumericTensor x = read_numeric_tensor(input["x"]);
  const NumericTensor z = read_like(input["z"], x);
  const NumericTensor weight = read_vector(input["weight"], last_size(x));
  const RmsNorm norm{weight.data, read_eps(config)};
  const OutputGate gate =
      config["gate"].one_of({"silu", "sigma"}) == 0 ? OutputGate::silu : OutputGate::sigma;
  return for_each_row(x, z,
                      [&](auto from, auto by, auto to) { norm_gated(norm, gate, from, by, to); });
}

NumericAnswer run_mlp(const NumericCase& vector) {
  const VectorValue& input = vector.input;
  const NumericTensor x = read_numeric_tensor(input["x"], 2);
  const NumericTensor gate = read_numeric_tensor(input["gate"], 2);
  const NumericTensor up = read_like(input["up"], gate);
  const NumericTensor down = read_numeric_tensor(input["down"], 2);
  if (gate.size(1) != x.size(1) || down.size(1) != gate.size(0))
    input["gate"].fail("expected gate and up [inner, x] and down [y, inner]");
  const GatedMlp mlp{gate.data, up.data, down.data, gate.size(0)};
  const auto inputs = static_cast<std::size_t>(x.size(1));
  const auto outputs = static_cast<std::size_t>(down.size(0));
  const auto tokens = static_cast<std::size_t>(x.size(0));
  NumericAnswer answer{.y = std::vector<float>(tokens * outputs), .pools = {}};
  for (std::size_t t = 0; t < tokens; ++t)
    gated_mlp(mlp, std::span<const float>(x.data).subspan(t * inputs, inputs),
              std::span<float>(answer.y).subspan(t * outputs, outputs));
  return answer;
}

NumericAnswer run_attention(const NumericCase& vector) {
  const auto& [op, config, input] = vector;
  const NumericTensor q = read_numeric_tensor(input["q"], 3);
  const NumericTensor k = read_numeric_tensor(input["k"], 3);
  const NumericTensor v = read_like(input["v"], k);
  const std::int32_t block_size = config["block_size"].int32_in(1, kMaxVectorElements);
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
  NumericAnswer answer{.y = std::vector<float>(q.data.size()), .pools = {}};
  paged_attention(layer, rows.rows(), {keys.data, values.data},
                  {.q = q.data, .k = k.data, .v = v.data, .o = answer.y});
  answer.pools.emplace("key_cache", std::move(keys));
  answer.pools.emplace("value_cache", std::move(values));
  return answer;
}

}  // namespace hybridscope
