#include <cuda_runtime.h>

#include <algorithm>
#include <bit>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "kernels/cuda/array_copies_cuda.h"
#include "kernels/cuda/describe_cuda.h"
#include "kernels/cuda/device_memory.h"

namespace hybridscope {
namespace {

constexpr int kThreads = 256;
constexpr std::size_t kCopiesPerLaunch = 64;
constexpr std::int64_t kBytesPerBlock = std::int64_t{16} << 10U;
constexpr std::int64_t kMostBlocksPerCopy = 64;
constexpr std::size_t kLeastBytes = std::size_t{64} << 10U;

struct CopyBatch {
  ArrayCopy copies[kCopiesPerLaunch];
};

template <class Word>
__device__ void copy_words(const std::byte* from, std::byte* to, std::int64_t num_bytes) {
  const std::int64_t num_words = num_bytes / static_cast<std::int64_t>(sizeof(Word));
  const std::int64_t step = static_cast<std::int64_t>(gridDim.y) * kThreads;
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.y) * kThreads + threadIdx.x;
  for (std::int64_t i = first; i < num_words; i += step)
    reinterpret_cast<Word*>(to)[i] = reinterpret_cast<const Word*>(from)[i];
  for (std::int64_t i = num_words * sizeof(Word) + first; i < num_bytes; i += step) to[i] = from[i];
}

// Blocks with one x share a copy.
__global__ void __launch_bounds__(kThreads) copy_arrays(const CopyBatch batch, std::byte* host) {
  const ArrayCopy copy = batch.copies[blockIdx.x];
  std::byte* const to = host + copy.to;
  const auto places =
      reinterpret_cast<std::uintptr_t>(copy.from) | static_cast<std::uintptr_t>(copy.to);
  if (places % sizeof(uint4) == 0)
    copy_words<uint4>(copy.from, to, copy.num_bytes);
  else if (places % sizeof(std::uint32_t) == 0)
    copy_words<std::uint32_t>(copy.from, to, copy.num_bytes);
  else
    copy_words<std::byte>(copy.from, to, copy.num_bytes);
}

// Host memory that the device writes to, and what says that it has.
struct Slab {
  std::unique_ptr<std::byte, FreePinned> data;
  std::size_t size = 0;
  Event done;
};

Result<Slab> make_slab(std::size_t num_bytes, int device) {
  Slab slab{
      .data = nullptr, .size = std::bit_ceil(std::max(num_bytes, kLeastBytes)), .done = nullptr};
  void* data = nullptr;
  HS_CUDA(device, cudaMallocHost, &data, slab.size);
  slab.data.reset(static_cast<std::byte*>(data));
  cudaEvent_t done = nullptr;
  HS_CUDA(device, cudaEventCreateWithFlags, &done, cudaEventBlockingSync | cudaEventDisableTiming);
  slab.done.reset(done);
  return Result<Slab>(std::move(slab));
}

// Slabs that nobody uses.
class SlabPool {
 public:
  Result<Slab> take(std::size_t num_bytes, int device) {
    {
      const std::lock_guard lock(mutex_);
      const auto found =
          std::ranges::find_if(free_, [&](const Slab& slab) { return slab.size >= num_bytes; });
      if (found != free_.end()) {
        Slab slab = std::move(*found);
        free_.erase(found);
        return Result<Slab>(std::move(slab));
      }
    }
    return make_slab(num_bytes, device);
  }
  void give_back(Slab slab) {
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(slab));
  }

 private:
  std::mutex mutex_;
  std::vector<Slab> free_;
};

class CopiesInSlab : public CopiedArrays {
 public:
  CopiesInSlab(std::shared_ptr<SlabPool> pool, Slab slab, std::size_t size, int device)
      : pool_(std::move(pool)), slab_(std::move(slab)), size_(size), device_(device) {}
  CopiesInSlab(const CopiesInSlab&) = delete;
  CopiesInSlab& operator=(const CopiesInSlab&) = delete;
  // Copies that are still to come must not reach a later user of the memory.
  ~CopiesInSlab() override {
    if (wait()) pool_->give_back(std::move(slab_));
  }

  Status wait() const override {
    return cuda_status(cudaEventSynchronize(slab_.done.get()), "cudaEventSynchronize", device_);
  }
  std::span<const std::byte> bytes() const override { return {slab_.data.get(), size_}; }

 private:
  std::shared_ptr<SlabPool> pool_;
  Slab slab_;
  std::size_t size_;
  int device_;
};

}  // namespace

struct ArrayCopiesCuda::Impl {
  int device = 0;
  std::shared_ptr<SlabPool> pool = std::make_shared<SlabPool>();
};

ArrayCopiesCuda::ArrayCopiesCuda(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ArrayCopiesCuda::ArrayCopiesCuda(ArrayCopiesCuda&&) noexcept = default;
ArrayCopiesCuda& ArrayCopiesCuda::operator=(ArrayCopiesCuda&&) noexcept = default;
ArrayCopiesCuda::~ArrayCopiesCuda() = default;

Result<ArrayCopiesCuda> ArrayCopiesCuda::create(std::int32_t device) {
  if (Status found = expect_cuda_device(device); !found) return found.error();
  HS_CUDA(device, cudaSetDevice, device);
  cudaFuncAttributes loaded{};
  HS_CUDA(device, cudaFuncGetAttributes, &loaded, copy_arrays);
  auto impl = std::make_unique<Impl>();
  impl->device = device;
  return ArrayCopiesCuda(std::move(impl));
}

Result<std::shared_ptr<const CopiedArrays>> ArrayCopiesCuda::launch(
    std::span<const ArrayCopy> copies, std::int64_t num_bytes, CUstream_st* stream) {
  for (const ArrayCopy& copy : copies)
    if (copy.num_bytes < 0 || copy.to < 0 || copy.to > num_bytes - copy.num_bytes)
      return invalid_input("a copy of " + std::to_string(copy.num_bytes) + " bytes to " +
                           std::to_string(copy.to) + " is not inside " + std::to_string(num_bytes));
  HS_CUDA(impl_->device, cudaSetDevice, impl_->device);
  const auto size = static_cast<std::size_t>(num_bytes);
  auto slab = impl_->pool->take(size, impl_->device);
  if (!slab) return slab.error();
  for (; !copies.empty(); copies = copies.subspan(std::min(copies.size(), kCopiesPerLaunch))) {
    const auto now = copies.first(std::min(copies.size(), kCopiesPerLaunch));
    CopyBatch batch;
    std::ranges::copy(now, batch.copies);
    const std::int64_t most = std::ranges::max(now, {}, &ArrayCopy::num_bytes).num_bytes;
    const dim3 grid(static_cast<unsigned>(now.size()),
                    static_cast<unsigned>(
                        std::clamp<std::int64_t>(most / kBytesPerBlock, 1, kMostBlocksPerCopy)));
    copy_arrays<<<grid, kThreads, 0, stream>>>(batch, slab.value().data.get());
    if (Status status = cuda_status(cudaGetLastError(), "kernel launch", impl_->device); !status)
      return status.error();
  }
  HS_CUDA(impl_->device, cudaEventRecord, slab.value().done.get(), stream);
  return std::shared_ptr<const CopiedArrays>(
      std::make_shared<CopiesInSlab>(impl_->pool, std::move(slab).value(), size, impl_->device));
}

}  // namespace hybridscope
