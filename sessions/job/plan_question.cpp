#include "sessions/job/plan_question.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "sessions/job/plan_log.h"
#include "sessions/scenario/engine_setup.h"
#include "sessions/scenario/settings_json.h"
#include "sessions/text/json_reader.h"
#include "sessions/text/shown_text.h"

namespace hybridscope {

namespace {

void take_release(const std::string& version, PlanQuestion& question) {
  const Release release = nearest_release(version);
  question.settings.engine = EngineProfile::vllm(release);
  if (version.empty())
    question.notes.push_back(
        fmt::format("the log tells no release: planned as {}", release_name(release)));
  else if (parse_release(version.substr(0, version.find('+'))) != release)
    question.notes.push_back(
        fmt::format("release {} is not modelled: planned as {}", version, release_name(release)));
}

// Release, GPU and memory of the log, where no option sets them, and what agrees.
Status take_log(const StartupLog& log, const SettingsOptions& options, PlanQuestion& question) {
  const auto given = options.apply({});
  if (!given.ok()) return given.error();
  EngineSettings& settings = question.settings;
  std::ranges::copy(log.notes, std::back_inserter(question.notes));
  if (question.model.empty()) {
    auto model = model_of_log(log, question.notes);
    if (!model.ok()) return model.error();
    question.model = model.value();
  }
  take_release(log.version, question);
  if (given.value().engine) settings.engine = given.value().engine;
  settings.gpu = given.value().gpu;
  settings.entry_point = log.entry_point;
  // Without FlashInfer's package a GPU that would use it has other blocks.
  if (!settings.gdn_prefill_backend && release_of(settings) >= since::kGdnCheckpoints)
    settings.gdn_prefill_backend = log.gdn_prefill_backend;
  auto compared = compare_with_plan(log, question.model, question.draft_model, settings);
  if (!compared.ok()) {
    // What the release refuses is said by the plan.
    if (compared.error().kind == ErrorKind::not_available) return Ok{};
    return compared.error();
  }
  question.log = std::move(compared).value();
  std::ranges::copy(question.log->notes, std::back_inserter(question.notes));
  settings.gpu = GpuChoice(question.log->gpu - kGpus.data());
  if (question.log->kv_cache_memory_bytes > 0 && !given.value().gpu_memory_bytes)
    settings.kv_cache_memory_bytes = question.log->kv_cache_memory_bytes;
  return Ok{};
}

// The command itself, or that of "@FILE" and "-".
Result<std::string> pasted_text(const std::string& given) {
  if (given == "-") return read_text_file("/dev/stdin");
  return given.starts_with('@') ? read_text_file(given.substr(1)) : Result<std::string>(given);
}

// Refuses a draft model whose layers no setting tells. `settings`: with the options.
Status check_draft(const ServeLine& line, const EngineSettings& settings) {
  if (settings.speculative_method) return Ok{};
  if (!line.draft_method().empty())
    return invalid_input(
        fmt::format("--speculative-config: method {} is not modelled: {}", line.draft_method(),
                    why_value_not_modelled("speculative_config/method", line.draft_method())));
  if (!line.draft_model().empty())
    return invalid_input(fmt::format(
        "--speculative-config: without a method, vLLM finds it in the files of {}: give the method",
        quoted_text(line.draft_model())));
  return Ok{};
}

// The draft model of a line whose method no setting has (eagle3, DFlash): its layers are planned
// from its config.json, and it drafts as method mtp does.
void take_draft(const ServeLine& line, PlanQuestion& question) {
  if (question.draft_model.empty()) question.draft_model = line.draft_model();
  if (!question.settings.speculative_method && !line.draft_method().empty() &&
      !question.draft_model.empty())
    question.settings.speculative_method = SpeculativeMethod::mtp;
}

}  // namespace

Result<PlanQuestion> read_plan_question(const PlanJobOptions& options) {
  PlanQuestion question{.line = std::nullopt,
                        .model = options.model,
                        .draft_model = options.draft_model,
                        .settings = {}};
  auto given = pasted_text(options.from_serve);
  if (!given.ok()) return given.error();
  std::string pasted = std::move(given).value();
  std::optional<StartupLog> log;
  if (!options.from_log.empty()) {
    auto read = read_startup_log(options.from_log);
    if (!read.ok()) return read.error();
    log = std::move(read).value();
    pasted = log->serve_line;
  }
  if (!pasted.empty()) {
    auto line = ServeLine::parse(pasted);
    if (!line.ok()) return line.error();
    question.settings = line.value().settings();
    if (question.model.empty() && !log) {
      const auto model = model_of_serve_line(line.value().model());
      if (!model.ok()) return model.error();
      question.model = model.value();
      if (question.model != line.value().model())
        question.notes.push_back(shapes_note(line.value().model(), question.model));
    }
    question.line = std::move(line).value();
    if (options.traffic.empty()) take_draft(*question.line, question);
  }
  if (log)
    if (Status taken = take_log(*log, options.settings, question); !taken.ok())
      return taken.error();
  question.pasted = question.settings;
  const auto settings = options.settings.apply(question.settings);
  if (!settings.ok()) return settings.error();
  question.settings = settings.value();
  if (question.line)
    if (Status draft = check_draft(*question.line, question.settings); !draft.ok())
      return draft.error();
  if (question.line)
    question.settings = with_caching_of(*question.line, options.settings, question.settings);
  return question;
}

EngineSettings with_caching_of(const ServeLine& line, const SettingsOptions& options,
                               EngineSettings settings) {
  const auto of_options = options.apply({});
  const bool asked = of_options.ok() && of_options.value().mamba_cache_mode;
  const bool none_by_line = line.settings().mamba_cache_mode == MambaCacheMode::none &&
                            settings.mamba_cache_mode == MambaCacheMode::none && !asked;
  if (none_by_line && !settings.enable_prefix_caching &&
      default_prefix_caching(release_of(settings).value_or(kNewestRelease)))
    settings.enable_prefix_caching = true;
  return settings;
}

namespace {

// What vLLM needs to do what was run: in mode none prefix caching is off, and where caching made
// another mode of none, that one is named; it refuses 0 drafts, and drafts without a method.
EngineSettings as_vllm_takes_it(EngineSettings settings, const ModelLayout& layout) {
  if (layout.mode_reason == ModeReason::none_with_caching)
    settings.mamba_cache_mode = layout.mamba_cache_mode;
  if (settings.mamba_cache_mode == MambaCacheMode::none) settings.enable_prefix_caching = false;
  if (settings.num_speculative_tokens.value_or(0) == 0) {
    settings.num_speculative_tokens.reset();
    settings.speculative_method.reset();
  } else if (!settings.speculative_method) {
    settings.speculative_method = SpeculativeMethod::mtp;
  }
  return settings;
}

}  // namespace

EngineSettings without_logged(const std::optional<LogComparison>& log,
                              const std::optional<ServeLine>& line, EngineSettings settings) {
  if (!log) return settings;
  const EngineSettings asked = line ? line->settings() : EngineSettings();
  if (settings.kv_cache_memory_bytes == log->kv_cache_memory_bytes)
    settings.kv_cache_memory_bytes = asked.kv_cache_memory_bytes;
  settings.engine = asked.engine;
  settings.gpu = asked.gpu;
  settings.entry_point = asked.entry_point;
  return settings;
}

std::vector<std::string> notes_on_line(const std::optional<ServeLine>& line) {
  std::vector<std::string> notes;
  if (!line) return notes;
  if (!line->not_read().empty())
    notes.push_back(
        fmt::format("not modelled, and left as it is: {}", fmt::join(line->not_read(), ", ")));
  notes.insert(notes.end(), line->notes().begin(), line->notes().end());
  return notes;
}

std::string serve_line_text(const ServeLine& line, const EngineSettings& wanted,
                            const ModelLayout& layout) {
  const ServeLine::Written written = line.with(as_vllm_takes_it(wanted, layout));
  std::string text = "\nLine of vllm serve\n";
  if (written.changes.empty()) text += "  Nothing to change.\n";
  for (const std::string& change : written.changes)
    text += fmt::format("  {}\n", escape_controls(change));
  for (const std::string& other : written.left_out)
    text += fmt::format("  not written into the line: {}\n", escape_controls(other));
  if (written.changes.empty()) return text;
  text += "\n";
  for (std::string_view rest = written.text; !rest.empty();) {
    const std::string_view first = rest.substr(0, rest.find('\n'));
    text += fmt::format("{}\n", escape_controls(first));
    rest.remove_prefix(std::min(first.size() + 1, rest.size()));
  }
  return text;
}

void add_serve_line(const ServeLine& line, const EngineSettings& wanted, const ModelLayout& layout,
                    nlohmann::ordered_json& json) {
  const ServeLine::Written written = line.with(as_vllm_takes_it(wanted, layout));
  json["serve"] = {{"line", written.text},
                   {"changes", written.changes},
                   {"not_flags", written.left_out},
                   {"not_read", line.not_read()}};
}

}  // namespace hybridscope
