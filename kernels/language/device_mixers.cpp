#include "kernels/language/device_mixers.h"

#include <cuda_runtime_api.h>

#include <algorithm>

#include "kernels/cuda/device_memory.h"
#include "kernels/language/language_kernels.h"
#include "kernels/numeric/dense_cuda.h"
#include "kernels/numeric/recurrences_cuda.h"

// Leaves a function with the error of a launch.
#define HS_LAUNCH(...) \
  if (Status hs_launched = __VA_ARGS__; !hs_launched) return hs_launched

namespace hybridscope {
namespace {

// Tokens that recurrences run over: the batch's where all are in order, else the parts'.
std::int64_t num_part_tokens(const DeviceMixerInputs& in) {
  return in.group.in_order ? in.num_tokens() : std::ssize(in.group.tokens);
}

template <class T>
std::span<T> tokens_of(std::span<T> table, std::int64_t width, std::int32_t first,
                       std::int32_t count) {
  return table.subspan(static_cast<std::size_t>(first * width),
                       static_cast<std::size_t>(count * width));
}

// Outputs of tokens before the first row are zeros, as are, by the kernels, those behind the last.
Status zero_before(std::span<float> out, std::int64_t width, std::int32_t first_token,
                   std::int32_t num_tokens, CUstream_st* stream) {
  if (num_tokens == 0) return Ok{};
  const std::span<float> zeroed = tokens_of(out, width, first_token, num_tokens);
  return cuda_status(cudaMemsetAsync(zeroed.data(), 0, zeroed.size_bytes(), stream),
                     "cudaMemsetAsync of outputs");
}

// What the parts write: [part tokens, width].
struct PartOutputs {
  std::span<float> out;
  std::int64_t width = 0;
  CUstream_st* stream = nullptr;
};

// Calls `launch(part, rows)` for every range of rows of every part, in order.
template <class Parts, class Launch>
Status for_each_range(const Parts& parts, const PartOutputs& to, Launch&& launch) {
  for (const auto& part : parts) {
    HS_LAUNCH(zero_before(to.out, to.width, part.first_token, part.num_before, to.stream));
    std::int32_t first = 0;
    for (const std::int32_t end : part.ranges) {
      HS_LAUNCH(launch(part, rows_between(part.rows, first, end)));
      first = end;
    }
  }
  return Ok{};
}

// Prompt rows: in form chunked `launch_chunks(part)` for all of a part at once, which writes all of
// its outputs.
template <class Launch, class LaunchChunks>
Status for_each_prompt(const DeviceMixerInputs& in, const PartOutputs& to, Launch&& launch,
                       LaunchChunks&& launch_chunks) {
  for (const DevicePrefills& part : in.group.prefills)
    HS_LAUNCH(part.is_chunked() ? launch_chunks(part)
                                : for_each_range(std::span(&part, 1), to, launch));
  return Ok{};
}
ChunkLaunch planned(const ChunkPlan& plan, const DeviceMixerInputs& in) {
  return {.num_pieces = plan.num_pieces, .in_turn = plan.in_turn, .scratch = in.chunk_scratch};
}

std::span<const std::int32_t> table_rows(const DeviceMixerInputs& in) { return in.group.tokens; }

// Outputs of the parts' tokens as those of the batch; where they are in order they are both.
Status place(const DeviceMixerInputs& in, std::span<const float> values, std::int64_t width,
             std::span<float> to) {
  return place_rows_cuda(values, width, in.group.from, to, in.stream);
}
// Room for outputs of the parts' tokens that place() moves to `to`.
std::span<float> part_room(const DeviceMixerInputs& in, std::int64_t width, std::span<float> to) {
  return in.group.in_order ? to : in.scratch.take(num_part_tokens(in) * width);
}

// The convolution of the batch: `x` [part tokens, dim] to `y` [T, dim], zeros where no row is.
// `decode`, `prefill`: launch(layer, rows, pool, tokens), of tokens [n, inputs].
template <class Decode, class Prefill>
Status convolve(const ConvLayer& layer, const DeviceMixerInputs& in, std::span<float> y,
                Decode&& decode, Prefill&& prefill) {
  ConvLayer conv = layer;
  conv.state_len = static_cast<std::int32_t>(in.memory.conv.block_elements / layer.dim);
  const std::int64_t dim = layer.dim;
  const std::span<float> out = part_room(in, dim, y);
  const auto run = [&](const auto& launch) {
    return [&](const auto& part, const auto& rows) {
      if constexpr (requires { part.rolled_tokens; })
        conv.rolled_tokens = part.rolled_tokens;
      else
        conv.stores_boundaries_by_piece = part.stores_boundaries_by_piece;
      return launch(conv, rows, part, tokens_of(out, dim, part.first_token, part.num_tokens));
    };
  };
  HS_LAUNCH(for_each_range(in.group.decodes, {out, dim, in.stream}, run(decode)));
  HS_LAUNCH(for_each_range(in.group.prefills, {out, dim, in.stream}, run(prefill)));
  return in.group.in_order ? Status(Ok{}) : place(in, out, dim, y);
}

// Does a convolution read tokens in front of a part (known bug 58)?
bool reads_in_front(const DeviceMixerInputs& in) {
  return std::ranges::any_of(in.group.prefills,
                             [](const DevicePrefills& part) { return part.num_in_front > 0; });
}

// Runs a convolution that takes [part tokens, dim]. `all`: [T, dim] of the batch's tokens, if it
// reads_in_front().
Status convolve_plain(const ConvLayer& layer, const DeviceMixerInputs& in, std::span<const float> x,
                      std::span<const float> all, std::span<float> y) {
  const auto tokens = [&](const auto& part, std::span<float> out) {
    return ConvTokens{.x = tokens_of(x, layer.dim, part.first_token, part.num_tokens), .y = out};
  };
  return convolve(
      layer, in, y,
      [&](const ConvLayer& conv, const DecodeRows& rows, const DeviceDecodes& part,
          std::span<float> out) {
        return conv_update_cuda(conv, rows, in.memory.conv, tokens(part, out), in.stream);
      },
      [&](const ConvLayer& conv, const PrefillRows& rows, const DevicePrefills& part,
          std::span<float> out) {
        ConvTokens io = tokens(part, out);
        if (part.num_in_front > 0) io.in_front = tokens_of(all, layer.dim, 0, part.num_in_front);
        return conv_prefill_cuda(conv, rows, in.memory.conv, io, in.stream);
      });
}

}  // namespace

Status launch_linear(const Linear& linear, std::int64_t num_tokens, std::span<const float> x,
                     std::span<float> y, CUstream_st* stream) {
  if (num_tokens == 0) return Ok{};
  const LinearShape shape{.num_tokens = static_cast<std::int32_t>(num_tokens),
                          .inputs = static_cast<std::int32_t>(std::ssize(x) / num_tokens),
                          .outputs = linear.outputs};
  HS_LAUNCH(linear_cuda(shape, linear.weight, x, y, stream));
  return linear.bias.empty() ? Status(Ok{}) : add_cuda(y, linear.bias, stream);
}

Status launch_mixer(const Mamba2Mixer& mixer, const DeviceMixerInputs& in, std::span<float> y) {
  const Mamba2Layer& layer = mixer.recurrence;
  const std::int64_t tokens = in.num_tokens();
  const std::int64_t part_tokens = num_part_tokens(in);
  const std::int64_t inner = std::int64_t{layer.num_heads} * layer.head_dim;
  const std::int64_t group = std::int64_t{layer.num_groups} * layer.state_size;
  const std::int64_t channels = inner + 2 * group;
  const std::int64_t heads = layer.num_heads;
  const std::int64_t stride = mixer.in_proj.outputs;
  const auto take = [&](std::int64_t rows, std::int64_t width) {
    return in.scratch.take(rows * width);
  };
  const auto projected = take(tokens, stride);
  HS_LAUNCH(launch_linear(mixer.in_proj, tokens, in.x, projected, in.stream));
  const auto z = take(tokens, inner);
  HS_LAUNCH(split_columns_cuda({projected, stride, 0, tokens, {}, {{{inner, z}}}}, in.stream));
  const auto conv_in = take(part_tokens, channels);
  const auto dt = take(part_tokens, heads);
  HS_LAUNCH(split_columns_cuda(
      {projected, stride, inner, part_tokens, table_rows(in), {{{channels, conv_in}, {heads, dt}}}},
      in.stream));
  std::span<float> all_conv_in = conv_in;
  if (!in.group.in_order && reads_in_front(in)) {
    all_conv_in = take(tokens, channels);
    HS_LAUNCH(split_columns_cuda(
        {projected, stride, inner, tokens, {}, {{{channels, all_conv_in}}}}, in.stream));
  }
  const auto xBC = take(tokens, channels);
  HS_LAUNCH(convolve_plain(mixer.conv, in, conv_in, all_conv_in, xBC));
  const auto x = take(part_tokens, inner);
  const auto B = take(part_tokens, group);
  const auto C = take(part_tokens, group);
  HS_LAUNCH(split_columns_cuda(
      {xBC, channels, 0, part_tokens, table_rows(in), {{{inner, x}, {group, B}, {group, C}}}},
      in.stream));
  const auto o = take(tokens, inner);
  const auto out = part_room(in, inner, o);
  const auto io = [&](const auto& part) {
    const auto cut = [&](std::span<float> values, std::int64_t width) {
      return tokens_of(values, width, part.first_token, part.num_tokens);
    };
    return Mamba2Tokens{.x = cut(x, inner),
                        .dt = cut(dt, heads),
                        .B = cut(B, group),
                        .C = cut(C, group),
                        .y = cut(out, inner)};
  };
  HS_LAUNCH(for_each_range(
      in.group.decodes, {out, inner, in.stream}, [&](const auto& part, const DecodeRows& rows) {
        return mamba2_update_cuda(layer, rows, in.memory.temporal, io(part), in.stream);
      }));
  HS_LAUNCH(for_each_prompt(
      in, {out, inner, in.stream},
      [&](const auto& part, const PrefillRows& rows) {
        return mamba2_prefill_cuda(layer, rows, in.memory.temporal, io(part),
                                   part.prep_initial_states, in.stream);
      },
      [&](const DevicePrefills& part) {
        return mamba2_prefill_chunked_cuda(layer, part.rows, in.memory.temporal, io(part),
                                           part.prep_initial_states, part.mamba2_chunks,
                                           planned(part.mamba2_chunk_plan, in), in.stream);
      }));
  if (!in.group.in_order) HS_LAUNCH(place(in, out, inner, o));
  HS_LAUNCH(gated_norm_cuda(mixer.norm, layer.num_groups, o, z, o, in.stream));
  return launch_linear(mixer.out_proj, tokens, o, y, in.stream);
}

Status launch_mixer(const GatedDeltaNetMixer& mixer, const DeviceMixerInputs& in,
                    std::span<float> y) {
  const DeltaRuleLayer& layer = mixer.recurrence;
  const std::int64_t tokens = in.num_tokens();
  const std::int64_t part_tokens = num_part_tokens(in);
  const std::int64_t keys = std::int64_t{layer.num_key_heads} * layer.key_dim;
  const std::int64_t heads = layer.num_value_heads;
  const std::int64_t values = heads * layer.value_dim;
  const std::int64_t channels = 2 * keys + values;
  const auto take = [&](std::int64_t rows, std::int64_t width) {
    return in.scratch.take(rows * width);
  };
  const auto project = [&](const Linear& linear, std::span<float> to) {
    return launch_linear(linear, tokens, in.x, to, in.stream);
  };
  const auto projected = take(tokens, channels);
  const auto z = take(tokens, values);
  const auto all_a = take(tokens, heads);
  const auto all_b = take(tokens, heads);
  HS_LAUNCH(project(mixer.in_proj_qkv, projected));
  HS_LAUNCH(project(mixer.in_proj_z, z));
  HS_LAUNCH(project(mixer.in_proj_a, all_a));
  HS_LAUNCH(project(mixer.in_proj_b, all_b));
  // The rows of `table` for the parts' tokens, where they are not the batch's in its order.
  const auto gathered = [&](std::span<float> table, std::int64_t width,
                            std::span<const std::int32_t> rows) -> Result<std::span<float>> {
    if (rows.empty() && in.group.in_order) return table;
    const auto to = take(part_tokens, width);
    if (Status split =
            split_columns_cuda({table, width, 0, part_tokens, rows, {{{width, to}}}}, in.stream);
        !split)
      return split.error();
    return to;
  };
  const auto gate_rows = in.group.has_gate_tokens ? in.group.gate_tokens : table_rows(in);
  const auto conv_in = gathered(projected, channels, table_rows(in));
  const auto a = gathered(all_a, heads, gate_rows);
  const auto b = gathered(all_b, heads, gate_rows);
  for (const auto* made : {&conv_in, &a, &b})
    if (!*made) return made->error();
  const auto qkv = take(tokens, channels);
  HS_LAUNCH(convolve_plain(mixer.conv, in, conv_in.value(), projected, qkv));
  const auto q = take(part_tokens, keys);
  const auto k = take(part_tokens, keys);
  const auto v = take(part_tokens, values);
  HS_LAUNCH(split_columns_cuda(
      {qkv, channels, 0, part_tokens, table_rows(in), {{{keys, q}, {keys, k}, {values, v}}}},
      in.stream));
  const auto o = take(tokens, values);
  const auto out = part_room(in, values, o);
  const auto io = [&](const auto& part) {
    const auto cut = [&](std::span<float> table, std::int64_t width) {
      return tokens_of(table, width, part.first_token, part.num_tokens);
    };
    return DeltaRuleTokens{.q = cut(q, keys),
                           .k = cut(k, keys),
                           .v = cut(v, values),
                           .a = cut(a.value(), heads),
                           .b = cut(b.value(), heads),
                           .o = cut(out, values)};
  };
  HS_LAUNCH(for_each_range(
      in.group.decodes, {out, values, in.stream}, [&](const auto& part, const DecodeRows& rows) {
        return delta_rule_update_cuda(layer, rows, in.memory.temporal, io(part), in.stream);
      }));
  HS_LAUNCH(for_each_prompt(
      in, {out, values, in.stream},
      [&](const auto& part, const PrefillRows& rows) {
        return delta_rule_prefill_cuda(layer, rows, in.memory.temporal, io(part), in.stream);
      },
      [&](const DevicePrefills& part) {
        return delta_rule_prefill_chunked_cuda(layer, part.rows, in.memory.temporal, io(part),
                                               part.row_chunks, planned(part.row_chunk_plan, in),
                                               in.stream);
      }));
  if (!in.group.in_order) HS_LAUNCH(place(in, out, values, o));
  HS_LAUNCH(norm_gated_cuda(mixer.norm, OutputGate::silu, o, z, o, in.stream));
  return launch_linear(mixer.out_proj, tokens, o, y, in.stream);
}

Status launch_mixer(const ShortConvMixer& mixer, const DeviceMixerInputs& in, std::span<float> y) {
  const std::int64_t tokens = in.num_tokens();
  const std::int64_t part_tokens = num_part_tokens(in);
  const std::int64_t dim = mixer.conv.dim;
  const auto projected = in.scratch.take(tokens * 3 * dim);
  HS_LAUNCH(launch_linear(mixer.in_proj, tokens, in.x, projected, in.stream));
  std::span<float> BCx = projected;
  if (!in.group.in_order) {
    BCx = in.scratch.take(part_tokens * 3 * dim);
    HS_LAUNCH(split_columns_cuda(
        {projected, 3 * dim, 0, part_tokens, table_rows(in), {{{3 * dim, BCx}}}}, in.stream));
  }
  const auto o = in.scratch.take(tokens * dim);
  const auto io = [&](const auto& part, std::span<float> out) {
    return ShortConvTokens{.BCx = tokens_of(BCx, 3 * dim, part.first_token, part.num_tokens),
                           .y = out};
  };
  HS_LAUNCH(convolve(
      mixer.conv, in, o,
      [&](const ConvLayer& conv, const DecodeRows& rows, const DeviceDecodes& part,
          std::span<float> out) {
        return short_conv_update_cuda(conv, rows, in.memory.conv, io(part, out), in.stream);
      },
      [&](const ConvLayer& conv, const PrefillRows& rows, const DevicePrefills& part,
          std::span<float> out) {
        ShortConvTokens tokens_io = io(part, out);
        tokens_io.in_front =
            tokens_of(std::span<const float>(projected), 3 * dim, 0, part.num_in_front);
        return short_conv_prefill_cuda(conv, rows, in.memory.conv, tokens_io, in.stream);
      }));
  return launch_linear(mixer.out_proj, tokens, o, y, in.stream);
}

Status launch_mixer(const AttentionMixer& mixer, const DeviceMixerInputs& in, std::span<float> y) {
  const std::int64_t tokens = in.num_tokens();
  const std::int64_t D = mixer.layer.head_dim;
  const std::int64_t heads = mixer.layer.num_heads;
  const std::int64_t kv_heads = mixer.layer.num_kv_heads;
  const std::int64_t stride = mixer.has_output_gate ? 2 * D : D;
  const auto projected = in.scratch.take(tokens * heads * stride);
  const auto k = in.scratch.take(tokens * kv_heads * D);
  const auto v = in.scratch.take(tokens * kv_heads * D);
  HS_LAUNCH(launch_linear(mixer.q_proj, tokens, in.x, projected, in.stream));
  HS_LAUNCH(launch_linear(mixer.k_proj, tokens, in.x, k, in.stream));
  HS_LAUNCH(launch_linear(mixer.v_proj, tokens, in.x, v, in.stream));
  std::span<float> q = projected;
  if (mixer.has_output_gate) {
    q = in.scratch.take(tokens * heads * D);
    HS_LAUNCH(
        split_columns_cuda({projected, stride, 0, tokens * heads, {}, {{{D, q}}}}, in.stream));
  }
  const auto turn = [&](std::span<float> table, const RmsNorm& norm, std::int32_t num_heads) {
    if (!norm.weight.empty()) HS_LAUNCH(rms_norm_cuda(norm, table, table, in.stream));
    return rope_cuda({.positions = in.positions,
                      .num_heads = num_heads,
                      .head_dim = mixer.layer.head_dim,
                      .rotary_dim = in.rope.rotary_dim,
                      .cosines = in.rope.cosines,
                      .sines = in.rope.sines},
                     table, in.stream);
  };
  HS_LAUNCH(turn(q, mixer.q_norm, mixer.layer.num_heads));
  HS_LAUNCH(turn(k, mixer.k_norm, mixer.layer.num_kv_heads));
  AttentionLayer layer = mixer.layer;
  layer.block_size = in.group.block_size;
  const AttentionTokens io{.q = q, .k = k, .v = v, .o = in.scratch.take(tokens * heads * D)};
  std::int32_t first = 0;
  for (const std::int32_t end : in.group.attention_ranges) {
    if (first < end)
      HS_LAUNCH(write_keys_cuda(layer, rows_between(in.group.attention, first, end), in.memory.kv,
                                io, in.stream));
    first = end;
  }
  HS_LAUNCH(attend_cuda(layer, in.group.attention, in.memory.kv, io, in.stream));
  if (mixer.has_output_gate) HS_LAUNCH(sigma_gate_cuda({projected, stride, D, D}, io.o, in.stream));
  return launch_linear(mixer.o_proj, tokens, io.o, y, in.stream);
}

Status launch_feed_forward(const GatedFeedForward& layer, const DeviceMixerInputs& in,
                           std::span<float> y) {
  const std::int64_t tokens = in.num_tokens();
  const auto gate = in.scratch.take(tokens * layer.gate.outputs);
  if (layer.gate.bias.empty() && layer.up.bias.empty() && layer.down.bias.empty())
    return gated_mlp_cuda({.gate = layer.gate.weight,
                           .up = layer.up.weight,
                           .down = layer.down.weight,
                           .inner = layer.gate.outputs},
                          static_cast<std::int32_t>(tokens), in.x, gate, y, in.stream);
  const auto up = in.scratch.take(tokens * layer.up.outputs);
  HS_LAUNCH(launch_linear(layer.gate, tokens, in.x, gate, in.stream));
  HS_LAUNCH(launch_linear(layer.up, tokens, in.x, up, in.stream));
  HS_LAUNCH(silu_product_cuda(gate, up, in.stream));
  return launch_linear(layer.down, tokens, gate, y, in.stream);
}

}  // namespace hybridscope

#undef HS_LAUNCH
