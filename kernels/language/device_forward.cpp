#include "kernels/language/device_forward.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "core/base/math.h"
#include "kernels/language/device_mixers.h"
#include "kernels/language/language_kernels.h"
#include "kernels/numeric/dense_cuda.h"
#include "kernels/numeric/recurrences_cuda.h"

namespace hybridscope {
namespace {

constexpr std::int64_t kFloat = sizeof(float);

// [first, first + count) of floats in a device's memory.
std::span<float> floats_in(const DeviceMemory& memory, std::int64_t first, std::int64_t count) {
  return {reinterpret_cast<float*>(memory.data()) + first, static_cast<std::size_t>(count)};
}

Status upload_floats(std::span<const float> values, std::span<float> to, int device) {
  if (values.empty()) return Ok{};
  HS_CUDA(device, cudaMemcpy, to.data(), values.data(), values.size_bytes(),
          cudaMemcpyHostToDevice);
  return Ok{};
}

}  // namespace

Result<DeviceForward> DeviceForward::create(const HybridModel& host, int device) {
  auto model = DeviceModel::create(host, device);
  if (!model) return model.error();
  return DeviceForward(std::move(model).value(), host, device);
}

DeviceForward::DeviceForward(DeviceModel model, const HybridModel& host, int device)
    : model_(std::move(model)), device_(device), rope_(host.rotary_dim, host.rope_theta) {
  for (const HybridLayer& layer : host.layers) {
    token_floats_ = std::max(token_floats_, scratch_floats(layer, host.hidden_size));
    piece_floats_ = std::max(piece_floats_, piece_floats(layer));
  }
}

Status DeviceForward::reserve(std::int32_t num_tokens, std::int32_t num_positions,
                              std::int32_t num_pieces) {
  if (num_tokens > num_tokens_) {
    const std::int64_t tokens = num_tokens;
    const std::int64_t scratch =
        tokens * token_floats_ + DeviceScratch::kMostArrays * DeviceScratch::kAlignment;
    if (Status status = hidden_.reserve(device_, 2 * tokens * model_.model().hidden_size * kFloat);
        !status)
      return status;
    if (Status status = scratch_.reserve(device_, scratch * kFloat); !status) return status;
    num_tokens_ = num_tokens;
    ++num_layouts_;
  }
  if (num_pieces > num_pieces_) {
    if (Status status = chunks_.reserve(device_, num_pieces * piece_floats_ * kFloat); !status)
      return status;
    num_pieces_ = num_pieces;
    ++num_layouts_;
  }
  if (num_positions <= num_positions_ || rope_.rotary_dim() == 0) return Ok{};
  const std::int32_t positions = std::max(num_positions, 2 * num_positions_);
  const std::int64_t size = std::int64_t{positions} * (rope_.rotary_dim() / 2);
  if (Status status = tables_.reserve(device_, 2 * size * kFloat); !status) return status;
  if (Status status = upload_floats(rope_.cosines(positions), floats_in(tables_, 0, size), device_);
      !status)
    return status;
  if (Status status =
          upload_floats(rope_.sines(positions), floats_in(tables_, size, size), device_);
      !status)
    return status;
  HS_CUDA(device_, cudaDeviceSynchronize);  // uploads were on no stream of ours
  num_positions_ = positions;
  ++num_layouts_;
  return Ok{};
}

std::int64_t DeviceForward::num_allocations() const {
  return hidden_.num_allocations() + scratch_.num_allocations() + chunks_.num_allocations() +
         tables_.num_allocations();
}

std::span<float> DeviceForward::hidden(std::int64_t num_tokens) const {
  return floats_in(hidden_, 0, num_tokens * model_.model().hidden_size);
}

std::span<float> DeviceForward::normed(std::int64_t num_tokens) const {
  const std::int64_t width = model_.model().hidden_size;
  return floats_in(hidden_, num_tokens_ * width, num_tokens * width);
}

Status DeviceForward::launch(const DeviceForwardBatch& batch, std::span<const LayerMemory> layers,
                             std::span<const std::int32_t> group_of_layer, CUstream_st* stream) {
  const HybridModel& model = model_.model();
  const std::int64_t tokens = batch.num_tokens();
  if (tokens == 0) return Ok{};
  const std::int64_t table = std::int64_t{num_positions_} * (rope_.rotary_dim() / 2);
  const RopeTables rope{.rotary_dim = rope_.rotary_dim(),
                        .cosines = floats_in(tables_, 0, table),
                        .sines = floats_in(tables_, table, table)};
  DeviceScratch scratch(reinterpret_cast<float*>(scratch_.data()), scratch_.size() / kFloat);
  if (Status status = embed_tokens_cuda(batch.token_ids, model.embedding, hidden(tokens), stream);
      !status)
    return status;
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    const HybridLayer& layer = model.layers[i];
    const DeviceMixerInputs inputs{
        .x = normed(tokens),
        .positions = batch.positions,
        .group = batch.groups[static_cast<std::size_t>(group_of_layer[i])],
        .memory = layers[i],
        .rope = rope,
        .scratch = scratch,
        .chunk_scratch = floats_in(chunks_, 0, num_pieces_ * piece_floats_),
        .stream = stream};
    // hidden += part(norm(hidden))
    const auto add_part = [&](const RmsNorm& norm, const auto& part) {
      scratch.clear();
      if (Status status = rms_norm_cuda(norm, hidden(tokens), normed(tokens), stream); !status)
        return status;
      const std::span<float> change = scratch.take(tokens * model.hidden_size);
      if (Status status = part(change); !status) return status;
      return add_cuda(hidden(tokens), change, stream);
    };
    if (Status status =
            add_part(layer.mixer_norm,
                     [&](std::span<float> change) {
                       return std::visit(
                           [&](const auto& mixer) { return launch_mixer(mixer, inputs, change); },
                           layer.mixer);
                     });
        !status)
      return status;
    if (Status status = add_part(layer.feed_forward_norm,
                                 [&](std::span<float> change) {
                                   return launch_feed_forward(layer.feed_forward, inputs, change);
                                 });
        !status)
      return status;
  }
  return rms_norm_cuda(model.final_norm, hidden(tokens), normed(tokens), stream);
}

Status DeviceForward::launch_logits(std::span<const std::int32_t> tokens, std::span<float> logits,
                                    std::span<std::int32_t> greedy, CUstream_st* stream) {
  const HybridModel& model = model_.model();
  const auto width = static_cast<std::int64_t>(model.hidden_size);
  const auto vocab = static_cast<std::size_t>(model.vocab_size);
  for (std::size_t first = 0; first < tokens.size();) {
    const std::size_t count =
        std::min(tokens.size() - first, static_cast<std::size_t>(num_tokens_));
    const auto rows = static_cast<std::int64_t>(count);
    const std::span<float> chosen = floats_in(scratch_, 0, rows * width);
    if (Status status = split_columns_cuda({normed(num_tokens_),
                                            width,
                                            0,
                                            rows,
                                            tokens.subspan(first, count),
                                            {{{width, chosen}}}},
                                           stream);
        !status)
      return status;
    const std::span<float> own = logits.subspan(first * vocab, count * vocab);
    if (Status status = launch_linear(model.lm_head, rows, chosen, own, stream); !status)
      return status;
    if (Status status = greedy_tokens_cuda(own, greedy.subspan(first, count), stream); !status)
      return status;
    first += count;
  }
  return Ok{};
}

// Scratch of the mixers: how much, and its parts.

std::span<float> DeviceScratch::take(std::int64_t count) {
  const std::int64_t first = used_;
  used_ += round_up(count, kAlignment);
  HS_EXPECT(used_ <= size_);
  return {data_ + first, static_cast<std::size_t>(count)};
}

std::int64_t piece_floats(const HybridLayer& layer) {
  return std::visit(
      []<class Mixer>(const Mixer& mixer) -> std::int64_t {
        if constexpr (requires { piece_floats(mixer.recurrence); })
          return piece_floats(mixer.recurrence);
        else
          return 0;
      },
      layer.mixer);
}

std::int64_t scratch_floats(const HybridLayer& layer, std::int32_t hidden_size) {
  struct Projected {
    std::int64_t operator()(const Mamba2Mixer& mixer) const {
      return 6 * std::int64_t{mixer.in_proj.outputs};
    }
    std::int64_t operator()(const GatedDeltaNetMixer& mixer) const {
      return 5 * std::int64_t{mixer.in_proj_qkv.outputs} + 3 * mixer.in_proj_z.outputs +
             2 * (mixer.in_proj_a.outputs + mixer.in_proj_b.outputs);
    }
    std::int64_t operator()(const ShortConvMixer& mixer) const {
      return 3 * std::int64_t{mixer.in_proj.outputs};
    }
    std::int64_t operator()(const AttentionMixer& mixer) const {
      return 3 * std::int64_t{mixer.q_proj.outputs} + 2 * mixer.k_proj.outputs;
    }
  };
  const std::int64_t mixer = std::visit(Projected{}, layer.mixer);
  return hidden_size + std::max(mixer, 2 * std::int64_t{layer.feed_forward.gate.outputs});
}

}  // namespace hybridscope
