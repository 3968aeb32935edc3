#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "sessions/explain/explain_names.h"
#include "sessions/plan/size_answer.h"
#include "sessions/scenario/settings_table.h"
#include "sessions/text/number_words.h"
#include "sessions/text/text_page.h"

namespace hybridscope {
namespace {

std::string tokens(std::int64_t count) { return grouped_number(count); }

// What every block size is a multiple of, and why: "16, the attention kernel's smallest block".
std::string unit_words(const ModelLayout& layout) {
  const BlockSizeChoice& choice = layout.page_size.choice;
  const std::string unit = tokens(choice.granularity);
  if (choice.mamba_cache_mode == MambaCacheMode::all)
    return fmt::format("{}, the least common multiple of {} {} and {} tokens of alignment", unit,
                       layout.settings.mamba_block_size ? "mamba_block_size" : "the chunk size",
                       tokens(choice.base_chunk), tokens(choice.alignment));
  const std::int64_t kernel = layout.model.kernel_block_alignment;
  const auto asked =
      layout.settings.block_size ? layout.settings.block_size : layout.model.default_block_size;
  const std::int64_t before = std::max(kernel, asked.value_or(1));
  const std::string_view of =
      before > kernel ? (layout.settings.block_size ? "block_size" : "the model's default")
                      : "the attention kernel's smallest block";
  if (choice.alignment == before) return fmt::format("{}, {}", unit, of);
  return fmt::format("{}, which {} ({}) and the places of states inside a prefill divide", unit, of,
                     tokens(before));
}

std::string why_without_attention(const ModelLayout& layout) {
  const BlockSizeChoice& choice = layout.page_size.choice;
  const std::string state = fmt::format(
      "there is no attention layer whose page it has to match, and a block is one state of {} "
      "bytes",
      grouped_number(choice.mamba_page));
  if (choice.mamba_cache_mode == MambaCacheMode::all)
    return fmt::format(
        "block {} tokens, the least common multiple of chunks of {} and {} tokens of alignment: {}",
        tokens(choice.block_size), tokens(choice.base_chunk), tokens(choice.alignment), state);
  const bool asked = layout.settings.block_size || layout.model.default_block_size;
  return fmt::format("block {} tokens, {}: {}", tokens(choice.block_size),
                     asked ? "as asked for" : "the chunk size", state);
}

// Why a block that is one unit has its size.
std::string_view why_no_larger(const ModelLayout& layout) {
  const std::int64_t size = layout.page_size.choice.block_size;
  if (layout.settings.block_size == size) return "as asked for";
  return layout.model.default_block_size == size ? "the model's default" : "the smallest possible";
}

// "40GiB", "19971597927 bytes".
std::string byte_words(std::int64_t bytes) {
  const std::string size = format_byte_size(bytes);
  return size.back() == 'B' ? size : grouped_number(bytes) + " bytes";
}

std::string release_of_setup(const EngineSetup& setup) {
  return setup.release_profile.empty() ? std::string() : " with " + setup.release_profile;
}

void add_block(const SizeAnswer& answer, TextPage& page) {
  const ModelLayout& layout = answer.setup.layout;
  const BlockSizeChoice& choice = layout.page_size.choice;
  page.heading("Block");
  page.line(why_block_size(layout) + ".");
  if (choice.attn_bytes_per_token > 0)
    page.line(fmt::format(
        "A page is {} * {} = {} bytes; {} of them ({:.2f} %) are padding where it holds a state.",
        tokens(choice.block_size), grouped_number(choice.attn_bytes_per_token),
        grouped_number(choice.page_size), grouped_number(choice.padding),
        100.0 * static_cast<double>(choice.padding) / static_cast<double>(choice.page_size)));
  page.line(fmt::format("A block is such a page in each of {} layers: {} bytes.",
                        layout.page_size.layer_groups.group_size,
                        grouped_number(answer.block_bytes)));
}

std::string warm_words(const SizeAnswer& answer, const RequestsAtOnce& most) {
  const RequestBlocks& held = most.held;
  const std::string blocks = counted(held.most.own, "block") + " each";
  if (held.warm == WarmCache::nothing && most.by_blocks == 0)
    return fmt::format("nothing shared: one alone is preempted, it would hold {} of {}",
                       counted(held.most.own, "block"), grouped_number(answer.usable_blocks));
  if (held.warm == WarmCache::nothing)
    return fmt::format("nothing shared: {} at once, {}", grouped_number(most.by_blocks), blocks);
  return fmt::format(
      "{} shared tokens, after {}: hit {}, {} at once, {}{}", tokens(answer.shape.shared),
      held.warm == WarmCache::whole_request ? "requests of that shape" : "a prompt of them alone",
      tokens(held.num_hit_tokens), grouped_number(most.by_blocks), blocks,
      held.most.shared > 0 ? fmt::format(" and {} together", grouped_number(held.most.shared))
                           : "");
}

void add_requests(const SizeAnswer& answer, TextPage& page) {
  page.heading(
      fmt::format("Requests of {} prompt and {}{}", tokens(answer.shape.prompt),
                  counted(answer.shape.output, "output token"),
                  answer.shape_given ? "" : ", the longest (--prompt, --output for others)"));
  for (const RequestsAtOnce& most : answer.at_once) page.line(warm_words(answer, most) + ".");
  page.line(fmt::format(
      "A request that runs alone may have {} tokens{}.", tokens(answer.longest_request),
      answer.longest_request >= answer.setup.layout.max_model_len
          ? ", max_model_len"
          : fmt::format("; max_model_len is {}", tokens(answer.setup.layout.max_model_len))));
}

void add_hits(const SizeAnswer& answer, TextPage& page) {
  const HitRules& hits = answer.hits;
  page.heading("Prefix hits");
  if (!hits.caching) {
    page.line("Prefix caching is off: nothing is ever hit.");
    return;
  }
  if (!hits.smallest_prefix) {
    page.line(fmt::format("Nothing can ever be hit: hits are multiples of {} tokens.",
                          tokens(hits.grid)));
    return;
  }
  page.line(
      fmt::format("A hit is a multiple of {} tokens. The shortest prefix that can be hit is {} "
                  "tokens, by a request of at least {}.",
                  tokens(hits.grid), tokens(*hits.smallest_prefix), tokens(*hits.smallest_prompt)));
  if (*hits.smallest_prompt > answer.setup.layout.max_model_len)
    page.line(fmt::format("No request of at most {} tokens is that long: nothing is ever hit.",
                          tokens(answer.setup.layout.max_model_len)));
  if (hits.computed_again > 0)
    page.line(fmt::format(
        "The {} tokens behind a hit must be found too, and are computed again for the draft model.",
        tokens(hits.computed_again)));
  if (answer.setup.config.mamba_cache_mode != MambaCacheMode::align) return;
  const auto& interval = answer.setup.config.prefix_cache_retention_interval;
  page.line(
      "Mode align keeps a state only where a chunk of a prompt ended, so a hit also needs an "
      "earlier prompt whose chunk ended there.");
  if (interval)
    page.line(*interval == 0
                  ? std::string("prefix_cache_retention_interval 0: of those, only the states "
                                "where prompts end, or where prefixes part, stay.")
                  : fmt::format("prefix_cache_retention_interval {}: of those, the states at its "
                                "multiples and where prompts end stay.",
                                tokens(*interval)));
}

void add_memory(const SizeAnswer& answer, TextPage& page) {
  const std::string count = grouped_number(answer.usable_blocks + 1);
  page.heading(fmt::format("Memory of {} blocks with {} at their peak", count,
                           counted(answer.at_once.front().by_blocks, "such request")));
  std::vector<std::vector<std::string>> rows;
  for (const PoolUse& use : answer.pool)
    rows.push_back({use.kind, grouped_number(use.blocks), grouped_number(use.bytes),
                    grouped_number(use.padding_bytes)});
  page.table({{.title = "for"},
              {.title = "blocks", .numeric = true},
              {.title = "bytes", .numeric = true},
              {.title = "of them padding", .numeric = true}},
             rows);
  const std::int64_t left = answer.memory_bytes - (answer.usable_blocks + 1) * answer.block_bytes;
  if (left > 0)
    page.line(fmt::format("{} bytes are less than a block and stay unused.", grouped_number(left)));
}

void add_limits(const SizeAnswer& answer, TextPage& page) {
  page.heading("What bounds the requests that run together");
  if (answer.refused_max_num_seqs)
    page.line(fmt::format(
        "vLLM does not start: max_num_seqs ({}) exceeds available Mamba cache blocks ({}). Below, "
        "max_num_seqs is {}.",
        *answer.refused_max_num_seqs, answer.usable_blocks + 1, answer.setup.config.max_num_seqs));
  for (const SizeLimit& limit : answer.limits)
    page.item(limit.name, 24,
              fmt::format("{}{}", grouped_number(limit.requests), limit.binds ? ", binds" : ""));
}

std::string value_words(const SizeChange& change) {
  if (change.setting != "kv_cache_memory_bytes") return change.value;
  return format_byte_size(std::stoll(change.value));
}

void add_changes(const std::vector<SizeChange>& changes, TextPage& page) {
  if (changes.empty()) return;
  page.heading("What would change it, each tried by itself");
  for (const SizeChange& change : changes)
    page.line(fmt::format("{} {}: {} ({} by blocks), block {}{}", change.setting,
                          value_words(change), counted(change.requests, "request"),
                          grouped_number(change.by_blocks), tokens(change.block_size),
                          change.smallest_prefix
                              ? fmt::format(", shortest prefix {}", tokens(*change.smallest_prefix))
                              : ", no hits"));
}

}  // namespace

std::string why_block_size(const ModelLayout& layout) {
  const BlockSizeChoice& choice = layout.page_size.choice;
  const std::int64_t bytes = choice.attn_bytes_per_token;
  if (bytes == 0) return why_without_attention(layout);
  const std::int64_t smaller = choice.block_size - choice.granularity;
  if (smaller == 0)
    return fmt::format(
        "block {} tokens, {}: {} bytes of attention ({} * {}) are enough for the state of a layer, "
        "{}; block sizes are multiples of {}",
        tokens(choice.block_size), why_no_larger(layout), grouped_number(choice.page_size),
        tokens(choice.block_size), grouped_number(bytes), grouped_number(choice.mamba_page),
        unit_words(layout));
  return fmt::format(
      "block {} and not {} tokens, because the state of a layer needs {} bytes: {} tokens of "
      "attention have {} bytes ({} a token), {} have {}; block sizes are multiples of {}",
      tokens(choice.block_size), tokens(smaller), grouped_number(choice.mamba_page),
      tokens(smaller), grouped_number(smaller * bytes), grouped_number(bytes),
      tokens(choice.block_size), grouped_number(choice.page_size), unit_words(layout));
}

std::string explain_sizes(const SizeAnswer& answer, const std::vector<SizeChange>& changes) {
  TextPage page;
  const ModelLayout& layout = answer.setup.layout;
  // With a config.json the start is told first (start_answer.h).
  if (answer.setup.release_profile.empty() || layout.model.config.empty())
    page.title(fmt::format(
        "{}{}, mode {}, {} blocks{}", layout.model.name, release_of_setup(answer.setup),
        mamba_cache_mode_name(layout.mamba_cache_mode), grouped_number(answer.usable_blocks + 1),
        answer.memory_bytes > 0 ? " in " + byte_words(answer.memory_bytes) : std::string()));
  add_requests(answer, page);
  add_hits(answer, page);
  add_memory(answer, page);
  add_limits(answer, page);
  add_changes(changes, page);
  add_block(answer, page);
  return page.take();
}

namespace {

using Json = nlohmann::ordered_json;

std::string_view warm_name(WarmCache warm) {
  static constexpr std::string_view kNames[] = {"nothing", "whole_request", "shared_prompt"};
  return name_at(kNames, warm);
}

Json optional_number(const std::optional<std::int32_t>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json block_to_json(const SizeAnswer& answer) {
  const BlockSizeChoice& choice = answer.setup.layout.page_size.choice;
  return {{"size", choice.block_size},
          {"multiple_of", choice.granularity},
          {"state_bytes", choice.mamba_page},
          {"attention_bytes_per_token", choice.attn_bytes_per_token},
          {"page_bytes", choice.page_size},
          {"padding_bytes", choice.padding},
          {"block_bytes", answer.block_bytes},
          {"why", why_block_size(answer.setup.layout)}};
}

Json requests_to_json(const RequestsAtOnce& most) {
  return {{"warm", warm_name(most.held.warm)},
          {"num_hit_tokens", most.held.num_hit_tokens},
          {"at_once", most.by_blocks},
          {"blocks_each", most.held.most.own},
          {"blocks_together", most.held.most.shared},
          {"blocks_by_group", most.held.by_group}};
}

Json pool_to_json(const SizeAnswer& answer) {
  Json pool = Json::array();
  for (const PoolUse& use : answer.pool)
    pool.push_back({{"for", use.kind},
                    {"blocks", use.blocks},
                    {"bytes", use.bytes},
                    {"padding_bytes", use.padding_bytes}});
  return pool;
}

}  // namespace

Json sizes_to_json(const SizeAnswer& answer, const std::vector<SizeChange>& changes) {
  const ModelLayout& layout = answer.setup.layout;
  Json json = {{"model", layout.model.name},
               {"mamba_cache_mode", mamba_cache_mode_name(layout.mamba_cache_mode)},
               {"num_blocks", answer.usable_blocks + 1},
               {"memory_bytes", answer.memory_bytes},
               {"block", block_to_json(answer)},
               {"prompt", answer.shape.prompt},
               {"output", answer.shape.output},
               {"shared", answer.shape.shared}};
  if (!answer.setup.release_profile.empty()) json["engine"] = answer.setup.release_profile;
  for (const RequestsAtOnce& most : answer.at_once)
    json["requests"].push_back(requests_to_json(most));
  json["longest_request"] = answer.longest_request;
  json["hits"] = {{"caching", answer.hits.caching},
                  {"multiple_of", answer.hits.grid},
                  {"smallest_prefix", optional_number(answer.hits.smallest_prefix)},
                  {"smallest_prompt", optional_number(answer.hits.smallest_prompt)},
                  {"computed_again", answer.hits.computed_again}};
  json["pool"] = pool_to_json(answer);
  for (const SizeLimit& limit : answer.limits)
    json["limits"].push_back(
        {{"name", limit.name}, {"requests", limit.requests}, {"binds", limit.binds}});
  if (answer.refused_max_num_seqs) json["refused_max_num_seqs"] = *answer.refused_max_num_seqs;
  json["changes"] = Json::array();
  for (const SizeChange& change : changes)
    json["changes"].push_back({{"setting", change.setting},
                               {"value", change.value},
                               {"requests", change.requests},
                               {"by_blocks", change.by_blocks},
                               {"block_size", change.block_size},
                               {"smallest_prefix", optional_number(change.smallest_prefix)}});
  return json;
}

}  // namespace hybridscope
