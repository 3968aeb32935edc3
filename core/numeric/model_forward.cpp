#include "core/numeric/model_forward.h"

#include <algorithm>
#include <numeric>

#include "core/base/result.h"
#include "core/numeric/arithmetic.h"

namespace hybridscope {
namespace {

std::vector<float> feed_forward(const GatedFeedForward& layer, std::span<const float> x,
                                std::size_t num_tokens) {
  std::vector<float> gate = apply_linear(layer.gate, x, num_tokens);
  const std::vector<float> up = apply_linear(layer.up, x, num_tokens);
  for (std::size_t i = 0; i < gate.size(); ++i) gate[i] = silu_f32(gate[i]) * up[i];
  return apply_linear(layer.down, gate, num_tokens);
}

void add(std::vector<float>& to, std::span<const float> change) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] += change[i];
}

}  // namespace

ModelForward::ModelForward(const HybridModel& model)
    : model_(model), rope_(model.rotary_dim, model.rope_theta) {}

void ModelForward::normalise(const RmsNorm& norm) {
  const auto width = static_cast<std::size_t>(model_.hidden_size);
  normed_.resize(hidden_.size());
  for (std::size_t at = 0; at < hidden_.size(); at += width)
    rms_norm(norm, std::span<const float>(hidden_).subspan(at, width),
             std::span<float>(normed_).subspan(at, width));
}

void ModelForward::run(const ForwardBatch& batch) {
  const auto width = static_cast<std::size_t>(model_.hidden_size);
  const std::size_t num_tokens = batch.token_ids.size();
  HS_EXPECT(batch.positions.size() == num_tokens);
  hidden_.clear();
  for (const std::int32_t id : batch.token_ids) {
    const auto vector = model_.embedding.subspan(static_cast<std::size_t>(id) * width, width);
    hidden_.insert(hidden_.end(), vector.begin(), vector.end());
  }
  for (std::size_t i = 0; i < model_.layers.size(); ++i) {
    const HybridLayer& layer = model_.layers[i];
    normalise(layer.mixer_norm);
    const MixerInputs inputs{
        .x = normed_,
        .positions = batch.positions,
        .group = batch.groups[static_cast<std::size_t>(batch.group_of_layer[i])],
        .memory = batch.memory[i]};
    if (const auto* attention = std::get_if<AttentionMixer>(&layer.mixer))
      add(hidden_, run_mixer(*attention, inputs, rope_));
    else if (const auto* mamba2 = std::get_if<Mamba2Mixer>(&layer.mixer))
      add(hidden_, run_mixer(*mamba2, inputs));
    else if (const auto* delta = std::get_if<GatedDeltaNetMixer>(&layer.mixer))
      add(hidden_, run_mixer(*delta, inputs));
    else
      add(hidden_, run_mixer(std::get<ShortConvMixer>(layer.mixer), inputs));
    normalise(layer.feed_forward_norm);
    add(hidden_, feed_forward(layer.feed_forward, normed_, num_tokens));
  }
  normalise(model_.final_norm);
}

void ModelForward::logits(std::int32_t token, std::span<float> out) const {
  const auto width = static_cast<std::size_t>(model_.hidden_size);
  const std::vector<float> values = apply_linear(
      model_.lm_head,
      std::span<const float>(normed_).subspan(static_cast<std::size_t>(token) * width, width), 1);
  std::ranges::copy(values, out.begin());
}

namespace {

std::size_t as_size(std::int32_t n) { return static_cast<std::size_t>(n); }

// Columns [first, first + width) of chosen rows of a table [rows, stride].
struct Columns {
  std::size_t stride = 0;
  std::size_t first = 0;
  std::size_t width = 0;
};

std::vector<float> gather(std::span<const float> table, const Columns& columns,
                          std::span<const std::int32_t> rows) {
  std::vector<float> out(rows.size() * columns.width);
  for (std::size_t i = 0; i < rows.size(); ++i)
    std::ranges::copy(
        table.subspan(as_size(rows[i]) * columns.stride + columns.first, columns.width),
        out.begin() + static_cast<std::ptrdiff_t>(i * columns.width));
  return out;
}

void scatter(std::span<const float> values, std::size_t width, std::span<const std::int32_t> rows,
             std::vector<float>& table) {
  for (std::size_t i = 0; i < rows.size(); ++i)
    std::ranges::copy(values.subspan(i * width, width),
                      table.begin() + static_cast<std::ptrdiff_t>(as_size(rows[i]) * width));
}

// All columns of a table as they are.
std::vector<float> columns_of(std::span<const float> table, const Columns& columns) {
  std::vector<float> out;
  out.reserve(table.size() / columns.stride * columns.width);
  for (std::size_t at = columns.first; at < table.size(); at += columns.stride)
    out.insert(out.end(), table.begin() + static_cast<std::ptrdiff_t>(at),
               table.begin() + static_cast<std::ptrdiff_t>(at + columns.width));
  return out;
}

// Tokens 0 to `end` of the batch.
std::vector<std::int32_t> up_to(std::int32_t end) {
  std::vector<std::int32_t> tokens(as_size(end));
  std::iota(tokens.begin(), tokens.end(), 0);
  return tokens;
}

// Who has drafts keeps more positions in a block than W - 1.
ConvLayer conv_of(const ConvLayer& layer, const StatePool& pool) {
  ConvLayer sized = layer;
  sized.state_len = static_cast<std::int32_t>(pool.block_elements / layer.dim);
  return sized;
}

// The convolution of a batch whose channels are `columns` of `table`: [T, dim], zeros where no row
// is.
std::vector<float> convolve(const ConvLayer& layer, std::span<const float> table,
                            const Columns& columns, const MixerInputs& in) {
  ConvLayer conv = conv_of(layer, in.memory.conv);
  const std::size_t dim = columns.width;
  std::vector<float> out(in.num_tokens() * dim);
  std::vector<float> y;
  for (const DecodePart& part : in.group.decodes) {
    const std::vector<float> x = gather(table, columns, part.tokens);
    y.assign(x.size(), 0.0F);
    conv.rolled_tokens = part.rolled_tokens;
    conv_update(conv, part.rows, in.memory.conv, {x, y});
    scatter(y, dim, part.tokens, out);
  }
  for (const PrefillPart& part : in.group.prefills) {
    const std::vector<float> x = gather(table, columns, part.tokens);
    y.assign(x.size(), 0.0F);
    conv.stores_boundaries_by_piece = part.stores_boundaries_by_piece;
    const std::vector<float> in_front = part.stores_boundaries_by_piece && !part.tokens.empty()
                                            ? gather(table, columns, up_to(part.tokens.front()))
                                            : std::vector<float>();
    conv_prefill(conv, part.rows, in.memory.conv, {.x = x, .y = y, .in_front = in_front});
    scatter(y, dim, part.tokens, out);
  }
  return out;
}

}  // namespace

std::vector<float> apply_linear(const Linear& linear, std::span<const float> x,
                                std::size_t num_tokens) {
  const std::size_t outputs = as_size(linear.outputs);
  std::vector<float> y(num_tokens * outputs);
  linear_rows(linear.weight, x, num_tokens, y);
  if (!linear.bias.empty())
    for (std::size_t i = 0; i < y.size(); ++i) y[i] += linear.bias[i % outputs];
  return y;
}

std::vector<float> run_mixer(const Mamba2Mixer& mixer, const MixerInputs& in) {
  const Mamba2Layer& layer = mixer.recurrence;
  const std::size_t inner = as_size(layer.num_heads) * as_size(layer.head_dim);
  const std::size_t group = as_size(layer.num_groups) * as_size(layer.state_size);
  const std::size_t channels = inner + 2 * group;
  const std::size_t heads = as_size(layer.num_heads);
  const std::size_t stride = as_size(mixer.in_proj.outputs);
  const std::vector<float> projected = apply_linear(mixer.in_proj, in.x, in.num_tokens());
  const std::vector<float> xBC = convolve(mixer.conv, projected, {stride, inner, channels}, in);
  std::vector<float> y(in.num_tokens() * inner);
  const auto run = [&](std::span<const std::int32_t> tokens, auto&& recurrence) {
    const std::vector<float> x = gather(xBC, {channels, 0, inner}, tokens);
    const std::vector<float> B = gather(xBC, {channels, inner, group}, tokens);
    const std::vector<float> C = gather(xBC, {channels, inner + group, group}, tokens);
    const std::vector<float> dt = gather(projected, {stride, inner + channels, heads}, tokens);
    std::vector<float> out(x.size());
    recurrence(Mamba2Tokens{.x = x, .dt = dt, .B = B, .C = C, .y = out});
    scatter(out, inner, tokens, y);
  };
  for (const DecodePart& part : in.group.decodes)
    run(part.tokens, [&](const Mamba2Tokens& tokens) {
      mamba2_update(layer, part.rows, in.memory.temporal, tokens);
    });
  for (const PrefillPart& part : in.group.prefills)
    run(part.tokens, [&](const Mamba2Tokens& tokens) {
      if (part.is_chunked())
        mamba2_prefill_chunked(layer, part.rows, in.memory.temporal, tokens,
                               part.prep_initial_states, part.mamba2_chunks);
      else
        mamba2_prefill(layer, part.rows, in.memory.temporal, tokens, part.prep_initial_states);
    });
  for (std::size_t t = 0; t < in.num_tokens(); ++t) {
    const auto row = std::span<float>(y).subspan(t * inner, inner);
    gated_norm(mixer.norm, layer.num_groups, row,
               std::span<const float>(projected).subspan(t * stride, inner), row);
  }
  return apply_linear(mixer.out_proj, y, in.num_tokens());
}

std::vector<float> run_mixer(const GatedDeltaNetMixer& mixer, const MixerInputs& in) {
  const DeltaRuleLayer& layer = mixer.recurrence;
  const std::size_t keys = as_size(layer.num_key_heads) * as_size(layer.key_dim);
  const std::size_t values = as_size(layer.num_value_heads) * as_size(layer.value_dim);
  const std::size_t heads = as_size(layer.num_value_heads);
  const std::size_t channels = 2 * keys + values;
  const std::size_t num_tokens = in.num_tokens();
  const std::vector<float> qkv = convolve(
      mixer.conv, apply_linear(mixer.in_proj_qkv, in.x, num_tokens), {channels, 0, channels}, in);
  const std::vector<float> z = apply_linear(mixer.in_proj_z, in.x, num_tokens);
  const std::vector<float> all_a = apply_linear(mixer.in_proj_a, in.x, num_tokens);
  const std::vector<float> all_b = apply_linear(mixer.in_proj_b, in.x, num_tokens);
  std::vector<float> o(num_tokens * values);
  const auto run = [&](std::span<const std::int32_t> tokens,
                       std::span<const std::int32_t> gate_tokens, auto&& recurrence) {
    const std::vector<float> q = gather(qkv, {channels, 0, keys}, tokens);
    const std::vector<float> k = gather(qkv, {channels, keys, keys}, tokens);
    const std::vector<float> v = gather(qkv, {channels, 2 * keys, values}, tokens);
    const std::vector<float> a = gather(all_a, {heads, 0, heads}, gate_tokens);
    const std::vector<float> b = gather(all_b, {heads, 0, heads}, gate_tokens);
    std::vector<float> out(v.size());
    recurrence(DeltaRuleTokens{.q = q, .k = k, .v = v, .a = a, .b = b, .o = out});
    scatter(out, values, tokens, o);
  };
  for (const DecodePart& part : in.group.decodes)
    run(part.tokens, part.gate_tokens.empty() ? part.tokens : part.gate_tokens,
        [&](const DeltaRuleTokens& tokens) {
          delta_rule_update(layer, part.rows, in.memory.temporal, tokens);
        });
  for (const PrefillPart& part : in.group.prefills)
    run(part.tokens, part.tokens, [&](const DeltaRuleTokens& tokens) {
      if (part.is_chunked())
        delta_rule_prefill_chunked(layer, part.rows, in.memory.temporal, tokens, part.row_chunks);
      else
        delta_rule_prefill(layer, part.rows, in.memory.temporal, tokens);
    });
  const std::size_t Dv = as_size(layer.value_dim);
  for (std::size_t at = 0; at < o.size(); at += Dv) {
    const auto head = std::span<float>(o).subspan(at, Dv);
    norm_gated(mixer.norm, OutputGate::silu, head, std::span<const float>(z).subspan(at, Dv), head);
  }
  return apply_linear(mixer.out_proj, o, num_tokens);
}

std::vector<float> run_mixer(const ShortConvMixer& mixer, const MixerInputs& in) {
  const std::size_t dim = as_size(mixer.conv.dim);
  const std::vector<float> projected = apply_linear(mixer.in_proj, in.x, in.num_tokens());
  std::vector<float> s = columns_of(projected, {3 * dim, 2 * dim, dim});
  const std::vector<float> B = columns_of(projected, {3 * dim, 0, dim});
  const std::vector<float> C = columns_of(projected, {3 * dim, dim, dim});
  for (std::size_t i = 0; i < s.size(); ++i) s[i] = B[i] * s[i];
  std::vector<float> y = convolve(mixer.conv, s, {dim, 0, dim}, in);
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = C[i] * y[i];
  return apply_linear(mixer.out_proj, y, in.num_tokens());
}

std::vector<float> run_mixer(const AttentionMixer& mixer, const MixerInputs& in, RopeTable& rope) {
  const std::size_t D = as_size(mixer.layer.head_dim);
  const std::size_t num_tokens = in.num_tokens();
  const std::size_t heads = as_size(mixer.layer.num_heads);
  const std::vector<float> projected = apply_linear(mixer.q_proj, in.x, num_tokens);
  const std::size_t head_stride = mixer.has_output_gate ? 2 * D : D;
  std::vector<float> q = columns_of(projected, {head_stride, 0, D});
  std::vector<float> k = apply_linear(mixer.k_proj, in.x, num_tokens);
  const std::vector<float> v = apply_linear(mixer.v_proj, in.x, num_tokens);
  const auto turn = [&](std::vector<float>& table, const RmsNorm& norm) {
    const std::size_t per_token = table.size() / std::max<std::size_t>(num_tokens, 1);
    for (std::size_t at = 0; at < table.size(); at += D) {
      const auto head = std::span<float>(table).subspan(at, D);
      if (!norm.weight.empty()) rms_norm(norm, head, head);
      rope.turn(in.positions[at / per_token], head);
    }
  };
  turn(q, mixer.q_norm);
  turn(k, mixer.k_norm);
  std::vector<float> o(num_tokens * heads * D);
  AttentionLayer layer = mixer.layer;
  layer.block_size = in.group.block_size;
  paged_attention(layer, in.group.attention, in.memory.kv, {.q = q, .k = k, .v = v, .o = o});
  if (mixer.has_output_gate) {
    const std::vector<float> gate = columns_of(projected, {head_stride, D, D});
    for (std::size_t i = 0; i < o.size(); ++i) o[i] *= sigma_f32(gate[i]);
  }
  return apply_linear(mixer.o_proj, o, num_tokens);
}

}  // namespace hybridscope
