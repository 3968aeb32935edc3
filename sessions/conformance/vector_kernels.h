// What recomputing a vector leaves to kernels, and the memory that they work on. Kernels are
// implemented in kernels/ and passed in by app/, so that sessions/ and kernels/ stay independent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/metadata/block_table_gather.h"
#include "core/numeric/dense_layers.h"
#include "core/numeric/recurrences.h"
#include "core/state/mode_copies.h"
#include "core/state/state_copy.h"
#include "core/state/state_memory.h"
#include "sessions/text/json_value.h"

namespace hybridscope {

// Kernels that count their calls.

// `kernel` adds 1 to `num_launches`, which must outlive it, when it is called. An empty one stays.
template <class Out, class... In>
void count_calls(std::function<Out(In...)>& kernel, std::int64_t& num_launches) {
  if (kernel == nullptr) return;
  kernel = [&num_launches, run = std::move(kernel)](In... in) {
    ++num_launches;
    return run(std::forward<In>(in)...);
  };
}

// What vectors of real recurrences leave to kernels.

// All take and leave what they work on in host memory, of all tokens of a batch at once; `x`, `y`
// and `z` are [tokens, n].
struct NumericKernels {
  using Elementwise = std::function<Status(std::span<const float> x, std::span<float> y)>;
  template <class Layer, class Rows, class Tokens>
  using OnStates =
      std::function<Status(const Layer&, const Rows&, const StatePool&, const Tokens&)>;

  Elementwise exp, softplus, sigma, silu;
  // Ordered sums of the products of rows, where `y` has a total for each row.
  std::function<Status(std::span<const float> a, std::span<const float> b, std::span<float> y)>
      dots;
  // Turns `heads` [positions, heads, head_dim] in place.
  std::function<Status(RopeTable& table, std::span<const std::int32_t> positions,
                       std::int32_t head_dim, std::span<float> heads)>
      rope;
  std::function<Status(const RmsNorm& norm, std::span<const float> x, std::span<float> y)> rms_norm;
  std::function<Status(const RmsNorm& norm, std::int32_t groups, std::span<const float> x,
                       std::span<const float> z, std::span<float> y)>
      gated_norm;
  std::function<Status(const RmsNorm& norm, OutputGate gate, std::span<const float> x,
                       std::span<const float> z, std::span<float> y)>
      norm_gated;
  std::function<Status(const GatedMlp& mlp, std::int32_t num_tokens, std::span<const float> x,
                       std::span<float> y)>
      gated_mlp;
  std::function<Status(const AttentionLayer&, const AttentionRows&, const KvCache&,
                       const AttentionTokens&)>
      paged_attention;

  OnStates<ConvLayer, PrefillRows, ConvTokens> conv_prefill;
  OnStates<ConvLayer, DecodeRows, ConvTokens> conv_update;
  // `BCx`: [tokens, 3 dim], the gate of the input, that of the output, the input.
  std::function<Status(const ConvLayer&, const PrefillRows&, const StatePool&,
                       std::span<const float> BCx, std::span<float> y)>
      short_conv_prefill;
  std::function<Status(const ConvLayer&, const DecodeRows&, const StatePool&,
                       std::span<const float> BCx, std::span<float> y)>
      short_conv_update;
  OnStates<Mamba1Layer, PrefillRows, Mamba1Tokens> mamba1_prefill;
  OnStates<Mamba1Layer, DecodeRows, Mamba1Tokens> mamba1_update;
  std::function<Status(const Mamba2Layer&, const PrefillRows&, const StatePool&,
                       const Mamba2Tokens&, bool prep_initial_states)>
      mamba2_prefill;
  std::function<Status(const Mamba2Layer&, const PrefillRows&, const StatePool&,
                       const Mamba2Tokens&, bool prep_initial_states, const Mamba2Chunks&)>
      mamba2_prefill_chunked;
  OnStates<Mamba2Layer, DecodeRows, Mamba2Tokens> mamba2_update;
  OnStates<DeltaRuleLayer, PrefillRows, DeltaRuleTokens> delta_rule_prefill;
  std::function<Status(const DeltaRuleLayer&, const PrefillRows&, const StatePool&,
                       const DeltaRuleTokens&, std::span<const RowChunk>)>
      delta_rule_prefill_chunked;
  OnStates<DeltaRuleLayer, DecodeRows, DeltaRuleTokens> delta_rule_update;
  OnStates<LightningLayer, PrefillRows, LightningTokens> lightning_prefill;
  OnStates<LightningLayer, DecodeRows, LightningTokens> lightning_update;
};

// The functions of core/numeric.
NumericKernels host_numeric_kernels();

// The kernels of `kernels`, each of which adds 1 to `num_launches` when it is called.
// `num_launches` must outlive them.
NumericKernels counted(NumericKernels kernels, std::int64_t& num_launches);

// All take and leave what they work on in host memory. Where a member is empty, core decides on the
// host and execute_copies carries out.
struct VectorKernels {
  // Only kinds of vectors that have kernels are recomputed (VectorKind::on_device).
  bool on_device = false;

  // Runs copies on the bytes of state tensors, in order.
  std::function<Status(std::span<const StateCopy> copies, HostStateBytes states)> execute_copies{};
  // The fused launches of mode align: each decides as the function of core decides and makes the
  // copies that follow. run_fused_postprocess, `num_accepted_tokens_out` as there.
  std::function<Status(const HostStates& states, const PostprocessV1Inputs& inputs,
                       std::span<std::int32_t> num_accepted_tokens_out)>
      fused_postprocess{};
  // run_fused_postprocess_align, `num_accepted_tokens` as there.
  std::function<Status(const HostStates& states, const PostprocessV2Inputs& inputs,
                       std::span<std::int32_t> num_accepted_tokens)>
      fused_postprocess_align{};
  // preprocess_mamba_align, then run_fused_precopy for `precopy_rows` ([num_reqs] row -> slot, -1:
  // skip).
  std::function<Status(const HostStates& states, const AlignAdvanceInputs& inputs,
                       std::span<const std::int32_t> precopy_rows, AlignSlots& slots)>
      advance_and_precopy{};
  // The window that find_block_table_window finds, [rows, width] row-major.
  std::function<Result<std::vector<std::int32_t>>(const BlockTableGatherInput& input)>
      gather_block_table{};
  // The operations of real recurrences.
  NumericKernels numeric = host_numeric_kernels();
};

// A kernel could not run: the machine lacks something, or its device failed. No fault of the
// vector; nothing more can be checked.
class VectorKernelError : public std::exception {
 public:
  explicit VectorKernelError(Error error) : error_(std::move(error)) {}
  const char* what() const noexcept override { return error_.message.c_str(); }
  const Error& error() const { return error_; }

 private:
  Error error_;
};

// Throws what a kernel refused: VectorKernelError for errors of the device (device, not_available),
// std::runtime_error for inputs that it does not take.
void expect_launched(const Status& status);

// The kernels of `kernels`, each of which adds 1 to `num_launches` when it is called.
// `num_launches` must outlive them.
VectorKernels counted(VectorKernels kernels, std::int64_t& num_launches);

// The raw buffers that hold a vector's state tensors, and whether copies of one launch conflict.

// Bytes [begin, end) of a buffer that one copy reads or writes.
struct ByteRange {
  std::size_t buffer = 0;
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::size_t owner = 0;  // index of the copy
  bool written = false;
};

// Do two ranges of different copies overlap, at least one of them written?
bool ranges_conflict(std::vector<ByteRange> ranges);

class VectorMemory {
 public:
  // Reads `config.memory`; `tensors` were read from the same config. Throws when a state leaves its
  // buffer or the buffers are larger than a test vector needs.
  VectorMemory(const JsonValue& config, const MambaStateTensors& tensors);

  // Runs the copies in order, if any of them moves anything. Throws when one leaves its buffer, and
  // as expect_launched().
  void execute(std::span<const StateCopy> copies, const VectorKernels& kernels);
  // Bytes of each state, by flat state index, for a launch that makes these copies by itself.
  // Throws when one leaves its buffer.
  std::vector<std::span<std::byte>> bytes_for(std::span<const StateCopy> copies);
  // Does one copy write what another one reads or writes? Then their order would matter.
  bool conflict(std::span<const StateCopy> copies) const;

  nlohmann::json raw_crc32() const;    // per raw buffer
  nlohmann::json state_crc32() const;  // [layer][state], logical elements without padding

 private:
  struct Place {
    StateTensor tensor;
    std::size_t raw = 0;
    std::size_t byte_offset = 0;
  };
  const Place& place_of(const StateCopy& copy) const;
  void read_raw_buffers(const JsonValue& memory);
  Place read_place(const JsonValue& state, const StateTensor& tensor) const;
  void check(const StateCopy& copy) const;
  std::uint32_t crc32_of(const Place& place) const;

  std::string pointer_;  // of `config.memory`
  std::size_t num_kinds_ = 0;
  std::vector<Place> places_;  // by flat state index
  std::vector<std::vector<std::byte>> raw_;
};

}  // namespace hybridscope
