#include "sessions/explain/cell_role.h"

#include <algorithm>
#include <map>
#include <utility>

#include "sessions/explain/explain_names.h"

namespace hybridscope {
namespace {

// What comes first where a cell is used in several ways.
int rank(ForwardUse use) {
  switch (use) {
    case ForwardUse::running: return 5;
    case ForwardUse::draft: return 4;
    case ForwardUse::passed: return 3;
    case ForwardUse::padding: return 2;
    case ForwardUse::keys: return 1;
    case ForwardUse::none: break;
  }
  return 0;
}

constexpr CellUse read_by(ForwardUse what) { return {.what = what, .read = true}; }
constexpr CellUse written_by(ForwardUse what) { return {.what = what, .written = true}; }

class Uses {
 public:
  Uses(const ForwardOfGroup& in, std::span<const ShownTable> tables) : in_(in), tables_(tables) {
    for (std::size_t i = 0; i < tables.size(); ++i) of_request_.emplace(tables[i].request, i);
  }

  std::vector<UsedCell> find() {
    for (const AttentionWrite& write : in_.group.attention_writes)
      add(write.row, {write.column, write.block}, written_by(ForwardUse::keys));
    for (const ForwardPlaces& row : forward_rows(in_.trace, in_.group, in_.mode)) add_row(row);
    for (const PaddingWrite& write : padding_writes(in_.trace, in_.group, in_.mode))
      add_block(write.block, {ForwardUse::padding, true, true});
    std::vector<UsedCell> cells;
    for (const auto& [place, use] : uses_) cells.push_back({place.first, place.second, use});
    return cells;
  }

 private:
  // Conv windows lie where the row starts and where it ends, and at boundaries that it passes.
  void add_row(const ForwardPlaces& row) {
    for (const PassedState& passed : row.passed)
      add(row.row, passed.place, written_by(ForwardUse::passed));
    const std::size_t written = in_.kept.temporal ? row.targets.size() : 1;
    for (std::size_t token = 0; token < std::min(written, row.targets.size()); ++token)
      add(row.row, row.targets[token],
          written_by(token == 0 ? ForwardUse::running : ForwardUse::draft));
    if (!row.has_initial_state) return;
    if (!in_.kept.temporal)
      add(row.row, row.conv_source, read_by(ForwardUse::running));
    else if (row.source_in_range)
      add(row.row, row.temporal_source, read_by(ForwardUse::running));
  }

  void add(std::int32_t batch_row, const StatePlace& place, const CellUse& use) {
    if (batch_row < 0 || static_cast<std::size_t>(batch_row) >= in_.trace.rows.size()) return;
    if (place.block <= kNullBlock) return;
    const auto own = of_request_.find(in_.trace.rows[static_cast<std::size_t>(batch_row)].request);
    if (own == of_request_.end()) return add_block(place.block, use);
    const std::span<const std::int32_t> blocks = tables_[own->second].blocks;
    const auto column = static_cast<std::size_t>(place.column);
    if (place.column >= 0 && column < blocks.size() && blocks[column] == place.block)
      return merge(own->second, column, use);
    const auto elsewhere = std::ranges::find(blocks, place.block);
    if (elsewhere == blocks.end()) return add_block(place.block, use);
    merge(own->second, static_cast<std::size_t>(elsewhere - blocks.begin()), use);
  }

  // Wherever the block is.
  void add_block(std::int32_t block, const CellUse& use) {
    for (std::size_t table = 0; table < tables_.size(); ++table)
      for (std::size_t column = 0; column < tables_[table].blocks.size(); ++column)
        if (tables_[table].blocks[column] == block) merge(table, column, use);
  }

  void merge(std::size_t table, std::size_t column, const CellUse& use) {
    CellUse& known = uses_[{table, static_cast<std::int32_t>(column)}];
    if (rank(use.what) > rank(known.what)) known.what = use.what;
    known.read = known.read || use.read;
    known.written = known.written || use.written;
  }

  const ForwardOfGroup& in_;
  std::span<const ShownTable> tables_;
  std::map<RequestId, std::size_t> of_request_;  // index of a table
  std::map<std::pair<std::size_t, std::int32_t>, CellUse> uses_;
};

}  // namespace

std::string_view role_name(CellRole role) {
  static constexpr std::string_view kNames[] = {"running", "speculative", "cached",
                                                "shared",  "held",        "null block",
                                                "free",    "stale",       "padding"};
  return name_at(kNames, role);
}

char role_letter(CellRole role) { return "RSCHB0FTP"[static_cast<std::size_t>(role)]; }

std::string_view role_meaning(CellRole role) {
  switch (role) {
    case CellRole::null_block: return "Block 0: nothing is kept in this column.";
    case CellRole::held:
      return "The request's own; it is not registered, so no other request can hit it.";
    case CellRole::running:
      return "The step's forward pass works here: it reads the state, or writes the state behind "
             "its first token; of attention, keys and values. The two can be different columns.";
    case CellRole::speculative:
      return "The state behind a draft is written here: one a column, behind the running one.";
    case CellRole::cached: return "Registered: a request with the same prefix can hit it.";
    case CellRole::shared: return "In the block tables of several requests.";
    case CellRole::free_block: return "Nobody's, and no prefix hit would find it.";
    case CellRole::stale: return "The worker's table has another block here than the scheduler's.";
    case CellRole::padding: return "Of a row that only fills a graph.";
  }
  return "";
}

std::string_view use_words(const CellUse& use) {
  switch (use.what) {
    case ForwardUse::none: break;
    case ForwardUse::keys: return "keys and values are written here";
    case ForwardUse::running:
      if (use.read && use.written) return "the state is read here, then one is written";
      return use.read ? "the state is read here" : "a state is written here";
    case ForwardUse::draft: return "the state behind a draft is written here";
    case ForwardUse::passed: return "a prefill stores a state here and runs on";
    case ForwardUse::padding:
      return "a row without a request folds a placeholder into the state here";
  }
  return "";
}

CellRole role_of(const CellFacts& facts) {
  if (facts.is_stale) return CellRole::stale;
  if (facts.block == kNullBlock) return CellRole::null_block;
  if (facts.use == ForwardUse::running || facts.use == ForwardUse::keys) return CellRole::running;
  if (facts.use == ForwardUse::draft) return CellRole::speculative;
  if (facts.num_holders > 1) return CellRole::shared;
  if (facts.is_registered) return CellRole::cached;
  return facts.num_holders == 0 ? CellRole::free_block : CellRole::held;
}

std::vector<UsedCell> used_cells(const ForwardOfGroup& in, std::span<const ShownTable> tables) {
  return Uses(in, tables).find();
}

}  // namespace hybridscope
