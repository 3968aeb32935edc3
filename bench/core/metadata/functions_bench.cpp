// The functions that the builders are made of, each on a batch of 224 decodes and 32 prefills.
#include <vector>

#include "bench/core/metadata/bench_batch.h"
#include "bench/support/measure.h"
#include "core/metadata/batch_split.h"
#include "core/metadata/block_table_gather.h"
#include "core/metadata/causal_conv1d_metadata_builder.h"
#include "core/metadata/chunk_metadata.h"
#include "core/metadata/common_attention_metadata.h"
#include "core/metadata/gdn_metadata.h"

namespace hybridscope::bench {
namespace {

constexpr std::int32_t kNumSpec = 2;

void split_by_class(benchmark::State& state) {
  const BenchBatch batch(Shape::mixed, kNumSpec);
  measure(state, kRows, [&] {
    return split_by_row_class({.row_classes = batch.row_classes(),
                               .query_start_loc = batch.common().query_start_loc,
                               .num_actual_tokens = batch.common().num_actual_tokens});
  });
}
BENCHMARK(split_by_class);

void split_by_length(benchmark::State& state) {
  const BenchBatch batch(Shape::mixed, kNumSpec);
  measure(state, kRows, [&] {
    return split_decodes_and_prefills(batch.common(), {.decode_threshold = 1 + kNumSpec});
  });
}
BENCHMARK(split_by_length);

void gather_align(benchmark::State& state) {
  const BenchBatch batch(Shape::mixed, kNumSpec);
  std::vector<std::int32_t> starts(kRows);
  std::vector<std::int32_t> gathered(kRows * (1 + kNumSpec));
  measure(state, kRows, [&] {
    const BlockTableWindow window =
        find_block_table_window({.config = {.mamba_cache_mode = MambaCacheMode::align,
                                            .block_size = ReciprocalDivider(kBlockSize),
                                            .num_speculative_blocks = kNumSpec},
                                 .block_table = batch.common().block_table_tensor,
                                 .seq_lens = batch.common().seq_lens},
                                starts)
            .value();
    copy_window_rows(window, {.count = window.rows, .width = window.width}, gathered.data());
    return gathered.data();
  });
}
BENCHMARK(gather_align);

void causal_conv1d_metadata(benchmark::State& state) {
  const BenchBatch batch(Shape::mixed, kNumSpec);
  CausalConv1dMetadataBuilder builder;
  measure(state, kRows, [&] { return builder.compute(batch.common().query_start_loc); });
}
BENCHMARK(causal_conv1d_metadata);

void mamba2_chunks(benchmark::State& state) {
  const BenchBatch batch(Shape::mixed, kNumSpec);
  std::vector<std::int32_t> computed;
  for (std::int32_t row = 0; row < batch.common().num_reqs; ++row)
    computed.push_back(num_computed_tokens(batch.common(), row));
  Mamba2ChunkMetadataBuilder builder;
  measure(state, kRows, [&] {
    return builder.compute({.chunk_size = 256,
                            .num_computed_tokens_p = computed,
                            .query_start_loc_p = batch.common().query_start_loc});
  });
}
BENCHMARK(mamba2_chunks);

void fla_chunk_indices(benchmark::State& state) {
  const BenchBatch batch(Shape::mixed, kNumSpec);
  FlaChunkBuilder builder;
  measure(state, kRows, [&] {
    return builder.prepare_chunk_indices(batch.common().query_start_loc, kFlaChunkSize);
  });
}
BENCHMARK(fla_chunk_indices);

void fla_chunk_offsets(benchmark::State& state) {
  const BenchBatch batch(Shape::mixed, kNumSpec);
  FlaChunkBuilder builder;
  measure(state, kRows, [&] {
    return builder.prepare_chunk_offsets(batch.common().query_start_loc, kFlaChunkSize);
  });
}
BENCHMARK(fla_chunk_offsets);

}  // namespace
}  // namespace hybridscope::bench
