#include "bench/kernels/prefill_bench.h"

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

#include "bench/kernels/numeric_case.h"
#include "kernels/numeric/chunked_cuda.h"
#include "kernels/numeric/recurrences_cuda.h"

namespace hybridscope {
namespace {

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

}  // namespace

void bench_prefill(bool once) {
  const PrefillTable table(once);
  for (const std::int32_t sequences : {1, 8}) {
    const PromptRows rows(sequences);
    bench_delta_rule_prefill(table, rows);
    bench_mamba2_prefill(table, rows);
  }
}

}  // namespace hybridscope
