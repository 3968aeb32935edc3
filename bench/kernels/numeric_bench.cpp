// Times the layer kernels that decode, at a batch of 256 rows, and prints a table:
// hybridscope_numeric_bench [--once] [PREFIX], only of kernels whose names begin with PREFIX;
// hybridscope_numeric_bench [--once] --prefill: the kernels of prompt rows.
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "bench/kernels/numeric_case.h"
#include "bench/kernels/prefill_bench.h"
#include "kernels/numeric/conv_cuda.h"
#include "kernels/numeric/recurrences_cuda.h"

namespace hybridscope {
namespace {

constexpr std::int32_t kRows = 256;
constexpr double kCopyRate = 4.24e6;  // bytes a microsecond of a plain copy on an H200

struct Line {
  const char* name = "";
  std::int64_t bytes = 0;
  double most_us = 0;  // of the plan
};

class Table {
 public:
  // `once`: every kernel is launched once and not timed, for profilers.
  Table(bool once, std::string prefix) : once_(once), prefix_(std::move(prefix)) {
    const std::int64_t bytes = std::int64_t{1} << 30;
    if (!once_) copy_rate_ = 2.0 * static_cast<double>(bytes) / time_plain_copy(bytes, 5).alone_us;
    std::printf("plain copy of 1 GiB: %.2f TB/s read+write\n\n", copy_rate_ / 1e6);
    std::printf(
        "| kernel | MB | us | limit us | of the limit | of this device's copy | plan us |\n"
        "|---|---|---|---|---|---|---|\n");
  }
  bool wants(const char* name) const { return std::string(name).starts_with(prefix_); }
  void add(const Line& line, const GpuWork& work) const {
    if (once_) {
      work(nullptr);
      must(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
      return;
    }
    const double us = graph_us(line.bytes < 100'000'000 ? 32 : 5, work);
    const auto bytes = static_cast<double>(line.bytes);
    std::printf("| %s | %.1f | %.1f | %.1f | %.1f %% | %.1f %% | %.0f%s |\n", line.name,
                bytes / 1e6, us, bytes / kCopyRate, 100 * bytes / kCopyRate / us,
                100 * bytes / copy_rate_ / us, line.most_us, us > line.most_us ? " ABOVE" : "");
    std::fflush(stdout);
  }

 private:
  bool once_;
  std::string prefix_;
  double copy_rate_ = kCopyRate;
};

void must_launch(const Status& status) {
  if (status) return;
  std::fprintf(stderr, "%s\n", status.error().message.c_str());
  std::exit(4);
}

template <class T>
auto pool_of(std::span<T> data, std::int64_t block_elements) {
  if constexpr (sizeof(T) == 4)
    return StatePool{data, block_elements};
  else
    return Bf16StatePool{data, block_elements};
}

// A state is read once and written once for each token of a row.
template <class T>
std::int64_t state_bytes(std::int64_t block_elements, std::int32_t num_drafts) {
  return kRows * block_elements * static_cast<std::int64_t>(sizeof(T)) * (2 + num_drafts);
}

template <class T>
void bench_mamba2(const Table& table, const char* name, std::int32_t num_drafts, double most_us) {
  if (!table.wants(name)) return;
  constexpr std::int32_t H = 128, P = 64, N = 128, G = 1;
  const std::int64_t tokens = kRows * (1 + num_drafts);
  const RandomArray<float> x(tokens * H * P), dt(tokens * H), B(tokens * G * N), C(tokens * G * N),
      A_log(H), D(H), dt_bias(H);
  const BenchArray<float> y(tokens * H * P);
  const BenchRows rows(kRows, num_drafts, 1);
  const RandomArray<T> pool((tokens + 1) * H * P * N);
  const Mamba2Layer layer{.num_heads = H,
                          .head_dim = P,
                          .state_size = N,
                          .num_groups = G,
                          .A_log = A_log.span(),
                          .D = D.span(),
                          .dt_bias = dt_bias.span()};
  table.add({name, state_bytes<T>(H * P * N, num_drafts), most_us}, [&](cudaStream_t stream) {
    must_launch(mamba2_update_cuda(layer, rows.rows(), pool_of(pool.span(), H * P * N),
                                   {x.span(), dt.span(), B.span(), C.span(), y.span()}, stream));
  });
}

template <class T>
void bench_delta_rule(const Table& table, const char* name, std::int32_t num_drafts,
                      double most_us) {
  if (!table.wants(name)) return;
  constexpr std::int32_t Hk = 16, Hv = 32, Dim = 128;
  const std::int64_t tokens = kRows * (1 + num_drafts);
  const RandomArray<float> q(tokens * Hk * Dim), k(tokens * Hk * Dim), v(tokens * Hv * Dim),
      a(tokens * Hv), b(tokens * Hv), A_log(Hv), dt_bias(Hv);
  const BenchArray<float> o(tokens * Hv * Dim);
  const BenchRows rows(kRows, num_drafts, 1);
  const RandomArray<T> pool((tokens + 1) * Hv * Dim * Dim);
  const DeltaRuleLayer layer{.num_key_heads = Hk,
                             .num_value_heads = Hv,
                             .key_dim = Dim,
                             .value_dim = Dim,
                             .A_log = A_log.span(),
                             .dt_bias = dt_bias.span()};
  table.add({name, state_bytes<T>(Hv * Dim * Dim, num_drafts), most_us}, [&](cudaStream_t stream) {
    must_launch(delta_rule_update_cuda(layer, rows.rows(), pool_of(pool.span(), Hv * Dim * Dim),
                                       {q.span(), k.span(), v.span(), a.span(), b.span(), o.span()},
                                       stream));
  });
}

// Several batches in turn, because the cache would hold one.
void bench_conv(const Table& table, const char* name, std::int32_t dim, std::int32_t num_drafts,
                double most_us) {
  if (!table.wants(name)) return;
  constexpr std::int32_t kWidth = 4;
  constexpr std::int32_t kBatches = 16;
  const std::int64_t tokens = kRows * (1 + num_drafts);
  const std::int32_t state_len = kWidth - 1 + num_drafts;
  const RandomArray<float> weight(dim * kWidth), bias(dim);
  const RandomArray<std::uint16_t> x(kBatches * tokens * dim);
  const BenchArray<std::uint16_t> y(kBatches * tokens * dim);
  const RandomArray<std::uint16_t> pool((kBatches * tokens + 1) * state_len * dim);
  std::vector<std::unique_ptr<BenchRows>> batches;
  for (std::int32_t i = 0; i < kBatches; ++i)
    batches.push_back(
        std::make_unique<BenchRows>(kRows, num_drafts, 1 + i * static_cast<std::int32_t>(tokens)));
  const ConvLayer layer{.dim = dim,
                        .width = kWidth,
                        .state_len = state_len,
                        .weight = weight.span(),
                        .bias = bias.span()};
  const std::int64_t positions =
      num_drafts == 0 ? 8 : kWidth - 1 + state_len + 2 * (1 + num_drafts);  // x and y among them
  std::int64_t next = 0;
  table.add({name, kRows * positions * dim * 2, most_us}, [&](cudaStream_t stream) {
    const std::int64_t batch = next++ % kBatches;
    must_launch(conv_update_cuda(
        layer, batches[static_cast<std::size_t>(batch)]->rows(),
        Bf16StatePool{pool.span(), state_len * dim},
        Bf16ConvTokens{x.part(batch, tokens * dim), y.part(batch, tokens * dim)}, stream));
  });
}

void run_all(bool once, const char* prefix) {
  const Table table(once, prefix);
  bench_mamba2<float>(table, "selective_state_update H128 P64 N128 fp32", 0, 550);
  bench_mamba2<float>(table, "selective_state_update H128 P64 N128 fp32, K = 2", 2, 1100);
  bench_mamba2<std::uint16_t>(table, "selective_state_update, bf16 state", 0, 275);
  bench_mamba2<std::uint16_t>(table, "selective_state_update, bf16 state, K = 2", 2, 550);
  bench_delta_rule<float>(table, "gated delta rule Hv32 128x128 fp32", 0, 275);
  bench_delta_rule<float>(table, "gated delta rule Hv32 128x128 fp32, K = 2", 2, 550);
  bench_delta_rule<std::uint16_t>(table, "gated delta rule, bf16 state", 0, 138);
  bench_delta_rule<std::uint16_t>(table, "gated delta rule, bf16 state, K = 2", 2, 275);
  bench_conv(table, "causal_conv1d_update 8192 channels bf16", 8192, 0, 10);
  bench_conv(table, "causal_conv1d_update 8192 channels bf16, K = 2", 8192, 2, 18);
  bench_conv(table, "causal_conv1d_update 8448 channels bf16", 8448, 0, 10.3);
}

}  // namespace
}  // namespace hybridscope

int main(int argc, char** argv) {
  const bool once = argc > 1 && std::strcmp(argv[1], "--once") == 0;
  const int num_options = once ? 1 : 0;
  if (argc > 2 + num_options) {
    std::fprintf(stderr, "usage: %s [--once] [--prefill | PREFIX]\n", argv[0]);
    return 2;
  }
  cudaDeviceProp device{};
  hybridscope::must(cudaGetDeviceProperties(&device, 0), "cudaGetDeviceProperties");
  std::printf("%s, %d SMs; graph replays, medians of 15\n", device.name,
              device.multiProcessorCount);
  const char* const wanted = argc > 1 + num_options ? argv[1 + num_options] : "";
  if (std::strcmp(wanted, "--prefill") == 0)
    hybridscope::bench_prefill(once);
  else
    hybridscope::run_all(once, wanted);
  return 0;
}
