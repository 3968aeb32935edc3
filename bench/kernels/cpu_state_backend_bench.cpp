// State on the CPU, compared with a plain memcpy of as many bytes: 12 layers of a GatedDeltaNet
// model, a conv state of 5 x 8192 bfloat16 and a recurrent state of 32 x 128 x 128 bfloat16 in 40
// blocks. A byte that is read and then written counts once.
#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "bench/support/measure.h"
#include "kernels/cpu/cpu_state_backend.h"
#include "kernels/cpu/state_copy_cpu.h"
#include "kernels/memory_map.h"

namespace hybridscope::bench {
namespace {

constexpr std::int32_t kBlocks = 40;
constexpr std::int32_t kNumLayers = 12;
constexpr std::int32_t kCopies = 8;
constexpr std::int64_t kConvBytes = std::int64_t{5} * 8192 * 2;
constexpr std::int64_t kTemporalBytes = std::int64_t{32} * 128 * 128 * 2;

std::unique_ptr<CpuStateBackend> backend(ConvStateLayout layout) {
  MambaSpec spec;
  spec.states = {{.kind = StateKind::conv,
                  .shape = layout == ConvStateLayout::SD ? std::vector<std::int64_t>{5, 8192}
                                                         : std::vector<std::int64_t>{8192, 5},
                  .dtype = Dtype::bfloat16},
                 {.kind = StateKind::temporal, .shape = {32, 128, 128}, .dtype = Dtype::bfloat16}};
  spec.page_size_bytes = kConvBytes + kTemporalBytes;
  KVCacheGroup group;
  group.spec = spec;
  for (std::int32_t layer = 0; layer < kNumLayers; ++layer) group.layers.push_back(layer);
  KVCacheConfig config;
  config.num_blocks = kBlocks;
  config.groups = {group};
  return CpuStateBackend::create(make_state_memory(config, {.conv_state_layout = layout}).value())
      .value();
}

void set_bytes(benchmark::State& state, std::int64_t bytes) {
  state.SetBytesProcessed(state.iterations() * bytes);
}

// As many bytes as kCopies whole copies, page by page.
void state_memcpy(benchmark::State& state) {
  const auto page = static_cast<std::size_t>(kConvBytes + kTemporalBytes);
  std::vector<std::byte> memory(page * kBlocks * kNumLayers);
  measure(state, kCopies, [&] {
    for (std::size_t i = 0; i < std::size_t{kCopies} * kNumLayers; ++i) {
      const std::size_t buffer = i % kNumLayers * kBlocks;
      const std::size_t block = i / kNumLayers;
      std::memcpy(memory.data() + (buffer + 2 * block + 1) * page,
                  memory.data() + (buffer + 2 * block) * page, page);
    }
    return memory.data();
  });
  set_bytes(state, std::int64_t{kCopies} * kNumLayers * (kConvBytes + kTemporalBytes));
}
BENCHMARK(state_memcpy);

enum class Source { other_block, own_block };

void state_copies(benchmark::State& state, ConvStateLayout layout, Source source,
                  std::int32_t bias) {
  const auto states = backend(layout);
  StateOps ops;
  ops.begin_launch();
  for (std::int32_t i = 0; i < kCopies; ++i) {
    const std::int32_t src = source == Source::own_block ? 2 * i + 1 : 2 * i;
    ops.add_copy({.conv_src_block = src,
                  .temporal_src_block = 2 * i,
                  .dst_block = 2 * i + 1,
                  .accept_token_bias = bias});
  }
  measure(state, kCopies, [&] { return states->run(ops); });
  set_bytes(state,
            std::int64_t{kCopies} * kNumLayers * (kConvBytes * (5 - bias) / 5 + kTemporalBytes));
}
BENCHMARK_CAPTURE(state_copies, sd, ConvStateLayout::SD, Source::other_block, 0);
BENCHMARK_CAPTURE(state_copies, sd_shift_in_place, ConvStateLayout::SD, Source::own_block, 1);
BENCHMARK_CAPTURE(state_copies, ds, ConvStateLayout::DS, Source::other_block, 0);
BENCHMARK_CAPTURE(state_copies, ds_shift_in_place, ConvStateLayout::DS, Source::own_block, 1);

// A verify row of 3 tokens: three recurrent states and a conv window.
void state_verify_rows(benchmark::State& state, ConvStateLayout layout) {
  const auto states = backend(layout);
  StateOps ops;
  for (std::int32_t i = 0; i < kCopies; ++i) {
    const std::int32_t first_block = 4 * i;
    for (std::int32_t t = 0; t < 3; ++t) {
      ops.writes.push_back({ForwardWriteKind::temporal, first_block + t, t + 1});
      ops.tokens.push_back(static_cast<TokenContent>(3 * i + t));
      ops.token_fingerprints.push_back(static_cast<Fingerprint>(3 * i + t + 1));
    }
    ops.writes.push_back({ForwardWriteKind::conv_window, first_block, 3});
    ops.add_row({.temporal_src_block = first_block,
                 .conv_src_block = first_block,
                 .first_token = 3 * i,
                 .num_tokens = 3,
                 .first_write = 4 * i,
                 .num_writes = 4});
  }
  measure(state, kCopies, [&] { return states->run(ops); });
  set_bytes(state, std::int64_t{kCopies} * kNumLayers * (kConvBytes + 3 * kTemporalBytes));
}
BENCHMARK_CAPTURE(state_verify_rows, sd, ConvStateLayout::SD);
BENCHMARK_CAPTURE(state_verify_rows, ds, ConvStateLayout::DS);

BlockContents all_contents() {
  BlockContents contents;
  for (std::int32_t block = 0; block < kCopies; ++block) {
    contents.blocks.push_back({.kind = StateKind::temporal,
                               .block = block,
                               .fingerprint = static_cast<Fingerprint>(block + 1)});
    contents.blocks.push_back({.kind = StateKind::conv, .block = block});
  }
  contents.conv_fingerprints = {11, 12, 13, 14, 15};
  return contents;
}

void write_all(const BlockContents& contents, CpuStateBackend& states) {
  const MemoryMap map = make_memory_map(states.memory(), states.bytes().data()).value();
  std::vector<std::byte> image;
  for (const BlockContent& content : contents.blocks)
    for (const StateView& state : map.states) {
      if (state.geometry.is_conv() != (content.kind == StateKind::conv)) continue;
      make_trace_image(state, content, contents.conv_fingerprints, image);
      std::ranges::copy(image, state.block(content.block));
    }
}

void state_verify(benchmark::State& state, ConvStateLayout layout) {
  const auto states = backend(layout);
  const BlockContents contents = all_contents();
  write_all(contents, *states);
  HS_EXPECT(states->verify(contents).value().empty());
  measure(state, kCopies, [&] { return states->verify(contents); });
  set_bytes(state, std::int64_t{kCopies} * kNumLayers * (kConvBytes + kTemporalBytes));
}
BENCHMARK_CAPTURE(state_verify, sd, ConvStateLayout::SD);
BENCHMARK_CAPTURE(state_verify, ds, ConvStateLayout::DS);

void state_digest(benchmark::State& state) {
  const auto states = backend(ConvStateLayout::SD);
  const std::vector<std::int32_t> blocks{0, 1, 2, 3, 4, 5, 6, 7};
  measure(state, kCopies, [&] { return states->digests(blocks); });
  set_bytes(state, std::int64_t{kCopies} * kNumLayers * (kConvBytes + kTemporalBytes));
}
BENCHMARK(state_digest);

}  // namespace
}  // namespace hybridscope::bench
