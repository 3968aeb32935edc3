// Times the fused align launches on the GPU, and a plain copy of the same bytes, then hashes of
// states, and prints tables: hybridscope_gpu_bench [--warps] [--once] [--hashes].

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>
#include <numeric>
#include <vector>

#include "bench/kernels/fused_align_case.h"
#include "bench/kernels/gpu_timing.h"
#include "kernels/cuda/state_hash_cuda.h"

namespace hybridscope {
namespace {

const BenchModel kGdnBf16{.name = "GDN bf16",
                          .num_layers = 36,
                          .conv_width = 5,
                          .conv_dim = 8192,
                          .temporal_elements = 32 * 128 * 128};
const BenchModel kGdnBf16Ds{.name = "GDN bf16, DS",
                            .num_layers = 36,
                            .conv_width = 5,
                            .conv_dim = 8192,
                            .temporal_elements = 32 * 128 * 128,
                            .conv_state_layout = ConvStateLayout::DS};
const BenchModel kGdnFp32{.name = "GDN fp32",
                          .num_layers = 36,
                          .conv_width = 5,
                          .conv_dim = 8192,
                          .temporal_elements = 32 * 128 * 128,
                          .temporal_elem_size = 4};
const BenchModel kMamba2Fp32{.name = "Mamba2 fp32",
                             .num_layers = 24,
                             .conv_width = 4,
                             .conv_dim = 10240,
                             .temporal_elements = 128 * 64 * 128,
                             .temporal_elem_size = 4};

// Microseconds: the limit of a case (0: none), and what the reference took in June and August 2026.
struct Given {
  double limit = 0;
  double june = 0;
  double august = 0;
};

enum class Launch { postprocess_v1, postprocess_v2, advance_and_precopy };

struct Case {
  BenchBatch batch;
  Launch launch = Launch::postprocess_v1;
  Given given;
};

const char* words(Launch launch) {
  switch (launch) {
    case Launch::postprocess_v1: return "post V1";
    case Launch::postprocess_v2: return "post V2";
    case Launch::advance_and_precopy: return "advance+precopy";
  }
  return "";
}

void print_number(const char* format, double value) {
  if (value > 0)
    std::printf(format, value);
  else
    std::printf(" |");
}

class Bench {
 public:
  // `once`: every case is launched once and not timed, for profilers.
  Bench(const FusedAlignOptions& options, bool once) : options_(options), once_(once) {}

  void run(const BenchModel& model, const std::vector<Case>& cases) {
    std::int32_t most_copying = 0;
    for (const Case& entry : cases) most_copying = std::max(most_copying, entry.batch.num_copying);
    const BenchStates states(model, most_copying, options_);
    for (const Case& entry : cases) run(states, entry);
  }

 private:
  void run(const BenchStates& states, const Case& entry) {
    const BenchArrays arrays(entry.batch);
    const std::int64_t bytes = entry.batch.bytes_copied(states.model());
    const GpuWork work = [&](cudaStream_t stream) {
      if (entry.launch == Launch::postprocess_v1) arrays.postprocess(states.fused(), stream);
      if (entry.launch == Launch::postprocess_v2) arrays.postprocess_align(states.fused(), stream);
      if (entry.launch != Launch::advance_and_precopy) return;
      arrays.advance(stream);
      arrays.precopy(states.fused(), stream);
    };
    if (once_) {
      work(nullptr);
      must(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
      return;
    }
    const int num_nodes = bytes == 0 ? 50 : bytes < 100'000'000 ? 20 : 5;
    const double us = graph_us(num_nodes, work);
    const PlainCopy plain = bytes > 0 ? plain_copy(bytes, num_nodes) : PlainCopy{};
    std::printf("| %s | %s | %d | %d | %d%s |", states.model().name.c_str(), words(entry.launch),
                entry.batch.num_reqs, entry.batch.num_copying, entry.batch.accept_token_bias,
                entry.batch.within_block ? " within" : "");
    print_number(" %.1f |", static_cast<double>(bytes) / 1e6);
    std::printf(" %.1f |", us);
    print_number(" %.2f |", 2.0 * static_cast<double>(bytes) / us / 1e6);
    print_number(" %.1f |", plain.alone_us);
    print_number(" %.1f |", plain.in_graph_us);
    print_number(" %.1f |", entry.given.limit);
    print_number(" %.1f |", entry.given.june);
    print_number(" %.1f |", entry.given.august);
    std::printf("%s\n", entry.given.limit > 0 && us > entry.given.limit ? " ABOVE THE LIMIT" : "");
    std::fflush(stdout);
  }

  PlainCopy plain_copy(std::int64_t bytes, int num_nodes) {
    const auto [found, is_new] = plain_copies_.try_emplace(bytes, PlainCopy{});
    if (is_new) found->second = time_plain_copy(bytes, num_nodes);
    return found->second;
  }

  FusedAlignOptions options_;
  bool once_ = false;
  std::map<std::int64_t, PlainCopy> plain_copies_;  // by bytes
};

void run_all(const FusedAlignOptions& options, bool once) {
  Bench bench(options, once);
  std::printf(
      "| model | launch | requests | copying | bias | MB | us | TB/s read+write | plain copy us | "
      "in a graph |"
      " limit us | 2026-06 us | 2026-08 us "
      "|\n|---|---|---|---|---|---|---|---|---|---|---|---|---|\n");
  bench.run(kGdnBf16, {{{1, 1}, Launch::postprocess_v1, {26, 512, 28.6}},
                       {{8, 8}, Launch::postprocess_v1, {168, 613, 175}},
                       {{32, 32}, Launch::postprocess_v1, {640, 1215, 669}},
                       {{128, 16}, Launch::postprocess_v1, {}},
                       {{128, 0}, Launch::postprocess_v1, {4, 11, 94}},
                       {{512, 0}, Launch::postprocess_v1, {}},
                       {{32, 32, 2}, Launch::postprocess_v1, {}},
                       {{32, 32, 2, true}, Launch::postprocess_v1, {}},
                       {{1, 1}, Launch::postprocess_v2, {}},
                       {{32, 32}, Launch::postprocess_v2, {}},
                       {{128, 0}, Launch::postprocess_v2, {}},
                       {{512, 0}, Launch::postprocess_v2, {}},
                       {{1, 1}, Launch::advance_and_precopy, {}},
                       {{8, 8, 1}, Launch::advance_and_precopy, {}},
                       {{32, 32}, Launch::advance_and_precopy, {}},
                       {{128, 0}, Launch::advance_and_precopy, {}}});
  bench.run(kGdnBf16Ds, {{{1, 1}, Launch::postprocess_v1, {}},
                         {{8, 8}, Launch::postprocess_v1, {}},
                         {{32, 32}, Launch::postprocess_v1, {}},
                         {{1, 1, 2}, Launch::postprocess_v1, {}},
                         {{32, 32, 2}, Launch::postprocess_v1, {}},
                         {{32, 32, 2, true}, Launch::postprocess_v1, {}}});
  for (const BenchModel& model : {kGdnFp32, kMamba2Fp32})
    bench.run(model, {{{1, 1}, Launch::postprocess_v1, {}},
                      {{8, 8}, Launch::postprocess_v1, {}},
                      {{32, 32},
                       Launch::postprocess_v1,
                       model.name == kMamba2Fp32.name ? Given{1600, 3132, 1668} : Given{}},
                      {{128, 16}, Launch::postprocess_v1, {}},
                      {{128, 0}, Launch::postprocess_v1, {}},
                      {{512, 0}, Launch::postprocess_v1, {}},
                      {{32, 32, 2}, Launch::postprocess_v1, {}}});
}

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

// `once`: every case is launched once and not timed, for profilers.
void bench_state_hashes(bool once) {
  if (!once)
    std::printf(
        "\n| hashes of | layers | blocks | MB | us | TB/s read |\n|---|---|---|---|---|---|\n");
  for (const std::int32_t num_blocks : {1, 16, 256})
    run({"Mamba2, 2 MiB and K=2", 2 << 20, 5, 10240, 4, num_blocks}, once);
  for (const std::int32_t num_blocks : {1, 256})
    run({"a small model", 4096, 3, 256, 8, num_blocks}, once);
}

}  // namespace
}  // namespace hybridscope

int main(int argc, char** argv) {
  hybridscope::FusedAlignOptions options;
  bool once = false;
  bool only_hashes = false;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--warps") == 0) {
      options.way = hybridscope::CopyWay::warps;
    } else if (std::strcmp(argv[i], "--once") == 0) {
      once = true;
    } else if (std::strcmp(argv[i], "--hashes") == 0) {
      only_hashes = true;
    } else {
      std::fprintf(stderr, "usage: %s [--warps] [--once] [--hashes]\n", argv[0]);
      return 2;
    }
  }
  cudaDeviceProp device{};
  hybridscope::must(cudaGetDeviceProperties(&device, 0), "cudaGetDeviceProperties");
  const bool by_warps = options.way == hybridscope::CopyWay::warps;
  std::printf("%s, %d SMs, copies by %s; graph replays, medians of 15\n\n", device.name,
              device.multiProcessorCount, by_warps ? "warps" : "engine");
  if (!only_hashes) hybridscope::run_all(options, once);
  hybridscope::bench_state_hashes(once);
  return 0;
}
