#include "kernels/cpu/cpu_state_backend.h"

#include <algorithm>
#include <new>
#include <string>
#include <tuple>
#include <utility>

#include "core/base/check.h"
#include "kernels/cpu/available_memory.h"
#include "kernels/cpu/elements_cpu.h"
#include "kernels/hash_body.h"
#include "kernels/memory_map.h"

namespace hybridscope {
namespace {

Error too_large(std::int64_t total, std::int64_t available) {
  return {ErrorKind::not_available,
          "the states take " + std::to_string(total) + " bytes, this machine has " +
              (available < 0 ? "fewer" : std::to_string(available)) + " left"};
}

}  // namespace

Result<std::unique_ptr<CpuStateBackend>> CpuStateBackend::create(StateMemory memory) {
  const std::int64_t total = memory.total_bytes();
  const std::int64_t available = available_memory_bytes();
  if (available >= 0 && total > available) return too_large(total, available);
  std::unique_ptr<std::byte[]> bytes(new (std::nothrow) std::byte[static_cast<std::size_t>(total)]);
  if (bytes == nullptr) return too_large(total, available);
  Result<MemoryMap> map = make_memory_map(memory, bytes.get());
  if (!map) return map.error();
  std::unique_ptr<CpuStateBackend> backend(
      new CpuStateBackend(std::move(memory), std::move(bytes), std::move(map).value()));
  fill_poison(backend->bytes().data(), total);
  return backend;
}

CpuStateBackend::CpuStateBackend(StateMemory memory, std::unique_ptr<std::byte[]> bytes,
                                 MemoryMap map)
    : memory_(std::move(memory)),
      bytes_(std::move(bytes)),
      map_(std::move(map)),
      copies_(memory_.num_blocks) {}

Status CpuStateBackend::run(const StateOps& ops) {
  expect_valid(map_, ops);
  for (const StateOpBatch& batch : ops.batches) {
    const auto first = static_cast<std::size_t>(batch.first);
    const auto count = static_cast<std::size_t>(batch.count);
    switch (batch.kind) {
      case StateOpKind::poison:
        for (std::size_t i = first; i < first + count; ++i) poison(ops.poisoned[i]);
        break;
      case StateOpKind::copy:
        copies_.run(map_, std::span(ops.copies).subspan(first, count));
        break;
      case StateOpKind::forward:
        for (std::size_t i = first; i < first + count; ++i) forward_.run(map_, ops, ops.rows[i]);
        break;
    }
  }
  return Ok{};
}

void CpuStateBackend::poison(std::int32_t block) {
  const auto first = map_.states.begin() + map_.widest_group.first;
  std::for_each(first, first + map_.widest_group.count, [&](const StateView& state) {
    fill_poison(state.block(block), state.num_elements * state.geometry.elem_size);
  });
}

// All layers of a group have states of the same shapes: an image serves them all.
template <class Use>
void CpuStateBackend::for_each_image(const BlockContents& contents, const Use& use) {
  expect_valid(map_, contents);
  for (std::size_t c = 0; c < contents.blocks.size(); ++c) {
    const BlockContent& content = contents.blocks[c];
    const StateRange& range = map_.group_states[static_cast<std::size_t>(content.group_index)];
    for (const std::int32_t kind :
         content.kind == StateKind::conv ? map_.conv_kinds : map_.temporal_kinds) {
      for (std::int32_t i = kind; i < range.count; i += map_.num_state_types) {
        const StateView& state = map_.states[static_cast<std::size_t>(range.first + i)];
        if (i == kind) make_trace_image(state, content, contents.conv_fingerprints, image_);
        use(static_cast<std::int32_t>(c), range.first + i, state);
      }
    }
  }
}

Result<std::vector<StateMismatch>> CpuStateBackend::verify(const BlockContents& contents) {
  std::vector<StateMismatch> mismatches;
  for_each_image(contents, [&](std::int32_t content, std::int32_t index, const StateView& state) {
    const std::int32_t block = contents.blocks[static_cast<std::size_t>(content)].block;
    if (const auto found = first_difference(state, state.block(block), image_))
      mismatches.push_back({.content = content,
                            .state_index = index,
                            .element = found->element,
                            .expected = found->expected,
                            .seen = found->seen});
  });
  std::ranges::sort(mismatches, {}, [](const StateMismatch& mismatch) {
    return std::tuple(mismatch.content, mismatch.state_index);
  });
  return mismatches;
}

Result<std::vector<std::uint64_t>> CpuStateBackend::digests(std::span<const std::int32_t> blocks) {
  std::vector<std::uint64_t> digests;
  for (const std::int32_t block : blocks) {
    HS_EXPECT(block >= 0 && block < memory_.num_blocks);
    std::uint64_t digest = 0;
    for (std::int32_t buffer = 0; buffer < memory_.num_buffers; ++buffer) {
      const PageView page{.data = bytes().data() + buffer * memory_.buffer_bytes() +
                                  block * memory_.page_size_bytes,
                          .page_size_bytes = memory_.page_size_bytes,
                          .buffer = buffer};
      for (std::int64_t word = 0; word < page.num_words(); ++word)
        digest += digest_word(page, word);
    }
    digests.push_back(digest);
  }
  return digests;
}

std::span<const std::byte> CpuStateBackend::bytes() const {
  return {bytes_.get(), static_cast<std::size_t>(memory_.total_bytes())};
}
std::span<std::byte> CpuStateBackend::bytes() {
  return {bytes_.get(), static_cast<std::size_t>(memory_.total_bytes())};
}

}  // namespace hybridscope
