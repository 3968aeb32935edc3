#include "kernels/cuda/step_kernels.h"

#include "core/state/state_ops.h"
#include "kernels/cuda/lane_kernel.cuh"
#include "kernels/state_hash.h"

namespace hybridscope {

Status load_step_kernels(int device) {
  return load_kernels(device, run_lanes<ClearBody>, run_lanes<CopyBody>,
                      run_lanes<MeetingCopiesBody>, run_lanes<FoldBody>, run_lanes<TemporalBody>,
                      run_lanes<ConvBody>);
}

Status launch_step(const StepPlan& plan, const StepArrays& arrays, const LaunchContext& context) {
  return run_step(plan, arrays, [&context](const auto& body, std::int64_t num_items) {
    return launch_lanes(body, num_items, context);
  });
}

Status launch_verify(const ContentArrays& arrays, std::int32_t count, const VerifyResults& results,
                     const LaunchContext& context) {
  const std::int64_t num_items = std::int64_t{count} * arrays.memory.most_states;
  if (Status status =
          launch_lanes(VerifyBody{arrays, results.first_differences}, num_items, context);
      !status)
    return status;
  return launch_lanes(
      DescribeBody{arrays, results.first_differences, results.expected, results.seen}, num_items,
      context);
}

namespace {

// One item, one lane per word; the last word may be incomplete.
struct FillPoisonBody {
  std::byte* data = nullptr;
  std::int64_t num_bytes = 0;

  struct Item {
    std::byte* data = nullptr;
    std::int64_t num_bytes = 0;
    std::int64_t num_lanes = 0;
    __device__ void operator()(std::int64_t lane) const {
      if (lane * 8 + 8 <= num_bytes) return store_as<std::uint64_t>(data + lane * 8, kPoison);
      for (std::int64_t at = lane * 8; at < num_bytes; at += 2)
        store_as(data + at, static_cast<std::uint16_t>(kPoison));
    }
  };
  std::int64_t most_lanes() const { return cdiv(num_bytes, std::int64_t{8}); }
  __device__ Item item(std::int64_t) const {
    return {data, num_bytes, cdiv(num_bytes, std::int64_t{8})};
  }
};

constexpr int kWarp = 32;

// An item is a block and a buffer, a lane a word of the page. Sums per warp first.
__global__ void __launch_bounds__(kTileThreads)
    sum_digests(const Pages pages, const std::int32_t* blocks, std::uint64_t* digests,
                const TileGrid grid) {
  for (std::int64_t i = blockIdx.x; i < grid.num_tiles; i += gridDim.x) {
    const std::int64_t tile = tile_at(grid, i);
    const std::int64_t item = tile / grid.tiles_per_item;
    const auto buffer = static_cast<std::int32_t>(item % pages.num_buffers);
    const PageView page{pages.data + buffer * pages.buffer_bytes +
                            blocks[item / pages.num_buffers] * pages.page_size_bytes,
                        pages.page_size_bytes, buffer};
    const std::int64_t first = tile % grid.tiles_per_item * kTileLanes;
    const std::int64_t end =
        first + kTileLanes < page.num_words() ? first + kTileLanes : page.num_words();
    std::uint64_t sum = 0;
    for (std::int64_t word = first + threadIdx.x; word < end; word += kTileThreads)
      sum += digest_word(page, word);
    for (int offset = kWarp / 2; offset > 0; offset /= 2)
      sum += __shfl_down_sync(0xFFFFFFFFU, sum, static_cast<unsigned>(offset));
    if (threadIdx.x % kWarp == 0)
      atomicAdd(reinterpret_cast<unsigned long long*>(digests + item / pages.num_buffers),
                static_cast<unsigned long long>(sum));
  }
}

}  // namespace

Status launch_fill_poison(std::byte* data, std::int64_t num_bytes, const LaunchContext& context) {
  return launch_lanes(FillPoisonBody{data, num_bytes}, 1, context);
}

Status launch_digests(const Pages& pages, const std::int32_t* blocks, std::int32_t count,
                      std::uint64_t* digests, const LaunchContext& context) {
  const PageView page{nullptr, pages.page_size_bytes, 0};
  const TileGrid grid = make_tile_grid(std::int64_t{count} * pages.num_buffers,
                                       cdiv(page.num_words(), kTileLanes), context.order);
  if (grid.num_tiles == 0) return Ok{};
  sum_digests<<<num_blocks(grid), kTileThreads, 0, context.stream>>>(pages, blocks, digests, grid);
  return cuda_status(cudaGetLastError(), "kernel launch", context.device);
}

}  // namespace hybridscope
