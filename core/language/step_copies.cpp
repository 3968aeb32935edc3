#include "core/language/step_copies.h"

#include <algorithm>
#include <string>

namespace hybridscope {
namespace {

// Are these the launch's copies, every one, and all of them between blocks?
bool are_all_copies(const CopyLaunch& launch, std::span<const StateCopyOp> copies,
                    const LanguageLayout& layout) {
  return std::ranges::equal(
      launch.copies, copies, [&](const StateCopyTrace& traced, const StateCopyOp& copy) {
        return copy.conv_src_block >= 0 && copy.temporal_src_block >= 0 &&
               layout.mamba_groups[static_cast<std::size_t>(copy.group_index)] == traced.group &&
               copy.conv_src_block == traced.conv_src_block &&
               copy.temporal_src_block == traced.temporal_src_block &&
               copy.dst_block == traced.dst_block &&
               copy.accept_token_bias == traced.accept_token_bias;
      });
}

}  // namespace

void StepCopies::run(const StepTrace& trace, const StateOps& ops, const OpRange& range,
                     LanguageMachine& machine) {
  const CopyLaunch* launch = range.launch;  // null: carried out, or none
  if (launch != nullptr && launch->decisions.empty()) launch = nullptr;
  ops.visit_batches(
      range.first, range.end, [&](auto blocks) { machine.poison(blocks); },
      [&](auto copies) {
        if (launch != nullptr && are_all_copies(*launch, copies, machine.layout()))
          decide(trace, *std::exchange(launch, nullptr), copies, machine);
        else
          machine.copy(copies, trace.kernels.shifts_last_position_first);
      },
      [](auto) {});
  // Decisions against copies are decisions too.
  if (launch != nullptr && launch->copies.empty()) decide(trace, *launch, {}, machine);
}

void StepCopies::decide(const StepTrace& trace, const CopyLaunch& launch,
                        std::span<const StateCopyOp> copies, LanguageMachine& machine) {
  const bool last_first = trace.kernels.shifts_last_position_first;
  if (!has_own_engine_ || trace.kernels.varies_post_copies || last_first ||
      launch.decisions.size() != trace.rows.size())
    return machine.copy(copies, last_first);
  std::vector<std::int32_t> slots;
  for (const RowTrace& row : trace.rows) slots.push_back(row.slot);
  std::vector<TensorView<std::int32_t>> tables;
  for (const GroupTrace& group : trace.groups)
    if (group.is_mamba) tables.push_back(group.block_table);
  if (const auto number = machine.copy_decided({.decisions = launch.decisions,
                                                .slots = slots,
                                                .query_start_loc = trace.common.query_start_loc,
                                                .block_tables = tables,
                                                .copies = copies}))
    decided_.emplace_back(&launch, *number);
}

Status StepCopies::check(const LanguageMachine& machine) {
  for (const auto& [launch, number] : std::exchange(decided_, {}))
    if (Status same = compare_decisions(*launch, machine.decided(number)); !same) return same;
  return Ok{};
}

namespace {

std::string words_of(const StateCopyDecision& decision) {
  const std::string columns = " column " + std::to_string(decision.src_col) + " to " +
                              std::to_string(decision.dst_col) + ", bias " +
                              std::to_string(decision.accept_token_bias);
  return (decision.copies() ? "copies" : "does not copy") + columns + ", outcome " +
         std::to_string(static_cast<int>(decision.outcome)) + ", count after " +
         std::to_string(decision.num_accepted_tokens_after());
}

// " (group 1: blocks 4 and 5 to 7)" for every copy of the decision.
std::string blocks_of(const CopyLaunch& launch, std::size_t decision) {
  std::string words;
  for (const StateCopyTrace& copy : launch.copies)
    if (copy.decision == static_cast<std::int32_t>(decision))
      words += " (group " + std::to_string(copy.group) + ": conv of block " +
               std::to_string(copy.conv_src_block) + ", temporal of block " +
               std::to_string(copy.temporal_src_block) + ", to block " +
               std::to_string(copy.dst_block) + ")";
  return words;
}

}  // namespace

Status compare_decisions(const CopyLaunch& launch, std::span<const StateCopyDecision> decided) {
  for (std::size_t i = 0; i < launch.decisions.size() && i < decided.size(); ++i) {
    const CopyDecisionTrace& engine = launch.decisions[i];
    if (engine.decision == decided[i]) continue;
    return Error{ErrorKind::device, "request " + std::to_string(engine.request.value) + ", row " +
                                        std::to_string(engine.row) + ": the kernel " +
                                        words_of(decided[i]) + "; the engine " +
                                        words_of(engine.decision) + blocks_of(launch, i)};
  }
  return Ok{};
}

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
