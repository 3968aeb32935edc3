#include "core/check/check_context.h"

namespace hybridscope {

std::int32_t CheckConfig::num_inner_hash_blocks() const {
  std::int32_t inner = 0;
  for (const KVCacheGroup& group : kv_cache_config.groups)
    if (!group.is_mamba() && group.block_size() % hash_block_size == 0)
      inner = std::max(inner, group.block_size() / hash_block_size - 1);
  return inner;
}

CheckState::CheckState(const CheckConfig& check_config)
    : config(check_config),
      state({.num_blocks = check_config.kv_cache_config.num_blocks,
             .conv_state_len = check_config.conv_state_len(),
             .hash_block_size = check_config.hash_block_size,
             .num_inner_hash_blocks = check_config.num_inner_hash_blocks()}),
      tables(static_cast<std::int32_t>(check_config.kv_cache_config.groups.size()),
             check_config.kv_cache_config.num_blocks),
      labels(static_cast<std::size_t>(check_config.kv_cache_config.num_blocks)),
      claimed_refs(static_cast<std::size_t>(check_config.kv_cache_config.num_blocks), 0) {
  std::int32_t num_mamba_groups = 0;
  for (const KVCacheGroup& group : config.kv_cache_config.groups)
    group_indices.push_back(group.is_mamba() ? num_mamba_groups++ : -1);
}

void CheckContext::report(Finding finding) {
  finding.step = trace_.step;
  findings_.push_back(finding);
}

// Requests whose hit of this step covers the whole attention block: they read it after its owner,
// for whom it is no hit, has written it.
std::int32_t CheckContext::num_readers_of_step(std::int32_t block, const Finding& where) const {
  if (where.content != ContentKind::attention) return 0;
  const std::int32_t end =
      (where.column + 1) *
      config().kv_cache_config.groups[static_cast<std::size_t>(where.group)].block_size();
  std::int32_t readers = 0;
  for (const ScheduledTrace& one : trace_.scheduled) {
    if (one.admission == Admission::running || one.num_hit_tokens < end) continue;
    if (one.request == where.request) return 0;
    if (shared_.tables.block_at(one.request, where.group, where.column) == block) ++readers;
  }
  return readers;
}

bool CheckContext::report_foreign_write(std::int32_t block, const Finding& where) {
  const auto foreign_write = [&](std::string_view detail) {
    Finding finding = where;
    finding.rule = Rule::foreign_write;
    finding.block = block;
    finding.detail = detail;
    return finding;
  };
  if (!is_block(block)) {
    report(foreign_write(block == kNullBlock   ? "write through the null block"
                         : block == kPadSlotId ? "write through the pad id"
                                               : "write to a block that does not exist"));
    return false;
  }
  if (tables().block_at(where.request, where.group, where.column) != block) {
    Finding finding =
        foreign_write("the request's block table does not hold the block in this column");
    if (where.column >= 0) {
      finding.expected = tables().block_at(where.request, where.group, where.column);
      finding.seen = block;
    }
    report(finding);
  } else if (const std::int32_t holders = tables().holders(block); holders > 1) {
    Finding finding = foreign_write("the block is shared");
    finding.expected = 1 + num_readers_of_step(block, where);
    finding.seen = holders;
    if (finding.seen > finding.expected) report(finding);
  }
  return true;
}

bool CheckContext::is_registered(std::int32_t block, std::int32_t group,
                                 Fingerprint block_hash) const {
  const auto is_it = [&](const BlockLabel& label) {
    return label.registered && label.group == group && label.block_hash == block_hash;
  };
  return is_it(shared_.labels[static_cast<std::size_t>(block)]) ||
         std::ranges::any_of(shared_.more_labels, [&](const auto& more) {
           return more.first == block && is_it(more.second);
         });
}

void CheckContext::check_source(std::int32_t block, bool owns, const Finding& where) {
  if (owns) return;
  Finding finding = where;
  finding.block = block;
  finding.seen = -1;
  finding.expected = -1;
  if (tables().holders(block) == 0) {
    finding.rule = Rule::read_of_unwritten_block;
    finding.detail = "read of a freed block";
  } else {
    finding.rule = Rule::foreign_row_datum;
    finding.detail = "state read from a block of another request or group";
    if (where.column >= 0) {
      finding.expected = tables().block_at(where.request, where.group, where.column);
      finding.seen = block;
    }
  }
  report(finding);
}

void report(CheckContext& context, Rule rule, const Mismatch& mismatch) {
  Finding finding{.rule = rule,
                  .row = mismatch.row,
                  .group = mismatch.group,
                  .expected = mismatch.expected,
                  .seen = mismatch.seen,
                  .detail = mismatch.detail};
  const auto& rows = context.trace().rows;
  if (mismatch.row >= 0 && static_cast<std::size_t>(mismatch.row) < rows.size())
    finding.request = rows[static_cast<std::size_t>(mismatch.row)].request;
  context.report(finding);
}

}  // namespace hybridscope
