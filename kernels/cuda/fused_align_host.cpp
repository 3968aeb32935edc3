#include "kernels/cuda/fused_align_host.h"

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "core/base/math.h"
#include "kernels/cuda/describe_cuda.h"
#include "kernels/cuda/device_memory.h"
#include "kernels/cuda/device_upload.h"
#include "kernels/cuda/fused_align.h"
#include "kernels/cuda/launch_graph.h"

namespace hybridscope {
namespace {

// The arrays that launches read and write, one after the other in one piece of memory.
class LaunchArrays {
 public:
  // Returns where the array begins; its values go to the device with send().
  std::size_t add(std::span<const std::int32_t> values) {
    const std::size_t first = values_.size();
    values_.insert(values_.end(), values.begin(), values.end());
    values_.resize(round_up(values_.size(), std::size_t{4}));  // 16 bytes
    return first;
  }
  Status send(const LaunchContext& context) {
    if (Status status = memory_.reserve(context.device, num_bytes()); !status) return status;
    if (values_.empty()) return Ok{};
    HS_CUDA(context.device, cudaMemcpyAsync, memory_.data(), values_.data(),
            static_cast<std::size_t>(num_bytes()), cudaMemcpyHostToDevice, context.stream);
    return Ok{};
  }
  // Where the array from element `first` on lies on the device.
  std::int32_t* at(std::size_t first) const {
    return reinterpret_cast<std::int32_t*>(memory_.data()) + first;
  }
  // Waits for the stream.
  Status fetch(const LaunchContext& context) {
    if (!values_.empty())
      HS_CUDA(context.device, cudaMemcpyAsync, values_.data(), memory_.data(),
              static_cast<std::size_t>(num_bytes()), cudaMemcpyDeviceToHost, context.stream);
    HS_CUDA(context.device, cudaStreamSynchronize, context.stream);
    return Ok{};
  }
  // The array as it was fetched.
  void get(std::size_t first, std::span<std::int32_t> values) const {
    std::copy_n(values_.begin() + static_cast<std::ptrdiff_t>(first), values.size(),
                values.begin());
  }

 private:
  std::int64_t num_bytes() const {
    return static_cast<std::int64_t>(values_.size() * sizeof(std::int32_t));
  }
  std::vector<std::int32_t> values_;
  DeviceMemory memory_;
};

// What the launches of one graph use.
struct Launching {
  const FusedAlign& fused;
  DeviceBlockTables block_tables;
  CudaStream stream;
};

std::vector<std::uintptr_t> addresses_of(std::span<std::byte* const> bases) {
  std::vector<std::uintptr_t> addresses;
  for (std::byte* base : bases) addresses.push_back(reinterpret_cast<std::uintptr_t>(base));
  return addresses;
}

// Runs `launches` on copies of the states and arrays; then both are back on the host.
Status run_on_copies(const HostStates& states, LaunchArrays& arrays, std::int32_t device,
                     const std::function<Status(const Launching&)>& launches) {
  if (Status status = expect_cuda_device(device); !status) return status;
  HS_CUDA(device, cudaSetDevice, device);
  const Result<Stream> stream = make_stream(device);
  if (!stream) return stream.error();
  const LaunchContext context{.stream = stream.value().get(), .device = device, .order = {}};
  const Result<DeviceStates> there = DeviceStates::upload(states.bytes, context);
  if (!there) return there.error();
  std::vector<std::size_t> tables;
  for (const TensorView<std::int32_t>& table : states.block_tables) {
    if (table.cols != states.layout.block_table_stride_req)
      return invalid_input("a block table has " + std::to_string(table.cols) +
                           " columns, the layout says " +
                           std::to_string(states.layout.block_table_stride_req));
    tables.push_back(arrays.add({table.data, static_cast<std::size_t>(table.size())}));
  }
  if (Status status = arrays.send(context); !status) return status;
  std::vector<const std::int32_t*> block_tables;
  for (const std::size_t first : tables) block_tables.push_back(arrays.at(first));
  const auto fused = FusedAlign::create(states.layout, addresses_of(there.value().bases()));
  if (!fused) return fused.error();
  HS_CUDA(device, cudaDeviceSynchronize);  // what create() copied was on no stream of ours
  const auto graph = LaunchGraph::record(context, [&] {
    return launches({fused.value(), block_tables, context.stream});
  });
  if (!graph) return graph.error();
  if (Status status = graph.value().launch(); !status) return status;
  if (Status status = arrays.fetch(context); !status) return status;
  return there.value().download(context);
}

}  // namespace

Status fused_postprocess_cuda(const HostStates& states, const PostprocessV1Inputs& inputs,
                              std::span<std::int32_t> num_accepted_tokens_out,
                              std::int32_t device) {
  HS_EXPECT(inputs.block_size == states.layout.block_size);
  LaunchArrays arrays;
  const std::size_t accepted = arrays.add(inputs.num_accepted_tokens);
  const std::size_t column = arrays.add(inputs.mamba_state_idx);
  const std::size_t scheduled = arrays.add(inputs.num_scheduled_tokens);
  const std::size_t computed = arrays.add(inputs.num_computed_tokens);
  const std::size_t drafts = arrays.add(inputs.num_draft_tokens);
  const std::size_t out = arrays.add(num_accepted_tokens_out);
  if (Status status = run_on_copies(states, arrays, device,
                                    [&](const Launching& launching) {
                                      return launching.fused.postprocess(
                                          {.num_reqs = inputs.num_reqs,
                                           .num_accepted_tokens = arrays.at(accepted),
                                           .mamba_state_idx = arrays.at(column),
                                           .num_scheduled_tokens = arrays.at(scheduled),
                                           .num_computed_tokens = arrays.at(computed),
                                           .num_draft_tokens = arrays.at(drafts),
                                           .block_tables = launching.block_tables,
                                           .num_accepted_tokens_out = arrays.at(out)},
                                          launching.stream);
                                    });
      !status)
    return status;
  arrays.get(out, num_accepted_tokens_out);
  return Ok{};
}

Status fused_postprocess_align_cuda(const HostStates& states, const PostprocessV2Inputs& inputs,
                                    std::span<std::int32_t> num_accepted_tokens,
                                    std::int32_t device) {
  HS_EXPECT(inputs.block_size == states.layout.block_size);
  LaunchArrays arrays;
  const std::size_t rows = arrays.add(inputs.idx_mapping);
  const std::size_t accepted = arrays.add(num_accepted_tokens);
  const std::size_t state_idx = arrays.add(inputs.state_idx);
  const std::size_t computed = arrays.add(inputs.new_num_computed_tokens);
  const std::size_t out = arrays.add(num_accepted_tokens);
  if (Status status =
          run_on_copies(states, arrays, device,
                        [&](const Launching& launching) {
                          return launching.fused.postprocess_align(
                              {.num_reqs = inputs.num_reqs,
                               .num_slots = static_cast<std::int32_t>(num_accepted_tokens.size()),
                               .idx_mapping = arrays.at(rows),
                               .num_accepted_tokens = arrays.at(accepted),
                               .state_idx = arrays.at(state_idx),
                               .new_num_computed_tokens = arrays.at(computed),
                               .block_tables = launching.block_tables,
                               .num_accepted_tokens_out = arrays.at(out)},
                              launching.stream);
                        });
      !status)
    return status;
  arrays.get(out, num_accepted_tokens);
  return Ok{};
}

Status advance_and_precopy_cuda(const HostStates& states, const AlignAdvanceInputs& inputs,
                                std::span<const std::int32_t> precopy_rows, AlignSlots& slots,
                                std::int32_t device) {
  HS_EXPECT(inputs.block_size == states.layout.block_size);
  LaunchArrays arrays;
  const std::size_t rows = arrays.add(inputs.idx_mapping);
  const std::size_t computed = arrays.add(inputs.num_computed_tokens);
  const std::size_t query_start_loc = arrays.add(inputs.query_start_loc);
  const std::size_t copied_rows = arrays.add(precopy_rows);
  const std::size_t state_idx = arrays.add(slots.state_idx);
  const std::size_t src_col = arrays.add(slots.src_col);
  const std::size_t src_off = arrays.add(slots.src_off);
  const std::size_t accepted = arrays.add(slots.num_accepted_tokens);
  if (Status status = run_on_copies(states, arrays, device,
                                    [&](const Launching& launching) -> Status {
                                      if (Status advanced = launch_align_advance(
                                              {.num_reqs = inputs.num_reqs,
                                               .block_size = inputs.block_size,
                                               .idx_mapping = arrays.at(rows),
                                               .num_computed_tokens = arrays.at(computed),
                                               .query_start_loc = arrays.at(query_start_loc),
                                               .state_idx = arrays.at(state_idx),
                                               .num_accepted_tokens = arrays.at(accepted),
                                               .src_col = arrays.at(src_col),
                                               .src_off = arrays.at(src_off)},
                                              launching.stream);
                                          !advanced)
                                        return advanced;
                                      return launching.fused.precopy(
                                          {.num_reqs = inputs.num_reqs,
                                           .idx_mapping = arrays.at(copied_rows),
                                           .state_idx = arrays.at(state_idx),
                                           .src_col = arrays.at(src_col),
                                           .src_off = arrays.at(src_off),
                                           .block_tables = launching.block_tables},
                                          launching.stream);
                                    });
      !status)
    return status;
  arrays.get(state_idx, slots.state_idx);
  arrays.get(src_col, slots.src_col);
  arrays.get(src_off, slots.src_off);
  arrays.get(accepted, slots.num_accepted_tokens);
  return Ok{};
}

}  // namespace hybridscope
