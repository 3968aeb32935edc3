#include "cli/plan_fit.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "cli/common_options.h"
#include "cli/exit_codes.h"
#include "cli/plan_fit_report.h"
#include "cli/progress.h"
#include "cli/report_error.h"
#include "sessions/job/output_targets.h"
#include "sessions/job/right_command.h"
#include "sessions/scenario/hf_config.h"
#include "sessions/scenario/setting_names.h"
#include "sessions/scenario/settings_table.h"
#include "sessions/text/line_source.h"
#include "sessions/text/number_words.h"

namespace hybridscope {
namespace {

// Settings on which the size of a state depends and that traces do not have.
constexpr std::array<std::string_view, 3> kStateSettings = {
    "tensor_parallel_size", "mamba_cache_dtype", "mamba_ssm_cache_dtype"};

struct PlanFitOptions {
  std::vector<std::string> traces;
  std::string out;
  std::string model;
  std::array<std::string, kStateSettings.size()> settings;
  std::vector<std::string> without;
  std::int64_t skip = 0;
  bool json = false;
  bool quiet = false;
};

constexpr const char* kFitExamples =
    "Examples:\n"
    "  hybridscope plan fit run.jsonl --out step_time.txt\n"
    "  hybridscope plan fit run.jsonl --model qwen3-next-80b-a3b --tensor-parallel-size 4\n"
    "  hybridscope plan fit monday.jsonl.zst tuesday.jsonl.zst --skip 20 --json\n"
    "  hybridscope plan --traffic trace.jsonl --step-time step_time.txt\n"
    "\n"
    "The traces are those of the recorder for vLLM, whose steps tell their time\n"
    "(docs/trace-format.md, Step times). More: docs/plan.md, \"Fit the step time to a recorded\n"
    "run\".\n"
    "Exit codes: 0 fine, 2 usage, 3 a trace that cannot be read, or from which no step time "
    "follows,\n"
    "4 environment.";

Result<EngineSettings> state_settings_of(const PlanFitOptions& options) {
  EngineSettings settings;
  for (std::size_t i = 0; i < kStateSettings.size(); ++i) {
    if (options.settings[i].empty()) continue;
    const Setting& setting = *find_setting("", kStateSettings[i]);
    if (Status set = set_setting_text(settings, setting, options.settings[i]); !set.ok())
      return set.error();
  }
  return settings;
}

Result<std::optional<OutputFile>> open_formula(const PlanFitOptions& options) {
  CommandFiles files{.inputs = {{"the model's file", options.model}},
                     .outputs = {document("--json", options.json), {"--out", options.out}}};
  for (const std::string& trace : options.traces) files.inputs.push_back({"a trace", trace});
  if (Status apart = check_files(files); !apart.ok()) return apart.error();
  return open_output(options.out);
}

Status read_timed_trace(const std::string& file, RecordedSteps& recorded, Progress& progress) {
  auto lines = LineSource::open(file);
  if (!lines.ok()) return lines.error();
  recorded.begin_file(file);
  for (;;) {
    const auto line = lines.value().next();
    if (!line.ok()) return line.error();
    if (!line.value()) return Ok{};
    if (Status taken = recorded.take(*line.value(), lines.value().line_number()); !taken.ok())
      return taken;
    progress.show([&] { return counted(recorded.num_steps(), "step") + " read"; });
  }
}

std::string traces_words(const PlanFitOptions& options) {
  return options.traces.size() == 1 ? options.traces.front()
                                    : counted(std::ssize(options.traces), "trace");
}

// Why there is nothing to fit; empty: there is something.
std::string lacks_times(const RecordedSteps& recorded) {
  if (recorded.num_steps() == 0) return "no step with tokens";
  if (recorded.num_skipped() + recorded.num_without_time() < recorded.num_steps()) return {};
  if (recorded.num_without_time() == 0)
    return fmt::format("all {} are skipped", counted(recorded.num_steps(), "step"));
  return fmt::format(
      "none of {} tells its time (member step_time_us, docs/trace-format.md; the recorder for vLLM "
      "writes it)",
      counted(recorded.num_steps(), "step"));
}

int report_fit(const PlanFitOptions& options, const PlanFitView& view,
               std::optional<OutputFile>& formula) {
  if (formula) {
    Status written = formula->write(plan_fit_file(view));
    if (written.ok()) written = formula->finish();
    if (!written.ok()) return report_error("plan fit", written.error());
  }
  if (options.json)
    fmt::print("{}\n",
               plan_fit_json(view).dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
  else
    fmt::print(text_stream({{"--out", options.out}}), "{}", plan_fit_text(view));
  return kExitFine;
}

int fit_command(const PlanFitOptions& options) {
  const auto settings = state_settings_of(options);
  if (!settings.ok()) return report_usage("plan fit", settings.error().message);
  if (!options.model.empty())
    if (const auto model = resolve_model(options.model); !model.ok())
      return model.error().kind == ErrorKind::not_found
                 ? report_usage("plan fit", model.error().message)
                 : report_error("plan fit", model.error());
  auto formula = open_formula(options);
  if (!formula.ok())
    return formula.error().kind == ErrorKind::invalid_input
               ? report_usage("plan fit", formula.error().message)
               : report_error("plan fit", formula.error());
  RecordedSteps recorded(
      {.model = options.model, .settings = settings.value(), .skip = options.skip});
  Progress progress(options.quiet);
  for (const std::string& trace : options.traces) {
    const Status read = read_timed_trace(trace, recorded, progress);
    progress.clear();
    if (!read.ok())
      return report_error("plan fit", name_right_command("plan fit", trace, read.error()));
  }
  const std::string traces = traces_words(options);
  if (const std::string lack = lacks_times(recorded); !lack.empty())
    return report_error("plan fit", invalid_input(traces + ": " + lack));
  std::array<bool, kNumFitTerms> wanted;
  for (std::size_t i = 0; i < kNumFitTerms; ++i)
    wanted[i] = std::ranges::find(options.without, kFitTermNames[i]) == options.without.end();
  const bool knows_states = !options.model.empty();
  bool& copied_bytes = wanted[static_cast<std::size_t>(FitTerm::copied_bytes)];
  copied_bytes = copied_bytes && knows_states;
  const TimedSteps timed = timed_steps(recorded.steps());
  const auto fit = fit_step_time(timed.steps, wanted);
  if (!fit.ok())
    return report_error("plan fit", invalid_input(traces + ": " + fit.error().message));
  return report_fit(options,
                    {.fit = fit.value(),
                     .recorded = recorded,
                     .timed = timed,
                     .traces = traces,
                     .knows_states = knows_states},
                    formula.value());
}

void add_fit_options(CLI::App& app, PlanFitOptions& options) {
  app.footer(kFitExamples);
  app.add_option("trace", options.traces,
                 "recorded traces, zstd too; their steps are fitted together")
      ->required()
      ->type_name("TRACE");
  app.add_option("-o,--out", options.out,
                 "write the formula to this file, for --step-time FILE (\"-\": standard output)")
      ->type_name("FILE|-");
  auto* model =
      app.add_option("--model", options.model,
                     "preset or config.json of the model that was recorded: how large a state is, "
                     "for the term of copied bytes (default: that term is left out)")
          ->type_name("NAME|FILE");
  for (std::size_t i = 0; i < kStateSettings.size(); ++i) {
    const Setting& setting = *find_setting("", kStateSettings[i]);
    app.add_option(option_names(setting), options.settings[i],
                   fmt::format("{} ({}; default: {})", setting.help, allowed_values(setting),
                               setting.default_text))
        ->type_name("")
        ->needs(model);
  }
  app.add_option("--skip", options.skip, "leave out the first N steps of each trace")
      ->check(is_positive_number())
      ->type_name("N");
  app.add_option("--without", options.without, "leave this term out; may be repeated")
      ->check(CLI::IsMember(std::vector<std::string>(kFitTermNames.begin(), kFitTermNames.end())))
      ->type_name("base|prefill|decode|copied_bytes")
      ->allow_extra_args(false);
  app.add_flag("--json", options.json, "one object");
  app.add_flag("-q,--quiet", options.quiet, "no progress");
}

}  // namespace

std::function<int()> add_plan_fit(CLI::App& plan) {
  const auto options = std::make_shared<PlanFitOptions>();
  add_fit_options(*plan.add_subcommand("fit",
                                       "a step time from recorded traces whose steps tell "
                                       "their time"),
                  *options);
  return [options] { return fit_command(*options); };
}

}  // namespace hybridscope
