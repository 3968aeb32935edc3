#include "kernels/cpu/cpu_state_backend.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <new>
#include <string>
#include <tuple>
#include <utility>

#include "core/base/result.h"
#include "kernels/forward_bodies.h"
#include "kernels/state_hash.h"

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
  ops.visit_batches(
      0, ops.batches.size(),
      [&](std::span<const std::int32_t> blocks) {
        for (const std::int32_t block : blocks) poison(block);
      },
      [&](std::span<const StateCopyOp> copies) { copies_.run(map_, copies); },
      [&](std::span<const ForwardRow> rows) {
        for (const ForwardRow& row : rows) forward_.run(map_, ops, row);
      });
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

namespace {

// -1: no such file, or no number in it ("max").
std::int64_t number_in(const char* path) {
  std::ifstream file(path);
  std::int64_t number = -1;
  return file >> number ? number : -1;
}

std::int64_t system_bytes() {
  std::ifstream file("/proc/meminfo");
  std::string name;
  std::int64_t kibibytes = 0;
  for (std::string line; file >> name >> kibibytes; std::getline(file, line))
    if (name == "MemAvailable:") return kibibytes * 1024;
  return -1;
}

std::int64_t control_group_bytes() {
  const std::int64_t limit = number_in("/sys/fs/cgroup/memory.max");
  const std::int64_t used = number_in("/sys/fs/cgroup/memory.current");
  return limit < 0 || used < 0 ? -1 : std::max<std::int64_t>(limit - used, 0);
}

}  // namespace

std::int64_t available_memory_bytes() {
  const std::int64_t system = system_bytes();
  const std::int64_t group = control_group_bytes();
  if (system < 0 || group < 0) return std::max(system, group);
  return std::min(system, group);
}

namespace {

std::span<const ForwardWrite> writes_of(const StateOps& ops, const ForwardRow& row) {
  return std::span(ops.writes)
      .subspan(static_cast<std::size_t>(row.first_write), static_cast<std::size_t>(row.num_writes));
}

// State `kind` of the group's layer number `layer`.
const StateView& layer_state(const MemoryMap& map, const ForwardRow& row, std::int32_t layer,
                             std::int32_t kind) {
  const StateRange& range = map.group_states[static_cast<std::size_t>(row.group_index)];
  return map.states[static_cast<std::size_t>(range.first + layer * map.num_state_types + kind)];
}

}  // namespace

void ForwardCpu::run(const MemoryMap& map, const StateOps& ops, const ForwardRow& row) {
  if (row.num_writes == 0) return;
  const std::int32_t num_layers = map.num_layers(row.group_index);
  if (num_layers == 0) return;
  for (const std::int32_t kind : map.temporal_kinds) {
    fold_layers(map, ops, row, kind);
    write_temporal(map, ops, row, kind);
  }
  for (const std::int32_t kind : map.conv_kinds) {
    make_token_rows(layer_state(map, row, 0, kind), ops, row, map.conv_kernel);
    for (std::int32_t layer = 0; layer < num_layers; ++layer)
      write_conv(layer_state(map, row, layer, kind), ops, row, map.conv_kernel);
  }
}

void ForwardCpu::fold_layers(const MemoryMap& map, const StateOps& ops, const ForwardRow& row,
                             std::int32_t kind) {
  const auto num_writes = static_cast<std::size_t>(row.num_writes);
  const std::int32_t num_layers = map.num_layers(row.group_index);
  folded_.assign(static_cast<std::size_t>(num_layers) * num_writes, 0);
  Fingerprint previous = 0;
  for (std::int32_t layer = 0; layer < num_layers; ++layer) {
    const Fingerprint start = load_start(layer_state(map, row, layer, kind), row);
    Fingerprint* folded = folded_.data() + static_cast<std::size_t>(layer) * num_writes;
    if (layer > 0 && start == previous)
      std::copy_n(folded - num_writes, num_writes, folded);
    else
      fold_row(row, ops.writes.data() + row.first_write, ops.tokens.data() + row.first_token, start,
               folded);
    previous = start;
  }
}

void ForwardCpu::write_temporal(const MemoryMap& map, const StateOps& ops, const ForwardRow& row,
                                std::int32_t kind) {
  const std::int32_t num_layers = map.num_layers(row.group_index);
  const std::span<const ForwardWrite> writes = writes_of(ops, row);
  for (std::size_t w = 0; w < writes.size(); ++w) {
    if (writes[w].kind != ForwardWriteKind::temporal) continue;
    const std::byte* previous = nullptr;
    Fingerprint previous_fingerprint = 0;
    for (std::int32_t layer = 0; layer < num_layers; ++layer) {
      const StateView& state = layer_state(map, row, layer, kind);
      const Fingerprint fingerprint = folded_[static_cast<std::size_t>(layer) * writes.size() + w];
      const std::int32_t elem_size = state.geometry.elem_size;
      std::byte* to = state.block(writes[w].block);
      if (previous != nullptr && fingerprint == previous_fingerprint)
        std::memcpy(to, previous, static_cast<std::size_t>(state.num_elements * elem_size));
      else
        store_trace_elements(to, state.num_elements, elem_size, fingerprint);
      previous = to;
      previous_fingerprint = fingerprint;
    }
  }
}

// In the order in which write_conv takes them.
void ForwardCpu::make_token_rows(const StateView& state, const StateOps& ops, const ForwardRow& row,
                                 std::int32_t conv_kernel) {
  const std::int32_t elem_size = state.geometry.elem_size;
  const auto row_bytes = static_cast<std::size_t>(state.dim * elem_size);
  const Fingerprint* fingerprints = ops.token_fingerprints.data() + row.first_token;
  token_rows_.clear();
  for (const ForwardWrite& write : writes_of(ops, row)) {
    if (!is_conv_write(write)) continue;
    const std::int32_t positions =
        num_written_positions(write, conv_kernel, state.geometry.conv_width);
    for (std::int32_t position = 0; position < positions; ++position) {
      const std::int32_t source = conv_position_source(write, conv_kernel, position);
      if (source < 0) continue;
      token_rows_.resize(token_rows_.size() + row_bytes);
      store_trace_elements(token_rows_.data() + token_rows_.size() - row_bytes, state.dim,
                           elem_size, fingerprints[source]);
    }
  }
}

void ForwardCpu::write_conv(const StateView& state, const StateOps& ops, const ForwardRow& row,
                            std::int32_t conv_kernel) {
  const std::int32_t elem_size = state.geometry.elem_size;
  const auto row_bytes = static_cast<std::size_t>(state.dim * elem_size);
  prior_rows_.resize(static_cast<std::size_t>(conv_kernel - 1) * row_bytes);
  for (std::int32_t n = 0; n < conv_kernel - 1; ++n) {
    std::byte* to = prior_rows_.data() + static_cast<std::size_t>(n) * row_bytes;
    const std::int32_t position = row.conv_src_position + n;
    if (row.conv_src_block < 0)
      store_trace_elements(to, state.dim, elem_size, conv_without_block(row.conv_src_block));
    else if (position >= state.geometry.conv_width)
      store_trace_elements(to, state.dim, elem_size, kPoison);
    else
      load_position(state, state.block(row.conv_src_block), position, to);
  }
  const std::byte* next_token = token_rows_.data();
  for (const ForwardWrite& write : writes_of(ops, row)) {
    if (!is_conv_write(write)) continue;
    const std::int32_t positions =
        num_written_positions(write, conv_kernel, state.geometry.conv_width);
    for (std::int32_t position = 0; position < positions; ++position) {
      const std::int32_t source = conv_position_source(write, conv_kernel, position);
      const std::byte* from =
          source >= 0 ? next_token
                      : prior_rows_.data() + static_cast<std::size_t>(-1 - source) * row_bytes;
      store_position(state, state.block(write.block), position, from);
      if (source >= 0) next_token += row_bytes;
    }
  }
}

}  // namespace hybridscope
