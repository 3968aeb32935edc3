#include "gui/model/block_story.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <set>

#include "gui/model/block_verdict.h"
#include "gui/model/command_table.h"
#include "gui/model/shown_run.h"
#include "gui/model/workbench.h"
#include "sessions/explain/forward_rows.h"
#include "sessions/record/value_names.h"

namespace hybridscope {
namespace {

void add_holders(const StepView& view, const BlockTableMirror& after, std::int32_t block,
                 std::vector<BlockHolder>& holders) {
  std::set<RequestId> requests;
  for (const RequestId request : view.scheduler_tables.requests()) requests.insert(request);
  for (const RequestId request : view.worker_tables.requests()) requests.insert(request);
  for (const RequestId request : requests)
    for (std::int32_t group = 0; group < view.scheduler_tables.num_groups(); ++group) {
      const auto scheduler = view.scheduler_tables.block_ids(request, group);
      const auto worker = view.worker_tables.block_ids(request, group);
      for (std::size_t column = 0; column < std::max(scheduler.size(), worker.size()); ++column) {
        const bool in_scheduler = column < scheduler.size() && scheduler[column] == block;
        const bool in_worker = column < worker.size() && worker[column] == block;
        if (!in_scheduler && !in_worker) continue;
        const bool kept =
            after.block_at(request, group, static_cast<std::int32_t>(column)) == block;
        holders.push_back({.request = request,
                           .name = view.names.request(request),
                           .group = group,
                           .column = static_cast<std::int32_t>(column),
                           .in_scheduler = in_scheduler,
                           .in_worker = in_worker,
                           .freed = in_scheduler && !kept});
      }
    }
}

std::string owner_of(const WriteEvent& event, const Names& names) {
  return event.request.value >= 0 ? names.request(event.request) : "a padding row";
}

std::string what_is_held(const ShownRun& run, const StateWrite& write) {
  const std::string owner = owner_of(write.event, run.names());
  switch (write.content) {
    case ContentKind::conv:
      // A forward pass counts the drafts whose inputs it writes after the window.
      return fmt::format("the conv inputs up to token {} of {}{}", write.event.num_tokens, owner,
                         run.config().num_speculative_tokens > 0 ? ", drafts included" : "");
    case ContentKind::attention:
      return fmt::format("keys and values up to token {} of {}", write.event.num_tokens, owner);
    default: return fmt::format("the state of {} tokens of {}", write.event.num_tokens, owner);
  }
}

bool is_copy(const StateWrite& write) {
  return write.event.kind == WriteKind::pre_copy || write.event.kind == WriteKind::post_copy ||
         write.event.kind == WriteKind::block_copy;
}

// The finding that blames a write; -1: none does.
std::ptrdiff_t finding_about(std::span<const ShownFinding> findings, const WriteEvent& write,
                             std::int32_t block) {
  const auto found = std::ranges::find_if(findings, [&](const ShownFinding& shown) {
    return shown.finding.cause == write && shown.finding.block == block;
  });
  return found == findings.end() ? -1 : found - findings.begin();
}

std::string fault_words(const Finding& finding) {
  const std::string where =
      fmt::format("{} in step {}", rule_info(finding.rule).slug, finding.step);
  return finding.expected >= 0 ? fmt::format("expected {}: {}", finding.expected, where) : where;
}

// `source`: the write that it was made from; null: none, or not known.
StoryLink link_of(const ShownRun& run, const StateWrite& write, const StateWrite* source) {
  std::string words = what_is_held(run, write);
  if (write.column >= 0)
    words += fmt::format(", into column {} (block {})", write.column, write.block);
  else
    words += fmt::format(", into block {}", write.block);
  if (source != nullptr)
    words += fmt::format(", {} block {}", is_copy(write) ? "copied from" : "going on from",
                         source->block);
  return {.step = write.event.step,
          .block = write.block,
          .request = write.event.request,
          .what = std::string(value_names::name(write.event.kind)),
          .words = std::move(words)};
}

std::string end_of(const WriteChain& chain) {
  if (chain.end == ChainEnd::cut) return "Older writes are not kept any more.";
  if (chain.end == ChainEnd::limit)
    return "It goes further back: go to the last step above and ask again there.";
  if (chain.writes.empty()) return "Nothing was written since the block was given out.";
  if (is_copy(chain.writes.back())) return "What it copied was never written.";
  return "That forward pass computed it from tokens alone: it begins here.";
}

ContentStory story_of(ShownRun& run, std::int32_t block, ContentKind content) {
  ContentStory story;
  story.content = content;
  story.title = content == ContentKind::temporal ? "Temporal state"
                : content == ContentKind::conv   ? "Conv window"
                                                 : "Keys and values";
  const auto chain = run.write_chain(block, content);
  if (!chain.ok()) {
    story.end = chain.error().message;
    return story;
  }
  const std::vector<StateWrite>& writes = chain.value().writes;
  for (std::size_t i = 0; i < writes.size(); ++i) {
    story.links.push_back(
        link_of(run, writes[i], i + 1 < writes.size() ? &writes[i + 1] : nullptr));
    StoryLink& link = story.links.back();
    link.finding = finding_about(run.findings(), writes[i].event, writes[i].block);
    if (link.finding >= 0)
      link.fault = fault_words(run.findings()[static_cast<std::size_t>(link.finding)].finding);
  }
  story.end = end_of(chain.value());
  return story;
}

std::string references_words(const BlockTableMirror& during, const BlockTableMirror& after,
                             std::int32_t block) {
  const std::int32_t before = during.holders(block) + during.deferred(block);
  const std::int32_t deferred = after.deferred(block);
  const std::int32_t references = after.holders(block) + deferred;
  std::string words = fmt::format("{}", references);
  if (deferred > 0) words += fmt::format(", {} of them deferred", deferred);
  if (before != references) words += fmt::format(" when the step is over, {} while it ran", before);
  return words;
}

void add_facts(ShownRun& run, const StepView& view, const BlockTableMirror& after,
               BlockStory& story) {
  const auto add = [&](const char* label, std::string value) {
    story.facts.push_back({label, std::move(value)});
  };
  const std::int32_t block = story.block;
  add("references", references_words(view.scheduler_tables, after, block));
  const BlockFacts facts = run.block_facts(block);
  if (!facts.label_known)
    add("registered as", "not known");
  else if (facts.registered)
    add("registered as", fmt::format("the prefix of {} tokens in {}", facts.label_num_tokens,
                                     view.names.group(facts.label_group)));
  else
    add("registered as", "nothing: no request can hit it");
  if (facts.label_known && facts.registered)
    add("block hash", fmt::format("{:016x}", facts.block_hash));
  if (const auto queue = run.free_queue()) {
    const auto place = std::ranges::find(*queue, block);
    add("free queue",
        place == queue->end()
            ? std::string("not in it")
            : fmt::format("number {} of {}", place - queue->begin() + 1, queue->size()));
  }
}

// "6 7 8"; positions after the window, which hold drafts' inputs, are in brackets.
std::string conv_words(const std::vector<std::int32_t>& tokens, std::int32_t window) {
  std::string words;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (i == static_cast<std::size_t>(window)) words += " (behind it";
    words += tokens[i] == kConvNotWritten   ? " -"
             : tokens[i] == kConvOtherToken ? " x"
                                            : fmt::format(" {}", tokens[i]);
  }
  return words + (tokens.size() > static_cast<std::size_t>(window) ? ")" : "");
}

// Without drafts a window is always the last W - 1 tokens.
std::vector<std::int32_t> conv_tokens_of(const ShownRun& run, const BlockFacts& facts,
                                         std::int32_t block) {
  std::vector<std::int32_t> tokens = run.conv_tokens(block);
  if (!tokens.empty() || run.config().num_speculative_tokens > 0) return tokens;
  const std::int32_t window = run.config().conv_kernel - 1;
  for (std::int32_t i = 0; i < window; ++i)
    tokens.push_back(std::max(facts.conv.event.num_tokens - window + 1 + i, kConvBeforeFirst));
  return tokens;
}

std::string contents_words(const ShownRun& run, const BlockFacts& facts, std::int32_t block) {
  std::string words;
  const auto add = [&](const std::string& part) { words += (words.empty() ? "" : ", ") + part; };
  const KVCacheConfig& config = run.config().kv_cache_config;
  if (facts.temporal.event.kind != WriteKind::never && keeps(config, StateKind::temporal))
    add(fmt::format("S({}) of {}", facts.temporal.event.num_tokens,
                    owner_of(facts.temporal.event, run.names())));
  if (facts.conv.event.kind != WriteKind::never && keeps(config, StateKind::conv)) {
    const auto tokens = conv_tokens_of(run, facts, block);
    if (!tokens.empty()) add("conv window" + conv_words(tokens, run.config().conv_kernel - 1));
  }
  if (facts.attention.event.kind != WriteKind::never)
    add(fmt::format("keys and values up to token {} of {}", facts.attention.event.num_tokens,
                    owner_of(facts.attention.event, run.names())));
  return words.empty() ? "holds nothing that was written since it was given out" : "holds " + words;
}

void add_verdict(const ShownRun& run, const BlockFacts& facts, BlockStory& story) {
  const BlockVerdict verdict = BlockVerdicts(run).of(
      story.block, facts, story.holders.empty() ? -1 : story.holders.front().group);
  story.disagrees = verdict.state == CellState::wrong;
  story.facts.push_back({"state", verdict_words(verdict)});
  if (!facts.writes_known) return;
  story.holds = contents_words(run, facts, story.block);
  if (!facts.label_known) return;
  if (!facts.registered)
    story.holds += "; not registered";
  else
    story.holds += fmt::format("; registered as the prefix of {} tokens{}", facts.label_num_tokens,
                               BlockVerdicts(run).agrees(facts) ? "" : ": they disagree");
}

// The kinds of content that the block's holders can have; both where neither holders nor writes
// say.
std::vector<ContentKind> contents_of(const StepView& view, const BlockStory& story,
                                     const BlockFacts& facts) {
  bool mamba =
      facts.temporal.event.kind != WriteKind::never || facts.conv.event.kind != WriteKind::never;
  bool attention = facts.attention.event.kind != WriteKind::never;
  for (const BlockHolder& holder : story.holders)
    (view.config.kv_cache_config.groups[static_cast<std::size_t>(holder.group)].is_mamba()
         ? mamba
         : attention) = true;
  if (!mamba && !attention) mamba = attention = true;
  std::vector<ContentKind> contents;
  const KVCacheConfig& config = view.config.kv_cache_config;
  if (mamba && keeps(config, StateKind::temporal)) contents.push_back(ContentKind::temporal);
  if (mamba && keeps(config, StateKind::conv)) contents.push_back(ContentKind::conv);
  if (attention) contents.push_back(ContentKind::attention);
  return contents;
}

// Where the chain of the latest write that a finding blames begins.
ChainStart wrong_since(const ShownRun& run, const std::vector<ContentStory>& contents) {
  for (const ContentStory& content : contents)
    for (const StoryLink& link : content.links)
      if (link.finding >= 0) return chain_start(run, static_cast<std::size_t>(link.finding));
  return {};
}

}  // namespace

std::string_view holder_note(const BlockHolder& holder) {
  if (!holder.in_scheduler) return "worker's table only";
  if (holder.freed) return "while the step ran; freed at its end";
  return holder.in_worker ? "" : "scheduler's table only";
}

BlockStory make_block_story(ShownRun& run, std::int32_t block) {
  BlockStory story;
  story.block = block;
  const StepView view = run.view();
  if (block == kNullBlock) {
    story.facts.push_back(
        {"block 0", "the null block: it keeps nothing and belongs to no request"});
    return story;
  }
  story.not_kept = not_kept(run, "owners, labels and contents of blocks");
  if (!story.not_kept.empty()) return story;
  const BlockTableMirror after = tables_after(view);
  add_holders(view, after, block, story.holders);
  add_facts(run, view, after, story);
  const BlockFacts facts = run.block_facts(block);
  story.registered_in = facts.registered_in;
  add_verdict(run, facts, story);
  for (const ContentKind content : contents_of(view, story, facts))
    story.contents.push_back(story_of(run, block, content));
  story.wrong_since = wrong_since(run, story.contents);
  return story;
}

namespace {

Table holders_table(const BlockStory& story, const Names& names) {
  Table table{.title = "Held by",
              .headings = {"Request", "Group", "Column", "Scheduler", "Worker", "Note"}};
  if (story.holders.empty()) table.note = "no block table has it";
  for (const BlockHolder& holder : story.holders) {
    TableRow row{words_cell(holder.name),
                 with_extras(number_cell(holder.group), {.label = names.group(holder.group)}),
                 number_cell(holder.column),
                 flag_cell(holder.in_scheduler),
                 flag_cell(holder.in_worker),
                 words_cell(holder_note(holder))};
    row.mark = fmt::format("holder {} {} {}", holder.name, holder.group, holder.column);
    row.clicks = {
        {"select.cell", fmt::format("{} {} {} {}", quoted_word(holder.name), holder.group,
                                    holder.column, holder.in_scheduler ? "scheduler" : "worker")}};
    table.rows.push_back(std::move(row));
  }
  return table;
}

constexpr std::array<ColumnWords, 5> kStoryColumns = {{{"Step"},
                                                       {"Block"},
                                                       {"Written by", "", ColumnKind::words},
                                                       {"What", "", ColumnKind::wrapped},
                                                       {"Fault", "", ColumnKind::wrapped}}};

// A click goes to the step and selects the block that was written.
Table story_table(const ContentStory& story) {
  Table table{.title = story.title + ", why it is here, latest write first",
              .note = story.end,
              .headings = headings_of(kStoryColumns)};
  for (const StoryLink& link : story.links)
    table.rows.push_back(
        {with_extras(number_cell(link.step),
                     {.clicks = {{"run.go_to", fmt::format("{}", link.step)},
                                 {"select.block", fmt::format("{}", link.block)}},
                      .label = fmt::format("step {}", link.step),
                      .mark = fmt::format("why {} {}", story.title, table.rows.size()),
                      .tooltip = "Go to this step and select the block that was written"}),
         number_cell(link.block), words_cell(link.what, Tone::accent), words_cell(link.words),
         words_cell(link.fault, Tone::error)});
  return table;
}

}  // namespace

Picture state_inspector_picture(Workbench& workbench) {
  const std::int32_t block = workbench.selection().block;
  ShownRun& run = *workbench.run();
  if (block < 0 || block >= run.config().kv_cache_config.num_blocks)
    return {.notes = {"Select a block: click a cell of a block table, or press B."}};
  const BlockStory story = make_block_story(run, block);
  if (!story.not_kept.empty()) return {.notes = {story.not_kept}};
  Picture picture{.notes = {Note(fmt::format("Block {}", block), Tone::normal, true)},
                  .is_page = true};
  if (!story.holds.empty())
    picture.notes.emplace_back(story.holds, story.disagrees ? Tone::error : Tone::normal);
  const auto add_jump = [&](std::string label, std::int64_t step, std::string tooltip) {
    picture.buttons.push_back({.label = std::move(label),
                               .click = {"run.go_to", fmt::format("{}", step)},
                               .tooltip = std::move(tooltip)});
  };
  // The decision that was wrong, not the last write that it spoilt.
  if (const ChainStart& start = story.wrong_since; start.step > 0) {
    picture.notes.emplace_back(
        fmt::format("went wrong first in step {}: {}", start.step, start.words), Tone::error);
    add_jump(fmt::format("Went wrong in step {}", start.step), start.step,
             "Go to the step of the first finding, which the others follow from");
  }
  if (story.registered_in > 0)
    add_jump(fmt::format("Registered in step {}", story.registered_in), story.registered_in,
             "Go to the step that gave the block the hash by which it can be hit");
  for (const ContentStory& held : story.contents) picture.tables.push_back(story_table(held));
  if (block != kNullBlock) picture.tables.push_back(holders_table(story, run.names()));
  picture.tables.push_back(facts_table("At the end of the step", story.facts));
  return picture;
}

}  // namespace hybridscope
