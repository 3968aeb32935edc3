#include "core/check/state_mirror.h"

#include <algorithm>
#include <string>

namespace hybridscope {

ContentGroups::ContentGroups(const StateMemory& memory)
    : num_layers_(memory.tensors.mamba_group_ids.size(), 0) {
  for (const MambaLayerStates& layer : memory.tensors.layers)
    ++num_layers_[static_cast<std::size_t>(layer.group_index)];
  widest_ = static_cast<std::int32_t>(std::max_element(num_layers_.begin(), num_layers_.end()) -
                                      num_layers_.begin());
  temporal_.assign(static_cast<std::size_t>(memory.num_blocks), widest_);
  conv_ = temporal_;
}

std::int32_t ContentGroups::narrower(std::int32_t a, std::int32_t b) const {
  return num_layers(b) < num_layers(a) ? b : a;
}

// A source that is not a block is the same in every layer.
std::int32_t ContentGroups::source(StateKind kind, std::int32_t block) const {
  return block < 0 ? widest_ : of(kind, block);
}

// Reads all sources first.
void ContentGroups::apply_copies(std::span<const StateCopyOp> copies) {
  struct Read {
    std::int32_t temporal = 0;
    std::int32_t conv = 0;
  };
  std::vector<Read> reads;
  for (const StateCopyOp& copy : copies)
    reads.push_back(
        {narrower(copy.group_index, source(StateKind::temporal, copy.temporal_src_block)),
         narrower(copy.group_index, source(StateKind::conv, copy.conv_src_block))});
  for (std::size_t i = 0; i < copies.size(); ++i) {
    const auto dst = static_cast<std::size_t>(copies[i].dst_block);
    temporal_[dst] = reads[i].temporal;
    // A shift leaves the last positions as they are.
    conv_[dst] =
        copies[i].accept_token_bias == 0 ? reads[i].conv : narrower(reads[i].conv, conv_[dst]);
  }
}

void ContentGroups::apply_row(const StateOps& ops, const ForwardRow& row) {
  const std::int32_t temporal =
      narrower(row.group_index, source(StateKind::temporal, row.temporal_src_block));
  const std::int32_t conv = narrower(row.group_index, source(StateKind::conv, row.conv_src_block));
  for (std::int32_t i = row.first_write; i < row.first_write + row.num_writes; ++i) {
    const ForwardWrite& write = ops.writes[static_cast<std::size_t>(i)];
    const auto block = static_cast<std::size_t>(write.block);
    if (write.kind == ForwardWriteKind::temporal)
      temporal_[block] = temporal;
    else
      conv_[block] = narrower(conv, conv_[block]);  // positions past the window stay
  }
}

void ContentGroups::apply(const StateOps& ops) {
  ops.visit_batches(
      0, ops.batches.size(),
      [&](std::span<const std::int32_t> blocks) {
        for (const std::int32_t block : blocks)
          temporal_[static_cast<std::size_t>(block)] = conv_[static_cast<std::size_t>(block)] =
              widest_;
      },
      [&](std::span<const StateCopyOp> copies) { apply_copies(copies); },
      [&](std::span<const ForwardRow> rows) {
        for (const ForwardRow& row : rows) apply_row(ops, row);
      });
}

namespace {

void sort_unique(std::vector<std::int32_t>& blocks) {
  std::sort(blocks.begin(), blocks.end());
  blocks.erase(std::unique(blocks.begin(), blocks.end()), blocks.end());
}

bool has(const StateMemory& memory, StateKind kind) {
  return std::ranges::find(memory.tensors.state_kinds, kind) != memory.tensors.state_kinds.end();
}

// Positions of a conv window in memory, 0 without one.
std::int32_t conv_width(const StateMemory& memory) {
  std::int32_t width = 0;
  for (const std::int32_t positions : memory.layout.state_conv_widths)
    if (positions > 0 && (width == 0 || positions < width)) width = positions;
  return width;
}

std::vector<std::array<std::int64_t, 2>> count_elements(const StateMemory& memory) {
  std::vector<std::array<std::int64_t, 2>> counts(memory.tensors.mamba_group_ids.size());
  for (const MambaLayerStates& layer : memory.tensors.layers)
    for (std::size_t i = 0; i < layer.states.size(); ++i)
      if (const auto kind = memory.tensors.state_kinds[i])
        counts[static_cast<std::size_t>(layer.group_index)][static_cast<std::size_t>(*kind)] +=
            layer.states[i].elements_per_block();
  return counts;
}

}  // namespace

StateMirror::StateMirror(const CheckConfig& config, StateBackend& backend)
    : backend_(&backend),
      content_groups_(backend.memory()),
      num_elements_(count_elements(backend.memory())) {
  for (const KVCacheGroup& group : config.kv_cache_config.groups)
    if (group.is_mamba()) groups_.push_back(group);
}

Result<StateMirror> StateMirror::create(const CheckConfig& config, StateBackend& backend) {
  const StateMemory& memory = backend.memory();
  if (memory.num_blocks != config.kv_cache_config.num_blocks)
    return invalid_input("the memory has " + std::to_string(memory.num_blocks) +
                         " blocks, expected " + std::to_string(config.kv_cache_config.num_blocks));
  std::vector<std::int32_t> mamba_groups;
  for (std::size_t i = 0; i < config.kv_cache_config.groups.size(); ++i)
    if (config.kv_cache_config.groups[i].is_mamba())
      mamba_groups.push_back(static_cast<std::int32_t>(i));
  if (memory.tensors.mamba_group_ids != mamba_groups)
    return invalid_input("the memory and the checker have different KV cache groups");
  if (has(memory, StateKind::conv) && conv_width(memory) != config.conv_state_len())
    return invalid_input("conv windows have " + std::to_string(conv_width(memory)) +
                         " positions, expected " + std::to_string(config.conv_state_len()) +
                         ": a verify row would write past them (known bug "
                         "conv-state-not-sized-for-spec)");
  return StateMirror(config, backend);
}

void StateMirror::note_touched(const StateOps& ops) {
  touched_temporal_.assign(ops.poisoned.begin(), ops.poisoned.end());
  for (const StateCopyOp& copy : ops.copies) touched_temporal_.push_back(copy.dst_block);
  touched_conv_ = touched_temporal_;
  for (const ForwardWrite& write : ops.writes)
    (write.kind == ForwardWriteKind::temporal ? touched_temporal_ : touched_conv_)
        .push_back(write.block);
  sort_unique(touched_temporal_);
  sort_unique(touched_conv_);
}

void StateMirror::add_block(const SymbolicState& state, StateKind kind, std::int32_t block) {
  if (!has(backend_->memory(), kind)) return;
  BlockContent content{
      .kind = kind, .group_index = content_groups_.of(kind, block), .block = block};
  if (kind == StateKind::temporal) {
    content.fingerprint = state.temporal(block).fingerprint;
  } else {
    content.first_position = static_cast<std::int32_t>(contents_.conv_fingerprints.size());
    const auto window = state.conv(block);
    contents_.conv_fingerprints.insert(contents_.conv_fingerprints.end(), window.begin(),
                                       window.end());
  }
  contents_.blocks.push_back(content);
}

Result<std::span<const Finding>> StateMirror::follow(const StepChecker& checker, std::int64_t step,
                                                     CheckScope scope) {
  findings_.clear();
  const StateOps& ops = checker.ops();
  if (Status ran = backend_->run(ops); !ran.ok()) return ran.error();
  content_groups_.apply(ops);
  note_touched(ops);
  const SymbolicState& state = checker.state().state;
  contents_ = {};
  if (scope == CheckScope::all) {
    for (std::int32_t block = 0; block < state.num_blocks(); ++block) {
      add_block(state, StateKind::conv, block);
      add_block(state, StateKind::temporal, block);
    }
  } else {
    for (const std::int32_t block : touched_conv_) add_block(state, StateKind::conv, block);
    for (const std::int32_t block : touched_temporal_) add_block(state, StateKind::temporal, block);
  }
  const auto mismatches = backend_->verify(contents_);
  if (!mismatches.ok()) return mismatches.error();
  for (const BlockContent& content : contents_.blocks)
    num_elements_verified_ += num_elements_[static_cast<std::size_t>(content.group_index)]
                                           [static_cast<std::size_t>(content.kind)];
  std::int32_t last_content = -1;
  for (const StateMismatch& mismatch : mismatches.value()) {
    if (mismatch.content == last_content) continue;  // other layers of the same block
    last_content = mismatch.content;
    findings_.push_back(finding_of(mismatch, state));
    findings_.back().step = step;
  }
  return std::span<const Finding>(findings_);
}

Finding StateMirror::finding_of(const StateMismatch& mismatch, const SymbolicState& state) const {
  const StateMemory& memory = backend_->memory();
  const BlockContent& content = contents_.blocks[static_cast<std::size_t>(mismatch.content)];
  const bool conv = content.kind == StateKind::conv;
  const auto& touched = conv ? touched_conv_ : touched_temporal_;
  const auto num_types = memory.layout.num_state_types;
  const auto layer = static_cast<std::size_t>(mismatch.state_index / num_types);
  const auto group = static_cast<std::size_t>(content.group_index);
  const WriteEvent& cause =
      conv ? state.conv_event(content.block) : state.temporal(content.block).event;
  return {.rule = Rule::state_bytes_wrong,
          .request = cause.request,
          .group = memory.tensors.mamba_group_ids[group],
          .content = conv ? ContentKind::conv : ContentKind::temporal,
          .block = content.block,
          .expected = static_cast<std::int64_t>(mismatch.expected),
          .seen = static_cast<std::int64_t>(mismatch.seen),
          .detail = std::ranges::binary_search(touched, content.block) ? "written in this step"
                                                                       : "not written in this step",
          .cause = cause,
          .layer = groups_[group].layers[static_cast<std::size_t>(memory.layer_buffers[layer])],
          .state = mismatch.state_index % num_types,
          .element = mismatch.element};
}

namespace {

std::size_t num_writes_of_rows(const StateOps& ops) {
  if (ops.rows.empty()) return 0;
  return static_cast<std::size_t>(ops.rows.back().first_write + ops.rows.back().num_writes);
}

// Keeps only the later one of two writes of one kind to one block, so that a kernel may carry out a
// row's writes in any order.
void drop_replaced(std::vector<ForwardWrite>& writes, std::size_t first) {
  std::size_t kept = first;
  for (std::size_t i = first; i < writes.size(); ++i) {
    const auto replaces = [&](const ForwardWrite& later) {
      return later.kind == writes[i].kind && later.block == writes[i].block;
    };
    const auto behind = writes.begin() + static_cast<std::ptrdiff_t>(i) + 1;
    if (std::none_of(behind, writes.end(), replaces)) writes[kept++] = writes[i];
  }
  writes.resize(kept);
}

}  // namespace

void log_tokens(CheckContext& context, const RowTruth& truth) {
  StateOps* ops = context.ops();
  if (ops == nullptr) return;
  const StepTrace& trace = context.trace();
  ops->tokens.assign(trace.tokens.begin(), trace.tokens.end());
  ops->token_fingerprints.assign(trace.tokens.size(), kPoison);
  for (std::size_t row = 0; row < trace.rows.size(); ++row) {
    const auto r = static_cast<std::int32_t>(row);
    const auto first = static_cast<std::size_t>(trace.common.query_start_loc[row]);
    for (std::int32_t t = 0; t < truth.num_query_tokens(r); ++t)
      ops->token_fingerprints[first + static_cast<std::size_t>(t)] =
          truth.at(r, truth.num_computed_tokens(r) + 1 + t);
  }
}

void append_row(StateOps& ops, ForwardRow row) {
  const std::size_t first = num_writes_of_rows(ops);
  drop_replaced(ops.writes, first);
  if (ops.writes.size() == first) return;
  row.first_write = static_cast<std::int32_t>(first);
  row.num_writes = static_cast<std::int32_t>(ops.writes.size() - first);
  ops.add_row(row);
}

void log_padding_row(CheckContext& context, ForwardRow row) {
  StateOps* ops = context.ops();
  if (ops == nullptr) return;
  row.first_token = static_cast<std::int32_t>(ops->tokens.size());
  row.num_tokens = 1;
  ops->tokens.push_back(kPoison);
  ops->token_fingerprints.push_back(kPoison);
  append_row(*ops, row);
}

}  // namespace hybridscope
