#include "tests/core/check/hashed_run.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "core/base/fingerprint.h"

namespace hybridscope::test {

std::span<std::byte> BlockBytes::page(std::int32_t block, std::int32_t buffer,
                                      std::int32_t state) const {
  const StateMemory& memory = backend_.memory();
  const std::int64_t offset = memory.state_offsets[static_cast<std::size_t>(state)];
  return backend_.bytes().subspan(static_cast<std::size_t>(buffer * memory.buffer_bytes() +
                                                           block * memory.page_size_bytes + offset),
                                  static_cast<std::size_t>(memory.page_size_bytes - offset));
}

std::byte& BlockBytes::byte(std::int32_t block, std::int32_t state, std::int64_t offset) {
  return page(block, 0, state)[static_cast<std::size_t>(offset)];
}

std::vector<std::byte> BlockBytes::save(std::int32_t block, std::int32_t state) const {
  std::vector<std::byte> saved;
  for (std::int32_t buffer = 0; buffer < backend_.memory().num_buffers; ++buffer) {
    const auto bytes = page(block, buffer, state);
    saved.insert(saved.end(), bytes.begin(), bytes.end());
  }
  return saved;
}

void BlockBytes::restore(std::int32_t block, std::int32_t state,
                         const std::vector<std::byte>& bytes) {
  auto next = bytes.begin();
  for (std::int32_t buffer = 0; buffer < backend_.memory().num_buffers; ++buffer) {
    const auto to = page(block, buffer, state);
    std::copy_n(next, to.size(), to.begin());
    next += static_cast<std::ptrdiff_t>(to.size());
  }
}

void BlockBytes::copy(std::int32_t from, std::int32_t to) { restore(to, 0, save(from, 0)); }

HashedRun::HashedRun(const EngineConfig& engine, const CheckConfig& check, StateMemory memory,
                     bool by_position)
    : engine_(Engine::create(engine).value()),
      checker_(StepChecker::create(check).value()),
      hashes_(check),
      backend_(CpuStateBackend::create(std::move(memory)).value()),
      map_(make_memory_map(backend_->memory(), backend_->bytes().data()).value()),
      num_positions_(by_position ? check.conv_state_len() : 1),
      conv_state_len_(check.conv_state_len()),
      told_before_(map_.group_states.size()) {
  checker_.log_ops();
}

std::span<const Finding> HashedRun::step(const MemoryFault& fault) {
  const StepTrace& trace = engine_.step();
  ++num_steps_;
  (void)checker_.check(trace, CheckScope::step);
  const StateOps& ops = checker_.ops();
  num_copies_ += std::ssize(ops.copies);
  BlockBytes bytes(*backend_);
  if (fault.before_step) fault.before_step(bytes, ops);
  next_batch_ = 0;
  told_.clear();
  const bool has_forward = !ops.rows.empty();
  if (has_forward) run_batches(StateOpKind::forward, fault);
  if (has_forward)
    for (std::size_t g = 0; g < map_.group_states.size(); ++g) {
      ToldGroup told;
      told.group = backend_->memory().tensors.mamba_group_ids[g];
      told.num_positions = fault.tells_nothing ? 0 : num_positions_;
      if (!fault.tells_nothing) told.block_ids = blocks_to_tell(static_cast<std::int32_t>(g));
      told.before_forward = hashes_of(static_cast<std::int32_t>(g), told.block_ids);
      told_.push_back(std::move(told));
    }
  if (has_forward) run_batches(StateOpKind::copy, fault);
  if (fault.in_forward) fault.in_forward(bytes, ops);
  for (std::size_t g = 0; g < told_.size(); ++g) {
    told_[g].after_forward = hashes_of(static_cast<std::int32_t>(g), told_[g].block_ids);
    num_told_ += std::ssize(told_[g].block_ids);
  }
  while (next_batch_ < ops.batches.size()) run(ops.batches[next_batch_++], fault);
  in_turn_ += 3;
  return hashes_.follow(checker_, trace, told_);
}

// Runs the batches that come before the first one of this kind.
void HashedRun::run_batches(StateOpKind until, const MemoryFault& fault) {
  const auto& batches = checker_.ops().batches;
  while (next_batch_ < batches.size() && batches[next_batch_].kind != until)
    run(batches[next_batch_++], fault);
}

void HashedRun::run(const StateOpBatch& batch, const MemoryFault& fault) {
  if (batch.kind == StateOpKind::copy && fault.drops_copies) return;
  if (batch.kind == StateOpKind::forward && fault.drops_forward) return;
  StateOps part = checker_.ops();
  part.batches = {batch};
  if (fault.copies_whole_windows)
    for (StateCopyOp& copy : part.copies) copy.accept_token_bias = 0;
  HS_EXPECT(backend_->run(part).ok());
}

// What the step reads, writes and copies, what the step before did, and three more in turn.
std::vector<std::int32_t> HashedRun::blocks_to_tell(std::int32_t group_index) {
  const StateOps& ops = checker_.ops();
  std::vector<std::int32_t> now;
  for (const StateCopyOp& copy : ops.copies)
    if (copy.group_index == group_index)
      now.insert(now.end(), {copy.conv_src_block, copy.temporal_src_block, copy.dst_block});
  for (const ForwardRow& row : ops.rows) {
    if (row.group_index != group_index) continue;
    now.insert(now.end(), {row.temporal_src_block, row.conv_src_block});
    for (std::int32_t i = row.first_write; i < row.first_write + row.num_writes; ++i)
      now.push_back(ops.writes[static_cast<std::size_t>(i)].block);
  }
  std::vector<std::int32_t>& before = told_before_[static_cast<std::size_t>(group_index)];
  std::vector<std::int32_t> all = now;
  all.insert(all.end(), before.begin(), before.end());
  for (std::int32_t i = 0; i < 3; ++i) all.push_back((in_turn_ + i) % map_.num_blocks);
  before = std::move(now);
  return all;
}

ToldHashes HashedRun::hashes_of(std::int32_t group_index,
                                const std::vector<std::int32_t>& blocks) const {
  const StateRange range = map_.group_states[static_cast<std::size_t>(group_index)];
  ToldHashes told;
  for (const std::int32_t block : blocks) {
    std::uint64_t temporal = 1;
    std::vector<std::uint64_t> window(static_cast<std::size_t>(num_positions_), 1);
    for (std::int32_t s = range.first; s < range.first + range.count; ++s) {
      if (block < 0) break;
      const StateView& state = map_.states[static_cast<std::size_t>(s)];
      const std::byte* data = state.block(block);
      const auto element = [&](std::int64_t i) {
        return load_element(data, i, state.geometry.elem_size);
      };
      if (!state.geometry.is_conv())
        for (std::int64_t i = 0; i < state.num_elements; ++i) temporal = mix(temporal, element(i));
      else
        for (std::int64_t c = 0; c < state.dim; ++c)
          for (std::int32_t p = 0; p < conv_state_len_; ++p) {
            std::uint64_t& position = window[static_cast<std::size_t>(p % num_positions_)];
            position = mix(position, element(state.element(p, c)));
          }
    }
    told.temporal.push_back(temporal >> 16);
    for (const std::uint64_t position : window) told.conv.push_back(position >> 16);
  }
  return told;
}

}  // namespace hybridscope::test
