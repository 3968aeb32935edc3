#include "sessions/job/plan_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "sessions/plan/serve_line.h"
#include "sessions/scenario/hf_config.h"
#include "sessions/scenario/start_plan.h"
#include "sessions/startup/known_models.h"
#include "sessions/text/input_file.h"
#include "sessions/text/number_words.h"
#include "sessions/text/text_page.h"

namespace hybridscope {

Result<StartupLog> read_startup_log(const std::string& path) {
  auto source = LineSource::open(path);
  if (!source.ok()) return source.error();
  std::string text;
  while (true) {
    const auto line = source.value().next();
    if (!line.ok()) return line.error();
    if (!line.value()) break;
    text += line.value()->text;
    text += '\n';
  }
  StartupLog log = parse_startup_log(text);
  const LoggedSizes& sizes = log.sizes;
  if (log.model.empty() && !sizes.tokens && !sizes.block_size && !sizes.refused_length &&
      !sizes.refused_seqs)
    return invalid_input(fmt::format(
        "{}: no line of a start of vLLM: it has neither \"non-default args\" nor \"GPU KV cache "
        "size\"",
        path == "-" ? "standard input" : path));
  return log;
}

std::string shapes_note(const std::string& name, const std::string& known) {
  return fmt::format("{} is taken to have the shapes of {}: --model names another", name, known);
}

Result<std::string> model_of_log(const StartupLog& log, std::vector<std::string>& notes) {
  if (log.model.empty())
    return invalid_input("the log names no model: give it with --model NAME or config.json");
  auto model = model_of_serve_line(log.model);
  if (model.ok()) {
    if (model.value() != log.model) notes.push_back(shapes_note(log.model, model.value()));
    return model;
  }
  for (const std::string& name : log.names)
    if (const KnownModel* known = find_model_named_in(name)) {
      notes.push_back(shapes_note(name, known->names.front()));
      return known->names.front();
    }
  return model;
}

Result<LogComparison> compare_with_plan(const StartupLog& log, const std::string& model,
                                        const std::string& draft_model,
                                        const EngineSettings& settings) {
  const auto spec = resolve_model(model, draft_model);
  if (!spec.ok()) return spec.error();
  auto start = plan_start(spec.value(), settings);
  if (!start.ok()) return start.error();
  StartupSettings startup = start.value().settings;
  if (!settings.gpu) startup.gpu = log.gpu;
  startup.enforce_eager = log.enforce_eager;
  if (log.sizes.fitted_length) startup.max_model_len = -1;
  return compare_log(log, start.value().model, startup);
}

std::string log_agreement(const LogComparison& comparison) {
  const auto agreeing = std::ranges::count(comparison.rows, Agreement::agrees, &LogRow::agreement);
  return fmt::format("{} of {} agree", agreeing,
                     counted(agreeing + comparison.differences(), "figure"));
}

std::string log_comparison_text(const LogComparison& comparison) {
  TextPage page;
  page.title(fmt::format("Lines of the log beside the plan on {}", comparison.gpu->name));
  std::vector<std::vector<std::string>> rows;
  for (const LogRow& row : comparison.rows)
    rows.push_back({row.what, row.in_log, row.ours, std::string(agreement_name(row.agreement))});
  page.table({{.title = "what"},
              {.title = "log", .numeric = true},
              {.title = "hybridscope", .numeric = true},
              {.title = ""}},
             rows);
  page.line(log_agreement(comparison) + ".");
  return page.take() + "\n";
}

nlohmann::ordered_json log_comparison_json(const LogComparison& comparison) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const LogRow& row : comparison.rows)
    rows.push_back({{"what", row.what},
                    {"log", row.in_log},
                    {"hybridscope", row.ours},
                    {"agreement", agreement_name(row.agreement)}});
  return {{"gpu", comparison.gpu->name},
          {"kv_cache_memory_bytes", comparison.kv_cache_memory_bytes},
          {"differences", comparison.differences()},
          {"rows", std::move(rows)},
          {"notes", comparison.notes}};
}

}  // namespace hybridscope
