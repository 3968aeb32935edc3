#include "sessions/explain/finding_roots.h"

#include <fmt/core.h>

namespace hybridscope {
namespace {

bool is_copy(WriteKind kind) {
  return kind == WriteKind::pre_copy || kind == WriteKind::post_copy ||
         kind == WriteKind::block_copy;
}

}  // namespace

std::size_t FindingRoots::of_row(RequestId request, std::int64_t step) const {
  const auto row = of_row_.find({request.value, step});
  return row == of_row_.end() ? kNone : row->second;
}

FindingRoots::WrongLabel FindingRoots::label_of(const Finding& finding) {
  return {finding.group, finding.content, finding.expected, finding.seen};
}

std::size_t FindingRoots::find(const Finding& finding) const {
  const WriteEvent& cause = finding.cause;
  if (cause.kind != WriteKind::never)
    for (const RequestId request : {cause.request, finding.request})
      if (const std::size_t root = of_row(request, cause.step); root != kNone) return root;
  if (finding.request.value < 0) {
    const auto known = of_rule_.find(finding.rule);
    return known == of_rule_.end() ? kNone : known->second;
  }
  if (const std::size_t root = of_row(finding.request, finding.step); root != kNone) return root;
  if (finding.rule == Rule::label_mismatch)
    if (const auto known = of_registered_.find({finding.block, label_of(finding)});
        known != of_registered_.end())
      return known->second;
  if (finding.rule == Rule::running_state_wrong)
    if (const auto label = of_label_.find(label_of(finding)); label != of_label_.end())
      return label->second;
  const auto last =
      last_of_.find(is_copy(cause.kind) ? cause.request.value : finding.request.value);
  if (last == last_of_.end()) return kNone;
  if (is_copy(cause.kind)) return last->second.step <= cause.step ? last->second.root : kNone;
  if (last->second.step + 1 < finding.step) return kNone;
  const bool follows =
      cause.kind != WriteKind::never || roots_[last->second.root].finding.rule == finding.rule;
  return follows ? last->second.root : kNone;
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

}  // namespace hybridscope
