// Times the fused align launches on the GPU, and a plain copy of the same bytes, then hashes of
// states, and prints tables: hybridscope_gpu_bench [--warps] [--once] [--hashes].
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>

#include "bench/kernels/fused_align_case.h"
#include "bench/kernels/gpu_timing.h"
#include "bench/kernels/state_hash_bench.h"

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
    case Launch::postprocess_v1:
      return "post V1";
    case Launch::postprocess_v2:
      return "post V2";
    case Launch::advance_and_precopy:
      return "advance+precopy";
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
