#include "cli/plan_command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/exit_codes.h"
#include "cli/report_error.h"
#include "cli/right_command.h"
#include "sessions/explain/explain_start_up.h"
#include "sessions/plan/serve_line.h"
#include "sessions/plan/size_answer.h"
#include "sessions/plan/size_changes.h"
#include "sessions/plan/size_words.h"
#include "sessions/plan/startup_log.h"
#include "sessions/scenario/hf_config.h"
#include "sessions/text/shown_text.h"

namespace hybridscope {
namespace {

constexpr std::int32_t kMostTokens = 1 << 24;

std::optional<RequestShape> shape_of(const PlanOptions& options) {
  if (options.prompt == 0 && options.output == 0 && options.shared == 0) return std::nullopt;
  return RequestShape{.prompt = options.prompt,
                      .output = options.output == 0 ? 1 : options.output,
                      .shared = options.shared};
}

// What is wrong with the options by themselves; empty: nothing.
std::string misuse(const PlanOptions& options) {
  if (options.model.empty() && options.from_serve.empty())
    return "name a model (--model PRESET or config.json), or paste a line (--from-serve)";
  if (options.prompt == 0 && (options.output > 0 || options.shared > 0))
    return "--output and --shared need --prompt";
  if (options.shared > options.prompt)
    return fmt::format("--shared is {}, more than the {} tokens of --prompt", options.shared,
                       options.prompt);
  return {};
}

// What is asked for: the line's model and settings, then those of the command line.
struct Question {
  std::optional<ServeLine> line;
  std::string model;
  EngineSettings settings;
};

Result<Question> read_question(const PlanOptions& options) {
  Question question{.line = std::nullopt, .model = options.model, .settings = {}};
  if (!options.from_serve.empty()) {
    auto line = ServeLine::parse(options.from_serve);
    if (!line.ok()) return line.error();
    question.settings = line.value().settings();
    if (question.model.empty()) {
      const auto model = model_of_serve_line(line.value().model());
      if (!model.ok()) return model.error();
      question.model = model.value();
    }
    question.line = std::move(line).value();
  }
  const auto settings = options.settings.apply(question.settings);
  if (!settings.ok()) return settings.error();
  question.settings = settings.value();
  return question;
}

// The settings to advise: those of the line, with max_num_seqs lowered if vLLM refuses it.
EngineSettings advised(const Question& question, const SizeAnswer& answer) {
  EngineSettings settings = question.settings;
  if (answer.refused_max_num_seqs)
    settings.max_num_seqs = static_cast<std::int32_t>(answer.usable_blocks + 1);
  return settings;
}

void print_line(const ServeLine& line, const EngineSettings& wanted) {
  const ServeLine::Written written = line.with(wanted);
  fmt::print("\nLine of vllm serve\n");
  if (written.changes.empty()) fmt::print("  Nothing to change.\n");
  for (const std::string& change : written.changes) fmt::print("  {}\n", escape_controls(change));
  for (const std::string& other : written.left_out)
    fmt::print("  not a flag of vllm serve: {}\n", escape_controls(other));
  if (written.changes.empty()) return;
  fmt::print("\n");
  for (std::string_view rest = written.text; !rest.empty();) {
    const std::string_view first = rest.substr(0, rest.find('\n'));
    fmt::print("{}\n", escape_controls(first));
    rest.remove_prefix(std::min(first.size() + 1, rest.size()));
  }
}

void add_line(const ServeLine& line, const EngineSettings& wanted, nlohmann::ordered_json& json) {
  const ServeLine::Written written = line.with(wanted);
  json["serve"] = {{"line", written.text},
                   {"changes", written.changes},
                   {"not_flags", written.left_out},
                   {"not_read", line.not_read()}};
}

Release release_for_log(const EngineSettings& settings) {
  return release_of(settings).value_or(kNewestRelease);
}

void print_answer(const PlanOptions& options, const Question& question, const SizeAnswer& answer,
                  const std::vector<SizeChange>& changes) {
  const Release release = release_for_log(question.settings);
  const std::vector<std::string> log =
      options.startup_log ? start_up_log(answer.setup, release) : std::vector<std::string>();
  const EngineSettings wanted = advised(question, answer);
  if (options.json) {
    nlohmann::ordered_json json = sizes_to_json(answer, changes);
    if (options.startup_log) json["startup_log"] = log;
    if (question.line) add_line(*question.line, wanted, json);
    fmt::print("{}\n", json.dump(2));
    return;
  }
  fmt::print("{}", explain_sizes(answer, changes));
  if (options.startup_log) fmt::print("\nStart-up log of vllm-{}\n", release_name(release));
  for (const std::string& line : log) fmt::print("  {}\n", line);
  if (question.line) print_line(*question.line, wanted);
}

}  // namespace

void add_plan_options(CLI::App& command, PlanOptions& options) {
  command.footer(
      "Examples:\n"
      "  hybridscope plan --model qwen3-next-80b-a3b --kv-memory 40GiB\n"
      "  hybridscope plan --model qwen3-next-80b-a3b --kv-memory 40GiB --prompt 8000 --output 500 "
      "--shared 6000\n"
      "  hybridscope plan --model path/to/config.json --gpu-memory 80GiB "
      "--weights-memory 52GiB --engine vllm-0.33.0 --startup-log\n"
      "  hybridscope plan --from-serve 'vllm serve Qwen/Qwen3-Next-80B-A3B-Instruct -tp 4 "
      "--max-num-seqs 1024' --kv-memory 30GiB --prompt 8000 --output 500\n"
      "\n"
      "Exit codes: 0 fine, 2 usage, an unknown model, settings or a request that the model does\n"
      "not allow, 3 a config.json that cannot be read, 4 output that cannot be written.");
  command.add_option("--model", options.model, "preset or config.json")->type_name("NAME|FILE");
  command
      .add_option(
          "--from-serve", options.from_serve,
          "start from this line of `vllm serve`; options given besides it replace its flags")
      ->type_name("LINE");
  command.add_option("--prompt", options.prompt, "prompt tokens of a request")
      ->check(CLI::Range(1, kMostTokens))
      ->type_name("N");
  command.add_option("--output", options.output, "tokens that it generates (default: 1)")
      ->check(CLI::Range(1, kMostTokens))
      ->type_name("N");
  command.add_option("--shared", options.shared, "tokens that all prompts begin with (default: 0)")
      ->check(CLI::Range(0, kMostTokens))
      ->type_name("N");
  command.add_flag("--startup-log", options.startup_log,
                   "also the lines about sizes that the release logs when it starts");
  command.add_flag("--json", options.json, "the same facts as one JSON object");
  options.settings.add_to(command);
}

int plan_command(const PlanOptions& options) {
  if (const std::string wrong = misuse(options); !wrong.empty()) return report_usage("plan", wrong);
  const auto question = read_question(options);
  if (!question.ok()) return report_usage("plan", question.error().message);
  const Question& asked = question.value();
  const auto model = resolve_model(asked.model);
  if (!model.ok()) {
    if (model.error().kind == ErrorKind::not_found)
      return report_usage("plan", model.error().message);
    return report_error("plan", name_right_command("plan", asked.model, model.error()));
  }
  const auto answer = answer_sizes(model.value(), asked.settings, shape_of(options));
  if (!answer.ok()) return report_usage("plan", answer.error().message);
  for (const std::string& note : start_up_notes(answer.value().setup)) report_note(note);
  if (asked.line && !asked.line->not_read().empty())
    report_note(fmt::format("not modelled, and left as it is: {}",
                            fmt::join(asked.line->not_read(), ", ")));
  const auto changes = useful_changes(model.value(), asked.settings, answer.value());
  print_answer(options, asked, answer.value(), changes);
  return kExitFine;
}

}  // namespace hybridscope
