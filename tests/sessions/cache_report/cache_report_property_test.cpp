// Random runs of small engines: whatever happens, hit and reasons add up to the common prefix, and
// they are what sets of everything ever registered say.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "core/engine/engine.h"
#include "core/engine/policy_table.h"
#include "core/engine/releases.h"
#include "core/engine/scheduler_policies.h"
#include "sessions/cache_report/cache_report.h"
#include "tests/sessions/cache_report/cache_report_run.h"
#include "tests/support/property.h"
#include "tests/support/small_engine.h"

namespace hybridscope::cache_report_property_test {
namespace {

using test::draw;
using test::one_in;

EngineConfig random_config() {
  test::SmallEngine small;
  small.mode = one_in(3) ? MambaCacheMode::all : MambaCacheMode::align;
  small.block_size = one_in(2) ? 4 : 8;
  small.num_speculative_tokens = one_in(2) ? 0 : draw(1, 3);
  if (small.num_speculative_tokens > 0 && one_in(4)) small.method = SpeculativeMethod::ngram;
  small.num_attention_groups = one_in(6) ? 0 : 1;
  small.num_mamba_groups = small.num_attention_groups == 0 ? 1 : draw(1, 2);
  small.num_blocks = draw(40, 70);
  small.max_model_len = 96;
  small.max_num_seqs = draw(1, 4);
  small.max_num_batched_tokens = small.block_size * draw(2, 6);
  if (one_in(3)) {
    small.policies = reference_policies();
    // By the reference's rule counts of a padded one-token prompt that is reset with a frame in
    // flight go below zero, and the engine ends there.
    small.policies.set(StaleFrame::dropped_by_run);
  }
  EngineConfig config = engine_config(small);
  // Drafts of n-grams are made on the host from tokens that have returned.
  config.async_scheduling = config.speculative_method != SpeculativeMethod::ngram && one_in(2);
  config.seed = static_cast<std::uint64_t>(draw(0, 1000));
  if (one_in(3)) config.long_prefill_token_threshold = small.block_size;
  return config;
}

// A prompt that often goes on from what another request's sequence begins with.
AddRequest random_request(const std::vector<AddRequest>& known) {
  AddRequest request;
  const auto number = static_cast<std::uint64_t>(known.size());
  request.name = "r" + std::to_string(number);
  request.key = 1000 + number;
  request.max_tokens = draw(1, 12);
  if (one_in(8)) request.cache_salt = 1;
  std::int32_t length = 0;
  if (!known.empty() && !one_in(4)) {
    const AddRequest& other =
        known[static_cast<std::size_t>(draw(0, static_cast<std::int32_t>(known.size()) - 1))];
    std::vector<PromptSegment> sequence = other.prompt;
    std::int32_t other_length = 0;
    for (const PromptSegment& piece : other.prompt) other_length += piece.length;
    sequence.push_back({.source = PromptSegment::Source::output,
                        .content = other.key,
                        .first = other_length,
                        .length = other.max_tokens});
    const std::int32_t shared = std::min(draw(1, 48), other_length + other.max_tokens);
    for (const PromptSegment& piece : sequence) {
      if (length == shared) break;
      request.prompt.push_back(piece);
      request.prompt.back().length = std::min(piece.length, shared - length);
      length += request.prompt.back().length;
    }
  }
  if (length == 0 || one_in(2))
    request.prompt.push_back({.content = number + 1, .first = length, .length = draw(1, 30)});
  return request;
}

using Key = std::pair<Fingerprint, std::int32_t>;

// The expected report, computed in the simplest way.
class NaiveReport {
 public:
  explicit NaiveReport(const EngineConfig& config) : config_(config), rules_(cache_rules(config)) {}

  void check(const StepTrace& trace, const std::vector<AddRequest>& requests,
             const LookupReport& report) const {
    const AddRequest& request = requests[static_cast<std::size_t>(report.request.value)];
    const std::vector<TokenContent> tokens = tokens_of(request, report.num_tokens);
    std::int32_t common = 0;
    for (const RequestId other : admitted_) {
      const AddRequest& theirs = requests[static_cast<std::size_t>(other.value)];
      if (theirs.cache_salt != request.cache_salt) continue;
      const auto their_tokens = tokens_of(theirs, 96);
      const std::int32_t length = length_of(theirs) + theirs.max_tokens;
      std::int32_t equal = 0;
      while (equal < std::min(report.num_tokens, length) &&
             tokens[static_cast<std::size_t>(equal)] ==
                 their_tokens[static_cast<std::size_t>(equal)])
        ++equal;
      common = std::max(common, equal);
    }
    RC_ASSERT(report.common.num_tokens == common);

    std::int64_t lost = 0;
    for (const std::int64_t tokens_lost : report.lost) {
      RC_ASSERT(tokens_lost >= 0);
      lost += tokens_lost;
    }
    RC_ASSERT(report.num_hit_tokens + lost == common);
    RC_ASSERT(report.num_hit_tokens <= report.num_possible_tokens);

    // The highest boundary whose state every group has or had, with all of attention before it.
    const std::vector<Fingerprint> prefixes = prefixes_of(request, tokens);
    const auto& lookup = *std::find_if(
        trace.lookups.begin(), trace.lookups.end(),
        [&](const AdmissionLookup& l) { return l.request == report.request && l.admitted; });
    const auto ever = [&](std::int32_t n, std::size_t group) {
      return ever_.contains(
          {prefixes[static_cast<std::size_t>(n)], static_cast<std::int32_t>(group)});
    };
    const auto& groups = config_.kv_cache_config.groups;
    std::int32_t best = report.num_hit_tokens;
    for (std::int32_t n = rules_.grid; n <= report.num_possible_tokens; n += rules_.grid) {
      bool served = true;
      for (std::size_t g = 0; g < groups.size(); ++g) {
        const std::int32_t size = groups[g].block_size();
        if (groups[g].is_mamba()) {
          served = served && ever(n, g);
          continue;
        }
        const std::int32_t end = n + rules_.eagle_block;
        for (std::int32_t b = lookup.explanation.groups[g].present_length + size; b <= end;
             b += size)
          served = served && b < report.num_tokens && ever(b, g);
      }
      if (served) best = std::max(best, n);
    }
    RC_ASSERT(report.num_hit_tokens + report.lost_to(MissReason::evicted) == best);
    if (report.lost_to(MissReason::evicted) > 0 && config_.policies == safe_policies())
      RC_ASSERT(report.evicted_state.step + report.evicted_attention.step > 0);
  }

  void take(const StepTrace& trace) {
    for (const auto* events : {&trace.cache_events, &trace.commit_events})
      for (const CacheEvent& event : *events) {
        if (event.kind == CacheEventKind::registered) {
          ever_.insert({event.block_hash, event.group});
          label_[event.block] = {{event.block_hash, event.group}, trace.step};
        } else if (event.kind == CacheEventKind::withdrawn) {
          withdrawn(event.block, trace.step);
        }
      }
  }
  void admitted(RequestId request) { admitted_.push_back(request); }

 private:
  static std::int32_t length_of(const AddRequest& request) {
    std::int32_t length = 0;
    for (const PromptSegment& piece : request.prompt) length += piece.length;
    return length;
  }
  std::vector<TokenContent> tokens_of(const AddRequest& request, std::int32_t count) const {
    const TokenSequence sequence(request.prompt, config_.seed, request.key);
    std::vector<TokenContent> tokens(static_cast<std::size_t>(count));
    sequence.copy_tokens(0, count, tokens.data());
    return tokens;
  }
  static std::vector<Fingerprint> prefixes_of(const AddRequest& request,
                                              const std::vector<TokenContent>& tokens) {
    std::vector<Fingerprint> prefixes = {seed_fingerprint(request.cache_salt)};
    for (const TokenContent token : tokens)
      prefixes.push_back(extend_fingerprint(prefixes.back(), token));
    return prefixes;
  }
  void withdrawn(std::int32_t block, std::int64_t step) {
    const auto [key, registered] = label_[block];
    if (registered == step && !before_.contains(key)) ever_.erase(key);
  }

 public:
  void step_ends() { before_ = ever_; }

 private:
  const EngineConfig& config_;
  CacheRules rules_;
  std::set<Key> ever_;
  std::set<Key> before_;  // as the step began
  std::map<std::int32_t, std::pair<Key, std::int64_t>> label_;
  std::vector<RequestId> admitted_;
};

void expect_labels_hold(test::LabelConditions& labels, const StepTrace& trace,
                        const std::vector<AddRequest>& requests, const LookupReport& report) {
  for (const std::string& broken : labels.broken(trace, requests, report)) RC_FAIL(broken);
}

TEST(CacheReportProperty, HitAndReasonsAddUpToTheCommonPrefix) {
  std::int64_t num_lookups = 0;
  LostTokens lost{};
  test::check_property(300, [&] {
    const EngineConfig config = random_config();
    Engine engine = Engine::create(config).value();
    std::vector<AddRequest> requests;
    CacheReport report(config, [&](RequestId id) -> const AddRequest& {
      return requests[static_cast<std::size_t>(id.value)];
    });
    NaiveReport naive(config);
    test::LabelConditions labels(config);
    std::size_t num_checked = 0;
    const std::int32_t to_come = draw(2, 10);
    for (std::int32_t step = 0; step < 300; ++step) {
      if (static_cast<std::int32_t>(requests.size()) < to_come && one_in(2)) {
        requests.push_back(random_request(requests));
        if (!engine.add_request(requests.back()).ok()) requests.pop_back();
      }
      if (!requests.empty() && one_in(12))
        (void)engine.apply(PreemptRequest{{static_cast<std::int32_t>(requests.size()) - 1}});
      if (one_in(40)) (void)engine.apply(ResetPrefixCache{one_in(2)});
      const StepTrace& trace = engine.step();
      report.add(trace);
      for (; num_checked < report.lookups().size(); ++num_checked) {
        const LookupReport& one = report.lookups()[num_checked];
        naive.check(trace, requests, one);
        expect_labels_hold(labels, trace, requests, one);
        if (one.admission == Admission::new_request) naive.admitted(one.request);
      }
      naive.take(trace);
      labels.take(trace, requests);
      naive.step_ends();
      if (static_cast<std::int32_t>(requests.size()) == to_come && engine.num_unfinished() == 0)
        break;
    }
    num_lookups += report.totals().lookups;
    for (std::size_t reason = 0; reason < kNumMissReasons; ++reason)
      lost[reason] += report.totals().lost[reason];
  });
  // The runs have every reason but caching that is off.
  EXPECT_GT(num_lookups, 1000);
  for (std::size_t reason = 1; reason < kNumMissReasons; ++reason)
    EXPECT_GT(lost[reason], 100) << miss_reason_slug(static_cast<MissReason>(reason));
}

// An engine of a random release with what its cache has: retention, hits inside blocks, keys that
// look ahead, checkpoints inside prefills.
EngineConfig random_release_config() {
  EngineConfig config = random_config();
  const auto release = static_cast<Release>(draw(0, 9));
  config.runner = one_in(2) ? ModelRunner::v1 : ModelRunner::v2;
  config.policies = release_policies(release, config.runner);
  config.policies.set(StaleFrame::dropped_by_run);
  if (config.speculative_method == SpeculativeMethod::ngram) config.runner = ModelRunner::v1;
  if (!one_in(3)) config.prefix_cache_retention_interval = config.block_size * draw(0, 3);
  if (config.kv_cache_config.groups.size() > 1 && one_in(2)) config.hash_block_size = 2;
  const bool checkpoints = one_in(2);
  for (KVCacheGroup& group : config.kv_cache_config.groups)
    if (auto* mamba = std::get_if<MambaSpec>(&group.spec); mamba != nullptr && checkpoints) {
      mamba->num_prefill_checkpoint_blocks = 1;
      mamba->prefill_checkpoint_alignment = 1;
    }
  return config;
}

TEST(CacheReportProperty, ReasonsAddUpInEveryRelease) {
  std::int64_t num_unkept = 0;
  std::int64_t num_checkpoints = 0;
  std::int64_t num_inside = 0;
  std::int64_t num_unkeyed = 0;
  LostTokens checked{};
  test::check_property(600, [&] {
    const EngineConfig config = random_release_config();
    auto created = Engine::create(config);
    RC_PRE(created.ok());
    Engine& engine = created.value();
    std::vector<AddRequest> requests;
    CacheReport report(config, [&](RequestId id) -> const AddRequest& {
      return requests[static_cast<std::size_t>(id.value)];
    });
    test::LabelConditions labels(config);
    std::size_t num_checked = 0;
    const std::int32_t to_come = draw(2, 10);
    for (std::int32_t step = 0; step < 200; ++step) {
      if (static_cast<std::int32_t>(requests.size()) < to_come && one_in(2)) {
        requests.push_back(random_request(requests));
        if (!engine.add_request(requests.back()).ok()) requests.pop_back();
      }
      if (!requests.empty() && one_in(12))
        (void)engine.apply(PreemptRequest{{static_cast<std::int32_t>(requests.size()) - 1}});
      if (one_in(60)) (void)engine.apply(ResetPrefixCache{one_in(2)});
      const StepTrace& trace = engine.step();
      report.add(trace);
      for (; num_checked < report.lookups().size(); ++num_checked)
        expect_labels_hold(labels, trace, requests, report.lookups()[num_checked]);
      labels.take(trace, requests);
      if (static_cast<std::int32_t>(requests.size()) == to_come && engine.num_unfinished() == 0)
        break;
    }
    for (std::size_t reason = 0; reason < kNumMissReasons; ++reason)
      checked[reason] += labels.checked()[reason];
    for (const LookupReport& one : report.lookups()) {
      std::int64_t lost = 0;
      for (const std::int64_t tokens : one.lost) {
        RC_ASSERT(tokens >= 0);
        lost += tokens;
      }
      RC_ASSERT(one.num_hit_tokens + lost == one.common.num_tokens);
      RC_ASSERT(one.num_hit_tokens <= one.num_possible_tokens);
      num_unkeyed += one.num_unkeyed_tokens;
      RC_ASSERT(one.num_hit_tokens % report.rules().grid == 0);
      num_inside += one.num_hit_tokens % report.rules().block_size != 0 ? 1 : 0;
      const UnkeptState& unkept = one.unkept_state;
      if (unkept.num_tokens == 0) continue;
      ++num_unkept;
      num_checkpoints += unkept.checkpoint ? 1 : 0;
      RC_ASSERT(config.prefix_cache_retention_interval.has_value());
      RC_ASSERT(unkept.num_tokens > one.last_state);
      RC_ASSERT(unkept.num_tokens <= one.num_computed_tokens);
    }
  });
  EXPECT_GT(num_unkept, 50);
  EXPECT_GT(num_checkpoints, 0);
  EXPECT_GT(num_inside, 10);
  EXPECT_GT(num_unkeyed, 20);
  for (std::size_t reason = 1; reason < kNumMissReasons; ++reason)
    EXPECT_GT(checked[reason], 100) << miss_reason_slug(static_cast<MissReason>(reason));
}

}  // namespace
}  // namespace hybridscope::cache_report_property_test
