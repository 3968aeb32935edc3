#include "sessions/explain/finding_roots.h"

#include <fmt/core.h>

namespace hybridscope {
namespace {

// About the rows or the graph of a whole batch.
bool is_of_batch(const Finding& finding) {
  return finding.request.value < 0 &&
         (finding.rule == Rule::metadata_inconsistent ||
          finding.rule == Rule::stale_persistent_array ||
          finding.rule == Rule::padded_row_not_null || finding.rule == Rule::graph_not_captured);
}

bool is_count(const Finding& finding) {
  return finding.rule == Rule::rejected_draft_counted ||
         finding.rule == Rule::metadata_inconsistent;
}

// From here on it is not known which tokens the request has.
bool leaves_tokens_unknown(const Finding& finding) {
  return finding.detail == "sampled tokens" ||
         finding.detail == "more tokens accepted than drafted";
}

// About who holds a block, and under which hash.
bool is_of_cache(const Finding& finding) {
  return finding.rule == Rule::block_table_mismatch || finding.rule == Rule::reference_count ||
         finding.rule == Rule::hit_longer_than_group ||
         (finding.rule == Rule::label_mismatch && finding.cause.kind == WriteKind::never);
}

// Does its `expected` name a block, as the one that a column holds, and `seen` another one?
bool expects_a_block(const Finding& finding) {
  return finding.rule == Rule::block_table_mismatch ||
         finding.detail.starts_with("the request's block table does not hold") ||
         finding.detail.starts_with("registered for a column") ||
         finding.detail.ends_with("source of a copy") ||
         finding.detail.starts_with("destination of a copy");
}

}  // namespace

std::size_t FindingRoots::of_row(RequestId request, std::int64_t step) const {
  const auto row = of_row_.find({request.value, step});
  return row == of_row_.end() ? kNone : row->second;
}

// The rows of a wrong batch may not have run, so what they had to leave is read a step later as an
// older state or as none.
std::size_t FindingRoots::of_batch(const Finding& finding) const {
  if (of_batch_.root == kNone) return kNone;
  const bool same_group = of_batch_.group < 0 || finding.group == of_batch_.group;
  if (finding.step == of_batch_.step)
    return same_group || finding.request.value < 0 ? of_batch_.root : kNone;
  const bool older = finding.cause.kind == WriteKind::never || finding.cause.step <= of_batch_.step;
  const bool reads =
      finding.rule == Rule::read_of_unwritten_block || finding.rule == Rule::running_state_wrong;
  return reads && older && same_group && finding.step == of_batch_.step + 1 ? of_batch_.root
                                                                            : kNone;
}

// Any request's tables, references, registrations and hits of the block; what a row reads or writes
// there, or copies, only if the chain is its request's or of this step.
std::size_t FindingRoots::of_block(const Finding& finding) const {
  const auto last = last_of_.find(finding.request.value);
  const auto chain_of = [&](std::int64_t block) {
    const auto known = of_block_.find(static_cast<std::int32_t>(block));
    if (block <= 0 || known == of_block_.end()) return kNone;
    const bool same_request = last != last_of_.end() && last->second.root == known->second;
    const bool same_step = roots_[known->second].last_step == finding.step;
    return is_of_cache(finding) || same_request || same_step ? known->second : kNone;
  };
  if (const std::size_t root = chain_of(finding.block); root != kNone) return root;
  if (!expects_a_block(finding)) return kNone;
  const std::size_t root = chain_of(finding.expected);
  return root != kNone ? root : chain_of(finding.seen);
}

std::size_t FindingRoots::of_access(const Finding& finding) const {
  const auto known = of_access_.find(finding.block);
  if (finding.block <= 0 || known == of_access_.end()) return kNone;
  const WriteEvent& cause = finding.cause;
  const bool left_by_padding =
      cause.kind != WriteKind::never && cause.request.value < 0 && cause.step == known->second.step;
  const bool writes_in_this_step =
      finding.rule == Rule::foreign_write && finding.step == known->second.step;
  return left_by_padding || writes_in_this_step ? known->second.root : kNone;
}

void FindingRoots::keep_blocks(const Finding& finding, std::size_t root) {
  const bool accesses =
      finding.rule == Rule::padded_row_not_null || finding.rule == Rule::read_of_unwritten_block;
  if (accesses && finding.block > 0) of_access_[finding.block] = {finding.step, root};
  if (!is_of_cache(finding)) return;
  if (finding.block > 0) of_block_.try_emplace(finding.block, root);
  if (expects_a_block(finding) && finding.expected > 0)
    of_block_.try_emplace(static_cast<std::int32_t>(finding.expected), root);
}

// Registered so, and read so; a block that was never written holds none of the tokens.
std::size_t FindingRoots::of_label(const Finding& finding) const {
  if (finding.rule == Rule::running_state_wrong) {
    const auto label = of_label_.find(label_of(finding));
    return label == of_label_.end() ? kNone : label->second;
  }
  for (const auto& [label, root] : of_label_)
    if (label.group == finding.group && label.content == finding.content &&
        label.expected == finding.expected && is_copy(finding.cause.kind))
      return root;
  return kNone;
}

FindingRoots::WrongLabel FindingRoots::label_of(const Finding& finding) {
  return {finding.group, finding.content, finding.expected, finding.seen};
}

std::size_t FindingRoots::find(const Finding& finding) const {
  const WriteEvent& cause = finding.cause;
  if (cause.kind != WriteKind::never)
    for (const RequestId request : {cause.request, finding.request})
      if (const std::size_t root = of_row(request, cause.step); root != kNone) return root;
  if (const std::size_t root = of_block(finding); root != kNone) return root;
  if (const std::size_t root = of_access(finding); root != kNone) return root;
  if (finding.request.value < 0) {
    if (const std::size_t root = of_batch(finding); root != kNone) return root;
    if (finding.rule == Rule::metadata_inconsistent && of_count_.root != kNone &&
        of_count_.step == finding.step)
      return of_count_.root;
    const auto known = of_rule_.find(finding.rule);
    return known == of_rule_.end() ? kNone : known->second;
  }
  if (const std::size_t root = of_row(finding.request, finding.step); root != kNone) return root;
  if (finding.rule == Rule::label_mismatch)
    if (const auto known = of_registered_.find({finding.block, label_of(finding)});
        known != of_registered_.end())
      return known->second;
  if (finding.rule == Rule::running_state_wrong || finding.rule == Rule::read_of_unwritten_block)
    if (const std::size_t root = of_label(finding); root != kNone) return root;
  if (const auto unknown = of_unknown_tokens_.find(finding.request.value);
      unknown != of_unknown_tokens_.end())
    return unknown->second;
  if (const std::size_t root = of_batch(finding); root != kNone) return root;
  const auto last =
      last_of_.find(is_copy(cause.kind) ? cause.request.value : finding.request.value);
  if (last == last_of_.end()) return kNone;
  if (is_copy(cause.kind)) return last->second.step <= cause.step ? last->second.root : kNone;
  // A count is found again when the frame behind the next one returns.
  return last->second.step + (is_count(finding) ? 2 : 1) < finding.step ? kNone : last->second.root;
}

std::size_t FindingRoots::add(const Finding& finding) {
  std::size_t root = find(finding);
  if (root == kNone) {
    root = roots_.size();
    roots_.push_back({.finding = finding});
  } else {
    ++roots_[root].num_following;
  }
  roots_[root].last_step = finding.step;
  keep_blocks(finding, root);
  if (is_count(finding) && finding.request.value >= 0) of_count_ = {finding.step, root};
  if (leaves_tokens_unknown(finding)) of_unknown_tokens_.try_emplace(finding.request.value, root);
  if (is_of_batch(finding) && of_batch_.step != finding.step)
    of_batch_ = {.step = finding.step, .group = finding.group, .root = root};
  if (finding.rule == Rule::label_mismatch) {
    of_label_.try_emplace(label_of(finding), root);
    of_registered_.try_emplace({finding.block, label_of(finding)}, root);
  }
  if (finding.request.value < 0) {
    of_rule_.try_emplace(finding.rule, root);
  } else {
    of_row_.try_emplace({finding.request.value, finding.step}, root);
    last_of_[finding.request.value] = {finding.step, root};
  }
  return root;
}

std::string following_words(const FindingRoot& root) {
  if (root.num_following == 0) return {};
  const bool one = root.num_following == 1;
  return fmt::format("{} finding{} follow{} from it, to step {}", root.num_following,
                     one ? "" : "s", one ? "s" : "", root.last_step);
}

std::string following_words(const FindingRoot& root, std::int64_t num_shown) {
  const std::string words = following_words(root);
  return num_shown >= root.num_following
             ? words
             : fmt::format("{}; {} of {} shown", words, num_shown, root.num_following);
}

}  // namespace hybridscope
