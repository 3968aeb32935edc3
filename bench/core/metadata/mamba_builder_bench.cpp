// Metadata builds of Mamba1 and Mamba2 layers; each call classes the rows and builds.
#include "bench/core/metadata/bench_batch.h"
#include "bench/support/measure.h"
#include "core/metadata/mamba2_builder.h"
#include "core/metadata/mamba_builder.h"

namespace hybridscope::bench {
namespace {

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
