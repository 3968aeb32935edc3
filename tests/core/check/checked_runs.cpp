#include <algorithm>
#include <numeric>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/fingerprint.h"
#include "core/base/result.h"
#include "sessions/run/step_judge.h"
#include "tests/core/check/checked_runs.h"

namespace hybridscope::test {

std::int32_t below(Random& random, std::int32_t limit) {
  return static_cast<std::int32_t>(random() % static_cast<std::uint64_t>(limit));
}

SmallEngine random_engine(Random& random) {
  constexpr MambaCacheMode modes[] = {MambaCacheMode::none, MambaCacheMode::align,
                                      MambaCacheMode::align, MambaCacheMode::all};
  constexpr MambaType types[] = {MambaType::mamba1, MambaType::mamba2, MambaType::gdn_attention};
  SmallEngine small;
  small.mamba_type = types[below(random, 3)];
  small.mode = modes[below(random, small.mamba_type == MambaType::gdn_attention ? 3 : 4)];
  small.num_speculative_tokens = below(random, 4);
  small.block_size = small.num_speculative_tokens + 1 + below(random, 6);
  small.method = below(random, 2) == 0 ? SpeculativeMethod::mtp : SpeculativeMethod::ngram;
  small.num_mamba_groups = 1 + below(random, 3);
  small.num_blocks = 400;
  small.max_num_batched_tokens = small.block_size + below(random, 30);
  small.max_num_seqs = 2 + below(random, 7);
  small.max_model_len = 64;
  return small;
}

AddRequest random_request(Random& random) {
  const std::int32_t tokens = 1 + below(random, 35);
  const std::int32_t max_tokens = 1 + below(random, 20);
  const std::uint64_t text = random() | 1;  // 0 is the shared text
  AddRequest request = request_of(tokens, max_tokens, text, below(random, tokens + 1));
  request.priority = below(random, 3);
  return request;
}

void random_command(Random& random, PlantedRun& run) {
  const RequestId request{below(random, run.engine().num_requests())};
  const std::int32_t num_spec = run.engine().config().num_speculative_tokens;
  switch (below(random, 12)) {
    case 0: run.apply(PreemptRequest{request}); break;
    case 1: run.apply(AbortRequest{request}); break;
    case 2: run.apply(ResetPrefixCache{below(random, 2) == 0}); break;
    case 3:
      run.apply(SetStepBudget{below(random, run.engine().config().max_num_batched_tokens)});
      break;
    case 4:
    case 5: run.apply(SetAcceptedTokens{request, 1 + below(random, 1 + num_spec)}); break;
    case 6: run.apply(SetDraftTokens{request, below(random, 1 + num_spec)}); break;
    default: break;
  }
}

std::string mode_name(MambaCacheMode mode) {
  return mode == MambaCacheMode::none ? "none" : mode == MambaCacheMode::all ? "all" : "align";
}

DrawnMemory draw_memory(const EngineConfig& engine, const Draw& in) {
  DrawnMemory drawn{.options = {}, .config = engine.kv_cache_config};
  drawn.options.conv_kernel = engine.conv_kernel;
  drawn.options.conv_state_layout = in(0, 1) == 0 ? ConvStateLayout::SD : ConvStateLayout::DS;
  const Dtype dtypes[] = {Dtype::bfloat16, Dtype::float32, Dtype::float16};
  const std::int64_t width = engine.conv_kernel - 1 + engine.num_speculative_tokens;
  const std::int64_t dim = in(1, 6);
  std::vector<std::int64_t> conv = {width, dim};
  if (drawn.options.conv_state_layout == ConvStateLayout::DS) conv = {dim, width};
  const Dtype conv_dtype = dtypes[in(0, 2)];
  const StateTensorSpec temporal{StateKind::temporal, {2, in(2, 5)}, dtypes[in(0, 2)]};
  const std::int64_t padding = 4 * in(0, 3);
  int layer = 0;
  for (KVCacheGroup& group : drawn.config.groups) {
    group.layers.resize(static_cast<std::size_t>(in(1, 3)));
    std::iota(group.layers.begin(), group.layers.end(), layer);
    layer += 3;
    if (!group.is_mamba()) continue;
    auto& spec = std::get<MambaSpec>(group.spec);
    spec.states = {{StateKind::conv, conv, conv_dtype}, temporal};
    // The temporal state begins behind the conv state: at a multiple of its element size.
    if (width * dim % 2 != 0) spec.states[0].dtype = spec.states[1].dtype = Dtype::float32;
    std::int64_t bytes = padding;
    for (const StateTensorSpec& state : spec.states) {
      std::int64_t size = state.dtype == Dtype::float32 ? 4 : 2;
      for (const std::int64_t dimension : state.shape) size *= dimension;
      bytes += size;
    }
    spec.page_size_bytes = (bytes + 3) / 4 * 4;
  }
  return drawn;
}

CheckConfig check_config_of(const EngineConfig& engine, const DrawnMemory& memory) {
  CheckConfig config = make_check_config(engine);
  config.kv_cache_config = memory.config;
  return config;
}

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
