#include "cli/plan_command.h"

#include <fmt/core.h>
#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "cli/process.h"
#include "sessions/explain/explain_start_up.h"
#include "sessions/job/plan_job.h"
#include "sessions/job/plan_log.h"
#include "sessions/job/right_command.h"
#include "sessions/job/step_files.h"
#include "sessions/plan/plan_file.h"
#include "sessions/plan/plan_story.h"
#include "sessions/plan/size_answer.h"
#include "sessions/plan/start_answer.h"
#include "sessions/scenario/hf_config.h"
#include "sessions/startup/known_models.h"
#include "sessions/text/number_words.h"
#include "sessions/traffic/load_traffic.h"

namespace hybridscope {

std::string plan_progress_words(const PlanPass& pass, const PlanProgress& at, double seconds) {
  const auto later = static_cast<std::int64_t>(pass.later);
  std::string words =
      fmt::format("{} of {} runs{}", grouped_number(at.done), grouped_number(at.all), pass.suffix);
  if (at.earlier > 0) words += fmt::format(" ({} were there)", grouped_number(at.earlier));
  if (later > 0) words += fmt::format(", then as many with {}", counted(later, "other step time"));
  const std::int64_t left = at.all - at.done + later * (at.all + at.earlier);
  if (at.done > 0)
    words += fmt::format(", about {:.0f} s left",
                         seconds * static_cast<double>(left) / static_cast<double>(at.done));
  return words;
}

namespace {

// How far a pass is, by the time that it has taken.
class PlanClock {
 public:
  explicit PlanClock(const PlanPass& pass) : pass_(pass) {}
  std::string text(const PlanProgress& at) const {
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start_;
    return plan_progress_words(pass_, at, passed.count());
  }

 private:
  PlanPass pass_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

std::optional<RequestShape> shape_of(const PlanCommandOptions& options) {
  if (options.prompt == 0 && options.output == 0 && options.shared == 0) return std::nullopt;
  return RequestShape{.prompt = options.prompt,
                      .output = options.output == 0 ? 1 : options.output,
                      .shared = options.shared};
}

// What is wrong with the options by themselves; empty: nothing.
std::string misuse(const PlanCommandOptions& options) {
  if (options.model.empty() && options.from_serve.empty() && options.from_log.empty())
    return "name a model (--model PRESET or config.json), paste a line (--from-serve), or give a "
           "log (--from-log)";
  if (options.prompt == 0 && (options.output > 0 || options.shared > 0))
    return "--output and --shared need --prompt";
  if (options.shared > options.prompt)
    return fmt::format("--shared is {}, more than the {} tokens of --prompt", options.shared,
                       options.prompt);
  return {};
}

// The settings to advise: with which the release starts.
EngineSettings advised(const PlanQuestion& question, const std::optional<StartAnswer>& start,
                       const SizeAnswer& sizes) {
  if (start && !start->advice.empty())
    return without_logged(question.log, question.line, start->advice.front().settings);
  EngineSettings settings = without_logged(question.log, question.line, question.settings);
  if (sizes.refused_max_num_seqs)
    settings.max_num_seqs = static_cast<std::int32_t>(sizes.usable_blocks + 1);
  return settings;
}

// The sizes of what runs; empty: the model is planned and not run, or the release refuses it.
struct Sizes {
  std::optional<SizeAnswer> answer;
  std::vector<SizeChange> changes;
  std::string why_not;
};

void print_answer(const PlanCommandOptions& options, const PlanQuestion& question,
                  const std::optional<StartAnswer>& start, const Sizes& sizes) {
  if (options.json) {
    nlohmann::ordered_json json;
    if (question.log) json["log"] = log_comparison_json(*question.log);
    if (start) json["start"] = start_to_json(*start);
    if (sizes.answer) json.update(sizes_to_json(*sizes.answer, sizes.changes));
    if (!sizes.why_not.empty()) json["not_run"] = sizes.why_not;
    if (question.line && sizes.answer)
      add_serve_line(*question.line, advised(question, start, *sizes.answer),
                     sizes.answer->setup.layout, json);
    return print_json(json);
  }
  if (question.log) fmt::print("{}", log_comparison_text(*question.log));
  if (start) fmt::print("{}", explain_start(*start));
  if (!sizes.why_not.empty()) fmt::print("\nRequests\n  Not known: {}.\n", sizes.why_not);
  if (!sizes.answer) return;
  fmt::print("{}", explain_sizes(*sizes.answer, sizes.changes));
  if (question.line)
    fmt::print("{}", serve_line_text(*question.line, advised(question, start, *sizes.answer),
                                     sizes.answer->setup.layout));
}

Result<Sizes> find_sizes(const PlanCommandOptions& options, const ModelSpec& model,
                         const EngineSettings& settings, bool starts) {
  auto answer = answer_sizes(model, settings, shape_of(options));
  if (!answer.ok()) {
    const bool is_planned = answer.error().kind == ErrorKind::not_available;
    if (starts && !is_planned) return answer.error();
    return Sizes{.answer = {}, .changes = {}, .why_not = is_planned ? answer.error().message : ""};
  }
  Sizes sizes{.answer = std::move(answer).value(), .changes = {}, .why_not = {}};
  sizes.changes = useful_changes(model, settings, *sizes.answer);
  return sizes;
}

// Without traffic: does it start, and what the model and its settings hold.
int plan_sizes(const PlanCommandOptions& options) {
  if (const std::string wrong = misuse(options); !wrong.empty()) return report_usage("plan", wrong);
  auto question = read_plan_question(options);
  if (!question.ok()) return report_usage("plan", question.error().message);
  PlanQuestion& asked = question.value();
  // A known name gives a line to paste.
  if (const KnownModel* known = find_known_model(asked.model); !asked.line && known != nullptr)
    asked.line = ServeLine::parse("vllm serve " + known->names.front()).value();
  const auto model = resolve_model(asked.model, asked.draft_model);
  if (!model.ok()) {
    if (model.error().kind == ErrorKind::not_found)
      return report_usage("plan", model.error().message);
    return report_error("plan", name_right_command("plan", asked.model, model.error()));
  }
  std::optional<StartAnswer> start;
  if (!model.value().config.empty()) {
    if (const auto conflict = find_setting_conflict(asked.settings))
      return report_usage("plan", conflict->message);
    const bool fits =
        asked.line && asked.line->vllm_chooses_length() && !asked.settings.max_model_len;
    auto answer = answer_start(model.value(), asked.settings,
                               fits ? WantedLength::longest_that_fits : WantedLength::of_settings);
    if (!answer.ok()) return report_error("plan", answer.error());
    start = std::move(answer).value();
    asked.settings = start->settings;
  }
  for (const std::string& note : asked.notes) report_note(note);
  const bool starts = !start || start->starts();
  const bool is_planned = !start || start->start;
  const auto sizes = is_planned ? find_sizes(options, model.value(), asked.settings, starts)
                                : Result<Sizes>(Sizes{});
  if (!sizes.ok()) return report_usage("plan", sizes.error().message);
  if (sizes.value().answer)
    for (const std::string& note : start_up_notes(sizes.value().answer->setup)) report_note(note);
  for (const std::string& note : notes_on_line(asked.line)) report_note(note);
  print_answer(options, asked, start, sizes.value());
  return starts ? kExitFine : kExitFindings;
}

// Where the page goes, made before the runs so that a wrong place is reported at once; empty: none
// is asked for.
using PageFile = std::optional<OutputFile>;

Result<PageFile> open_page(const PlanCommandOptions& options) {
  if (Status apart = check_files(files_of(options)); !apart.ok()) return apart.error();
  return open_output(options.html);
}

// `job`: that was run, for the line that it started from; null: none.
int report(const PlanCommandOptions& options, const PlanStory& story, PageFile& page,
           const PlanJob* job = nullptr) {
  const PlanView view = story.view();
  if (page)
    if (const Status written = page->finish(plan_as_html(view)); !written.ok())
      return report_error("plan", written.error());
  std::optional<WantedSettings> wanted;
  if (job != nullptr && job->line && view.choice.has_recommendation())
    wanted = wanted_settings(*job, view.results[view.choice.recommended()].name);
  if (options.json) {
    nlohmann::ordered_json json = plan_to_json(view);
    if (wanted) add_serve_line(*job->line, wanted->settings, wanted->layout, json);
    print_json(json);
    return kExitFine;
  }
  std::FILE* const out = text_stream({{"--html", options.html}});
  fmt::print(out, "{}", format_plan(view, options.top > 0 ? options.top : kDefaultRows));
  if (wanted) fmt::print(out, "{}", serve_line_text(*job->line, wanted->settings, wanted->layout));
  return kExitFine;
}

int list(const PlanJob& job, bool as_json) {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (std::int64_t index = 0; index < job.sweep.size(); ++index) {
    const PlanCase of = job.sweep.at(index);
    if (job.options.selects && !job.options.selects(of.name)) continue;
    if (as_json)
      all.push_back(of.name);
    else
      fmt::print("{}\n", of.name);
  }
  if (as_json) print_json({{"combinations", std::move(all)}});
  return kExitFine;
}

int merge(const PlanCommandOptions& options, PageFile& page) {
  auto merged = merge_plans(options.merge);
  if (!merged.ok()) return report_error("plan", merged.error());
  const PlanContents& contents = merged.value();
  const auto sweep = sweep_of(contents.header);
  if (!sweep.ok()) return report_error("plan", sweep.error());
  const auto goals = goals_of(options.prefer, !contents.header.step_time.empty());
  if (!goals.ok()) return report_usage("plan", goals.error().message);
  if (!options.out.empty()) {
    auto file = PlanFile::open(options.out, contents.header);
    if (!file.ok()) return report_error("plan", file.error());
    for (const auto& [name, result] : contents.results)
      if (!file.value().contents().results.contains(name))
        if (Status added = file.value().add(result); !added.ok())
          return report_error("plan", added.error());
  }
  return report(options, PlanStory(contents, sweep.value(), goals.value()), page);
}

Result<bool> run_and_keep(PlanJob& job, PlanContents& contents) {
  auto outcome = run_plan(job.sweep, *job.traffic, contents.results, job.options);
  if (!outcome.ok()) return outcome.error();
  for (PlanResult& result : outcome.value().results) {
    std::string name = result.name;
    contents.results[std::move(name)] = std::move(result);
  }
  return !outcome.value().interrupted;
}

// Runs what is missing, also under other step times. False: interrupted.
Result<bool> run_missing(PlanJob& job, PlanContents& contents, PlanClock& clock) {
  const std::optional<StepTime> step_time = job.options.run.step_time;
  std::size_t passes_left = step_time ? kOtherStepTimes.size() : 0;
  clock = PlanClock({.suffix = {}, .later = passes_left});
  auto finished = run_and_keep(job, contents);
  for (const OtherStepTime& other : kOtherStepTimes) {
    if (!step_time || !finished.ok() || !finished.value()) break;
    job.options.run.step_time = step_time->times(other.factor);
    job.options.run.name_suffix = other.suffix;
    clock = PlanClock({.suffix = other.suffix, .later = --passes_left});
    finished = run_and_keep(job, contents);
  }
  return finished;
}

int run(const PlanCommandOptions& given, PageFile& page) {
  PlanCommandOptions options = given;
  options.go_on = [] { return !was_interrupted(); };
  auto made = make_plan_job(options);
  if (!made.ok()) return report_error("plan", made.error(), ErrorKind::invalid_input);
  PlanJob& job = made.value();
  for (const std::string& note : job.notes) report_note(note);
  for (const std::string& note : notes_on_line(job.line)) report_note(note);
  if (job.line && job.line->vllm_chooses_length())
    report_note("with traffic --max-model-len auto is the model's length");
  if (options.list) return list(job, options.json);
  std::optional<PlanFile> file;
  if (!options.out.empty()) {
    auto opened = PlanFile::open(options.out, job.header);
    if (!opened.ok()) return report_error("plan", opened.error());
    file = std::move(opened).value();
    job.options.take = [&file](const PlanResult& result) { return file->add(result); };
  }
  PlanContents contents{.header = job.header, .results = {}};
  if (file) contents.results = file->contents().results;
  ask_for_interrupts();
  Progress progress(options.quiet);
  PlanClock clock({});
  job.options.progress = [&](const PlanProgress& at) {
    progress.show([&] { return clock.text(at); });
  };
  const auto finished = run_missing(job, contents, clock);
  progress.clear();
  if (!finished.ok()) return report_error("plan", finished.error());
  if (!finished.value())
    report_message("plan", options.out.empty()
                               ? "interrupted; with --out FILE the same command would go on"
                               : "interrupted; the same command goes on");
  const int code = report(options,
                          PlanStory(contents, job.sweep, job.options.goals,
                                    std::ssize(job.traffic->traffic().requests)),
                          page, &job);
  return finished.value() ? code : kExitInterrupted;
}

int plan_command(const PlanCommandOptions& options) {
  if (options.merge.empty() && options.traffic.empty()) {
    const std::string_view lonely = option_for_traffic(options);
    return lonely.empty() ? plan_sizes(options)
                          : report_usage("plan", fmt::format("{} needs --traffic", lonely));
  }
  if (!options.merge.empty())
    if (const std::string_view idle = option_not_for_merge(options); !idle.empty())
      return report_usage("plan", fmt::format("{} does not go with --merge", idle));
  auto page = open_page(options);
  if (!page.ok()) return report_error("plan", page.error(), ErrorKind::invalid_input);
  return options.merge.empty() ? run(options, page.value()) : merge(options, page.value());
}

// An option of plan itself; empty: none was given.
std::string option_before_fit(const CLI::App& plan) {
  for (const CLI::Option* option : plan.get_options())
    if (option->count() > 0) return option->get_name();
  return {};
}

}  // namespace

std::function<int()> add_plan_command(CLI::App& plan) {
  const auto options = std::make_shared<PlanCommandOptions>();
  add_plan_options(plan, *options);
  plan.require_subcommand(0, 1);
  const std::function<int()> fit = add_plan_fit(plan);
  return [&plan, options, fit] {
    if (!plan.got_subcommand("fit")) return plan_command(*options);
    if (const std::string before = option_before_fit(plan); !before.empty())
      return report_usage("plan fit", before + " stands before fit; options of fit come after it");
    return fit();
  };
}

}  // namespace hybridscope
