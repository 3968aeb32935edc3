#include "kernels/cuda/state_hash_cuda.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "kernels/cuda/describe_cuda.h"
#include "kernels/cuda/device_buffer.cuh"
#include "kernels/cuda/lane_kernel.cuh"

namespace hybridscope {
namespace {

constexpr int kWarp = 32;
constexpr std::int64_t kPieceWords = 4096;
constexpr std::int64_t kPieceElements = 2048;

// What one block of threads adds up: units of one state, of a conv state at one position.
struct HashPiece {
  HashView view;
  std::int64_t position = 0;
  std::int64_t first = 0;
  std::int64_t end = 0;

  __host__ __device__ std::int64_t sum() const { return view.is_conv() ? 1 + position : 0; }
};

// The pieces of one block.
std::vector<HashPiece> cut_into_pieces(const HashedStates& states) {
  std::vector<HashPiece> pieces;
  for (const HashView& view : states.views) {
    const std::int64_t size = view.is_conv() ? kPieceElements : kPieceWords;
    for (std::int64_t position = 0; position < std::max(view.num_positions, std::int64_t{1});
         ++position)
      for (std::int64_t first = 0; first < view.num_units(); first += size)
        pieces.push_back({view, position, first, std::min(first + size, view.num_units())});
  }
  return pieces;
}

__device__ std::uint64_t sum_elements(const HashPiece& piece, const std::byte* state) {
  std::uint64_t sum = 0;
#pragma unroll 4
  for (std::int64_t channel = piece.first + threadIdx.x; channel < piece.end;
       channel += kTileThreads)
    sum += hash_element(piece.view, state, piece.position, channel);
  return sum;
}

// Two words a load where addresses allow it; pieces begin at even words.
__device__ std::uint64_t sum_words(const HashPiece& piece, const std::byte* state) {
  std::uint64_t sum = 0;
  std::int64_t first = piece.first;
  if (reinterpret_cast<std::uintptr_t>(state) % sizeof(ulonglong2) == 0) {
    const auto* pairs = reinterpret_cast<const ulonglong2*>(state);
    const std::int64_t full = piece.view.num_bytes / 8;
    const std::int64_t end = (piece.end < full ? piece.end : full) / 2;
#pragma unroll 4
    for (std::int64_t i = piece.first / 2 + threadIdx.x; i < end; i += kTileThreads) {
      const ulonglong2 words = __ldcs(pairs + i);
      sum += mix(piece.view.place(2 * i), words.x) + mix(piece.view.place(2 * i + 1), words.y);
    }
    first = end * 2;
  }
  for (std::int64_t word = first + threadIdx.x; word < piece.end; word += kTileThreads)
    sum += hash_word(piece.view, state, word);
  return sum;
}

struct HashTask {
  const HashPiece* pieces = nullptr;
  std::int64_t num_pieces = 0;
  std::int64_t num_sums = 0;
  std::int32_t num_blocks = 0;
  const std::int32_t* blocks = nullptr;
  std::uint64_t* sums = nullptr;
};

// A tile is a piece of one block. Sums per warp first.
__global__ void __launch_bounds__(kTileThreads)
    sum_states(const HashTask task, std::int64_t num_tiles) {
  for (std::int64_t tile = blockIdx.x; tile < num_tiles; tile += gridDim.x) {
    const std::int64_t row = tile / task.num_pieces;
    const std::int32_t block = task.blocks[row];
    if (block < 1 || block >= task.num_blocks) continue;
    const HashPiece piece = task.pieces[tile % task.num_pieces];
    const std::byte* state = piece.view.data + block * piece.view.block_stride;
    std::uint64_t sum = piece.view.is_conv() ? sum_elements(piece, state) : sum_words(piece, state);
    for (int offset = kWarp / 2; offset > 0; offset /= 2)
      sum += __shfl_down_sync(0xFFFFFFFFU, sum, static_cast<unsigned>(offset));
    if (threadIdx.x % kWarp == 0 && sum != 0)
      atomicAdd(
          reinterpret_cast<unsigned long long*>(task.sums + row * task.num_sums + piece.sum()),
          static_cast<unsigned long long>(sum));
  }
}

// The device whose memory holds the states, made the current one.
Result<int> enter_device_of(const HashedStates& states) {
  int device = 0;
  if (states.views.empty()) return device;
  cudaPointerAttributes found{};
  if (Status status = cuda_status(cudaPointerGetAttributes(&found, states.views.front().data),
                                  std::string("cudaPointerGetAttributes"));
      !status)
    return status.error();
  if (found.type != cudaMemoryTypeDevice && found.type != cudaMemoryTypeManaged)
    return invalid_input("the states are not in the memory of a CUDA device");
  device = found.device;
  HS_CUDA(device, cudaSetDevice, device);
  return device;
}

}  // namespace

struct StateHashCuda::Impl {
  int device = 0;
  DeviceBuffer<HashPiece> pieces;
  HashTask task;  // without blocks and sums
};

StateHashCuda::StateHashCuda(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
StateHashCuda::StateHashCuda(StateHashCuda&&) noexcept = default;
StateHashCuda& StateHashCuda::operator=(StateHashCuda&&) noexcept = default;
StateHashCuda::~StateHashCuda() = default;

Result<StateHashCuda> StateHashCuda::create(const HashedStates& states) {
  if (Status status = check_hashed(states); !status) return status.error();
  if (const auto description = describe_cuda(); !description) return description.error();
  const Result<int> device = enter_device_of(states);
  if (!device) return device.error();
  if (Status status = load_kernels(device.value(), sum_states); !status) return status.error();
  const std::vector<HashPiece> pieces = cut_into_pieces(states);
  auto uploaded = DeviceBuffer<HashPiece>::create(std::span<const HashPiece>(pieces));
  if (!uploaded) return uploaded.error();
  auto impl = std::make_unique<Impl>();
  impl->device = device.value();
  impl->pieces = std::move(uploaded).value();
  impl->task = {.pieces = impl->pieces.data(),
                .num_pieces = static_cast<std::int64_t>(pieces.size()),
                .num_sums = num_sums(states),
                .num_blocks = states.num_blocks};
  return StateHashCuda(std::move(impl));
}

Status StateHashCuda::hash(const std::int32_t* blocks, std::int64_t count, std::uint64_t* sums,
                           CUstream_st* stream) const {
  if (count < 0) return invalid_input("hashes of " + std::to_string(count) + " blocks");
  if (count == 0) return Ok{};
  HS_CUDA(impl_->device, cudaSetDevice, impl_->device);
  HashTask task = impl_->task;
  task.blocks = blocks;
  task.sums = sums;
  HS_CUDA(impl_->device, cudaMemsetAsync, sums, 0,
          static_cast<std::size_t>(count * task.num_sums) * sizeof(std::uint64_t), stream);
  const std::int64_t num_tiles = count * task.num_pieces;
  if (num_tiles == 0) return Ok{};
  sum_states<<<static_cast<unsigned>(std::min(num_tiles, kMostBlocks)), kTileThreads, 0, stream>>>(
      task, num_tiles);
  return cuda_status(cudaGetLastError(), "kernel launch", impl_->device);
}

}  // namespace hybridscope
