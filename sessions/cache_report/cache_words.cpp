#include "sessions/cache_report/cache_words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace hybridscope {
namespace {

std::string tokens(std::int64_t number) {
  return fmt::format("{} token{}", number, number == 1 ? "" : "s");
}

std::string off_words(const EngineConfig& config) {
  return config.mamba_cache_mode == MambaCacheMode::none
             ? "prefix caching is off: mode none keeps no states"
             : "prefix caching is off";
}

std::string eviction_words(const Eviction& eviction, std::string_view what, const Names& names) {
  std::string text = fmt::format("{} {} ({}, block {})", what, eviction.num_tokens,
                                 names.group(eviction.group), eviction.block);
  switch (eviction.cause) {
    case EvictionCause::allocation:
      return text + fmt::format(" was there until step {}, when the block was given to {}",
                                eviction.step, names.request(eviction.by));
    case EvictionCause::overwritten:
      return text + fmt::format(" was there until step {}, when {} wrote a longer prefix into it",
                                eviction.step, names.request(eviction.by));
    case EvictionCause::moved:
      return text +
             fmt::format(" was there until step {}, when its keys went to a copy", eviction.step);
    case EvictionCause::not_kept:
      return text + fmt::format(
                        " was there until step {}, when the block got the state of a checkpoint "
                        "that is not kept",
                        eviction.step);
    case EvictionCause::reset:
      return text +
             fmt::format(" was there until the prefix cache was reset in step {}", eviction.step);
  }
  return text;
}

// The tokens that one reason cost: `first` .. `last`, counted from 1.
struct Cut {
  std::int32_t begin = 0;  // tokens of the prefix that remain
  std::int32_t end = 0;

  std::string words() const {
    return end - begin == 1 ? fmt::format("Token {}", end)
                            : fmt::format("Tokens {}..{}", begin + 1, end);
  }
};

std::string granularity_words(const Cut& cut, const CacheRules& rules) {
  return fmt::format(
      "{} (block granularity): a hit ends on a multiple of {} tokens; the next boundary is {}.",
      cut.words(), rules.grid, (cut.begin / rules.grid + 1) * rules.grid);
}

std::string unkeyed_words(const Cut& cut, const LookupReport& report, const CacheRules& rules) {
  const std::string key =
      report.next_key > 0
          ? fmt::format(
                "that of this block is after token {}, and this look-up can use keys of at most {}",
                report.next_key, tokens(longest_key(rules, report.num_tokens)))
          : std::string("none of this block is of tokens that are in common");
  return fmt::format(
      "{} (block granularity): they had been computed, but inside a block of {} tokens only the "
      "end of a prompt has a key; {}.",
      cut.words(), rules.block_size, key);
}

std::string eagle_words(const Cut& cut, const CacheRules& rules) {
  if (rules.hash_lookahead > 0)
    return fmt::format(
        "{} (eagle drop): for the draft model the key of a block covers the {} after it too, and "
        "those are not in common.",
        cut.words(), tokens(rules.hash_lookahead));
  return fmt::format(
      "{} (eagle drop): the draft model needs the hidden states of the last {} tokens that are "
      "found, so they are computed again{}.",
      cut.words(), rules.eagle_block,
      rules.eagle_block < rules.grid
          ? fmt::format(", and what is left ends on a multiple of {}", rules.grid)
          : "");
}

std::string not_computed_words(const Cut& cut, const LookupReport& report, const CacheRules& rules,
                               const Names& names) {
  return fmt::format(
      "{} (not yet computed): no request had computed and published them{} when {} was looked up "
      "in step {}.",
      cut.words(),
      rules.eagle_block > 0 ? fmt::format(" and the {} after them, which the draft model needs",
                                          tokens(rules.eagle_block))
                            : "",
      names.request(report.request), report.step);
}

std::string state_missing_words(const Cut& cut, const LookupReport& report, const CacheRules& rules,
                                const EngineConfig& config, const Names& names) {
  const std::string before = report.last_state > 0
                                 ? fmt::format("the state after {}", tokens(report.last_state))
                                 : std::string("none");
  const UnkeptState& unkept = report.unkept_state;
  const std::string why =
      unkept.num_tokens > 0
          ? fmt::format("the state of {} after {}{} was not kept: {}",
                        names.request(report.common.request), tokens(unkept.num_tokens),
                        unkept.checkpoint ? ", a checkpoint inside its prefill," : "",
                        retention_words(*config.prefix_cache_retention_interval, unkept.kept,
                                        rules.block_size))
          : fmt::format("no recurrent state was kept at a multiple of {} in there", rules.grid);
  std::string text = fmt::format(
      "{} (state missing): attention has or had them, but {}; the last one before is {}",
      cut.words(), why, before);
  if (report.next_state > 0)
    text += fmt::format(", the next one of {} is after {}", names.request(report.common.request),
                        tokens(report.next_state));
  return text + ".";
}

std::string evicted_words(const Cut& cut, const LookupReport& report, const Names& names) {
  std::vector<std::string> parts;
  if (report.evicted_state.step > 0)
    parts.push_back(eviction_words(report.evicted_state, "the state after token", names));
  if (report.evicted_attention.step > 0)
    parts.push_back(
        eviction_words(report.evicted_attention, "the attention block that ends at token", names));
  if (parts.empty()) return fmt::format("{} (evicted): they had been there.", cut.words());
  return fmt::format("{} (evicted): {}.", cut.words(), fmt::join(parts, "; "));
}

std::string sentence_of(MissReason reason, const Cut& cut, const LookupReport& report,
                        const CacheRules& rules, const EngineConfig& config, const Names& names) {
  switch (reason) {
    case MissReason::caching_off:
      return fmt::format("{} (caching off): {}.", cut.words(), off_words(config));
    case MissReason::last_token:
      return cut.words() +
             " (last token): the last known token is always computed, because its logits are "
             "needed.";
    case MissReason::block_granularity: return granularity_words(cut, rules);
    case MissReason::eagle_drop: return eagle_words(cut, rules);
    case MissReason::not_computed: return not_computed_words(cut, report, rules, names);
    case MissReason::state_missing: return state_missing_words(cut, report, rules, config, names);
    case MissReason::evicted: return evicted_words(cut, report, names);
  }
  return {};
}

}  // namespace

std::string_view kept_reason_words(KeptFor reason) {
  static constexpr std::string_view kNames[] = {"the end of the prompt",
                                                "the end for a longer prompt", "the junction",
                                                "the block before it"};
  return name_at(kNames, reason);
}

std::string retention_words(std::int32_t interval, std::span<const KeptBoundary> kept,
                            std::int32_t block_size) {
  std::vector<std::string> parts;
  if (const std::int32_t period = kept_period({.interval = interval}, block_size); period > 0)
    parts.push_back(fmt::format("multiples of {}", period));
  for (const KeptBoundary& boundary : kept)
    parts.push_back(fmt::format("{}{}{}", kept_reason_words(boundary.reason),
                                boundary.reason == KeptFor::junction ? " at " : ", ",
                                boundary.num_tokens));
  if (parts.empty())
    return fmt::format("retention interval {} keeps none of a prompt this short", interval);
  const std::string last = parts.back();
  parts.pop_back();
  return fmt::format("retention interval {} keeps only {}{}{}", interval, fmt::join(parts, ", "),
                     parts.empty()                                                  ? ""
                     : parts.size() == 1 && parts[0].find(',') == std::string::npos ? " and "
                                                                                    : ", and ",
                     last);
}

std::string smallest_prefix_words(const CacheRules& rules, const EngineConfig& config) {
  const auto smallest = smallest_cacheable_prefix(rules);
  if (!smallest) return "smallest cacheable prefix: none, " + off_words(config);
  std::string why = fmt::format("hits end on multiples of {}", rules.grid);
  if (rules.grid < rules.block_size) why += fmt::format(", inside blocks of {}", rules.block_size);
  if (rules.hash_lookahead > 0)
    why += fmt::format(" and a block's key covers the {} after it", tokens(rules.hash_lookahead));
  else if (*smallest > rules.grid)
    why += fmt::format(" and the draft model has {} computed again", tokens(rules.eagle_block));
  return fmt::format("smallest cacheable prefix: {}, of a prompt of at least {} ({})",
                     tokens(*smallest), *smallest_cacheable_prompt(rules), why);
}

std::string lost_words(const LostTokens& lost) {
  std::vector<std::size_t> order;
  for (std::size_t reason = 0; reason < kNumMissReasons; ++reason)
    if (lost[reason] > 0) order.push_back(reason);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return lost[a] > lost[b]; });
  std::vector<std::string> parts;
  for (const std::size_t reason : order)
    parts.push_back(
        fmt::format("{} {}", miss_reason_name(static_cast<MissReason>(reason)), lost[reason]));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string lookup_words(const LookupReport& report, const Names& names) {
  const std::string known =
      fmt::format("{}, {} in step {}, has {}", names.request(report.request),
                  report.admission == Admission::resumed ? "resumed" : "admitted", report.step,
                  tokens(report.num_tokens));
  if (report.common.num_tokens == 0)
    return known + "; no request before it begins alike, so there is nothing to hit.";
  const std::string with = report.common.request == report.request
                               ? std::string("its own earlier run")
                               : names.request(report.common.request);
  return fmt::format("{}, {} of them in common with {}; hit {}, {} computed again.", known,
                     report.common.num_tokens, with, report.num_hit_tokens,
                     report.num_lost_tokens());
}

std::vector<std::string> loss_sentences(const LookupReport& report, const CacheRules& rules,
                                        const EngineConfig& config, const Names& names) {
  std::vector<std::string> sentences;
  std::int32_t end = report.common.num_tokens;
  // The next tokens from the end of those that are left.
  const auto cut_off = [&end](std::int64_t lost) {
    const Cut cut{end - static_cast<std::int32_t>(lost), end};
    end = cut.begin;
    return cut;
  };
  for (std::size_t r = 0; r < kNumMissReasons; ++r) {
    const auto reason = static_cast<MissReason>(r);
    const std::int64_t lost =
        report.lost_to(reason) -
        (reason == MissReason::block_granularity ? report.num_unkeyed_tokens : 0);
    if (lost > 0)
      sentences.push_back(sentence_of(reason, cut_off(lost), report, rules, config, names));
    if (reason == MissReason::not_computed && report.num_unkeyed_tokens > 0)
      sentences.push_back(unkeyed_words(cut_off(report.num_unkeyed_tokens), report, rules));
  }
  return sentences;
}

std::string inside_block_words(const LookupReport& report, const CacheRules& rules,
                               const EngineConfig& config) {
  const std::int32_t inside = report.num_hit_tokens % rules.block_size;
  if (inside == 0 || !rules.has_states) return {};
  return fmt::format(
      "The hit ends {} into a block of {}, because prefix_match_unit is {}; the request gets a "
      "copy of that block and writes on in it.",
      tokens(inside), rules.block_size, config.hash_block_size);
}

std::string coarser_sentence(const CacheChange& change, const LookupReport& report,
                             const CacheRules& rules) {
  const std::int32_t less = report.num_hit_tokens - change.num_hit_tokens;
  return fmt::format(
      "With {}{} the hit is {}, {}.", change_words(change),
      change.amount == rules.block_size ? ", which ends hits at the ends of blocks," : "",
      tokens(change.num_hit_tokens),
      less == 0  ? std::string("as many")
      : less > 0 ? fmt::format("{} fewer", less)
                 : fmt::format("{} more", -less));
}

std::string change_sentence(const CacheChange& change, const LookupReport& report) {
  if (change.kind == ChangeKind::keep_states || change.kind == ChangeKind::match_unit)
    return fmt::format("With {} the hit is {} instead of {}, {} more.", change_words(change),
                       tokens(change.num_hit_tokens), report.num_hit_tokens,
                       change.num_hit_tokens - report.num_hit_tokens);
  return fmt::format("With {} the hit is {} instead of {}.", change_words(change),
                     tokens(change.num_hit_tokens), report.num_hit_tokens);
}

}  // namespace hybridscope
