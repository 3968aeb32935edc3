#include "sessions/known_bugs/spoken_bug.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "sessions/text/number_words.h"

namespace hybridscope {
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

bool is_about_numbers(const Finding& finding) {
  return rule_info(finding.rule).evidence == Evidence::numbers;
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
    case Rule::padded_row_not_null:
      return "padding rows write only where no request reads";
    case Rule::no_progress:
      return "requests wait, and what they said so far is right";
    case Rule::block_table_mismatch:
    case Rule::reference_count:
    case Rule::rejected_draft_counted:
      return "counts and tables are wrong, and no state is";
    case Rule::metadata_inconsistent:
      return "the array that is wrong leads to no state that a request reads here";
    case Rule::foreign_row_datum:
      return "the layers of this model do not read the data that are wrong";
    case Rule::read_of_unwritten_block:
      return "what was copied is replaced before a request reads it";
    default:
      return "the wrong block is read by no request here";
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
    if (bug.first_wrong.empty() && is_about_numbers(kept.finding)) bug.first_wrong = kept.text;
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
      "([numeric.md](numeric.md)). Prompts of the same lengths ask it for a digit, as far as the "
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

}  // namespace hybridscope
