#include "gui/model/pool_model.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "gui/model/block_verdict.h"
#include "gui/model/shown_run.h"
#include "gui/model/workbench.h"

namespace hybridscope {
namespace {

// Blocks whose label or number of holders the step changed.
std::vector<bool> changed_blocks(const StepView& view) {
  std::vector<bool> changed(static_cast<std::size_t>(view.scheduler_tables.num_blocks()));
  for (const auto* events : {&view.trace.cache_events, &view.trace.commit_events})
    for (const CacheEvent& event : *events) {
      const bool counts =
          event.kind != CacheEventKind::column_set && event.kind != CacheEventKind::table_dropped;
      if (counts && event.block > kNullBlock && event.block < view.scheduler_tables.num_blocks())
        changed[static_cast<std::size_t>(event.block)] = true;
    }
  return changed;
}

// Is the block registered as a prefix that ends inside it?
void mark_prefix_end(BlockCell& cell, const BlockFacts& facts, const KVCacheConfig& config) {
  const auto group = static_cast<std::size_t>(facts.label_group);
  if (!facts.registered || group >= config.groups.size()) return;
  cell.block_size = config.groups[group].block_size();
  cell.partial_tokens = facts.partial_num_tokens % cell.block_size;
}

// Looks only at blocks that findings name: a session has to read each from its file.
void mark_wrong(ShownRun& run, PoolModel& pool) {
  const BlockVerdicts verdicts(run);
  for (BlockCell& cell : pool.cells) {
    if (!verdicts.is_named(cell.block)) continue;
    const BlockFacts facts = run.block_facts(cell.block);
    const std::int32_t group = pool.first_owner[static_cast<std::size_t>(cell.block)].group;
    if (verdicts.of(cell.block, facts, group).state == CellState::wrong)
      cell.state = CellState::wrong;
  }
}

void count(PoolModel& pool, std::int32_t block, std::int32_t references, bool registered) {
  if (block == kNullBlock) return;
  ++(references > 0 ? pool.num_held : pool.num_free);
  if (registered) ++(references > 0 ? pool.num_held_cached : pool.num_free_cached);
}

constexpr std::size_t kMostOwnersNamed = 6;

// Calls f(owner, block) for every place of every table, requests in their order.
template <class F>
void for_each_place(const BlockTableMirror& tables, const F& f) {
  for (const RequestId request : tables.requests())
    for (std::int32_t group = 0; group < tables.num_groups(); ++group) {
      const auto blocks = tables.block_ids(request, group);
      for (std::size_t column = 0; column < blocks.size(); ++column)
        if (blocks[column] > kNullBlock && blocks[column] < tables.num_blocks())
          f(PoolOwner{request, group, static_cast<std::int32_t>(column)}, blocks[column]);
    }
}

void add_owners(const BlockTableMirror& tables, PoolModel& pool) {
  pool.first_owner.resize(pool.cells.size());
  pool.num_owners.resize(pool.cells.size());
  for_each_place(tables, [&](const PoolOwner& owner, std::int32_t block) {
    const auto at = static_cast<std::size_t>(block);
    if (pool.num_owners[at]++ == 0) pool.first_owner[at] = owner;
  });
}

std::vector<Fact> owner_facts(const StepView& view, std::int32_t block) {
  std::vector<Fact> facts;
  std::size_t count = 0;
  for_each_place(tables_after(view), [&](const PoolOwner& owner, std::int32_t held) {
    if (held != block || ++count > kMostOwnersNamed) return;
    facts.push_back({"held by", fmt::format("{}, {}, column {}", view.names.request(owner.request),
                                            view.names.group(owner.group), owner.column)});
  });
  if (count > kMostOwnersNamed)
    facts.push_back({"", fmt::format("and {} more", count - kMostOwnersNamed)});
  return facts;
}

}  // namespace

PoolModel make_pool_model(ShownRun& run) {
  const StepView view = run.view();
  PoolModel pool;
  pool.not_kept = not_kept(run, "owners and labels of blocks");
  if (!pool.not_kept.empty()) return pool;
  const std::vector<bool> changed = changed_blocks(view);
  const BlockTableMirror tables = tables_after(view);
  pool.cells.resize(changed.size());
  pool.references.resize(changed.size());
  for (std::size_t i = 0; i < pool.cells.size(); ++i) {
    BlockCell& cell = pool.cells[i];
    cell.block = static_cast<std::int32_t>(i);
    const BlockFacts facts = run.block_facts(cell.block);
    pool.labels_known = pool.labels_known && facts.label_known;
    pool.references[i] = tables.holders(cell.block) + tables.deferred(cell.block);
    cell.role = role_of({.block = cell.block,
                         .is_registered = facts.registered,
                         .num_holders = pool.references[i]});
    mark_prefix_end(cell, facts, view.config.kv_cache_config);
    cell.state = CellState::written;
    cell.changed = changed[i];
    count(pool, cell.block, pool.references[i], facts.registered);
    ++pool.num_by_role[static_cast<std::size_t>(cell.role)];
  }
  add_owners(tables, pool);
  mark_wrong(run, pool);
  if (auto queue = run.free_queue()) {
    pool.queue_known = true;
    pool.queue_length = queue->size();
    queue->resize(std::min(queue->size(), kMaxQueueShown));
    pool.queue = *std::move(queue);
  }
  return pool;
}

OwnerWords owner_words(const PoolModel& pool, const Names& names, std::int32_t block) {
  const auto at = static_cast<std::size_t>(block);
  if (pool.num_owners[at] == 0) return {};
  const PoolOwner& first = pool.first_owner[at];
  OwnerWords words{.request = names.request(first.request),
                   .place = fmt::format("{}:{}", first.group, first.column)};
  if (pool.num_owners[at] > 1) words.place += fmt::format(" +{}", pool.num_owners[at] - 1);
  return words;
}

std::string to_text(const OwnerWords& owner) {
  return owner.place.empty() ? std::string() : fmt::format("{} {}", owner.request, owner.place);
}

std::string counts_words(const PoolModel& pool) {
  const std::int32_t shared = pool.num_by_role[static_cast<std::size_t>(CellRole::shared)];
  if (!pool.labels_known)
    return fmt::format("{} held ({} shared), {} free; labels are still being read", pool.num_held,
                       shared, pool.num_free);
  return fmt::format("{} held ({} cached, {} shared), {} free ({} cached)", pool.num_held,
                     pool.num_held_cached, shared, pool.num_free, pool.num_free_cached);
}

std::string left_out_words(std::size_t count) { return fmt::format("... {} more", count); }

std::size_t queue_shown(std::size_t kept, std::size_t length, float room, float words) {
  const auto fitting = [](float cells) { return static_cast<std::size_t>(std::max(cells, 0.0F)); };
  if (kept == length && length <= fitting(room)) return length;
  return std::min(kept, fitting(room - words - 0.25F));
}

std::string queue_words(const PoolModel& pool) {
  if (!pool.queue_known)
    return "Order of the free queue: not known; it is where a recorded run can be made again.";
  return fmt::format("Free queue, given out next from the left ({} block{}):", pool.queue_length,
                     pool.queue_length == 1 ? "" : "s");
}

std::vector<Fact> describe_block(ShownRun& run, const PoolModel& pool, std::int32_t block) {
  const BlockCell& cell = pool.cells[static_cast<std::size_t>(block)];
  const StepView view = run.view();
  std::vector<Fact> facts{{"block", fmt::format("{} ({})", block, role_name(cell.role))}};
  if (block == kNullBlock) return facts;
  facts.push_back({"references", fmt::format("{} when the step is over",
                                             pool.references[static_cast<std::size_t>(block)])});
  std::ranges::move(owner_facts(view, block), std::back_inserter(facts));
  const BlockFacts label = run.block_facts(block);
  facts.push_back(
      {"state", verdict_words(BlockVerdicts(run).of(
                    block, label, pool.first_owner[static_cast<std::size_t>(block)].group))});
  facts.push_back(
      {"registered as", !label.label_known ? std::string("not known")
                        : label.registered
                            ? fmt::format("the prefix of {} tokens in {}", label.label_num_tokens,
                                          view.names.group(label.label_group))
                            : std::string("nothing")});
  if (cell.changed) facts.push_back({"in this step", "given out, freed, registered or evicted"});
  return facts;
}

Picture physical_blocks_picture(Workbench& workbench) {
  const PoolModel pool = make_pool_model(*workbench.run());
  if (!pool.not_kept.empty()) return {.notes = {pool.not_kept}};
  Table blocks{.title = fmt::format("{} blocks", pool.cells.size()),
               .note = counts_words(pool),
               .headings = {"Block", "Role", "Held by", "Changed", "Wrong"}};
  for (const BlockCell& cell : pool.cells)
    blocks.rows.push_back(
        {number_cell(cell.block), words_cell(role_name(cell.role)),
         words_cell(to_text(owner_words(pool, workbench.run()->names(), cell.block))),
         flag_cell(cell.changed), flag_cell(cell.state == CellState::wrong)});
  Table queue{.title = "Free queue", .note = queue_words(pool), .headings = {"Place", "Block"}};
  for (std::size_t i = 0; i < pool.queue.size(); ++i)
    queue.rows.push_back(
        {number_cell(static_cast<std::int64_t>(i) + 1), number_cell(pool.queue[i])});
  if (pool.queue.size() < pool.queue_length)
    queue.rows.push_back({words_cell(left_out_words(pool.queue_length - pool.queue.size())), {}});
  return {.tables = {std::move(queue), std::move(blocks)}};
}

}  // namespace hybridscope
