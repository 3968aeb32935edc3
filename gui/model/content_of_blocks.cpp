// Panels about blocks, as tables.
#include <fmt/core.h>

#include <optional>

#include "gui/model/block_story.h"
#include "gui/model/block_table_model.h"
#include "gui/model/content_cells.h"
#include "gui/model/level_notes.h"
#include "gui/model/pool_model.h"
#include "gui/model/prefix_cache_model.h"
#include "gui/model/retention_model.h"
#include "gui/model/workbench.h"

namespace hybridscope {
namespace {

// Requests down, columns across, block ids in the cells.
ContentTable grid_table(const BlockTableGrid& grid) {
  ContentTable table{.title = grid.name, .note = grid_words(grid), .headings = {"Request"}};
  for (std::int32_t column = 0; column < grid.num_columns; ++column)
    table.headings.push_back(fmt::format("{}", column));
  for (std::size_t row = 0; row < grid.rows.size(); ++row) {
    auto& cells = table.rows.emplace_back();
    cells.push_back(words_cell(grid.rows[row].name));
    for (std::int32_t column = 0; column < grid.num_columns; ++column)
      cells.push_back(known_cell(grid.at(row, column).block));
  }
  return table;
}

// Does the cell have more than a block? Most cells of a long table are only cached or held.
bool has_more(const BlockCell& cell) {
  return cell.changed || cell.state == CellState::wrong || cell.use != CellUse{} ||
         cell.role == CellRole::stale || cell.partial_tokens > 0 || cell.checkpoint > 0;
}

ContentTable cells_table(const BlockTableGrid& grid) {
  ContentTable table{.title = grid.name + ": cells with a part in the step, or a special end",
                     .headings = {"Request", "Column", "Block", "Role", "State", "Changed",
                                  "Prefix ends at", "Checkpoint"}};
  for (std::size_t row = 0; row < grid.rows.size(); ++row)
    for (std::int32_t column = 0; column < grid.rows[row].num_columns; ++column) {
      const BlockCell& cell = grid.at(row, column);
      if (!has_more(cell)) continue;
      table.rows.push_back(
          {words_cell(grid.rows[row].name), number_cell(column), known_cell(cell.block),
           words_cell(role_name(cell.role)), words_cell(state_name(cell.state)),
           flag_cell(cell.changed),
           cell.partial_tokens > 0 ? words_cell(partial_words(cell)) : ContentCell(),
           cell.checkpoint > 0 ? number_cell(cell.checkpoint) : ContentCell()});
    }
  return table;
}

PanelContent block_tables(Workbench& workbench) {
  const BlockTablesOptions& options = workbench.options().block_tables;
  if (const std::string lacks = not_kept(*workbench.run(), "block tables"); !lacks.empty())
    return {.notes = {lacks}};
  PanelContent content;
  add_note(content, side_words(options.side));
  if (const std::string lacks = contents_not_kept(*workbench.run()); !lacks.empty())
    add_note(content, lacks);
  for (const BlockTableGrid& grid : make_block_table_model(*workbench.run(), options).grids) {
    content.tables.push_back(grid_table(grid));
    if (grid.rows.empty() || grid.num_columns == 0)
      content.tables.back().note = kEmptyGrid;
    else
      content.tables.push_back(cells_table(grid));
  }
  return content;
}

PanelContent physical_blocks(Workbench& workbench) {
  const PoolModel pool = make_pool_model(*workbench.run());
  if (!pool.not_kept.empty()) return {.notes = {pool.not_kept}};
  ContentTable blocks{.title = fmt::format("{} blocks", pool.cells.size()),
                      .note = counts_words(pool),
                      .headings = {"Block", "Role", "Held by", "Changed", "Wrong"}};
  for (const BlockCell& cell : pool.cells)
    blocks.rows.push_back(
        {number_cell(cell.block), words_cell(role_name(cell.role)),
         words_cell(to_text(owner_words(pool, workbench.run()->names(), cell.block))),
         flag_cell(cell.changed), flag_cell(cell.state == CellState::wrong)});
  ContentTable queue{
      .title = "Free queue", .note = queue_words(pool), .headings = {"Place", "Block"}};
  for (std::size_t i = 0; i < pool.queue.size(); ++i)
    queue.rows.push_back(
        {number_cell(static_cast<std::int64_t>(i) + 1), number_cell(pool.queue[i])});
  if (pool.queue.size() < pool.queue_length)
    queue.rows.push_back({words_cell(left_out_words(pool.queue_length - pool.queue.size())), {}});
  return {.tables = {std::move(queue), std::move(blocks)}};
}

// What requests shared with earlier ones, and one row per reason for lost tokens.
ContentTable lost_table(const std::vector<LookupCard>& cards,
                        const std::optional<EarlierLookup>& earlier, const Names& names) {
  ContentTable table{.title = "In common and lost", .headings = {"Request", "What"}};
  const auto add = [&](const std::string& name, const std::string& shared,
                       const std::vector<std::string>& lost) {
    if (!shared.empty()) table.rows.push_back({words_cell(name), words_cell(shared)});
    for (const std::string& sentence : lost)
      table.rows.push_back({words_cell(name), words_cell(sentence)});
  };
  for (const LookupCard& card : cards) add(card.name, card.shared, card.lost);
  if (earlier) add(names.request(earlier->request), earlier->shared, earlier->lost);
  return table;
}

ContentTable retention_table(const RetentionModel& model) {
  ContentTable table{.title = "Kept states of " + model.name,
                     .note = model.words,
                     .headings = {"Tokens before the state", "Kept", "Why"}};
  for (const PromptBoundary& boundary : model.boundaries)
    table.rows.push_back(
        {number_cell(boundary.num_tokens), flag_cell(boundary.kept), words_cell(boundary.why)});
  return table;
}

PanelContent prefix_cache(Workbench& workbench) {
  ShownRun& run = *workbench.run();
  const auto cards = make_prefix_cache_model(run.view(), run.cache_report());
  PanelContent content;
  add_note(content, smallest_prefix_line(run.config()));
  if (cards.empty()) add_note(content, no_lookups_words(run));
  ContentTable lookups{.title = "Lookups",
                       .headings = {"Request", "Known tokens", "Hit tokens", "Admitted", "What"}};
  ContentTable groups{.title = "Groups",
                      .headings = {"Request", "Group", "Tokens a block", "Present", "Could serve",
                                   "First token missing", "Why not more"}};
  for (const LookupCard& card : cards) {
    lookups.rows.push_back({words_cell(card.name), number_cell(card.num_tokens),
                            number_cell(card.num_hit_tokens), flag_cell(card.admitted),
                            words_cell(card.words)});
    for (const LookupBar& bar : card.groups)
      groups.rows.push_back({words_cell(card.name), words_cell(bar.name),
                             number_cell(bar.block_size), number_cell(bar.present_length),
                             number_cell(bar.hit_length), known_cell(bar.miss_token),
                             words_cell(bar.words)});
  }
  ContentTable lost = lost_table(
      cards, find_earlier_lookup(run.view(), run.cache_report(), workbench.selection().request),
      run.names());
  for (ContentTable* table : {&lookups, &lost, &groups})
    if (!table->rows.empty()) content.tables.push_back(std::move(*table));
  if (const auto retention = make_retention_model(run, workbench.selection().request))
    content.tables.push_back(retention_table(*retention));
  return content;
}

ContentTable holders_table(const BlockStory& story) {
  ContentTable table{.title = "Held by",
                     .headings = {"Request", "Group", "Column", "Scheduler", "Worker"}};
  if (story.holders.empty()) table.note = kNoHolder;
  for (const BlockHolder& holder : story.holders)
    table.rows.push_back({words_cell(holder.name), number_cell(holder.group),
                          number_cell(holder.column), flag_cell(holder.in_scheduler),
                          flag_cell(holder.in_worker)});
  return table;
}

PanelContent state_inspector(Workbench& workbench) {
  const std::int32_t block = workbench.selection().block;
  if (block < 0 || block >= workbench.run()->config().kv_cache_config.num_blocks)
    return {.notes = {std::string(kNoBlockSelected)}};
  const BlockStory story = make_block_story(*workbench.run(), block);
  PanelContent content;
  if (!story.not_kept.empty()) return {.notes = {story.not_kept}};
  if (!story.holds.empty()) add_note(content, story.holds);
  if (const ChainStart& start = story.wrong_since; start.step > 0)
    add_note(content, fmt::format("{} step {}: {}", kWrongSince, start.step, start.words));
  content.tables.push_back(facts_table(fmt::format("Block {}", block), story.facts));
  if (block != kNullBlock) content.tables.push_back(holders_table(story));
  for (const ContentStory& held : story.contents) {
    ContentTable table{.title = fmt::format("{}, {}", held.title, kStoryOrder),
                       .note = held.end,
                       .headings = {"Step", "Block", "Written by", "What", "Fault"}};
    for (const StoryLink& link : held.links)
      table.rows.push_back({number_cell(link.step), number_cell(link.block), words_cell(link.what),
                            words_cell(link.words),
                            link.fault.empty() ? ContentCell() : words_cell(link.fault)});
    content.tables.push_back(std::move(table));
  }
  return content;
}

constexpr ContentRow kBlocksContents[] = {{"block_tables", block_tables},
                                          {"physical_blocks", physical_blocks},
                                          {"prefix_cache", prefix_cache},
                                          {"state_inspector", state_inspector}};

}  // namespace

std::span<const ContentRow> block_contents() { return kBlocksContents; }

}  // namespace hybridscope
