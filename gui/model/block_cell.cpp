#include "gui/model/block_cell.h"

#include <fmt/core.h>

#include <algorithm>

#include "core/metadata/persistent_buffer.h"
#include "gui/model/block_table_model.h"
#include "gui/model/block_verdict.h"
#include "gui/model/metadata_model.h"
#include "sessions/explain/forward_rows.h"
#include "sessions/record/value_names.h"
#include "sessions/text/number_words.h"

namespace hybridscope {

std::string partial_words(const BlockCell& cell) {
  return fmt::format("{}/{}", cell.partial_tokens, cell.block_size);
}

std::string cell_words(const BlockCell& cell) {
  std::string words = fmt::format("{}", cell.block);
  if (cell.checkpoint > 0)
    words += fmt::format(": S({})", cell.checkpoint);
  else if (cell.partial_tokens > 0)
    words += ": " + partial_words(cell);
  return words;
}

std::string_view state_name(CellState state) {
  switch (state) {
    case CellState::unknown: return "not known";
    case CellState::unwritten: return "not written";
    case CellState::written: return "written, not checked";
    case CellState::verified: return "verified";
    case CellState::wrong: return "wrong";
  }
  return "";
}

std::string_view state_meaning(CellState state) {
  switch (state) {
    case CellState::unknown: return "The session does not keep it, or it cannot be read.";
    case CellState::unwritten: return "Nothing was written since the block was given out.";
    case CellState::written:
      return "Written, and no check has looked at what it holds now: a state that has not been "
             "read "
             "yet, or keys and values of a block that is not registered.";
    case CellState::verified:
      return "A check found it right: what it holds is what it is registered as, or this step's "
             "forward pass read it.";
    case CellState::wrong:
      return "A finding said so and nothing was written since, or it is not what the block is "
             "registered as.";
  }
  return "";
}

// Facts about one cell of a block table, for tooltips.

namespace {

std::string written(const WriteEvent& event, const Names& names) {
  if (event.kind == WriteKind::never) return "not written since it was given out";
  return fmt::format("{} tokens of {}, by the {} of step {}", event.num_tokens,
                     names.request(event.request), value_names::name(event.kind), event.step);
}

// A forward pass writes the inputs of its drafts after the window, and counts them.
std::string written_window(const WriteEvent& event, const StepView& view) {
  if (event.kind == WriteKind::never) return written(event, view.names);
  return fmt::format("inputs up to token {} of {}{}, by the {} of step {}", event.num_tokens,
                     view.names.request(event.request),
                     view.config.num_speculative_tokens > 0 ? ", drafts included" : "",
                     value_names::name(event.kind), event.step);
}

// The checker executes this step's arrays, even if a stale replay read others.
bool is_assumed(const StepView& view, std::int32_t group) {
  return std::ranges::any_of(view.trace.groups, [&](const GroupTrace& traced) {
    return traced.group == group && replays_stale(view.trace, traced);
  });
}

// What ends inside the block, and which state a prefill stored on its way.
void add_end(std::vector<Fact>& facts, const BlockCell& cell, const BlockFacts& block) {
  if (cell.partial_tokens > 0) {
    const bool is_label = block.partial_num_tokens % cell.block_size == cell.partial_tokens;
    facts.push_back({is_label ? "prefix ends at" : "hit ends at",
                     fmt::format("{} of the block's tokens{}", partial_words(cell),
                                 is_label && block.partial_num_tokens != block.label_num_tokens
                                     ? fmt::format(", registered besides for {} tokens",
                                                   block.partial_num_tokens)
                                     : "")});
  }
  if (cell.checkpoint > 0)
    facts.push_back({"checkpoint", fmt::format("S({}), stored by a prefill that ran on past it",
                                               cell.checkpoint)});
}

}  // namespace

std::vector<Fact> describe_element(ShownRun& run, const MetadataSection& section,
                                   const MetadataArray& array, std::int64_t index) {
  const StepView view = run.view();
  const std::int64_t row = index / array.num_columns();
  const std::int64_t column = index % array.num_columns();
  std::vector<Fact> facts{
      {"element", array.array.dims.size() == 2 ? fmt::format("[{}, {}]", row, column)
                                               : fmt::format("[{}]", row)},
      {"value", element_text(element_at(array.array, index))}};
  const NamedArrayGroup* before = run.previous_arrays().find(section.group);
  const NamedArray* old = before == nullptr ? nullptr : before->find(array.array.name);
  if (array.is_changed(index) && old != nullptr) {
    const bool was_there = old->present && old->dims == array.array.dims;
    facts.push_back({"before", was_there ? element_text(element_at(*old, index))
                                         : std::string("the array had another shape")});
  }
  const std::int32_t batch_row = section.rows.batch_row(array.array.rows, row);
  if (batch_row < 0) return facts;
  const bool is_real = static_cast<std::size_t>(batch_row) < view.trace.rows.size();
  const std::int32_t num_reqs = view.trace.common.num_reqs;
  if (batch_row >= num_reqs) {
    facts.push_back(
        {"row", batch_row == num_reqs && array.array.elements == ArrayElements::row_starts
                    ? std::string("none: where the last one ends")
                    : fmt::format("none: the batch has {}", counted(num_reqs, "row"))});
    return facts;
  }
  facts.push_back({"row", fmt::format("{}", batch_row)});
  if (is_real)
    facts.push_back({"request", view.names.request(
                                    view.trace.rows[static_cast<std::size_t>(batch_row)].request)});
  else
    facts.push_back({"request", "none: a padding row"});
  return facts;
}

std::string element_text(std::int64_t value) {
  return value == kNeverWritten ? std::string("unset") : fmt::format("{}", value);
}

std::vector<Fact> describe_cell(ShownRun& run, const CellPlace& place, const BlockCell& cell) {
  const StepView view = run.view();
  std::vector<Fact> facts;
  facts.push_back({"cell", fmt::format("{}, {}, column {}", view.names.request(place.request),
                                       view.names.group(place.group), place.column)});
  if (cell.block == kNullBlock) {
    facts.push_back({"block", "0, the null block: nothing is kept here"});
    return facts;
  }
  const BlockFacts block = run.block_facts(cell.block);
  facts.push_back({"block", fmt::format("{} ({})", cell.block, role_name(cell.role))});
  if (const std::string_view use = use_words(cell.use); !use.empty())
    facts.push_back(
        {"in this step",
         std::string(use) + (is_assumed(view, place.group) ? " (assumed: the graph replays arrays "
                                                             "of an earlier step)"
                                                           : "")});
  if (place.side == TableSide::worker && cell.role == CellRole::stale)
    facts.push_back(
        {"scheduler has", fmt::format("block {}", view.scheduler_tables.block_at(
                                                      place.request, place.group, place.column))});
  facts.push_back({"state", verdict_words(BlockVerdicts(run).of(cell.block, block, place.group))});
  const std::int32_t holders = view.scheduler_tables.holders(cell.block);
  facts.push_back(
      {"references", fmt::format("{}", holders + view.scheduler_tables.deferred(cell.block))});
  if (!block.label_known)
    facts.push_back({"registered as", "not known"});
  else
    facts.push_back({"registered as", block.registered
                                          ? fmt::format("the prefix of {} tokens, hash {:016x}",
                                                        block.label_num_tokens, block.block_hash)
                                          : std::string("nothing: no request can hit it")});
  add_end(facts, cell, block);
  if (!block.writes_known) {
    facts.push_back({"content", "not known: the session keeps writes at level full only"});
    return facts;
  }
  if (view.config.kv_cache_config.groups[static_cast<std::size_t>(place.group)].is_mamba()) {
    const KVCacheConfig& config = view.config.kv_cache_config;
    if (keeps(config, StateKind::temporal))
      facts.push_back({"temporal state", written(block.temporal.event, view.names)});
    if (keeps(config, StateKind::conv))
      facts.push_back({"conv window", written_window(block.conv.event, view)});
  } else {
    facts.push_back({"keys and values", written(block.attention.event, view.names)});
  }
  return facts;
}

}  // namespace hybridscope
