#include "core/check/check_references.h"

#include <algorithm>

namespace hybridscope {
namespace {

std::int32_t claimed_references(const CheckContext& context, std::int32_t block) {
  return context.shared().claimed_refs[static_cast<std::size_t>(block)];
}

// The columns that hold the block, and the frees of it that are not due yet.
std::int32_t num_holders(const CheckContext& context, std::int32_t block) {
  const BlockTableMirror& tables = context.shared().tables;
  return tables.holders(block) + tables.deferred(block);
}

void check_reference_count(CheckContext& context, const ChangedBlock& changed) {
  const std::int32_t claimed = claimed_references(context, changed.block);
  const std::int32_t holders = num_holders(context, changed.block);
  if (claimed == holders) return;
  Finding finding;
  finding.rule = Rule::reference_count;
  finding.request = changed.request;
  finding.group = changed.group;
  finding.block = changed.block;
  finding.expected = holders;
  finding.seen = claimed;
  finding.detail = "expected as many as columns hold it";
  context.report(finding);
}

// A request whose table holds the block in any group; -1: none.
RequestId holder_of(const CheckContext& context, std::int32_t block) {
  const BlockTableMirror& tables = context.shared().tables;
  for (const RequestId request : tables.requests())
    for (std::int32_t group = 0; group < tables.num_groups(); ++group)
      if (tables.holds(request, group, block)) return request;
  return {};
}

}  // namespace

void check_reference_change(CheckContext& context, const CacheEvent& event) {
  const std::int32_t before = context.shared().claimed_refs[static_cast<std::size_t>(event.block)];
  const bool allocated = event.kind == CacheEventKind::allocated;
  const std::int32_t expected =
      allocated ? 1 : before + (event.kind == CacheEventKind::touched ? 1 : -1);
  if (event.ref_cnt == expected && (!allocated || before == 0)) return;
  Finding finding;
  finding.rule = Rule::reference_count;
  finding.request = event.request;
  finding.group = event.group;
  finding.block = event.block;
  finding.column = event.column;
  finding.expected = allocated ? 0 : expected;
  finding.seen = allocated ? before : event.ref_cnt;
  finding.detail = allocated ? "given out with references left"
                             : "the count does not follow from the one before";
  if (const RequestId holder = allocated ? holder_of(context, event.block) : RequestId{};
      holder.value >= 0) {
    finding.expected = -1;
    finding.seen = holder.value;
    finding.detail = "given out while a request holds it";
  }
  context.report(finding);
}

void check_reference_counts(CheckContext& context, std::vector<ChangedBlock>& changed) {
  const auto counts_agree = [&](const ChangedBlock& one) {
    return one.block == kNullBlock ||
           claimed_references(context, one.block) == num_holders(context, one.block);
  };
  if (std::ranges::all_of(changed, counts_agree)) return;
  std::ranges::stable_sort(changed, {}, &ChangedBlock::block);
  for (std::size_t i = 0; i < changed.size(); ++i)
    if (changed[i].block != kNullBlock &&
        (i + 1 == changed.size() || changed[i + 1].block != changed[i].block))
      check_reference_count(context, changed[i]);
}

}  // namespace hybridscope
