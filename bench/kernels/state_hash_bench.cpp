#include "bench/kernels/state_hash_bench.h"

#include <cstdio>
#include <numeric>
#include <vector>

#include "bench/kernels/gpu_timing.h"
#include "kernels/cuda/state_hash_cuda.h"

namespace hybridscope {
namespace {

struct HashBench {
  const char* name = "";
  std::int64_t temporal_bytes = 0;
  std::int64_t num_positions = 0;
  std::int64_t num_channels = 0;  // of 2 bytes; SD
  std::int32_t num_layers = 0;
  std::int32_t num_blocks = 0;

  std::int64_t conv_bytes() const { return num_positions * num_channels * 2; }
  std::int64_t page() const { return conv_bytes() + temporal_bytes; }
};

// A buffer for each layer, as the groups of an engine share them.
HashedStates states_of(const HashBench& bench, const std::byte* memory) {
  HashedStates states{.views = {}, .num_blocks = bench.num_blocks + 1};
  const std::int64_t buffer = bench.page() * states.num_blocks;
  for (std::int32_t layer = 0; layer < bench.num_layers; ++layer) {
    const std::byte* data = memory + layer * buffer;
    states.views.push_back({.data = data,
                            .block_stride = bench.page(),
                            .num_positions = bench.num_positions,
                            .num_channels = bench.num_channels,
                            .position_stride = bench.num_channels,
                            .channel_stride = 1,
                            .elem_size = 2,
                            .ordinal = 2 * layer});
    states.views.push_back({.data = data + bench.conv_bytes(),
                            .block_stride = bench.page(),
                            .num_bytes = bench.temporal_bytes,
                            .ordinal = 2 * layer + 1});
  }
  return states;
}

template <class T>
T* allocated(std::int64_t count) {
  void* memory = nullptr;
  must(cudaMalloc(&memory, static_cast<std::size_t>(count) * sizeof(T)), "cudaMalloc");
  return static_cast<T*>(memory);
}

void run(const HashBench& bench, bool once) {
  const std::int64_t bytes = bench.page() * bench.num_layers * bench.num_blocks;
  const std::int64_t all = bench.page() * bench.num_layers * (bench.num_blocks + 1);
  auto* memory = allocated<std::byte>(all);
  must(cudaMemset(memory, 0x5A, static_cast<std::size_t>(all)), "cudaMemset");
  const HashedStates states = states_of(bench, memory);
  std::vector<std::int32_t> blocks(static_cast<std::size_t>(bench.num_blocks));
  std::iota(blocks.begin(), blocks.end(), 1);
  auto* ids = allocated<std::int32_t>(bench.num_blocks);
  must(cudaMemcpy(ids, blocks.data(), blocks.size() * sizeof(std::int32_t), cudaMemcpyHostToDevice),
       "cudaMemcpy");
  auto* sums = allocated<std::uint64_t>(bench.num_blocks * num_sums(states));
  const auto hasher = StateHashCuda::create(states);
  const GpuWork work = [&](cudaStream_t stream) {
    if (!hasher || !hasher.value().hash(ids, bench.num_blocks, sums, stream))
      must(cudaErrorUnknown, "StateHashCuda");
  };
  if (once) {
    work(nullptr);
    must(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  } else {
    const double us = graph_us(bytes < 100'000'000 ? 20 : 5, work);
    std::printf("| %s | %d | %d | %.1f | %.1f | %.2f |\n", bench.name, bench.num_layers,
                bench.num_blocks, static_cast<double>(bytes) / 1e6, us,
                static_cast<double>(bytes) / us / 1e6);
  }
  must(cudaFree(memory), "cudaFree");
  must(cudaFree(ids), "cudaFree");
  must(cudaFree(sums), "cudaFree");
}

}  // namespace

void bench_state_hashes(bool once) {
  if (!once)
    std::printf(
        "\n| hashes of | layers | blocks | MB | us | TB/s read |\n|---|---|---|---|---|---|\n");
  for (const std::int32_t num_blocks : {1, 16, 256})
    run({"Mamba2, 2 MiB and K=2", 2 << 20, 5, 10240, 4, num_blocks}, once);
  for (const std::int32_t num_blocks : {1, 256})
    run({"a small model", 4096, 3, 256, 8, num_blocks}, once);
}

}  // namespace hybridscope
