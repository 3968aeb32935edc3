#include "cli/plan_command.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "cli/common_options.h"
#include "cli/process.h"
#include "sessions/explain/explain_step.h"
#include "sessions/job/right_command.h"
#include "sessions/job/step_files.h"
#include "sessions/plan/recorded_steps.h"
#include "sessions/plan/step_time_fit.h"
#include "sessions/scenario/hf_config.h"
#include "sessions/scenario/settings_json.h"
#include "sessions/scenario/settings_table.h"
#include "sessions/text/input_file.h"
#include "sessions/text/number_words.h"
#include "sessions/text/shown_text.h"
#include "sessions/text/text_page.h"

namespace hybridscope {
namespace {

// What is told of a fit. All references must outlive the view.
struct PlanFitView {
  const StepTimeFit& fit;
  const RecordedSteps& recorded;
  const TimedSteps& timed;
  std::string traces;        // "run.jsonl", "3 traces"
  bool knows_states = true;  // were copied bytes counted?
};

// Above this share of slow steps the fit is doubtful.
constexpr double kManyLeftOut = 0.05;

double coefficient(const StepTime& time, std::size_t term) {
  return std::array{time.base_us, time.prefill_us, time.decode_us, time.copied_byte_us}[term];
}

// Why the formula lacks the term.
std::string_view why_zero(const PlanFitView& view, std::size_t term) {
  switch (view.fit.terms[term].fit) {
    case TermFit::at_zero:
      return "0: with a coefficient below 0 the formula would fit better, or it costs nothing";
    case TermFit::never_seen: return "not known: 0 in each of these steps";
    case TermFit::not_wanted:
      return static_cast<FitTerm>(term) == FitTerm::copied_bytes && !view.knows_states
                 ? "left out: with --model it is known how large a state is"
                 : "left out";
    case TermFit::fitted: break;
  }
  return "";
}

// With two digits: "610", "0.35", "1.5e-05".
std::string two_digits(double value) {
  return fmt::format("{}", std::stod(fmt::format("{:.1e}", value)));
}

// Tokens or bytes in the steps with a time.
struct SeenWork {
  std::int64_t least = 0;
  std::int64_t median = 0;
  std::int64_t most = 0;
};

SeenWork seen_work(const RecordedSteps& recorded, FitTerm term) {
  std::vector<std::int64_t> amounts;
  for (const RecordedStep& step : recorded.steps())
    if (step.time_us)
      amounts.push_back(term == FitTerm::base      ? 1
                        : term == FitTerm::prefill ? step.work.prefill
                        : term == FitTerm::decode  ? step.work.decode
                                                   : step.work.copied_bytes);
  std::ranges::sort(amounts);
  return {.least = amounts.front(),
          .median = amounts[(amounts.size() - 1) / 2],
          .most = amounts.back()};
}

// The one that is slowest for its work; `fit.left_out` is not empty.
std::size_t slowest(const PlanFitView& view) {
  return *std::ranges::max_element(view.fit.left_out, {}, [&view](std::size_t index) {
    const TimedStep& step = view.timed.steps[index];
    return static_cast<double>(step.time_us) / std::max(time_by(view.fit.time, step), 1.0);
  });
}

const RecordedStep& first_of(const PlanFitView& view, std::size_t index) {
  return view.recorded.steps()[view.timed.first[index]];
}

std::string left_out_words(const PlanFitView& view) {
  const std::size_t worst = slowest(view);
  const TimedStep& steps = view.timed.steps[worst];
  const RecordedStep& first = first_of(view, worst);
  return fmt::format(
      "left out: {} of {} that took more than {} times as long as the others say; the worst is "
      "step {} ({}:{}){} with {} rather than {}",
      grouped_number(std::ssize(view.fit.left_out)),
      counted(std::ssize(view.timed.steps), view.recorded.has_async() ? "group" : "step"),
      kSlowStepFactor, first.step, first.file, first.line,
      steps.num_steps > 1 ? fmt::format(" and the {} after it", steps.num_steps - 1) : "",
      time_words(steps.time_us), time_words(std::llround(time_by(view.fit.time, steps))));
}

// What was fitted, how well, and what it is good for: a sentence each.
std::vector<std::string> fit_sentences(const PlanFitView& view) {
  const StepTimeFit& fit = view.fit;
  std::vector<std::string> lines;
  lines.push_back(fmt::format(
      "the formula is within {} % of half of the steps, and within {} % of nine of ten{}",
      two_digits(fit.median_error * 100), two_digits(fit.p90_error * 100),
      fit.r_squared ? fmt::format("; R2 {:.4f}", *fit.r_squared) : ""));
  if (!fit.left_out.empty()) lines.push_back(left_out_words(view));
  if (static_cast<double>(fit.left_out.size()) >
      kManyLeftOut * static_cast<double>(view.timed.steps.size()))
    lines.emplace_back(
        "that is many: a sum of this form may not describe these steps (--skip N leaves out the "
        "first N)");
  if (view.recorded.num_without_time() > 0)
    lines.push_back(
        fmt::format("{} without a time", counted(view.recorded.num_without_time(), "step")));
  if (view.recorded.num_skipped() > 0)
    lines.push_back(fmt::format("{} skipped", counted(view.recorded.num_skipped(), "step")));
  if (view.recorded.has_async())
    lines.emplace_back(
        "asynchronous scheduling: a step with prompt tokens or copies is in a group with the one "
        "before it, in whose time it was launched (docs/plan.md)");
  if (view.recorded.has_simulated())
    lines.emplace_back("a trace is of a run of hybridscope: its times are simulated, not measured");
  return lines;
}

std::vector<std::string> cells_of(const PlanFitView& view, std::size_t number) {
  const FittedTerm& term = view.fit.terms[number];
  const auto kind = static_cast<FitTerm>(number);
  const bool fitted = term.fit == TermFit::fitted;
  const bool known = fitted || term.fit == TermFit::at_zero;
  const bool counted_work =
      kind != FitTerm::base && (kind != FitTerm::copied_bytes || view.knows_states);
  const SeenWork seen = seen_work(view.recorded, kind);
  const auto work = [&](std::int64_t amount) {
    return counted_work ? grouped_number(amount) : std::string();
  };
  return {std::string(kFitTermNames[number]),
          known ? fmt::format("{}", coefficient(view.fit.time, number)) : "",
          fitted ? two_digits(term.standard_error_us) : "",
          work(seen.least),
          work(seen.median),
          work(seen.most)};
}

// For people.
std::string plan_fit_text(const PlanFitView& view) {
  const StepTimeFit& fit = view.fit;
  std::string text = fmt::format("{}, {} fitted\n\n", view.traces, counted(fit.num_steps, "step"));
  TextTable table({"<term", "us", "standard error", "least in a step", "median", "most"});
  for (std::size_t i = 0; i < kNumFitTerms; ++i) table.add(cells_of(view, i));
  text += table.format() + "\n";
  for (std::size_t i = 0; i < kNumFitTerms; ++i)
    if (fit.terms[i].fit != TermFit::fitted)
      text += fmt::format("{} is {}\n", kFitTermNames[i], why_zero(view, i));
  for (const std::string& line : fit_sentences(view)) text += line + "\n";
  text +=
      "An assumption: it describes these steps, and says little of steps with more tokens or bytes "
      "than these had.\n\n";
  return text + fmt::format("--step-time {}\n", shell_word(step_time_text(fit.time)));
}

// {step_time, terms, num_steps, ...}.
nlohmann::ordered_json plan_fit_json(const PlanFitView& view) {
  constexpr std::array<std::string_view, 4> kFits = {"fitted", "at_zero", "never_seen",
                                                     "not_wanted"};
  const StepTimeFit& fit = view.fit;
  nlohmann::ordered_json terms;
  for (std::size_t i = 0; i < kNumFitTerms; ++i) {
    const FittedTerm& term = fit.terms[i];
    const SeenWork seen = seen_work(view.recorded, static_cast<FitTerm>(i));
    terms[std::string(kFitTermNames[i])] = {{"us", coefficient(fit.time, i)},
                                            {"fit", kFits[static_cast<std::size_t>(term.fit)]},
                                            {"standard_error_us", term.standard_error_us},
                                            {"least", seen.least},
                                            {"median", seen.median},
                                            {"most", seen.most}};
  }
  nlohmann::ordered_json left_out = nlohmann::ordered_json::array();
  for (const std::size_t index : fit.left_out) {
    const TimedStep& steps = view.timed.steps[index];
    const RecordedStep& first = first_of(view, index);
    left_out.push_back({{"file", first.file},
                        {"line", first.line},
                        {"step", first.step},
                        {"num_steps", steps.num_steps},
                        {"step_time_us", steps.time_us}});
  }
  return {{"step_time", step_time_text(fit.time)},
          {"terms", terms},
          {"num_steps", fit.num_steps},
          {"num_without_time", view.recorded.num_without_time()},
          {"num_skipped", view.recorded.num_skipped()},
          {"asynchronous", view.recorded.has_async()},
          {"simulated", view.recorded.has_simulated()},
          {"left_out", left_out},
          {"median_error", fit.median_error},
          {"p90_error", fit.p90_error},
          {"r_squared", fit.r_squared ? nlohmann::ordered_json(*fit.r_squared) : nullptr}};
}

// A file that --step-time takes: what was fitted as lines with #, then the sum.
std::string plan_fit_file(const PlanFitView& view) {
  std::string text = fmt::format("# Step time fitted to {} of {}, in microseconds.\n",
                                 counted(view.fit.num_steps, "step"), printable(view.traces));
  for (std::size_t i = 0; i < kNumFitTerms; ++i)
    if (view.fit.terms[i].fit == TermFit::fitted && static_cast<FitTerm>(i) != FitTerm::base) {
      const SeenWork seen = seen_work(view.recorded, static_cast<FitTerm>(i));
      text += fmt::format("# {} in a step: {} to {}\n", kFitTermNames[i],
                          grouped_number(seen.least), grouped_number(seen.most));
    }
  for (const std::string& line : fit_sentences(view))
    text += fmt::format("# {}\n", printable(line, line.size() * 4));
  return text + step_time_text(view.fit.time) + "\n";
}

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
  if (formula)
    if (const Status written = formula->finish(plan_fit_file(view)); !written.ok())
      return report_error("plan fit", written.error());
  if (options.json)
    print_json(plan_fit_json(view));
  else
    fmt::print(text_stream({{"--out", options.out}}), "{}", plan_fit_text(view));
  return kExitFine;
}

int fit_command(const PlanFitOptions& options) {
  const auto settings = state_settings_of(options);
  if (!settings.ok()) return report_usage("plan fit", settings.error().message);
  if (!options.model.empty())
    if (const auto model = resolve_model(options.model); !model.ok())
      return report_error("plan fit", model.error(), ErrorKind::not_found);
  auto formula = open_formula(options);
  if (!formula.ok()) return report_error("plan fit", formula.error(), ErrorKind::invalid_input);
  RecordedSteps recorded(
      {.model = options.model, .settings = settings.value(), .skip = options.skip});
  Progress progress(options.quiet);
  for (const std::string& trace : options.traces) {
    const Status read = read_timed_trace(trace, recorded, progress);
    progress.clear();
    if (!read.ok())
      return report_error("plan fit", name_right_command("plan fit", trace, read.error()));
  }
  const std::string traces = options.traces.size() == 1
                                 ? options.traces.front()
                                 : counted(std::ssize(options.traces), "trace");
  if (const std::string lack = lacks_times(recorded); !lack.empty())
    return report_error("plan fit", invalid_input(traces + ": " + lack));
  const bool knows_states = !options.model.empty();
  std::array<bool, kNumFitTerms> wanted;
  for (std::size_t i = 0; i < kNumFitTerms; ++i)
    wanted[i] = (knows_states || static_cast<FitTerm>(i) != FitTerm::copied_bytes) &&
                std::ranges::find(options.without, kFitTermNames[i]) == options.without.end();
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

}  // namespace

std::function<int()> add_plan_fit(CLI::App& plan) {
  const auto made = std::make_shared<PlanFitOptions>();
  PlanFitOptions& options = *made;
  CLI::App& app =
      *plan.add_subcommand("fit", "a step time from recorded traces whose steps tell their time");
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
  return [made] { return fit_command(*made); };
}

}  // namespace hybridscope
