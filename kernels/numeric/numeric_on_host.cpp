#include "kernels/numeric/numeric_on_host.h"

#include <algorithm>
#include <array>
#include <tuple>

#include "kernels/cuda/describe_cuda.h"
#include "kernels/cuda/device_memory.h"
#include "kernels/cuda/launch_graph.h"
#include "kernels/numeric/stage_arguments.h"

namespace hybridscope {
namespace {

// `launch(arguments..., stream)` with the arrays of `in` on the device.
template <class Launch, class... In>
Status call_staged(std::int32_t device, const Launch& launch, const In&... in) {
  StagedCall call(device);
  const std::tuple on_device{staged(call, in)...};
  return call.run([&](CUstream_st* stream) {
    return std::apply([&](const auto&... on) { return launch(on..., stream); }, on_device);
  });
}

// What a launch of chunks needs besides their arrays; `num_floats`: of a piece.
ChunkLaunch planned(StagedCall& call, const ChunkPlan& plan, std::int64_t num_floats) {
  return {.num_pieces = plan.num_pieces,
          .in_turn = plan.in_turn,
          .scratch = call.room(static_cast<std::size_t>(plan.num_pieces * num_floats))};
}

std::int32_t num_tokens(std::span<const float> of_heads, std::int32_t num_heads) {
  return static_cast<std::int32_t>(std::ssize(of_heads) / std::max(num_heads, 1));
}

}  // namespace

Status NumericOnHost::apply(NumericFunction function, std::span<const float> x,
                            std::span<float> y) const {
  return call_staged(
      device_, [](const auto&... in) { return apply_cuda(in...); }, function, x, y);
}

Status NumericOnHost::dots(std::span<const float> a, std::span<const float> b,
                           std::span<float> y) const {
  return call_staged(
      device_, [](const auto&... in) { return dots_cuda(in...); }, a, b, y);
}

Result<std::uint64_t> NumericOnHost::compare_quick_functions() const {
  StagedCall call(device_);
  std::array<std::uint64_t, 1> num_different{};
  const auto on_different = call.in_out(std::span<std::uint64_t>(num_different));
  const Status status = call.run([&](CUstream_st* stream) {
    return compare_quick_functions_cuda(on_different.data(), stream);
  });
  if (!status) return status.error();
  return num_different[0];
}

Status NumericOnHost::linear(const LinearShape& shape, std::span<const float> weight,
                             std::span<const float> x, std::span<float> y) const {
  return call_staged(
      device_, [](const auto&... in) { return linear_cuda(in...); }, shape, weight, x, y);
}

Status NumericOnHost::rms_norm(const RmsNorm& norm, std::span<const float> x,
                               std::span<float> y) const {
  return call_staged(
      device_, [](const auto&... in) { return rms_norm_cuda(in...); }, norm, x, y);
}

Status NumericOnHost::gated_norm(const RmsNorm& norm, std::int32_t groups, std::span<const float> x,
                                 std::span<const float> z, std::span<float> y) const {
  return call_staged(
      device_, [](const auto&... in) { return gated_norm_cuda(in...); }, norm, groups, x, z, y);
}

Status NumericOnHost::norm_gated(const RmsNorm& norm, OutputGate gate, std::span<const float> x,
                                 std::span<const float> z, std::span<float> y) const {
  return call_staged(
      device_, [](const auto&... in) { return norm_gated_cuda(in...); }, norm, gate, x, z, y);
}

Status NumericOnHost::gated_mlp(const GatedMlp& mlp, std::int32_t num_tokens,
                                std::span<const float> x, std::span<float> y) const {
  StagedCall call(device_);
  const GatedMlp on_mlp = staged(call, mlp);
  const auto on_x = call.in(x);
  const auto on_y = call.in_out(y);
  const auto between =
      call.room(static_cast<std::size_t>(num_tokens) * static_cast<std::size_t>(mlp.inner));
  return call.run([&](CUstream_st* stream) {
    return gated_mlp_cuda(on_mlp, num_tokens, on_x, between, on_y, stream);
  });
}

Status NumericOnHost::rope(RopeTable& table, std::span<const std::int32_t> positions,
                           std::int32_t head_dim, std::span<float> heads) const {
  if (positions.empty() || head_dim == 0) return Ok{};
  StagedCall call(device_);
  const std::int32_t num_positions = *std::ranges::max_element(positions) + 1;
  const auto elements = static_cast<std::int64_t>(positions.size()) * head_dim;
  const RopeTokens tokens{.positions = call.in(positions),
                          .num_heads = static_cast<std::int32_t>(std::ssize(heads) / elements),
                          .head_dim = head_dim,
                          .rotary_dim = table.rotary_dim(),
                          .cosines = call.in(table.cosines(num_positions)),
                          .sines = call.in(table.sines(num_positions))};
  const auto on_heads = call.in_out(heads);
  return call.run([&](CUstream_st* stream) { return rope_cuda(tokens, on_heads, stream); });
}

Status NumericOnHost::embed_tokens(std::span<const std::int32_t> token_ids,
                                   std::span<const float> embedding, std::span<float> x) const {
  return call_staged(
      device_, [](const auto&... in) { return embed_tokens_cuda(in...); }, token_ids, embedding, x);
}

Status NumericOnHost::greedy_tokens(std::span<const float> logits,
                                    std::span<std::int32_t> token_ids) const {
  return call_staged(
      device_, [](const auto&... in) { return greedy_tokens_cuda(in...); }, logits, token_ids);
}

Status NumericOnHost::paged_attention(const AttentionLayer& layer, const AttentionRows& rows,
                                      const KvCache& pool, const AttentionTokens& tokens) const {
  return call_staged(
      device_, [](const auto&... in) { return paged_attention_cuda(in...); }, layer, rows, pool,
      tokens);
}

#define HS_DEFINE(name, Layer, Rows, Pool, Tokens)                                                 \
  Status NumericOnHost::name(const Layer& layer, const Rows& rows, const Pool& pool,               \
                             const Tokens& tokens) const {                                         \
    return call_staged(                                                                            \
        device_, [](const auto&... in) { return name##_cuda(in...); }, layer, rows, pool, tokens); \
  }
HS_LAYER_FUNCTIONS(HS_DEFINE)
#undef HS_DEFINE

Status NumericOnHost::mamba2_prefill(const Mamba2Layer& layer, const PrefillRows& rows,
                                     const StatePool& pool, const Mamba2Tokens& tokens,
                                     bool prep_initial_states) const {
  return call_staged(
      device_, [](const auto&... in) { return mamba2_prefill_cuda(in...); }, layer, rows, pool,
      tokens, prep_initial_states);
}

Status NumericOnHost::mamba2_prefill_chunked(const Mamba2Layer& layer, const PrefillRows& rows,
                                             const StatePool& pool, const Mamba2Tokens& tokens,
                                             bool prep_initial_states,
                                             const Mamba2Chunks& chunks) const {
  StagedCall call(device_);
  const Mamba2Layer on_layer = staged(call, layer);
  const PrefillRows on_rows = staged(call, rows);
  const StatePool on_pool = staged(call, pool);
  const Mamba2Tokens on_tokens = staged(call, tokens);
  const Mamba2Chunks on_chunks = staged(call, chunks);
  const ChunkPlan plan = plan_chunks(chunks, num_tokens(tokens.dt, layer.num_heads));
  const ChunkLaunch launch = planned(call, plan, piece_floats(layer));
  return call.run([&](CUstream_st* stream) {
    return mamba2_prefill_chunked_cuda(on_layer, on_rows, on_pool, on_tokens, prep_initial_states,
                                       on_chunks, launch, stream);
  });
}

Status NumericOnHost::delta_rule_prefill_chunked(const DeltaRuleLayer& layer,
                                                 const PrefillRows& rows, const StatePool& pool,
                                                 const DeltaRuleTokens& tokens,
                                                 std::span<const RowChunk> chunks) const {
  StagedCall call(device_);
  const DeltaRuleLayer on_layer = staged(call, layer);
  const PrefillRows on_rows = staged(call, rows);
  const StatePool on_pool = staged(call, pool);
  const DeltaRuleTokens on_tokens = staged(call, tokens);
  const auto on_chunks = call.in(chunks);
  const ChunkPlan plan = plan_chunks(chunks, num_tokens(tokens.b, layer.num_value_heads));
  const ChunkLaunch launch = planned(call, plan, piece_floats(layer));
  return call.run([&](CUstream_st* stream) {
    return delta_rule_prefill_chunked_cuda(on_layer, on_rows, on_pool, on_tokens, on_chunks, launch,
                                           stream);
  });
}

StagedCall::StagedCall(std::int32_t device) : device_(device) {
  Status status = expect_cuda_device(device);
  if (status) status = cuda_status(cudaSetDevice(device), "cudaSetDevice", device);
  if (!status) error_ = status.error();
}

std::byte* StagedCall::reserve(std::size_t num_bytes) {
  if (error_ || num_bytes == 0) return nullptr;
  void* memory = nullptr;
  if (const cudaError_t code = cudaMalloc(&memory, num_bytes); code != cudaSuccess) {
    error_ = cuda_error(code, "cudaMalloc", device_);
    return nullptr;
  }
  memory_.emplace_back(static_cast<std::byte*>(memory));
  return memory_.back().get();
}

std::byte* StagedCall::upload(std::span<const std::byte> host, std::byte* back) {
  std::byte* memory = reserve(host.size());
  if (memory == nullptr) return nullptr;
  const cudaError_t code = cudaMemcpy(memory, host.data(), host.size(), cudaMemcpyHostToDevice);
  if (code != cudaSuccess) {
    error_ = cuda_error(code, "cudaMemcpy", device_);
    return nullptr;
  }
  if (back != nullptr) downloads_.push_back({{memory, host.size()}, back});
  return memory;
}

Status StagedCall::launch_recorded(const std::function<Status(CUstream_st*)>& launch) {
  const auto stream = make_stream(device_);
  if (!stream) return stream.error();
  const LaunchContext context{.stream = stream.value().get(), .device = device_, .order = {}};
  HS_CUDA(device_, cudaDeviceSynchronize);  // uploads were on no stream of ours
  const auto graph = LaunchGraph::record(context, [&] { return launch(context.stream); });
  if (!graph) return graph.error();
  if (Status status = graph.value().launch(); !status) return status;
  HS_CUDA(device_, cudaStreamSynchronize, context.stream);
  return Ok{};
}

Status StagedCall::run(const std::function<Status(CUstream_st*)>& launch) {
  if (error_) return *error_;
  if (Status status = launch_recorded(launch); !status) return status;
  for (const Download& download : downloads_)
    HS_CUDA(device_, cudaMemcpy, download.host, download.device.data(), download.device.size(),
            cudaMemcpyDeviceToHost);
  return Ok{};
}

}  // namespace hybridscope
