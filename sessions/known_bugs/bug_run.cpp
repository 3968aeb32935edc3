#include "sessions/known_bugs/bug_run.h"

#include <fmt/core.h>
#include <fmt/format.h>
#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/base/fingerprint.h"
#include "core/numeric/hybrid_model.h"
#include "core/trace/block_table_mirror.h"
#include "sessions/explain/explain_names.h"
#include "sessions/explain/explain_step.h"
#include "sessions/known_bugs/policy_runs.h"
#include "sessions/run/checked_run.h"
#include "sessions/run/drive.h"
#include "sessions/text/name_hash.h"
#include "sessions/text/number_words.h"

namespace hybridscope {

Result<BugSide> run_bug_side(Scenario scenario, const LanguageModel& language) {
  if (language.model != nullptr && language.model->vocab_size == kByteVocabulary)
    scenario = with_recall_prompts(std::move(scenario));
  auto plan = plan_scenario(scenario, scenario.name);
  if (!plan.ok()) return plan.error();
  auto created = CheckedRun::create(std::move(plan).value(), {.language = language});
  if (!created.ok()) return created.error();
  CheckedRun& run = created.value();
  const EngineConfig& config = run.engine().config();
  const Names names = make_names(run.engine());
  SummaryBuilder summary(config);
  ExpectationCheck expectation(scenario.expect);
  const KVCacheConfig& cache = config.kv_cache_config;
  BlockTableMirror tables(static_cast<std::int32_t>(cache.groups.size()), cache.num_blocks);
  BugSide side{.scenario = std::move(scenario)};
  if (language.model != nullptr) side.findings.set_runs_replays();
  const auto driven = drive(run, [&](const CheckedStep& step) {
    const StepTrace& trace = step.trace;
    summary.add(trace);
    bool wrong = false;
    side.findings.add(
        trace, step.findings,
        [&](const Finding& finding) { return expectation.expects(finding, names); }, names);
    for (const Finding& finding : step.findings)
      wrong = wrong || rule_info(finding.rule).severity == Severity::error;
    for (const CacheEvent& event : trace.cache_events) tables.apply(event);
    if (wrong && side.first_step == 0) {
      side.first_step = trace.step;
      side.explanation =
          explain_step({.trace = trace,
                        .config = config,
                        .names = names,
                        .scheduler_tables = tables,
                        .findings = step.findings,
                        .own_count =
                            [&](RequestId request) {
                              return side.findings.own_counts().before(trace.step, request);
                            },
                        .chain_words = side.findings.last_chain_words()});
    }
    for (const CacheEvent& event : trace.commit_events) tables.apply(event);
  });
  if (!driven.ok()) return driven.error();
  side.summary = summary.summary();
  side.unmet = expectation.unmet(side.summary);
  if (run.has_language()) side.texts = spoken_words(run.texts(), run.vocab_size(), names);
  return side;
}

bool BugSide::as_declared() const {
  return unmet.empty() && findings.num_unexpected(Severity::error) == 0 &&
         findings.num_unexpected(Severity::warning) == 0;
}

Result<BugRun> run_bug(const BugExhibit& exhibit, const LanguageModel& language) {
  auto faulty = run_bug_side(faulty_scenario(exhibit), language);
  if (!faulty.ok()) return faulty.error();
  auto healthy = run_bug_side(healthy_scenario(exhibit), language);
  if (!healthy.ok()) return healthy.error();
  return BugRun{std::move(faulty).value(), std::move(healthy).value()};
}

namespace {

SpokenComparison compare(const std::string& request, const SpokenText& healthy,
                         const SpokenText& faulty, std::int32_t vocab_size) {
  const std::vector<std::int32_t> right = said_ids(healthy);
  const std::vector<std::int32_t> wrong = said_ids(faulty);
  const TextDifference divergence = text_difference(faulty);
  SpokenComparison compared{.request = request,
                            .prompt = tokens_as_text(healthy.prompt, vocab_size),
                            .healthy = tokens_as_text(right, vocab_size),
                            .faulty = tokens_as_text(wrong, vocab_size),
                            .mean_divergence = divergence.mean_divergence,
                            .most_divergence = divergence.most_divergence};
  compared.first =
      static_cast<std::size_t>(std::ranges::mismatch(right, wrong).in1 - right.begin());
  // An answer that is cut short is not another one.
  compared.differs = compared.first < std::min(right.size(), wrong.size());
  if (compared.differs && compared.first < faulty.tokens.size())
    compared.step = faulty.tokens[compared.first].step;
  return compared;
}

// Why a fault that a rule found changes no state that a request reads in its scenario.
std::string reason_of(Rule rule) {
  switch (rule) {
    case Rule::label_mismatch:
    case Rule::published_not_written:
      return "the wrong block stays in the prefix cache, and no request hits it here";
    case Rule::graph_not_captured:
    case Rule::stale_persistent_array:
      return "the graph's stale arrays lead to no state that a request reads here";
    case Rule::padded_row_not_null: return "padding rows write only where no request reads";
    case Rule::no_progress: return "requests wait, and what they said so far is right";
    case Rule::block_table_mismatch:
    case Rule::reference_count:
    case Rule::rejected_draft_counted: return "counts and tables are wrong, and no state is";
    case Rule::metadata_inconsistent:
      return "the array that is wrong leads to no state that a request reads here";
    case Rule::foreign_row_datum:
      return "the layers of this model do not read the data that are wrong";
    case Rule::read_of_unwritten_block:
      return "what was copied is replaced before a request reads it";
    default: return "the wrong block is read by no request here";
  }
}

}  // namespace

bool SpokenBug::says_something_else() const {
  return std::ranges::any_of(requests, &SpokenComparison::differs);
}

std::string SpokenBug::verdict() const {
  const auto parts = std::ranges::count_if(requests, &SpokenComparison::differs);
  if (parts > 0)
    return fmt::format("{} of {} another answer", parts,
                       counted(static_cast<std::int64_t>(requests.size()), "request") +
                           (parts == 1 ? " gives" : " give"));
  if (!first_wrong.empty()) return "a state is wrong, but the answers are the same";
  return "the same answers" + (reason.empty() ? reason : ": " + reason);
}

SpokenBug spoken_bug(const BugRun& run) {
  SpokenBug bug;
  const SpokenWords& healthy = *run.healthy.texts;
  const SpokenWords& faulty = *run.faulty.texts;
  for (std::size_t i = 0; i < faulty.texts.size(); ++i) {
    const auto found = std::ranges::find(healthy.requests, faulty.requests[i]);
    if (found == healthy.requests.end()) continue;  // it had no turn there
    const auto other = static_cast<std::size_t>(found - healthy.requests.begin());
    bug.requests.push_back(
        compare(faulty.requests[i], healthy.texts[other], faulty.texts[i], faulty.vocab_size));
  }
  for (const KeptFinding& kept : run.faulty.findings.kept())
    if (bug.first_wrong.empty() && is_of_numbers(kept.finding)) bug.first_wrong = kept.text;
  const auto& kept = run.faulty.findings.kept();
  if (run.faulty.findings.num_found(Severity::error) == 0) bug.reason = "no state is wrong";
  for (const KeptFinding& finding : kept)
    if (bug.reason.empty() && rule_info(finding.finding.rule).severity == Severity::error)
      bug.reason = reason_of(finding.finding.rule);
  return bug;
}

std::string spoken_bugs_section(std::span<const std::pair<std::string, SpokenBug>> bugs) {
  std::string text =
      "\n## What a language model says\n\n"
      "`hybridscope bugs run ID --state numeric` runs both sides of a bug with the model of "
      "[scenarios/models/jargon-gdn](../scenarios/models/jargon-gdn/README.md) on their decisions "
      "([gpu.md](gpu.md#a-language-model)). Prompts of the same lengths ask it for a digit, as far "
      "as the "
      "scenario's few tokens have room for a question. Of several requests the one with the "
      "largest divergence is shown; KL is KL(lone run || faulty run) at its largest, in nats.\n\n"
      "| bug | what changes | without the bug | with it | KL |\n|---|---|---|---|---|\n";
  for (const auto& [id, bug] : bugs) {
    const auto worst = std::ranges::max_element(bug.requests, {}, [](const auto& request) {
      return std::pair(request.differs, request.most_divergence);
    });
    const bool shown = worst != bug.requests.end() && worst->differs;
    const bool diverges = worst != bug.requests.end() && worst->most_divergence > 0;
    text +=
        fmt::format("| `{}` | {} | {} | {} | {} |\n", id, bug.verdict(),
                    shown ? "`" + worst->healthy + "`" : "", shown ? "`" + worst->faulty + "`" : "",
                    diverges ? fmt::format("{:.2g}", worst->most_divergence) : "");
  }
  return text;
}

std::string format_spoken_bug(const SpokenBug& bug) {
  std::string text = fmt::format("answers  {}\n", bug.verdict());
  for (const SpokenComparison& request : bug.requests) {
    if (!request.differs) continue;
    text += fmt::format("  {}: \"{}\"\n    healthy \"{}\"\n    faulty  \"{}\"\n", request.request,
                        request.prompt, request.healthy, request.faulty);
    text += fmt::format("    they part at token {}{}; KL {:.3g} on average, {:.3g} at most\n",
                        request.first + 1,
                        request.step > 0 ? fmt::format(" (step {})", request.step) : "",
                        request.mean_divergence, request.most_divergence);
  }
  if (!bug.first_wrong.empty()) text += fmt::format("  first wrong: {}\n", bug.first_wrong);
  return text;
}

nlohmann::ordered_json spoken_bug_json(const SpokenBug& bug) {
  nlohmann::ordered_json requests = nlohmann::ordered_json::array();
  for (const SpokenComparison& request : bug.requests)
    requests.push_back({{"request", request.request},
                        {"prompt", request.prompt},
                        {"healthy", request.healthy},
                        {"faulty", request.faulty},
                        {"first_difference", request.differs ? nlohmann::ordered_json(request.first)
                                                             : nlohmann::ordered_json()},
                        {"kl_mean", request.mean_divergence},
                        {"kl_most", request.most_divergence}});
  return {{"verdict", bug.verdict()}, {"first_wrong", bug.first_wrong}, {"requests", requests}};
}

namespace {

char letter(std::uint64_t key, std::uint64_t pair) {
  return static_cast<char>('a' + mix(key, 2 * pair) % 26);
}
char digit(std::uint64_t key, std::uint64_t pair) {
  return static_cast<char>('0' + mix(key, 2 * pair + 1) % 10);
}

// Pairs without an end.
std::string pairs(std::uint64_t key, std::size_t length) {
  std::string text;
  for (std::uint64_t pair = 0; text.size() < length; ++pair)
    text += {letter(key, pair), digit(key, pair)};
  text.resize(length);
  return text;
}

}  // namespace

std::string recall_text(std::uint64_t key, std::int32_t length) {
  constexpr std::size_t kQuestion = 3;
  const auto wanted = static_cast<std::size_t>(length);
  if (wanted < kQuestion + 2) return pairs(key, wanted);
  // An even length begins with a mark, so that the pairs come out even.
  const std::size_t mark = wanted % 2 == 0 ? 1 : 0;
  const std::size_t count = (wanted - mark - kQuestion) / 2;
  return std::string(mark, '#') + pairs(key, 2 * count) + '?' + letter(key, count - 1) + '=';
}

Scenario with_recall_prompts(Scenario scenario) {
  const auto is_request = [&](const std::string& name) {
    return std::ranges::any_of(scenario.requests,
                               [&](const ScenarioRequest& request) { return request.id == name; });
  };
  for (ScenarioRequest& request : scenario.requests) {
    PromptSpec& prompt = request.prompt;
    if (!prompt.text.empty()) continue;
    std::string own = recall_text(request_key(request.id), prompt.tokens - prompt.share_tokens);
    if (prompt.share_tokens > 0 && !is_request(prompt.share)) {
      const auto shared = static_cast<std::size_t>(prompt.share_tokens);
      own = pairs(text_content(prompt.share), shared) + own;
      prompt.share.clear();
      prompt.share_tokens = 0;
    }
    if (!own.empty()) prompt.text = std::move(own);
  }
  return scenario;
}

}  // namespace hybridscope
