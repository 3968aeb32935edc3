// Metadata builds of Mamba1, Mamba2 and GatedDeltaNet layers, and the functions that the builders
// are made of.

#include <cstdint>
#include <numeric>
#include <vector>

#include "bench/support/measure.h"
#include "core/base/tensor_view.h"
#include "core/metadata/batch_split.h"
#include "core/metadata/block_table_gather.h"
#include "core/metadata/chunk_metadata.h"
#include "core/metadata/common_attention_metadata.h"
#include "core/metadata/gdn_builder.h"
#include "core/metadata/gdn_metadata.h"
#include "core/metadata/mamba2_builder.h"
#include "core/metadata/mamba_builder.h"
#include "core/metadata/mamba_builder_config.h"

namespace hybridscope::bench {

// Batches in the shapes of the targets in docs/performance.md: blocks of 560 tokens, tables 256
// columns wide.

inline constexpr std::int32_t kBlockSize = 560;
inline constexpr std::int32_t kColumns = 256;
inline constexpr std::int32_t kRows = 256;

enum class Shape : std::uint8_t {
  decodes,  // 256 decode or verify rows of 1 + K tokens
  mixed,    // 224 of them and 32 prefills of 256 tokens, half of these with a stored state
};

// Owns what a runner keeps between steps and hands to the builders.
class BenchBatch {
 public:
  BenchBatch(Shape shape, std::int32_t num_spec);

  const CommonAttentionMetadata& common() const { return common_; }
  TensorView<std::int32_t> num_accepted_tokens() const {
    return vector_view(num_accepted_tokens_.data(), kRows);
  }
  TensorView<std::int32_t> num_decode_draft_tokens() const {
    return vector_view(num_decode_draft_tokens_.data(), kRows);
  }
  const std::vector<RowClass>& row_classes() const { return row_classes_; }

 private:
  std::vector<std::int32_t> query_start_loc_;          // [kRows + 1]
  std::vector<std::int32_t> seq_lens_;                 // [kRows]
  std::vector<std::int32_t> block_table_;              // [kRows, kColumns]
  std::vector<std::int32_t> num_accepted_tokens_;      // [kRows]
  std::vector<std::int32_t> num_decode_draft_tokens_;  // [kRows] -1: prefill
  std::vector<RowClass> row_classes_;                  // [kRows]
  CommonAttentionMetadata common_;
};

// A builder of such batches: graph branch on, buffers for kRows rows of 1 + K tokens.
MambaBuilderConfig bench_builder_config(MambaCacheMode mode, std::int32_t num_spec);

namespace {

constexpr std::int32_t kPrefills = 32;
constexpr std::int32_t kPrefillTokens = 256;

// Contexts spread over the whole table, so that the gather reads as widely as in a long run.
std::int32_t context_of(std::int32_t row) { return 1000 + row * 7919 % 140000; }

}  // namespace

BenchBatch::BenchBatch(Shape shape, std::int32_t num_spec)
    : query_start_loc_{0}, block_table_(static_cast<std::size_t>(kRows) * kColumns) {
  std::iota(block_table_.begin(), block_table_.end(), 1);
  const std::int32_t num_decodes = shape == Shape::decodes ? kRows : kRows - kPrefills;
  const RowClass decode = num_spec > 0 ? RowClass::verify : RowClass::decode;
  for (std::int32_t row = 0; row < kRows; ++row) {
    const bool prefill = row >= num_decodes;
    const std::int32_t len = prefill ? kPrefillTokens : 1 + num_spec;
    const std::int32_t computed = prefill && row % 2 == 0 ? 0 : context_of(row);
    query_start_loc_.push_back(query_start_loc_.back() + len);
    seq_lens_.push_back(computed + len);
    num_accepted_tokens_.push_back(prefill ? 1 : 1 + row % (1 + num_spec));
    num_decode_draft_tokens_.push_back(prefill ? -1 : num_spec);
    row_classes_.push_back(prefill ? RowClass::prefill : decode);
  }
  common_.query_start_loc = query_start_loc_;
  common_.seq_lens = seq_lens_;
  common_.num_reqs = kRows;
  common_.num_actual_tokens = query_start_loc_.back();
  common_.max_query_len = shape == Shape::decodes ? 1 + num_spec : kPrefillTokens;
  common_.block_table_tensor = matrix_view(block_table_.data(), kRows, kColumns);
}

MambaBuilderConfig bench_builder_config(MambaCacheMode mode, std::int32_t num_spec) {
  return {.mamba_cache_mode = mode,
          .block_size = kBlockSize,
          .num_spec = num_spec,
          .num_speculative_blocks = num_spec,
          .max_num_seqs = kRows,
          .max_model_len = kBlockSize * kColumns,
          .full_cudagraph = true,
          .chunk_size = 256};
}

// The functions that the builders are made of, each on a batch of 224 decodes and 32 prefills.

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

// Metadata builds of GatedDeltaNet layers; each call classes the rows and builds.

enum class Classing : std::uint8_t { by_class, by_drafts };

void gdn_build(benchmark::State& state, std::int32_t num_spec, Shape shape, Classing classing) {
  const BenchBatch batch(shape, num_spec);
  auto builder =
      GdnMetadataBuilder::create(bench_builder_config(MambaCacheMode::align, num_spec)).value();
  std::vector<std::uint8_t> masks(kRows);
  measure(state, kRows, [&] {
    const auto classes =
        classing == Classing::by_class
            ? classify_gdn_rows_by_class(batch.common(), {num_spec, batch.row_classes()}, masks)
            : classify_gdn_rows_by_drafts(batch.common(),
                                          {num_spec, batch.num_decode_draft_tokens()}, masks);
    return builder.build({.common = batch.common(),
                          .num_accepted_tokens = batch.num_accepted_tokens(),
                          .row_classes = classes.value()});
  });
}
BENCHMARK_CAPTURE(gdn_build, K2_256_spec_decodes, 2, Shape::decodes, Classing::by_class);
BENCHMARK_CAPTURE(gdn_build, K2_224_spec_decodes_32_prefills, 2, Shape::mixed, Classing::by_class);
BENCHMARK_CAPTURE(gdn_build, K2_256_spec_decodes_by_drafts, 2, Shape::decodes, Classing::by_drafts);
BENCHMARK_CAPTURE(gdn_build, K0_256_decodes, 0, Shape::decodes, Classing::by_class);
BENCHMARK_CAPTURE(gdn_build, K0_224_decodes_32_prefills, 0, Shape::mixed, Classing::by_class);

void gdn_capture(benchmark::State& state, std::int32_t num_spec) {
  const BenchBatch batch(Shape::decodes, num_spec);
  auto builder =
      GdnMetadataBuilder::create(bench_builder_config(MambaCacheMode::align, num_spec)).value();
  measure(state, kRows, [&] { return builder.build_for_cudagraph_capture(batch.common()); });
}
BENCHMARK_CAPTURE(gdn_capture, K2_256_spec_decodes, 2);

// Metadata builds of Mamba1 and Mamba2 layers; each call classes the rows and builds.

Result<BatchSplit> split_of(const BenchBatch& batch) {
  return split_by_row_class({.row_classes = batch.row_classes(),
                             .query_start_loc = batch.common().query_start_loc,
                             .num_actual_tokens = batch.common().num_actual_tokens});
}

MambaBuildInputs inputs_of(const BenchBatch& batch, std::int32_t num_spec) {
  MambaBuildInputs inputs{.common = batch.common(), .split = split_of(batch).value()};
  if (num_spec > 0) inputs.num_accepted_tokens = batch.num_accepted_tokens();
  return inputs;
}

template <class Builder>
void build(benchmark::State& state, MambaCacheMode mode, std::int32_t num_spec, Shape shape) {
  const BenchBatch batch(shape, num_spec);
  auto builder = Builder::create(bench_builder_config(mode, num_spec)).value();
  measure(state, kRows, [&] { return builder.build(inputs_of(batch, num_spec)); });
}

template <class Builder>
void update_block_table(benchmark::State& state, MambaCacheMode mode) {
  const BenchBatch batch(Shape::decodes, 0);
  auto first = Builder::create(bench_builder_config(mode, 0)).value();
  auto builder = Builder::create(bench_builder_config(mode, 0)).value();
  const auto metadata = first.build(inputs_of(batch, 0)).value();
  measure(state, kRows,
          [&] { return builder.update_block_table(metadata, batch.common().block_table_tensor); });
}

template <class Builder>
void capture(benchmark::State& state, std::int32_t num_spec) {
  const BenchBatch batch(Shape::decodes, num_spec);
  auto builder = Builder::create(bench_builder_config(MambaCacheMode::align, num_spec)).value();
  measure(state, kRows, [&] { return builder.build_for_cudagraph_capture(batch.common()); });
}

void mamba2_build(benchmark::State& state, MambaCacheMode mode, std::int32_t num_spec,
                  Shape shape) {
  build<Mamba2MetadataBuilder>(state, mode, num_spec, shape);
}
using enum MambaCacheMode;
BENCHMARK_CAPTURE(mamba2_build, align_K0_256_decodes, align, 0, Shape::decodes);
BENCHMARK_CAPTURE(mamba2_build, align_K2_256_decodes, align, 2, Shape::decodes);
BENCHMARK_CAPTURE(mamba2_build, align_K0_224_decodes_32_prefills, align, 0, Shape::mixed);
BENCHMARK_CAPTURE(mamba2_build, align_K2_224_decodes_32_prefills, align, 2, Shape::mixed);
BENCHMARK_CAPTURE(mamba2_build, none_K2_256_decodes, none, 2, Shape::decodes);
BENCHMARK_CAPTURE(mamba2_build, all_K0_256_decodes, all, 0, Shape::decodes);
BENCHMARK_CAPTURE(mamba2_build, all_K2_256_decodes, all, 2, Shape::decodes);
BENCHMARK_CAPTURE(mamba2_build, all_K2_224_decodes_32_prefills, all, 2, Shape::mixed);

void mamba1_build(benchmark::State& state, MambaCacheMode mode, std::int32_t num_spec,
                  Shape shape) {
  build<MambaMetadataBuilder>(state, mode, num_spec, shape);
}
BENCHMARK_CAPTURE(mamba1_build, align_K0_256_decodes, align, 0, Shape::decodes);
BENCHMARK_CAPTURE(mamba1_build, align_K2_256_decodes, align, 2, Shape::decodes);
BENCHMARK_CAPTURE(mamba1_build, align_K2_224_decodes_32_prefills, align, 2, Shape::mixed);
BENCHMARK_CAPTURE(mamba1_build, none_K0_256_decodes, none, 0, Shape::decodes);
BENCHMARK_CAPTURE(mamba1_build, all_K0_256_decodes, all, 0, Shape::decodes);

void mamba2_update_block_table(benchmark::State& state, MambaCacheMode mode) {
  update_block_table<Mamba2MetadataBuilder>(state, mode);
}
BENCHMARK_CAPTURE(mamba2_update_block_table, align_K0_256_decodes, align);
BENCHMARK_CAPTURE(mamba2_update_block_table, all_K0_256_decodes, all);

void mamba2_capture(benchmark::State& state, std::int32_t num_spec) {
  capture<Mamba2MetadataBuilder>(state, num_spec);
}
BENCHMARK_CAPTURE(mamba2_capture, align_K2_256_decodes, 2);

}  // namespace

}  // namespace hybridscope::bench
