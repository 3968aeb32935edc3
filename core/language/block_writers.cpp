#include "core/language/block_writers.h"

#include <algorithm>

namespace hybridscope {
namespace {

RequestId request_of(const CopyLaunch* launch, const StateCopyOp& copy) {
  if (launch == nullptr) return {};
  const auto traced = std::ranges::find(launch->copies, copy.dst_block, &StateCopyTrace::dst_block);
  if (traced == launch->copies.end() || traced->decision < 0 ||
      static_cast<std::size_t>(traced->decision) >= launch->decisions.size())
    return {};
  return launch->decisions[static_cast<std::size_t>(traced->decision)].request;
}

}  // namespace

void BlockWriters::set(StateKind kind, std::int32_t block, const WriteEvent& event) {
  if (block >= 0 && static_cast<std::size_t>(block) < events(kind).size())
    events(kind)[static_cast<std::size_t>(block)] = event;
}

WriteEvent BlockWriters::of(StateKind kind, std::int32_t block) const {
  const std::vector<WriteEvent>& list = kind == StateKind::conv ? conv_ : temporal_;
  if (block < 0 || static_cast<std::size_t>(block) >= list.size()) return {};
  return list[static_cast<std::size_t>(block)];
}

void BlockWriters::forget(std::span<const std::int32_t> blocks) {
  for (const std::int32_t block : blocks)
    for (const StateKind kind : {StateKind::conv, StateKind::temporal}) set(kind, block, {});
}

void BlockWriters::copy(const StepTrace& trace, std::span<const StateCopyOp> copies, WriteKind kind,
                        const CopyLaunch* launch) {
  struct Copied {
    WriteEvent conv, temporal;
  };
  std::vector<Copied> sources;
  for (const StateCopyOp& copy : copies)
    sources.push_back({of(StateKind::conv, copy.conv_src_block),
                       of(StateKind::temporal, copy.temporal_src_block)});
  for (std::size_t i = 0; i < copies.size(); ++i) {
    const StateCopyOp& copy = copies[i];
    WriteEvent made{.kind = kind,
                    .step = static_cast<std::int32_t>(trace.step),
                    .request = request_of(launch, copy),
                    .num_tokens = sources[i].conv.num_tokens};
    set(StateKind::conv, copy.dst_block,
        copy.conv_src_block == copy.dst_block ? made : sources[i].conv);
    made.num_tokens = sources[i].temporal.num_tokens;
    set(StateKind::temporal, copy.dst_block,
        copy.temporal_src_block == copy.dst_block ? made : sources[i].temporal);
  }
}

void BlockWriters::write(const StepTrace& trace, std::span<const WrittenPlace> places) {
  for (const WrittenPlace& place : places) {
    const auto row = static_cast<std::size_t>(place.row);
    const bool is_row = place.row >= 0 && row < trace.rows.size();
    set(place.kind, place.block,
        {.kind = place.is_decode ? WriteKind::decode : WriteKind::prefill,
         .step = static_cast<std::int32_t>(trace.step),
         .request = is_row ? trace.rows[row].request : RequestId{},
         .num_tokens = is_row ? trace.rows[row].num_computed_tokens + place.num_tokens : 0});
  }
}

}  // namespace hybridscope
