#include "cli/explain_cache_report.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "cli/step_table.h"
#include "sessions/cache_report/cache_words.h"
#include "sessions/explain/explain_names.h"
#include "sessions/text/shown_text.h"
#include "sessions/text/text_page.h"

namespace hybridscope {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kColumns = 100;

std::string other_name(const LookupReport& report, const Names& names) {
  if (report.common.num_tokens == 0) return "";
  if (report.common.request == report.request) return "itself";
  return printable(names.request(report.common.request), 24);
}

std::string help_words(const ExplainedLookup& lookup) {
  if (lookup.changes.empty()) return "";
  return fmt::format("{}: {}", change_words(lookup.changes.front()),
                     lookup.changes.front().num_hit_tokens);
}

bool any_tried(const CacheReportView& view) {
  return std::any_of(view.lookups.begin(), view.lookups.end(),
                     [](const ExplainedLookup& lookup) { return lookup.tried; });
}

std::string setting_sentence(const HelpfulSetting& setting, const LookupReport& report) {
  return fmt::format("With {} the hit is {} tokens instead of {}; of the whole run: {}.",
                     setting.name, setting.num_hit_tokens, report.num_hit_tokens, setting.price);
}

Json settings_to_json(const std::vector<HelpfulSetting>& settings) {
  Json list = Json::array();
  for (const HelpfulSetting& one : settings)
    list.push_back(
        {{"setting", one.name}, {"num_hit_tokens", one.num_hit_tokens}, {"price", one.price}});
  return list;
}

double percent(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? 0.0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

// What to say about changes that are not shown; empty: nothing.
std::string tried_words(const ExplainedLookup& lookup) {
  if (!lookup.tried || lookup.report.num_lost_tokens() == 0) return {};
  if (!lookup.all_tried)
    return "Not every change was tried: making the run again that often would take too long.";
  return lookup.changes.empty() ? "None of the changes that were tried makes the hit longer."
                                : std::string();
}

Json lost_to_json(const LostTokens& lost) {
  Json json = Json::object();
  for (std::size_t reason = 0; reason < kNumMissReasons; ++reason)
    json[std::string(miss_reason_slug(static_cast<MissReason>(reason)))] = lost[reason];
  return json;
}

Json eviction_to_json(const Eviction& eviction, const Names& names) {
  if (eviction.step == 0) return nullptr;
  constexpr std::array<const char*, 5> kCauses = {"allocation", "overwritten", "reset", "moved",
                                                  "not_kept"};
  return {{"step", eviction.step},
          {"cause", kCauses[static_cast<std::size_t>(eviction.cause)]},
          {"by", eviction.by.value < 0 ? Json(nullptr) : Json(names.request(eviction.by))},
          {"group", eviction.group},
          {"block", eviction.block},
          {"num_tokens", eviction.num_tokens}};
}

Json unkept_to_json(const UnkeptState& state) {
  if (state.num_tokens == 0) return nullptr;
  constexpr std::array<const char*, 4> kReasons = {"prompt_end", "longer_prompt", "junction",
                                                   "block_before_junction"};
  Json kept = Json::array();
  for (const KeptBoundary& boundary : state.kept)
    kept.push_back({{"reason", kReasons[static_cast<std::size_t>(boundary.reason)]},
                    {"num_tokens", boundary.num_tokens}});
  return {{"num_tokens", state.num_tokens}, {"checkpoint", state.checkpoint}, {"kept", kept}};
}

Json coarser_to_json(const ExplainedLookup& lookup) {
  if (!lookup.tried) return nullptr;
  Json units = Json::array();
  for (const CacheChange& change : lookup.coarser)
    units.push_back(
        {{"prefix_match_unit", change.amount}, {"num_hit_tokens", change.num_hit_tokens}});
  return units;
}

Json changes_to_json(const ExplainedLookup& lookup) {
  if (!lookup.tried) return nullptr;
  Json changes = Json::array();
  for (const CacheChange& change : lookup.changes)
    changes.push_back({{"change", change_slug(change.kind)},
                       {"amount", change.amount},
                       {"num_hit_tokens", change.num_hit_tokens},
                       {"words", change_words(change)}});
  return changes;
}

Json cache_totals_to_json(const CacheReportView& view) {
  const CacheTotals& totals = view.cache.totals();
  return {{"num_lookups", totals.lookups},
          {"num_resumed", totals.resumed},
          {"num_lookups_with_common_tokens", totals.lookups_with_common_tokens},
          {"num_lookups_with_hit", totals.lookups_with_hit},
          {"num_tokens", totals.tokens},
          {"num_common_tokens", totals.common_tokens},
          {"num_hit_tokens", totals.hit_tokens},
          {"num_lost_tokens", totals.common_tokens - totals.hit_tokens},
          {"lost", lost_to_json(totals.lost)}};
}

}  // namespace

std::string format_cache_heading(const CacheReportView& view) {
  const EngineConfig& config = view.plan.setup.config;
  return fmt::format("{}: {}, mode {}, block_size {}, K={}, {} blocks in {} groups\n{}\n\n",
                     one_line(view.plan.name), view.plan.setup.layout.model.name,
                     mamba_cache_mode_name(config.mamba_cache_mode), config.block_size,
                     config.num_speculative_tokens, config.kv_cache_config.num_blocks,
                     config.kv_cache_config.groups.size(),
                     wrap_words(smallest_prefix_words(view.cache.rules(), config), kColumns));
}

std::string format_cache_table(const CacheReportView& view) {
  std::vector<std::string> headings = {"step",  "<request", "tokens", "common",
                                       "<with", "hit",      "lost",   "<lost to"};
  if (any_tried(view)) headings.emplace_back("<would help: hit");
  TextTable table(headings);
  for (const ExplainedLookup& lookup : view.lookups) {
    const LookupReport& report = lookup.report;
    std::vector<std::string> cells = {std::to_string(report.step),
                                      printable(view.names.request(report.request), 24),
                                      std::to_string(report.num_tokens),
                                      std::to_string(report.common.num_tokens),
                                      other_name(report, view.names),
                                      std::to_string(report.num_hit_tokens),
                                      std::to_string(report.num_lost_tokens()),
                                      lost_words(report.lost)};
    if (any_tried(view)) cells.push_back(help_words(lookup));
    table.add(std::move(cells));
  }
  return table.format();
}

std::string format_helpful_settings(const CacheReportView& view) {
  std::string text;
  for (const ExplainedLookup& lookup : view.lookups) {
    if (!lookup.settings || lookup.settings->empty()) continue;
    const HelpfulSetting& best = lookup.settings->front();
    text += fmt::format("{}: {} hits {} instead of {}; of the whole run: {}\n",
                        printable(view.names.request(lookup.report.request), 24), best.name,
                        best.num_hit_tokens, lookup.report.num_hit_tokens, best.price);
  }
  const bool tried = std::ranges::any_of(
      view.lookups, [](const ExplainedLookup& lookup) { return lookup.settings.has_value(); });
  if (!tried) return {};
  return "settings that would have kept more:\n" +
         (text.empty() ? std::string("  none of those tried\n") : indented(text)) + "\n";
}

std::string format_cache_sentences(const CacheReportView& view) {
  const EngineConfig& config = view.plan.setup.config;
  std::string text;
  for (const ExplainedLookup& lookup : view.lookups) {
    const LookupReport& report = lookup.report;
    text += wrap_words(one_line(lookup_words(report, view.names), 1000), kColumns) + "\n";
    const auto add = [&](const std::string& sentence) {
      std::string wrapped = wrap_words(one_line(sentence, 1000), kColumns - 2);
      for (std::size_t at = wrapped.find('\n'); at != wrapped.npos; at = wrapped.find('\n', at + 1))
        wrapped.insert(at + 1, "  ");
      text += "- " + wrapped + "\n";
    };
    for (const std::string& sentence :
         loss_sentences(report, view.cache.rules(), config, view.names))
      add(sentence);
    if (const std::string words = inside_block_words(report, view.cache.rules(), config);
        !words.empty())
      add(words);
    for (const CacheChange& change : lookup.coarser)
      add(coarser_sentence(change, report, view.cache.rules()));
    for (const CacheChange& change : lookup.changes) add(change_sentence(change, report));
    if (lookup.settings) {
      for (const HelpfulSetting& setting : *lookup.settings) add(setting_sentence(setting, report));
      if (lookup.settings->empty()) add("None of the settings that were tried makes it longer.");
    }
    if (const std::string words = tried_words(lookup); !words.empty()) add(words);
    text += "\n";
  }
  return text;
}

std::string format_cache_totals(const CacheReportView& view) {
  const CacheTotals& totals = view.cache.totals();
  const std::int64_t lost = totals.common_tokens - totals.hit_tokens;
  std::string text = fmt::format(
      "{} lookups of {} tokens, {} after a preemption; {} tokens in common with earlier requests\n"
      "{} tokens hit: {:.1f} % of all, {:.1f} % of those in common; {} computed again\n",
      totals.lookups, totals.tokens, totals.resumed, totals.common_tokens, totals.hit_tokens,
      percent(totals.hit_tokens, totals.tokens), percent(totals.hit_tokens, totals.common_tokens),
      lost);
  if (lost == 0) return text;
  text += fmt::format("lost to: {}\n--request NAME explains one request in full",
                      lost_words(totals.lost));
  return text + (any_tried(view) ? "\n" : ", and tries what would have helped\n");
}

Json lookup_to_json(const ExplainedLookup& lookup, const CacheReportView& view) {
  const LookupReport& report = lookup.report;
  const bool shares = report.common.num_tokens > 0;
  Json sentences = Json::array();
  for (const std::string& sentence :
       loss_sentences(report, view.cache.rules(), view.plan.setup.config, view.names))
    sentences.push_back(sentence);
  Json json = {
      {"step", report.step},
      {"request", view.names.request(report.request)},
      {"resumed", report.admission == Admission::resumed},
      {"num_tokens", report.num_tokens},
      {"num_common_tokens", report.common.num_tokens},
      {"common_with", shares ? Json(view.names.request(report.common.request)) : Json(nullptr)},
      {"num_possible_tokens", report.num_possible_tokens},
      {"num_hit_tokens", report.num_hit_tokens},
      {"num_lost_tokens", report.num_lost_tokens()},
      {"lost", lost_to_json(report.lost)},
      {"last_state", report.last_state},
      {"next_state", report.next_state < 0 ? Json(nullptr) : Json(report.next_state)},
      {"unkept_state", unkept_to_json(report.unkept_state)},
      {"evicted_state", eviction_to_json(report.evicted_state, view.names)},
      {"evicted_attention", eviction_to_json(report.evicted_attention, view.names)},
      {"words", sentences},
      {"changes", changes_to_json(lookup)},
      {"coarser_match_units", coarser_to_json(lookup)},
      {"all_changes_tried", lookup.all_tried}};
  if (lookup.settings) json["settings"] = settings_to_json(*lookup.settings);
  return json;
}

Json cache_report_to_json(const CacheReportView& view) {
  const EngineConfig& config = view.plan.setup.config;
  const auto smallest = smallest_cacheable_prefix(view.cache.rules());
  Json lookups = Json::array();
  for (const ExplainedLookup& lookup : view.lookups)
    lookups.push_back(lookup_to_json(lookup, view));
  return {{"name", view.plan.name},
          {"model", view.plan.setup.layout.model.name},
          {"mamba_cache_mode", mamba_cache_mode_name(config.mamba_cache_mode)},
          {"block_size", config.block_size},
          {"scheduler_block_size", config.scheduler_block_size},
          {"num_speculative_tokens", config.num_speculative_tokens},
          {"num_blocks", config.kv_cache_config.num_blocks},
          {"smallest_cacheable_prefix", smallest ? Json(*smallest) : Json(nullptr)},
          {"smallest_cacheable_prompt",
           smallest ? Json(*smallest_cacheable_prompt(view.cache.rules())) : Json(nullptr)},
          {"words", smallest_prefix_words(view.cache.rules(), config)},
          {"totals", cache_totals_to_json(view)},
          {"lookups", lookups}};
}

}  // namespace hybridscope
