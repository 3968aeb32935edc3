#include "sessions/export/markdown_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "sessions/explain/explain_names.h"
#include "sessions/export/runner_test_text.h"
#include "sessions/export/vllm_flags.h"
#include "sessions/scenario/scenario_reader.h"
#include "sessions/text/number_words.h"
#include "sessions/text/shown_text.h"

namespace hybridscope {
namespace {

// Untrusted text in a table cell or paragraph: Markdown is escaped, line ends are removed.
std::string plain(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      escaped += ' ';
      continue;
    }
    if (std::string_view("\\`*_{}[]<>|#").find(c) != std::string_view::npos) escaped += '\\';
    escaped += c;
  }
  return escaped;
}

// The flags to append to "vllm serve MODEL".
std::string flags_text(const ExportedRun& run) {
  const VllmFlags flags = vllm_flags(run);
  std::string text = fmt::format("Model {}, profile {}.\n\n```sh\n", run.setup.layout.model.name,
                                 profile_name(run.scenario.settings));
  for (const std::string& variable : flags.variables) text += fmt::format("export {}\n", variable);
  text += fmt::format("{}\n```\n", fmt::join(flags.flags, " \\\n"));
  if (flags.others.empty()) return text;
  text += "\nSet, but no flag of vLLM:\n\n";
  for (const std::string& other : flags.others) text += fmt::format("- `{}`\n", other);
  return text;
}

std::string move_text(const StateMove& move) {
  return move.source < 0 && move.target < 0 ? "" : fmt::format("{} > {}", move.source, move.target);
}

std::string table_text(const ExportedRun& run) {
  const std::size_t group = first_mamba_group(run).value_or(0);
  std::string text =
      "| step | request | class | hit | computed | scheduled | drafts | sampled | blocks | "
      "pre-copy | post-copy | findings |\n|--:|---|---|--:|--:|--:|--:|--:|---|---|---|--:|\n";
  for (const ExportedStep& step : run.steps) {
    for (const ExportedRow& row : step.rows)
      text += fmt::format(
          "| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |\n", step.step,
          plain(row.request), row_class_name(row.row_class),
          row.admission == Admission::running ? "" : std::to_string(row.num_hit_tokens),
          row.num_computed_tokens, row.num_scheduled_tokens, row.num_draft_tokens,
          row.num_sampled_tokens, fmt::join(held_columns(row, group), " "), move_text(row.pre_copy),
          move_text(row.post_copy), row.num_findings > 0 ? std::to_string(row.num_findings) : "");
    if (step.num_other_findings > 0)
      text += fmt::format("| {} | | | | | | | | | | | {} |\n", step.step, step.num_other_findings);
  }
  return text +
         "\n`blocks`: columns of the first recurrent group, 1 where a block is held, 0 for the "
         "null "
         "block; copies: column of the temporal state > column it goes to; `findings`: of the "
         "request; findings without a request that ran are in a line without a name.\n";
}

std::string error_text(const ExportedRun& run) {
  if (!run.error) return "No error was found: every block held what it should after every step.\n";
  const RuleInfo& rule = rule_info(run.error->finding.rule);
  std::string text;
  if (!run.error->decision.empty())
    text += fmt::format("What went wrong first: {}.\n\n", plain(run.error->decision));
  text += fmt::format("{}\n", plain(run.error->text));
  if (!run.error->following.empty()) text += fmt::format("\n{}.\n", run.error->following);
  text += fmt::format("\nThe rule `{}`: {}.\n", rule.slug, rule.meaning);
  text += "\n## How it came about\n\n";
  if (run.error->chain.empty())
    return text + "Nothing had written what was found since the block was given out.\n";
  text += "Latest first; each was made from what the next one left.\n\n";
  std::size_t number = 0;
  for (const std::string& write : run.error->chain)
    text += fmt::format("{}. {}\n", ++number, plain(write));
  return text;
}

std::string findings_text(const ExportedRun& run) {
  std::vector<std::string> all;
  for (const ExportedStep& step : run.steps)
    all.insert(all.end(), step.findings.begin(), step.findings.end());
  if (all.empty()) return "";
  constexpr std::size_t kShown = 20;
  std::string text = "\n## All findings\n\n";
  for (std::size_t i = 0; i < std::min(all.size(), kShown); ++i)
    text += fmt::format("- {}\n", plain(all[i]));
  if (all.size() > kShown)
    text += fmt::format("- and {} more\n",
                        grouped_number(static_cast<std::int64_t>(all.size() - kShown)));
  return text;
}

// Findings by the part of vLLM that causes them, and which exported test runs it.
std::string faults_text(const ExportedRun& run) {
  if (run.faults.empty()) return "";
  std::string text = "\n## Where the fault lies\n\n";
  for (const FaultPlace& place : fault_places(run.faults))
    text += fmt::format("- {}: {} (`{}`{}). {}\n", plain(place.findings), place.part.words,
                        place.function, place.bug.empty() ? "" : ", " + place.bug,
                        which_test(place.part.test, check_runner_test(run).ok()));
  return text;
}

// A code fence longer than any run of backticks in the text.
std::string fence_for(const std::string& text) {
  std::string fence = "```";
  while (text.find(fence) != std::string::npos) fence += '`';
  return fence;
}

}  // namespace

std::string markdown_report(const ExportedRun& run, const std::string& reproduce) {
  std::string text = fmt::format("# {}\n\n", plain(run.scenario.name));
  if (!run.scenario.teaches.empty()) text += plain(run.scenario.teaches) + "\n\n";
  text += "## First wrong state\n\n" + error_text(run);
  text += "\n## Flags\n\n" + flags_text(run);
  text += "\n## Steps\n\n" + table_text(run);
  text += faults_text(run) + findings_text(run);
  const std::string scenario = write_scenario(run.scenario);
  const std::string fence = fence_for(scenario);
  text += fmt::format("\n## Reproduce\n\n```\n{}\n```\n\n", reproduce);
  text += fmt::format("<details><summary>The scenario</summary>\n\n{}json\n{}{}\n\n</details>\n",
                      fence, scenario, fence);
  return escape_controls(text);
}

}  // namespace hybridscope
