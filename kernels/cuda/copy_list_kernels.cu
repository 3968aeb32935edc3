#include "kernels/cuda/copy_list_kernels.h"
#include "kernels/cuda/lane_kernel.cuh"
#include "kernels/memory_view.h"

namespace hybridscope {
namespace {

constexpr int kUnitsPerThread = 4;
constexpr std::int64_t kChunkUnits = kUnitsPerThread * kTileThreads;
constexpr std::int64_t kTileBytes = std::int64_t{64} << 10;

// The units of a copy in the order of their addresses, row after row.
template <class Unit>
struct Units {
  const ListedCopy& copy;
  __device__ std::int64_t count() const {
    return copy.num_rows * copy.row_bytes / static_cast<std::int64_t>(sizeof(Unit));
  }
  __device__ std::int64_t offset(std::int64_t i) const {
    constexpr auto kSize = static_cast<std::int64_t>(sizeof(Unit));
    if (copy.num_rows == 1) return i * kSize;
    const std::int64_t row_units = copy.row_bytes / kSize;
    return i / row_units * copy.row_stride_bytes + i % row_units * kSize;
  }
};

// Units [begin, end), a chunk of all threads at a time in the direction of the shift: a chunk is
// read before it is written, and never overwrites what is still to be read.
template <class Unit>
__device__ void move_units(const ListedCopy& copy, std::int64_t begin, std::int64_t end,
                           bool meets_itself) {
  const Units<Unit> units{copy};
  const bool downwards = copy.to <= copy.from;
  const std::int64_t num_chunks = cdiv(end - begin, kChunkUnits);
  for (std::int64_t i = 0; i < num_chunks; ++i) {
    const std::int64_t chunk = downwards ? i : num_chunks - 1 - i;
    Unit held[kUnitsPerThread];
    for (int k = 0; k < kUnitsPerThread; ++k) {
      const std::int64_t at = begin + chunk * kChunkUnits + k * kTileThreads + threadIdx.x;
      if (at < end) held[k] = load_as<Unit>(copy.from + units.offset(at));
    }
    if (meets_itself) __syncthreads();
    for (int k = 0; k < kUnitsPerThread; ++k) {
      const std::int64_t at = begin + chunk * kChunkUnits + k * kTileThreads + threadIdx.x;
      if (at < end) store_as<Unit>(copy.to + units.offset(at), held[k]);
    }
    if (meets_itself) __syncthreads();
  }
}

// One tile of a copy; one block of threads does all of a copy that overlaps itself.
template <class Unit>
__device__ void move_tile(const ListedCopy& copy, std::int64_t tile) {
  const std::int64_t span = (copy.num_rows - 1) * copy.row_stride_bytes + copy.row_bytes;
  const std::int64_t distance = copy.to < copy.from ? copy.from - copy.to : copy.to - copy.from;
  const bool meets_itself = distance < span;
  const std::int64_t count = Units<Unit>{copy}.count();
  if (meets_itself) {
    if (tile == 0) move_units<Unit>(copy, 0, count, true);
    return;
  }
  constexpr auto kTileUnits = kTileBytes / static_cast<std::int64_t>(sizeof(Unit));
  const std::int64_t begin = tile * kTileUnits;
  const std::int64_t end = begin + kTileUnits < count ? begin + kTileUnits : count;
  if (begin < end) move_units<Unit>(copy, begin, end, false);
}

__global__ void __launch_bounds__(kTileThreads)
    move_copies(const ListedCopy* copies, const TileGrid grid) {
  for (std::int64_t i = blockIdx.x; i < grid.num_tiles; i += gridDim.x) {
    const std::int64_t tile = tile_at(grid, i);
    const ListedCopy copy = copies[tile / grid.tiles_per_item];
    const std::int64_t tile_of_copy = tile % grid.tiles_per_item;
    const auto alignment = reinterpret_cast<std::uintptr_t>(copy.from) |
                           reinterpret_cast<std::uintptr_t>(copy.to) |
                           static_cast<std::uintptr_t>(copy.row_bytes) |
                           static_cast<std::uintptr_t>(copy.row_stride_bytes);
    if (alignment % sizeof(uint4) == 0)
      move_tile<uint4>(copy, tile_of_copy);
    else if (alignment % sizeof(std::uint32_t) == 0)
      move_tile<std::uint32_t>(copy, tile_of_copy);
    else if (alignment % sizeof(std::uint16_t) == 0)
      move_tile<std::uint16_t>(copy, tile_of_copy);
    else
      move_tile<std::uint8_t>(copy, tile_of_copy);
  }
}

Status launch_run(std::span<const ListedCopy> run, const ListedCopy* run_on_device,
                  const LaunchContext& context) {
  std::int64_t most_bytes = 0;
  for (const ListedCopy& copy : run)
    most_bytes = std::max(most_bytes, copy.num_rows * copy.row_bytes);
  const TileGrid grid = make_tile_grid(static_cast<std::int64_t>(run.size()),
                                       cdiv(most_bytes, kTileBytes), context.order);
  if (grid.num_tiles == 0) return Ok{};
  move_copies<<<num_blocks(grid), kTileThreads, 0, context.stream>>>(run_on_device, grid);
  return cuda_status(cudaGetLastError(), "kernel launch", context.device);
}

}  // namespace

Status load_copy_kernels(int device) { return load_kernels(device, move_copies); }

Status launch_copies(std::span<const ListedCopy> list, const ListedCopy* list_on_device,
                     CopiesAre order, const LaunchContext& context) {
  if (order == CopiesAre::at_once) return launch_run(list, list_on_device, context);
  for (std::size_t i = 0; i < list.size(); ++i)
    if (Status status = launch_run(list.subspan(i, 1), list_on_device + i, context); !status)
      return status;
  return Ok{};
}

}  // namespace hybridscope
