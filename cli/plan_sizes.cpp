#include "cli/plan_sizes.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "cli/exit_codes.h"
#include "cli/report_error.h"
#include "sessions/explain/explain_start_up.h"
#include "sessions/job/right_command.h"
#include "sessions/plan/size_answer.h"
#include "sessions/plan/size_changes.h"
#include "sessions/plan/size_words.h"
#include "sessions/plan/startup_log.h"
#include "sessions/scenario/hf_config.h"

namespace hybridscope {
namespace {

std::optional<RequestShape> shape_of(const PlanCommandOptions& options) {
  if (options.prompt == 0 && options.output == 0 && options.shared == 0) return std::nullopt;
  return RequestShape{.prompt = options.prompt,
                      .output = options.output == 0 ? 1 : options.output,
                      .shared = options.shared};
}

// What is wrong with the options by themselves; empty: nothing.
std::string misuse(const PlanCommandOptions& options) {
  if (options.model.empty() && options.from_serve.empty())
    return "name a model (--model PRESET or config.json), or paste a line (--from-serve)";
  if (options.prompt == 0 && (options.output > 0 || options.shared > 0))
    return "--output and --shared need --prompt";
  if (options.shared > options.prompt)
    return fmt::format("--shared is {}, more than the {} tokens of --prompt", options.shared,
                       options.prompt);
  return {};
}

// The settings to advise: those of the line, with max_num_seqs lowered if vLLM refuses it.
EngineSettings advised(const PlanQuestion& question, const SizeAnswer& answer) {
  EngineSettings settings = question.settings;
  if (answer.refused_max_num_seqs)
    settings.max_num_seqs = static_cast<std::int32_t>(answer.usable_blocks + 1);
  return settings;
}

Release release_for_log(const EngineSettings& settings) {
  return release_of(settings).value_or(kNewestRelease);
}

void print_answer(const PlanCommandOptions& options, const PlanQuestion& question,
                  const SizeAnswer& answer, const std::vector<SizeChange>& changes) {
  const Release release = release_for_log(question.settings);
  const std::vector<std::string> log =
      options.startup_log ? start_up_log(answer.setup, release) : std::vector<std::string>();
  const EngineSettings wanted = advised(question, answer);
  if (options.json) {
    nlohmann::ordered_json json = sizes_to_json(answer, changes);
    if (options.startup_log) json["startup_log"] = log;
    if (question.line) add_serve_line(*question.line, wanted, answer.setup.layout, json);
    fmt::print("{}\n", json.dump(2));
    return;
  }
  fmt::print("{}", explain_sizes(answer, changes));
  if (options.startup_log) fmt::print("\nStart-up log of vllm-{}\n", release_name(release));
  for (const std::string& line : log) fmt::print("  {}\n", line);
  if (question.line) fmt::print("{}", serve_line_text(*question.line, wanted, answer.setup.layout));
}

}  // namespace

int plan_sizes(const PlanCommandOptions& options) {
  if (const std::string wrong = misuse(options); !wrong.empty()) return report_usage("plan", wrong);
  const auto question = read_plan_question(options);
  if (!question.ok()) return report_usage("plan", question.error().message);
  const PlanQuestion& asked = question.value();
  const auto model = resolve_model(asked.model);
  if (!model.ok()) {
    if (model.error().kind == ErrorKind::not_found)
      return report_usage("plan", model.error().message);
    return report_error("plan", name_right_command("plan", asked.model, model.error()));
  }
  const auto answer = answer_sizes(model.value(), asked.settings, shape_of(options));
  if (!answer.ok()) return report_usage("plan", answer.error().message);
  for (const std::string& note : start_up_notes(answer.value().setup)) report_note(note);
  if (const Status starts = check_release_starts(answer.value().setup); !starts.ok())
    report_note(starts.error().message);
  for (const std::string& note : notes_on_line(asked.line)) report_note(note);
  const auto changes = useful_changes(model.value(), asked.settings, answer.value());
  print_answer(options, asked, answer.value(), changes);
  return kExitFine;
}

}  // namespace hybridscope
