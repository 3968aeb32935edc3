#include "tests/sessions/cache_report/cache_report_run.h"

#include <fmt/core.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "core/base/math.h"
#include "core/engine/token_sequence.h"
#include "sessions/cache_report/cache_words.h"
#include "sessions/cache_report/changed_plan.h"
#include "tests/sessions/record/plan_run.h"

namespace hybridscope::test {

CacheReportRun::CacheReportRun(RunPlan plan)
    : run_(CheckedRun::create(std::move(plan), {.check = std::nullopt, .max_steps = 2000}).value()),
      names_(make_names(run_.engine())),
      cache_(run_.engine().config(), planned_requests(run_.plan(), names_.request)) {
  while (!run_.has_ended()) cache_.add(run_.step().value().trace);
}

const LookupReport& CacheReportRun::lookup(const std::string& request) const {
  const LookupReport* found = nullptr;
  for (const LookupReport& report : cache_.lookups())
    if (names_.request(report.request) == request) found = &report;
  if (found == nullptr) throw std::runtime_error(request + " was not admitted");
  return *found;
}

std::string CacheReportRun::other(const LookupReport& report) const {
  return report.common.request.value < 0 ? "" : names_.request(report.common.request);
}

std::vector<std::string> CacheReportRun::sentences(const std::string& request) const {
  return loss_sentences(lookup(request), cache_.rules(), config(), names_);
}

std::vector<CacheChange> CacheReportRun::changes(const std::string& request) const {
  ChangeSearch search(plan(), 100'000);
  return search.find(
      {.report = lookup(request), .request = request, .other = other(lookup(request))});
}

std::vector<std::string> CacheReportRun::coarser(const std::string& request) const {
  const LookupReport& report = lookup(request);
  std::vector<std::string> sentences;
  for (const CacheChange& change :
       ChangeSearch(plan(), 100'000)
           .coarser_units({.report = report, .request = request, .other = other(report)}))
    sentences.push_back(coarser_sentence(change, report, cache_.rules()));
  return sentences;
}

std::string scenario_text(const std::string& settings, const std::string& requests) {
  return R"({"version": 1, "model": "tiny-mamba2", "settings": {"num_gpu_blocks_override": 64,
             "async_scheduling": false, )" +
         settings + R"(}, "requests": [)" + requests + "]}";
}

std::unique_ptr<CacheReportRun> explain_text(const std::string& scenario) {
  return std::make_unique<CacheReportRun>(plan_of_text(scenario));
}

std::unique_ptr<CacheReportRun> explain_shipped(const std::string& name) {
  return std::make_unique<CacheReportRun>(
      plan_of_file(std::string(HYBRIDSCOPE_SOURCE_DIR) + "/scenarios/" + name + ".json"));
}

namespace {

constexpr std::int32_t kLongest = 160;  // tokens of any sequence, look-ahead included

}  // namespace

struct LabelConditions::Lookup {
  const std::vector<Fingerprint>& prefixes;
  const AdmissionLookup& admission;
  const LookupReport& report;
};

LabelConditions::LabelConditions(const EngineConfig& config)
    : config_(config), rules_(cache_rules(config)) {}

const std::vector<Fingerprint>& LabelConditions::prefixes_of(const AddRequest& request,
                                                             RequestId id) {
  std::vector<Fingerprint>& prefixes = prefixes_[id.value];
  if (!prefixes.empty()) return prefixes;
  const TokenSequence sequence(request.prompt, config_.seed, request.key);
  std::vector<TokenContent> tokens(kLongest);
  sequence.copy_tokens(0, kLongest, tokens.data());
  prefixes = {seed_fingerprint(request.cache_salt)};
  for (const TokenContent token : tokens)
    prefixes.push_back(extend_fingerprint(prefixes.back(), token));
  return prefixes;
}

LabelConditions::Key LabelConditions::key(const Lookup& lookup, std::int32_t num_tokens,
                                          std::size_t group) const {
  return {lookup.prefixes[static_cast<std::size_t>(num_tokens + rules_.hash_lookahead)],
          static_cast<std::int32_t>(group)};
}

bool LabelConditions::was_there(const Lookup& lookup, std::int32_t num_tokens,
                                std::size_t group) const {
  return num_tokens <= longest_key(rules_, lookup.report.num_tokens) &&
         ever_.contains(key(lookup, num_tokens, group));
}

// At the lookup: no block had the key as the step began, or one lost it since.
bool LabelConditions::is_missing(const Lookup& lookup, std::int32_t num_tokens,
                                 std::size_t group) const {
  const Key wanted = key(lookup, num_tokens, group);
  if (lost_in_step_.contains(wanted)) return true;
  return std::none_of(keys_.begin(), keys_.end(), [&](const auto& block) {
    return std::find(block.second.begin(), block.second.end(), wanted) != block.second.end();
  });
}

// Tokens that the group found, or had once, without a gap; of the last block perhaps a part.
std::int32_t LabelConditions::attention_end(const Lookup& lookup, std::size_t group) const {
  const std::int32_t size = config_.kv_cache_config.groups[group].block_size();
  const std::int32_t found = lookup.admission.explanation.groups[group].present_length;
  std::int32_t whole = round_down(found, size);
  while (was_there(lookup, whole + size, group)) whole += size;
  std::int32_t end = std::max(found, whole);
  for (std::int32_t part = whole + rules_.grid; part < whole + size; part += rules_.grid)
    if (part > end && was_there(lookup, part, group)) end = part;
  return end;
}

// Can attention serve a hit of so many tokens, or could it once?
bool LabelConditions::attention_serves(const Lookup& lookup, std::int32_t num_tokens) const {
  for (std::size_t g = 0; g < config_.kv_cache_config.groups.size(); ++g)
    if (!config_.kv_cache_config.groups[g].is_mamba() &&
        attention_end(lookup, g) < num_tokens + rules_.eagle_block)
      return false;
  return true;
}

bool LabelConditions::has_state(const Lookup& lookup, std::int32_t num_tokens) const {
  for (std::size_t g = 0; g < config_.kv_cache_config.groups.size(); ++g)
    if (config_.kv_cache_config.groups[g].is_mamba() && !was_there(lookup, num_tokens, g))
      return false;
  return true;
}

// Had any request with these first tokens computed them?
bool LabelConditions::was_computed(const Lookup& lookup, std::int32_t num_tokens) const {
  return std::any_of(admitted_.begin(), admitted_.end(), [&](RequestId request) {
    const auto n = static_cast<std::size_t>(num_tokens);
    return computed_.at(request.value) >= num_tokens &&
           prefixes_.at(request.value)[n] == lookup.prefixes[n];
  });
}

// Is there a whole block within so many tokens that was computed and has no key?
bool LabelConditions::lacks_a_whole_block(const Lookup& lookup, std::int32_t num_tokens) const {
  for (std::size_t g = 0; g < config_.kv_cache_config.groups.size(); ++g) {
    const KVCacheGroup& group = config_.kv_cache_config.groups[g];
    if (group.is_mamba()) continue;
    const std::int32_t found = lookup.admission.explanation.groups[g].present_length;
    for (std::int32_t end = round_down(found, group.block_size()) + group.block_size();
         end <= num_tokens; end += group.block_size())
      if (!was_there(lookup, end, g) && was_computed(lookup, end)) return true;
  }
  return false;
}

// Is something gone that a hit of so many tokens needs?
bool LabelConditions::lacks_something(const Lookup& lookup, std::int32_t num_tokens) const {
  for (std::size_t g = 0; g < config_.kv_cache_config.groups.size(); ++g) {
    const KVCacheGroup& group = config_.kv_cache_config.groups[g];
    if (group.is_mamba()) {
      if (is_missing(lookup, num_tokens, g)) return true;
      continue;
    }
    const std::int32_t end = num_tokens + rules_.eagle_block;
    for (std::int32_t n = group.block_size(); n <= end; n += group.block_size())
      if (is_missing(lookup, n, g)) return true;
    bool part = end % group.block_size() == 0;
    for (std::int32_t n = end; n % group.block_size() != 0; n += rules_.grid)
      part = part || !is_missing(lookup, n, g);
    if (!part) return true;
  }
  return false;
}

std::vector<std::string> LabelConditions::broken(const StepTrace& trace,
                                                 const std::vector<AddRequest>& requests,
                                                 const LookupReport& report) {
  const AddRequest& request = requests[static_cast<std::size_t>(report.request.value)];
  const auto admission = std::find_if(
      trace.lookups.begin(), trace.lookups.end(),
      [&](const AdmissionLookup& l) { return l.request == report.request && l.admitted; });
  const Lookup lookup{prefixes_of(request, report.request), *admission, report};
  lost_in_step_.clear();
  for (const CacheEvent& event : trace.cache_events)
    if (event.kind == CacheEventKind::evicted)
      lost_in_step_.insert(keys_[event.block].begin(), keys_[event.block].end());
  std::vector<std::string> wrong;
  std::int32_t end = report.common.num_tokens;
  const auto cut = [&](MissReason reason, std::int64_t lost, const auto& holds) {
    const std::int32_t begin = end - static_cast<std::int32_t>(lost);
    for (std::int32_t n = end; n > begin; --n)
      if (n % rules_.grid == 0 && !holds(n))
        wrong.push_back(fmt::format("step {}, request {}, {} of {}..{}: not at {}", trace.step,
                                    report.request.value, miss_reason_slug(reason), begin + 1, end,
                                    n));
    checked_[static_cast<std::size_t>(reason)] += lost;
    end = begin;
  };
  const auto lost = [&](MissReason reason) { return report.lost_to(reason); };
  const std::int32_t eagle = rules_.eagle_block;
  cut(MissReason::caching_off, lost(MissReason::caching_off),
      [&](std::int32_t) { return !rules_.caching; });
  cut(MissReason::last_token, lost(MissReason::last_token),
      [&](std::int32_t n) { return n == report.num_tokens; });
  cut(MissReason::block_granularity,
      lost(MissReason::block_granularity) - report.num_unkeyed_tokens,
      [](std::int32_t) { return false; });  // no boundary lies there
  cut(MissReason::eagle_drop, lost(MissReason::eagle_drop), [&](std::int32_t n) {
    return n + eagle > std::min(report.common.num_tokens, longest_key(rules_, report.num_tokens)) ||
           n + rules_.hash_lookahead > report.common.num_tokens;
  });
  const bool has_attention =
      std::any_of(config_.kv_cache_config.groups.begin(), config_.kv_cache_config.groups.end(),
                  [](const KVCacheGroup& g) { return !g.is_mamba(); });
  cut(MissReason::not_computed, lost(MissReason::not_computed), [&](std::int32_t n) {
    if (!has_attention) return !was_computed(lookup, n) && !has_state(lookup, n);
    return !attention_serves(lookup, n) &&
           (!was_computed(lookup, n + eagle) ||
            lacks_a_whole_block(lookup, report.num_possible_tokens + eagle));
  });
  cut(MissReason::block_granularity, report.num_unkeyed_tokens, [&](std::int32_t n) {
    return !attention_serves(lookup, n) && was_computed(lookup, n + eagle) &&
           !lacks_a_whole_block(lookup, n + eagle);
  });
  cut(MissReason::state_missing, lost(MissReason::state_missing), [&](std::int32_t n) {
    return !has_state(lookup, n) && (!has_attention || attention_serves(lookup, n));
  });
  const std::int32_t with_state = end;
  cut(MissReason::evicted, lost(MissReason::evicted), [&](std::int32_t n) {
    return n != with_state || (has_state(lookup, n) && lacks_something(lookup, n));
  });
  if (end != report.num_hit_tokens) wrong.push_back("the cuts do not end at the hit");
  if (report.admission == Admission::new_request) admitted_.push_back(report.request);
  computed_.try_emplace(report.request.value, 0);
  return wrong;
}

void LabelConditions::take(const StepTrace& trace, const std::vector<AddRequest>& requests) {
  std::set<Key> now;
  for (const auto* events : {&trace.cache_events, &trace.commit_events})
    for (const CacheEvent& event : *events) {
      std::vector<Key>& keys = keys_[event.block];
      if (event.kind == CacheEventKind::registered) {
        const auto id = static_cast<std::size_t>(event.request.value);
        const auto& prefixes = prefixes_of(requests[id], event.request);
        keys.emplace_back(
            prefixes[static_cast<std::size_t>(event.num_tokens + rules_.hash_lookahead)],
            event.group);
        now.insert(keys.back());
      } else if (event.kind == CacheEventKind::evicted ||
                 (event.kind == CacheEventKind::withdrawn && event.num_tokens == 0)) {
        for (const Key& key : keys) now.erase(key);
        keys.clear();
      } else if (event.kind == CacheEventKind::withdrawn) {
        now.erase(keys.back());
        keys.pop_back();
      }
    }
  ever_.merge(now);
  for (const ScheduledTrace& s : trace.scheduled) {
    std::int32_t& computed = computed_[s.request.value];
    computed =
        std::max(computed, s.num_computed_tokens + s.num_scheduled_tokens - s.num_draft_tokens);
  }
}

}  // namespace hybridscope::test
