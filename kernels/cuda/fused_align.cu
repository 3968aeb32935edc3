#include "kernels/cuda/fused_align.h"

#include <cuda_runtime.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "kernels/cuda/device_buffer.cuh"
#include "kernels/cuda/device_memory.h"
#include "kernels/cuda/engine_copy.cuh"
#include "kernels/cuda/fused_types.cuh"
#include "kernels/cuda/lane_kernel.cuh"
#include "kernels/cuda/warp_copy.cuh"
#include "kernels/tiles/copy_tiles.h"

namespace hybridscope::fused {

// The one kernel behind the fused align launches. Every block makes the decisions of all requests
// from their arrays, which is cheaper than passing them on in a second launch, and takes its share
// of the tiles of those that copy.
//
// With a bulk copy engine (sm_90) most tiles go through kStages buffers of shared memory, which one
// thread loads and stores while kProducers others look up what comes next. Tiles are taken in one
// global order, a stripe at a time, so that neighbouring blocks of a layer are moved at about the
// same time. Tile size and stages are the fastest found on an H200: 40 KiB of loads in flight per
// SM (docs/gpu.md has the figures). The other warps copy, by loads and stores, what the engine
// cannot: rows of a DS window that shift, and what is not aligned to 16 bytes. Without an engine
// all warps copy everything that way.

// Tiles do not change, so that they may be fetched while the last kernel runs.
__device__ inline void prefetch_tiles(const Args& args) {
  constexpr int kLine = 128;
  const int size = args.tiles_per_row * static_cast<int>(sizeof(DeviceTile));
  const int thread = static_cast<int>(blockIdx.x) * kThreads + static_cast<int>(threadIdx.x);
  for (int at = thread * kLine; at < size; at += static_cast<int>(gridDim.x) * kThreads * kLine)
    asm volatile("prefetch.global.L2 [%0];" ::"l"(reinterpret_cast<const char*>(args.tiles) + at));
}

// Decide has prepare(), which all threads of one block call before anything else; StateCopyDecision
// operator()(int row), which reads arrays that this launch does not write; publish(row, decision),
// called once per row. By::engine, where it moves everything, needs few registers, so that a launch
// that comes early finds room beside the kernel before it.
enum class By { engine, engine_and_warps };
template <class Decide, By kBy>
__global__ void __launch_bounds__(kThreads, kBy == By::engine ? 2 : 1)
    fused_copy(const __grid_constant__ Args args, const __grid_constant__ Decide decide) {
  extern __shared__ __align__(128) char stages[];
  __shared__ Shared shared;
  delay(args);
  prefetch_tiles(args);
#if __CUDA_ARCH__ >= 900
  if (kBy == By::engine || args.use_engine) prepare_engine(shared);
#endif
  wait_for_previous_kernel();
  const int count = find_copying_rows(args, decide, shared);
  if (count == 0) return;
#if __CUDA_ARCH__ >= 900
  if (kBy == By::engine || args.use_engine) {
    if (kBy == By::engine_and_warps) move_rest_by_warps(args, shared, count);
    run_by_engine(args, shared, stages, count);
    return;
  }
#endif
  move_by_warps(args, shared, count, 0, Moves::all);
}

}  // namespace hybridscope::fused

namespace hybridscope {
namespace {

// Call after a launch: reports a bad configuration, or an error that an earlier launch left.
Status launch_status(const char* kernel) {
  return cuda_status(cudaGetLastError(), std::string("launch of ") + kernel);
}

struct DecidePostprocessV1 {
  PostprocessV1Device in;
  std::int32_t block_size = 0;

  __device__ void prepare() const {}
  __device__ StateCopyDecision operator()(int row) const {
    return decide_postprocess_v1({.num_accepted_tokens = in.num_accepted_tokens[row],
                                  .mamba_state_idx = in.mamba_state_idx[row],
                                  .num_scheduled_tokens = in.num_scheduled_tokens[row],
                                  .num_computed_tokens = in.num_computed_tokens[row],
                                  .num_draft_tokens = in.num_draft_tokens[row],
                                  .block_size = block_size});
  }
  __device__ void publish(int row, const StateCopyDecision& decision) const {
    in.num_accepted_tokens_out[row] = decision.num_accepted_tokens_after();
    if (in.decisions != nullptr) in.decisions[row] = decision;
  }
};

struct DecidePostprocessV2 {
  PostprocessV2Device in;
  std::int32_t block_size = 0;

  // Slots without a row keep their counts.
  __device__ void prepare() const {
    for (int slot = static_cast<int>(threadIdx.x); slot < in.num_slots; slot += fused::kThreads)
      in.num_accepted_tokens_out[slot] = in.num_accepted_tokens[slot];
  }
  __device__ StateCopyDecision operator()(int row) const {
    const std::int32_t slot = in.idx_mapping[row];
    if (slot < 0) return decide_padded_row(StateCopyRule::postprocess_mamba_v2);
    return decide_postprocess_v2({.num_accepted_tokens = in.num_accepted_tokens[slot],
                                  .state_idx = in.state_idx[slot],
                                  .new_num_computed_tokens = in.new_num_computed_tokens[slot],
                                  .block_size = block_size});
  }
  __device__ void publish(int row, const StateCopyDecision& decision) const {
    if (decision.resets_accepted_count) in.num_accepted_tokens_out[in.idx_mapping[row]] = 1;
    if (in.decisions != nullptr) in.decisions[row] = decision;
  }
};

struct DecidePrecopy {
  PrecopyDevice in;

  __device__ void prepare() const {}
  __device__ StateCopyDecision operator()(int row) const {
    const std::int32_t slot = in.idx_mapping[row];
    if (slot < 0) return decide_padded_row(StateCopyRule::precopy_mamba_align_fused_kernel);
    return decide_precopy_v2({.src_col = in.src_col[slot],
                              .src_off = in.src_off[slot],
                              .state_idx = in.state_idx[slot]});
  }
  __device__ void publish(int, const StateCopyDecision&) const {}
};

__global__ void align_advance(const AlignAdvanceDevice in, const LaunchOrder order) {
  if (order.delayed_every > 0 && blockIdx.x % static_cast<unsigned>(order.delayed_every) == 0)
    for (int i = 0; i < 50; ++i) __nanosleep(1000);
  const std::int64_t block = std::int64_t{blockIdx.x} * order.multiplier % gridDim.x;
  const int row = static_cast<int>(block * blockDim.x + threadIdx.x);
  if (row >= in.num_reqs) return;
  const std::int32_t slot = in.idx_mapping[row];
  if (slot < 0) return;
  const StateCopyDecision decision =
      decide_align_advance_v2({.state_idx = in.state_idx[slot],
                               .num_accepted_tokens = in.num_accepted_tokens[slot],
                               .num_computed_tokens = in.num_computed_tokens[slot],
                               .query_len = in.query_start_loc[row + 1] - in.query_start_loc[row],
                               .block_size = in.block_size});
  in.src_col[slot] = decision.src_col;
  in.src_off[slot] = decision.accept_token_bias;
  in.state_idx[slot] = decision.dst_col;
  in.num_accepted_tokens[slot] = decision.num_accepted_tokens_after();
  if (in.decisions != nullptr) in.decisions[row] = decision;
}

std::vector<fused::DeviceTile> with_addresses(const CopyTiles& tiles,
                                              std::span<const std::uintptr_t> state_base_addrs) {
  std::vector<fused::DeviceTile> result;
  for (const CopyTile& tile : tiles.tiles)
    result.push_back({.tile = tile,
                      .state_base = reinterpret_cast<char*>(
                          state_base_addrs[static_cast<std::size_t>(tile.state_index)])});
  return result;
}

// The smallest number from `wish` on that shares no factor with the number of blocks.
std::int32_t coprime(std::int32_t wish, std::int32_t num_blocks) {
  if (wish <= 0) return 0;
  while (std::gcd(wish, num_blocks) != 1) ++wish;
  return wish;
}

// Is every part of a move aligned to 16 bytes, for all blocks and biases?
bool engine_moves_all(std::span<const fused::DeviceTile> tiles) {
  return std::ranges::all_of(tiles, [](const fused::DeviceTile& tile) {
    const CopyTile& cut = tile.tile;
    const auto all = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(tile.state_base)) |
                     cut.block_stride | cut.position_bytes | cut.first_byte | cut.num_bytes |
                     cut.first_slice | cut.slice_size;
    return cut.row_stride == 0 && all % 16 == 0;
  });
}

// The properties of a device that the launch depends on.
struct Device {
  int num_sms = 0;
  bool has_engine = false;
};

Result<Device> current_device() {
  int device = 0;
  int major = 0;
  Device found;
  if (Status status = cuda_status(cudaGetDevice(&device), std::string("cudaGetDevice")); !status)
    return status.error();
  if (Status status = cuda_status(
          cudaDeviceGetAttribute(&found.num_sms, cudaDevAttrMultiProcessorCount, device),
          std::string("number of multiprocessors"));
      !status)
    return status.error();
  if (Status status =
          cuda_status(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device),
                      std::string("compute capability"));
      !status)
    return status.error();
  found.has_engine = major >= 9;
  return found;
}

template <class Decide>
Status allow_stages() {
  for (const auto kernel : {fused::fused_copy<Decide, fused::By::engine>,
                            fused::fused_copy<Decide, fused::By::engine_and_warps>})
    if (Status status = cuda_status(
            cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                 fused::kStageBytes),
            "dynamic shared memory of " + std::to_string(fused::kStageBytes) + " bytes");
        !status)
      return status;
  return Ok{};
}

}  // namespace

struct FusedAlign::Impl {
  DeviceBuffer<fused::DeviceTile> tiles;
  DeviceBuffer<fused::Counters> counters;
  fused::Args args;  // without rows and tables
  std::int32_t block_size = 0;
  std::size_t num_groups = 0;
  bool engine_moves_all = false;  // for all decisions
  Device device;

  template <class Decide>
  Status launch(std::int32_t num_reqs, DeviceBlockTables block_tables, const Decide& decide,
                CudaStream stream) const;
};

template <class Decide>
Status FusedAlign::Impl::launch(std::int32_t num_reqs, DeviceBlockTables block_tables,
                                const Decide& decide, CudaStream stream) const {
  if (num_reqs < 0)
    return invalid_input("num_reqs is " + std::to_string(num_reqs) + ", expected 0 or more");
  if (block_tables.size() != num_groups)
    return invalid_input(std::to_string(block_tables.size()) + " block tables, expected one per " +
                         "mamba group: " + std::to_string(num_groups));
  fused::Args launch_args = args;
  std::ranges::copy(block_tables, launch_args.block_tables);
  for (std::int32_t first = 0; first == 0 || first < num_reqs; first += fused::kMaxRows) {
    launch_args.first_row = first;
    launch_args.num_rows = std::min(num_reqs - first, fused::kMaxRows);
    const LaunchShape shape{static_cast<unsigned int>(device.num_sms), fused::kThreads,
                            device.has_engine ? fused::kStageBytes : 0U};
    const auto kernel = engine_moves_all ? fused::fused_copy<Decide, fused::By::engine>
                                         : fused::fused_copy<Decide, fused::By::engine_and_warps>;
    if (Status status = cuda_status(launch_early(kernel, shape, stream, launch_args, decide),
                                    std::string("launch of fused_copy"));
        !status)
      return status;
  }
  return Ok{};
}

FusedAlign::FusedAlign(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
FusedAlign::FusedAlign(FusedAlign&&) noexcept = default;
FusedAlign& FusedAlign::operator=(FusedAlign&&) noexcept = default;
FusedAlign::~FusedAlign() = default;

Result<FusedAlign> FusedAlign::create(const StateLayout& layout,
                                      std::span<const std::uintptr_t> state_base_addrs,
                                      const FusedAlignOptions& options) {
  if (state_base_addrs.size() != static_cast<std::size_t>(layout.num_states()))
    return invalid_input(std::to_string(state_base_addrs.size()) + " state addresses, expected " +
                         std::to_string(layout.num_states()));
  if (layout.mamba_group_ids.size() > fused::kMaxGroups)
    return invalid_input(std::to_string(layout.mamba_group_ids.size()) +
                         " mamba groups, expected at most " + std::to_string(fused::kMaxGroups));
  const auto cut = make_copy_tiles(layout, fused::kTileBytes);
  if (!cut) return cut.error();
  auto impl = std::make_unique<Impl>();
  const auto device = current_device();
  if (!device) return device.error();
  impl->device = device.value();
  const std::vector<fused::DeviceTile> tiles = with_addresses(cut.value(), state_base_addrs);
  auto device_tiles = DeviceBuffer<fused::DeviceTile>::create(tiles);
  if (!device_tiles) return device_tiles.error();
  const fused::Counters zero;
  auto counters = DeviceBuffer<fused::Counters>::create(std::span(&zero, 1));
  if (!counters) return counters.error();
  // Here rather than at the first launch, which may be recorded in a graph.
  cudaFuncAttributes attributes;
  if (Status status = cuda_status(cudaFuncGetAttributes(&attributes, align_advance),
                                  std::string("loading of align_advance"));
      !status)
    return status.error();
  for (Status status : {allow_stages<DecidePostprocessV1>(), allow_stages<DecidePostprocessV2>(),
                        allow_stages<DecidePrecopy>()})
    if (impl->device.has_engine && !status) return status.error();
  impl->tiles = std::move(device_tiles).value();
  impl->counters = std::move(counters).value();
  impl->block_size = layout.block_size;
  impl->num_groups = layout.mamba_group_ids.size();
  impl->args = {.tiles = impl->tiles.data(),
                .counters = impl->counters.data(),
                .block_tables = {},
                .block_table_stride_req = layout.block_table_stride_req,
                .tiles_per_row = static_cast<std::int32_t>(tiles.size()),
                .tiles_per_stripe = cut.value().tiles_per_stripe,
                .first_row = 0,
                .num_rows = 0,
                .use_engine = impl->device.has_engine && options.way == CopyWay::engine,
                .permute_blocks = coprime(options.permute_blocks, impl->device.num_sms),
                .delay_every = options.delay_every};
  impl->engine_moves_all = impl->args.use_engine && engine_moves_all(tiles);
  return FusedAlign(std::move(impl));
}

Status FusedAlign::postprocess(const PostprocessV1Device& in, CudaStream stream) const {
  return impl_->launch(in.num_reqs, in.block_tables, DecidePostprocessV1{in, impl_->block_size},
                       stream);
}

Status FusedAlign::postprocess_align(const PostprocessV2Device& in, CudaStream stream) const {
  return impl_->launch(in.num_reqs, in.block_tables, DecidePostprocessV2{in, impl_->block_size},
                       stream);
}

Status FusedAlign::precopy(const PrecopyDevice& in, CudaStream stream) const {
  return impl_->launch(in.num_reqs, in.block_tables, DecidePrecopy{in}, stream);
}

Status launch_align_advance(const AlignAdvanceDevice& in, CudaStream stream,
                            const LaunchOrder& order) {
  if (in.block_size < 1)
    return invalid_input("block_size " + std::to_string(in.block_size) + ", expected >= 1");
  if (in.num_reqs < 1) return Ok{};
  const int num_blocks = (in.num_reqs + 255) / 256;
  LaunchOrder usable = order;
  if (std::gcd(order.multiplier, std::int64_t{num_blocks}) != 1) usable.multiplier = 1;
  align_advance<<<num_blocks, 256, 0, stream>>>(in, usable);
  return launch_status("align_advance");
}

}  // namespace hybridscope
