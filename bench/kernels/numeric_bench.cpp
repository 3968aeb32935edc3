// Times the layer kernels that decode, at a batch of 256 rows, and prints a table:
// hybridscope_numeric_bench [--once] [PREFIX], only of kernels whose names begin with PREFIX;
// hybridscope_numeric_bench [--once] --prefill: the kernels of prompt rows.

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/kernels/numeric_case.h"
#include "kernels/numeric/recurrences_cuda.h"

namespace hybridscope {
namespace {

constexpr std::int32_t kRows = 256;
constexpr double kCopyRate = 4.24e6;  // bytes a microsecond of a plain copy on an H200

struct Line {
  const char* name = "";
  std::int64_t bytes = 0;
  double most_us = 0;  // of the plan; 0: none
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
    std::printf("| %s | %.1f | %.1f | %.1f | %.1f %% | %.1f %% |", line.name, bytes / 1e6, us,
                bytes / kCopyRate, 100 * bytes / kCopyRate / us, 100 * bytes / copy_rate_ / us);
    if (line.most_us == 0)
      std::printf(" |\n");
    else
      std::printf(" %.0f%s |\n", line.most_us, us > line.most_us ? " ABOVE" : "");
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

// One batch, which the cache holds, or several in turn.
struct ConvCase {
  std::int32_t dim = 8192;
  std::int32_t num_drafts = 0;
  std::int32_t num_batches = 16;
};
void bench_conv(const Table& table, const char* name, const ConvCase& with, double most_us) {
  if (!table.wants(name)) return;
  constexpr std::int32_t kWidth = 4;
  const auto [dim, num_drafts, num_batches] = with;
  const std::int64_t tokens = kRows * (1 + num_drafts);
  const std::int32_t state_len = kWidth - 1 + num_drafts;
  const RandomArray<float> weight(dim * kWidth), bias(dim);
  const RandomArray<std::uint16_t> x(num_batches * tokens * dim);
  const BenchArray<std::uint16_t> y(num_batches * tokens * dim);
  const RandomArray<std::uint16_t> pool((num_batches * tokens + 1) * state_len * dim);
  std::vector<std::unique_ptr<BenchRows>> batches;
  for (std::int32_t i = 0; i < num_batches; ++i)
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
    const std::int64_t batch = next++ % num_batches;
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
  bench_conv(table, "causal_conv1d_update 8192 channels bf16", {}, 0);
  bench_conv(table, "causal_conv1d_update 8192 channels bf16, K = 2", {.num_drafts = 2}, 0);
  bench_conv(table, "causal_conv1d_update 8448 channels bf16", {.dim = 8448}, 0);
  bench_conv(table, "causal_conv1d_update 8192 channels bf16, in the L2", {.num_batches = 1}, 10);
  bench_conv(table, "causal_conv1d_update 8192 channels bf16, K = 2, in the L2",
             {.num_drafts = 2, .num_batches = 1}, 18);
  bench_conv(table, "causal_conv1d_update 8448 channels bf16, in the L2",
             {.dim = 8448, .num_batches = 1}, 10.3);
}

constexpr std::int32_t kTokens = 8192;
constexpr std::int32_t kMamba2Chunk = 256;

void must_be_launched(const Status& status) {
  if (status) return;
  std::fprintf(stderr, "%s\n", status.error().message.c_str());
  std::exit(4);
}

// Sequences of equal length, each with a state of its own that it reads and writes.
class PromptRows {
 public:
  explicit PromptRows(std::int32_t num_rows)
      : num_rows_(num_rows),
        starts_(numbers(num_rows + 1, 0, kTokens / num_rows)),
        blocks_(numbers(num_rows, 1, 1)),
        flags_(std::vector<std::uint8_t>(static_cast<std::size_t>(num_rows), 1)) {}

  PrefillRows rows() const {
    return {.query_start_loc = starts_.span(),
            .has_initial_states = flags_.span(),
            .state_indices = vector_view<std::int32_t>(blocks_.span().data(), num_rows_)};
  }
  std::int32_t num_rows() const { return num_rows_; }
  // [count] first, first + step, ...
  static std::vector<std::int32_t> numbers(std::int32_t count, std::int32_t first,
                                           std::int32_t step) {
    std::vector<std::int32_t> made;
    for (std::int32_t i = 0; i < count; ++i) made.push_back(first + i * step);
    return made;
  }

 private:
  std::int32_t num_rows_;
  BenchArray<std::int32_t> starts_, blocks_;
  BenchArray<std::uint8_t> flags_;
};

// Chunks of `size` tokens, which divide the rows.
class BenchChunks {
 public:
  BenchChunks(const PromptRows& rows, std::int32_t size) {
    const std::int32_t of_row = kTokens / rows.num_rows() / size;
    for (std::int32_t row = 0; row < rows.num_rows(); ++row) {
      for (std::int32_t i = 0; i < of_row; ++i) {
        const std::int32_t first = (row * of_row + i) * size;
        chunks.push_back({row, first, first + size});
        rows_of_chunks.push_back(row);
      }
      last.push_back((row + 1) * of_row - 1);
    }
    ends = PromptRows::numbers(kTokens / size + 1, 0, size);
  }

  std::vector<RowChunk> chunks;
  std::vector<std::int32_t> rows_of_chunks, last, ends;
};

class PrefillTable {
 public:
  explicit PrefillTable(bool once) : once_(once) {
    std::printf(
        "| prompt rows | sequences | tokens of each | chunked us | recurrent us |\n"
        "|---|---|---|---|---|\n");
  }
  void add(const char* name, std::int32_t sequences, const GpuWork& chunked,
           const GpuWork& recurrent) const {
    if (once_) {
      chunked(nullptr);
      must(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
      return;
    }
    std::printf("| %s | %d | %d | %.0f | %.0f |\n", name, sequences, kTokens / sequences,
                graph_us(5, chunked), graph_us(1, recurrent));
    std::fflush(stdout);
  }

 private:
  bool once_;
};

void bench_delta_rule_prefill(const PrefillTable& table, const PromptRows& rows) {
  constexpr std::int32_t Hk = 16, Hv = 32, Dim = 128;
  const RandomArray<float> q(kTokens * Hk * Dim), k(kTokens * Hk * Dim), v(kTokens * Hv * Dim),
      a(kTokens * Hv), b(kTokens * Hv), A_log(Hv), dt_bias(Hv);
  const BenchArray<float> o(kTokens * Hv * Dim);
  const RandomArray<float> pool((rows.num_rows() + 1) * Hv * Dim * Dim);
  const DeltaRuleLayer layer{.num_key_heads = Hk,
                             .num_value_heads = Hv,
                             .key_dim = Dim,
                             .value_dim = Dim,
                             .A_log = A_log.span(),
                             .dt_bias = dt_bias.span()};
  const BenchChunks cut(rows, 64);
  const BenchArray<RowChunk> chunks(cut.chunks);
  const ChunkPlan plan = plan_chunks(cut.chunks, kTokens);
  const BenchArray<float> scratch(plan.num_pieces * piece_floats(layer));
  const StatePool states{pool.span(), Hv * Dim * Dim};
  const DeltaRuleTokens io{q.span(), k.span(), v.span(), a.span(), b.span(), o.span()};
  table.add(
      "gated delta rule Hk16 Hv32 128x128 fp32, chunks of 64", rows.num_rows(),
      [&](cudaStream_t stream) {
        must_be_launched(delta_rule_prefill_chunked_cuda(
            layer, rows.rows(), states, io, chunks.span(),
            {.num_pieces = plan.num_pieces, .in_turn = plan.in_turn, .scratch = scratch.span()},
            stream));
      },
      [&](cudaStream_t stream) {
        must_be_launched(delta_rule_prefill_cuda(layer, rows.rows(), states, io, stream));
      });
}

void bench_mamba2_prefill(const PrefillTable& table, const PromptRows& rows) {
  constexpr std::int32_t H = 128, P = 64, N = 128, G = 1;
  const RandomArray<float> x(kTokens * H * P), dt(kTokens * H), B(kTokens * G * N),
      C(kTokens * G * N), A_log(H), D(H), dt_bias(H);
  const BenchArray<float> y(kTokens * H * P);
  const RandomArray<float> pool((rows.num_rows() + 1) * H * P * N);
  const Mamba2Layer layer{.num_heads = H,
                          .head_dim = P,
                          .state_size = N,
                          .num_groups = G,
                          .A_log = A_log.span(),
                          .D = D.span(),
                          .dt_bias = dt_bias.span()};
  const BenchChunks cut(rows, kMamba2Chunk);
  const BenchArray<std::int32_t> ends(cut.ends), rows_of_chunks(cut.rows_of_chunks), last(cut.last);
  const ChunkPlan plan =
      plan_chunks(Mamba2Chunks{cut.ends, cut.rows_of_chunks, cut.last, kMamba2Chunk}, kTokens);
  const BenchArray<float> scratch(plan.num_pieces * piece_floats(layer));
  const StatePool states{pool.span(), H * P * N};
  const Mamba2Tokens io{x.span(), dt.span(), B.span(), C.span(), y.span()};
  table.add(
      "Mamba2 H128 P64 N128 G1 fp32, chunks of 256", rows.num_rows(),
      [&](cudaStream_t stream) {
        must_be_launched(mamba2_prefill_chunked_cuda(
            layer, rows.rows(), states, io, true,
            {ends.span(), rows_of_chunks.span(), last.span(), kMamba2Chunk},
            {.num_pieces = plan.num_pieces, .in_turn = plan.in_turn, .scratch = scratch.span()},
            stream));
      },
      [&](cudaStream_t stream) {
        must_be_launched(mamba2_prefill_cuda(layer, rows.rows(), states, io, true, stream));
      });
}

// `once`: every case is launched once and not timed, for profilers.
void bench_prefill(bool once) {
  const PrefillTable table(once);
  for (const std::int32_t sequences : {1, 8}) {
    const PromptRows rows(sequences);
    bench_delta_rule_prefill(table, rows);
    bench_mamba2_prefill(table, rows);
  }
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
