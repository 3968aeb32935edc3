#include "sessions/conformance/vector_kernels.h"

#include <fmt/core.h>
#include <zlib.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <tuple>

#include "core/numeric/arithmetic.h"

namespace hybridscope {
namespace {

// A function of core as a kernel, which cannot fail.
template <auto kFunction>
constexpr auto always = [](auto&&... in) -> Status {
  kFunction(std::forward<decltype(in)>(in)...);
  return Ok{};
};

template <float (*kFunction)(float)>
Status apply(std::span<const float> x, std::span<float> y) {
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = kFunction(x[i]);
  return Ok{};
}

Status dots(std::span<const float> a, std::span<const float> b, std::span<float> y) {
  const std::size_t n = y.empty() ? 0 : a.size() / y.size();
  for (std::size_t row = 0; row < y.size(); ++row)
    y[row] = OrderedSum::dot(a.data() + row * n, b.data() + row * n, static_cast<std::int64_t>(n));
  return Ok{};
}

Status turn(RopeTable& table, std::span<const std::int32_t> positions, std::int32_t head_dim,
            std::span<float> heads) {
  const auto dim = static_cast<std::size_t>(head_dim);
  const std::size_t of_token = positions.empty() ? 0 : heads.size() / positions.size();
  for (std::size_t t = 0; t < positions.size(); ++t)
    for (std::size_t first = 0; first < of_token; first += dim)
      table.turn(positions[t], heads.subspan(t * of_token + first, dim));
  return Ok{};
}

// `norm(x row, z row, y row)` for every row of n; `z` may be empty.
template <class Norm>
Status for_each_row(std::size_t n, std::span<const float> x, std::span<const float> z,
                    std::span<float> y, Norm&& norm) {
  for (std::size_t first = 0; first < x.size(); first += n)
    norm(x.subspan(first, n), z.empty() ? z : z.subspan(first, n), y.subspan(first, n));
  return Ok{};
}

Status run_gated_mlp(const GatedMlp& mlp, std::int32_t num_tokens, std::span<const float> x,
                     std::span<float> y) {
  const auto tokens = static_cast<std::size_t>(num_tokens);
  const std::size_t inputs = tokens == 0 ? 0 : x.size() / tokens;
  const std::size_t outputs = tokens == 0 ? 0 : y.size() / tokens;
  for (std::size_t t = 0; t < tokens; ++t)
    gated_mlp(mlp, x.subspan(t * inputs, inputs), y.subspan(t * outputs, outputs));
  return Ok{};
}

// The gates around the convolution that `conv` runs.
template <auto kConv, class Rows>
Status short_conv_on_host(const ConvLayer& layer, const Rows& rows, const StatePool& pool,
                          std::span<const float> BCx, std::span<float> y) {
  const auto dim = static_cast<std::size_t>(layer.dim);
  std::vector<float> x(y.size());
  const auto of_token = [&](std::size_t i) { return i / dim * 3 * dim + i % dim; };
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = BCx[of_token(i)] * BCx[of_token(i) + 2 * dim];
  kConv(layer, rows, pool, {x, y});
  for (std::size_t i = 0; i < x.size(); ++i) y[i] *= BCx[of_token(i) + dim];
  return Ok{};
}

}  // namespace

NumericKernels host_numeric_kernels() {
  return {
      .exp = &apply<&exp_f32>,
      .softplus = &apply<&softplus_f32>,
      .sigma = &apply<&sigma_f32>,
      .silu = &apply<&silu_f32>,
      .dots = &dots,
      .rope = &turn,
      .rms_norm =
          [](const RmsNorm& norm, std::span<const float> x, std::span<float> y) {
            return for_each_row(norm.weight.size(), x, {}, y,
                                [&](auto from, auto, auto to) { rms_norm(norm, from, to); });
          },
      .gated_norm =
          [](const RmsNorm& norm, std::int32_t groups, std::span<const float> x,
             std::span<const float> z, std::span<float> y) {
            return for_each_row(norm.weight.size(), x, z, y, [&](auto from, auto gate, auto to) {
              gated_norm(norm, groups, from, gate, to);
            });
          },
      .norm_gated =
          [](const RmsNorm& norm, OutputGate by, std::span<const float> x, std::span<const float> z,
             std::span<float> y) {
            return for_each_row(norm.weight.size(), x, z, y, [&](auto from, auto gate, auto to) {
              norm_gated(norm, by, from, gate, to);
            });
          },
      .gated_mlp = &run_gated_mlp,
      .paged_attention = always<&paged_attention>,
      .conv_prefill = always<&conv_prefill>,
      .conv_update = always<&conv_update>,
      .short_conv_prefill = &short_conv_on_host<&conv_prefill, PrefillRows>,
      .short_conv_update = &short_conv_on_host<&conv_update, DecodeRows>,
      .mamba1_prefill = always<&mamba1_prefill>,
      .mamba1_update = always<&mamba1_update>,
      .mamba2_prefill = always<&mamba2_prefill>,
      .mamba2_prefill_chunked = always<&mamba2_prefill_chunked>,
      .mamba2_update = always<&mamba2_update>,
      .delta_rule_prefill = always<&delta_rule_prefill>,
      .delta_rule_prefill_chunked = always<&delta_rule_prefill_chunked>,
      .delta_rule_update = always<&delta_rule_update>,
      .lightning_prefill = always<&lightning_prefill>,
      .lightning_update = always<&lightning_update>,
  };
}

NumericKernels counted(NumericKernels kernels, std::int64_t& num_launches) {
  const auto count_all = [&](auto&... kernel) { (count_calls(kernel, num_launches), ...); };
  count_all(kernels.exp, kernels.softplus, kernels.sigma, kernels.silu, kernels.dots, kernels.rope,
            kernels.rms_norm, kernels.gated_norm, kernels.norm_gated, kernels.gated_mlp,
            kernels.paged_attention, kernels.conv_prefill, kernels.conv_update,
            kernels.short_conv_prefill, kernels.short_conv_update, kernels.mamba1_prefill,
            kernels.mamba1_update, kernels.mamba2_prefill, kernels.mamba2_prefill_chunked,
            kernels.mamba2_update, kernels.delta_rule_prefill, kernels.delta_rule_prefill_chunked,
            kernels.delta_rule_update, kernels.lightning_prefill, kernels.lightning_update);
  return kernels;
}

void expect_launched(const Status& status) {
  if (status) return;
  const Error& error = status.error();
  if (error.kind == ErrorKind::device || error.kind == ErrorKind::not_available)
    throw VectorKernelError(error);
  throw std::runtime_error(error.message);
}

VectorKernels counted(VectorKernels kernels, std::int64_t& num_launches) {
  count_calls(kernels.execute_copies, num_launches);
  count_calls(kernels.fused_postprocess, num_launches);
  count_calls(kernels.fused_postprocess_align, num_launches);
  count_calls(kernels.advance_and_precopy, num_launches);
  count_calls(kernels.gather_block_table, num_launches);
  kernels.numeric = counted(std::move(kernels.numeric), num_launches);
  return kernels;
}

namespace {

using nlohmann::json;

constexpr std::int64_t kMaxMemoryBytes = std::int64_t{256} << 20;

std::uint32_t crc32_on(std::uint32_t crc, std::span<const std::byte> bytes) {
  return static_cast<std::uint32_t>(
      ::crc32_z(crc, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()));
}

std::int64_t num_elements(const StateTensor& tensor) {
  return tensor.shape.empty() ? 0 : tensor.shape[0] * tensor.elements_per_block();
}

// Bytes from element 0 to the end of the last one; 0 without elements.
std::int64_t reach(const StateTensor& tensor) {
  if (num_elements(tensor) == 0) return 0;
  std::int64_t last = 0;
  for (std::size_t i = 0; i < tensor.shape.size(); ++i)
    last += (tensor.shape[i] - 1) * tensor.stride[i];
  return (last + 1) * tensor.elem_size;
}

bool moves_bytes(const StateCopy& copy) { return copy.num_rows > 0 && copy.row_bytes > 0; }

std::int64_t region_bytes(const StateCopy& copy) {
  return (copy.num_rows - 1) * copy.row_stride_bytes + copy.row_bytes;
}

}  // namespace

// Sweeps over the ranges in order of their start; `open` holds the ranges that reach the current
// one.
bool ranges_conflict(std::vector<ByteRange> ranges) {
  std::erase_if(ranges, [](const ByteRange& range) { return range.begin >= range.end; });
  std::ranges::sort(ranges, {}, [](const ByteRange& range) {
    return std::tuple(range.buffer, range.begin, range.end);
  });
  std::vector<ByteRange> open;
  for (const ByteRange& range : ranges) {
    std::erase_if(open, [&](const ByteRange& earlier) {
      return earlier.buffer != range.buffer || earlier.end <= range.begin;
    });
    for (const ByteRange& earlier : open)
      if (earlier.owner != range.owner && (earlier.written || range.written)) return true;
    open.push_back(range);
  }
  return false;
}

VectorMemory::VectorMemory(const JsonValue& config, const MambaStateTensors& tensors)
    : num_kinds_(tensors.state_kinds.size()) {
  const JsonValue memory = config["memory"];
  pointer_ = memory.pointer();
  read_raw_buffers(memory);
  for (std::size_t layer = 0; layer < tensors.layers.size(); ++layer)
    for (std::size_t state = 0; state < num_kinds_; ++state)
      places_.push_back(read_place(memory["layers"][layer]["states"][state],
                                   tensors.layers[layer].states[state]));
}

void VectorMemory::read_raw_buffers(const JsonValue& memory) {
  const auto seed = static_cast<std::uint64_t>(memory["pattern_seed"].int64());
  std::int64_t left = kMaxMemoryBytes;
  for (const JsonValue& size : memory["raw_bytes"].elements()) {
    std::vector<std::byte> bytes(static_cast<std::size_t>(size.int64({0, left})));
    left -= std::ssize(bytes);
    for (std::uint64_t i = 0; i < bytes.size(); ++i)
      bytes[i] = static_cast<std::byte>((i * 131 + (i >> 7) * 29 + raw_.size() * 71 + seed) & 255);
    raw_.push_back(std::move(bytes));
  }
}

VectorMemory::Place VectorMemory::read_place(const JsonValue& state,
                                             const StateTensor& tensor) const {
  const auto raw = static_cast<std::size_t>(state["raw"].int64({0, std::ssize(raw_) - 1}));
  const std::int64_t size = std::ssize(raw_[raw]);
  const std::int64_t byte_offset = state["byte_offset"].int64({0, size});
  if (reach(tensor) > size - byte_offset || num_elements(tensor) > size)
    state.fail(fmt::format("{} bytes from byte {} on are needed of a buffer of {}", reach(tensor),
                           byte_offset, size));
  return {tensor, raw, static_cast<std::size_t>(byte_offset)};
}

const VectorMemory::Place& VectorMemory::place_of(const StateCopy& copy) const {
  return places_.at(static_cast<std::size_t>(copy.state_index));
}

void VectorMemory::check(const StateCopy& copy) const {
  const Place& place = place_of(copy);
  const std::int64_t size =
      std::ssize(raw_[place.raw]) - static_cast<std::int64_t>(place.byte_offset);
  const std::int64_t first = std::min(copy.src_byte_offset, copy.dst_byte_offset);
  const std::int64_t last = std::max(copy.src_byte_offset, copy.dst_byte_offset);
  if (first < 0 || region_bytes(copy) > size - last ||
      (copy.num_rows > 1 && copy.row_bytes > copy.row_stride_bytes))
    throw JsonFault(
        pointer_, fmt::format("a copy of {} rows of {} bytes, {} bytes apart, from byte {} to byte "
                              "{} of state {} does not fit {} bytes",
                              copy.num_rows, copy.row_bytes, copy.row_stride_bytes,
                              copy.src_byte_offset, copy.dst_byte_offset, copy.state_index, size));
}

void VectorMemory::execute(std::span<const StateCopy> copies, const VectorKernels& kernels) {
  const std::vector<std::span<std::byte>> states = bytes_for(copies);
  if (std::ranges::any_of(copies, &moves_bytes))
    expect_launched(kernels.execute_copies(copies, states));
}

std::vector<std::span<std::byte>> VectorMemory::bytes_for(std::span<const StateCopy> copies) {
  for (const StateCopy& copy : copies) check(copy);
  std::vector<std::span<std::byte>> states;
  for (const Place& place : places_)
    states.push_back(std::span(raw_[place.raw]).subspan(place.byte_offset));
  return states;
}

bool VectorMemory::conflict(std::span<const StateCopy> copies) const {
  std::vector<ByteRange> ranges;
  for (std::size_t i = 0; i < copies.size(); ++i) {
    const Place& place = place_of(copies[i]);
    for (std::int64_t row = 0; row < copies[i].num_rows; ++row)
      for (const bool written : {false, true}) {
        const std::int64_t begin =
            static_cast<std::int64_t>(place.byte_offset) + row * copies[i].row_stride_bytes +
            (written ? copies[i].dst_byte_offset : copies[i].src_byte_offset);
        ranges.push_back({.buffer = place.raw,
                          .begin = begin,
                          .end = begin + copies[i].row_bytes,
                          .owner = i,
                          .written = written});
      }
  }
  return ranges_conflict(std::move(ranges));
}

json VectorMemory::raw_crc32() const {
  json result = json::array();
  for (const auto& bytes : raw_) result.push_back(crc32_on(0, bytes));
  return result;
}

json VectorMemory::state_crc32() const {
  json result = json::array();
  for (std::size_t i = 0; i < places_.size(); ++i) {
    if (i % num_kinds_ == 0) result.push_back(json::array());
    result.back().push_back(crc32_of(places_[i]));
  }
  return result;
}

// Walks the outer dimensions; the innermost dimensions that are contiguous form one run.
std::uint32_t VectorMemory::crc32_of(const Place& place) const {
  const StateTensor& tensor = place.tensor;
  std::size_t outer = tensor.shape.size();
  std::int64_t run = 1;
  while (outer > 0 && (tensor.shape[outer - 1] == 1 || tensor.stride[outer - 1] == run))
    run *= tensor.shape[--outer];
  const std::span<const std::byte> bytes = std::span(raw_[place.raw]).subspan(place.byte_offset);
  const auto run_bytes = static_cast<std::size_t>(run * tensor.elem_size);
  std::vector<std::int64_t> index(outer, 0);
  std::int64_t offset = 0;  // elements
  std::uint32_t crc = 0;
  for (std::int64_t left = run == 0 ? 0 : num_elements(tensor) / run; left > 0; --left) {
    crc = crc32_on(crc,
                   bytes.subspan(static_cast<std::size_t>(offset * tensor.elem_size), run_bytes));
    for (std::size_t axis = outer; axis-- > 0;) {
      offset += tensor.stride[axis];
      if (++index[axis] < tensor.shape[axis]) break;
      offset -= tensor.stride[axis] * tensor.shape[axis];
      index[axis] = 0;
    }
  }
  return crc;
}

}  // namespace hybridscope
