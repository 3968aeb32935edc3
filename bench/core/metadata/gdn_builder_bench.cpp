// Metadata builds of GatedDeltaNet layers; each call classes the rows and builds.
#include "bench/core/metadata/bench_batch.h"
#include "bench/support/measure.h"
#include "core/metadata/gdn_builder.h"

namespace hybridscope::bench {
namespace {

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

}  // namespace
}  // namespace hybridscope::bench
