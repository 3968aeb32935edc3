#include "cli/commands.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "cli/common_options.h"
#include "cli/process.h"
#include "core/model/model_presets.h"
#include "sessions/explain/explain_model.h"
#include "sessions/explain/explain_start_up.h"
#include "sessions/job/right_command.h"
#include "sessions/scenario/engine_setup.h"
#include "sessions/startup/known_models.h"

namespace hybridscope {

void add_model_options(CLI::App& command, ModelOptions& options) {
  command.footer(
      "Examples:\n"
      "  hybridscope model --list\n"
      "  hybridscope model Qwen/Qwen3.8-27B\n"
      "  hybridscope model qwen3-next-80b-a3b --num-speculative-tokens 2\n"
      "  hybridscope model path/to/config.json --tp 2 --kv-memory 40GiB --json\n"
      "\n"
      "Exit codes: 0 fine, 2 usage, an unknown model, settings that the model does not allow,\n"
      "3 a config.json that cannot be read, 4 output that cannot be written.");
  command.add_option("model", options.model, "preset, Hugging Face name or config.json")
      ->type_name("NAME|FILE");
  command.add_flag("--list", options.list,
                   "print the models that are known and where their numbers come from");
  command.add_flag("--json", options.json, "the same facts as one JSON object");
  add_settings_options(command, options.settings);
}

int model_command(const ModelOptions& options) {
  if (options.list) {
    for (const std::string& name : model_preset_names())
      fmt::print("{:<24}{}\n", name, model_preset(name).value().source);
    for (const KnownModel& model : known_models())
      fmt::print("{}\n{:24}{} ({})\n", fmt::join(model.names, ", "), "", model.source, model.date);
    return kExitFine;
  }
  if (options.model.empty()) {
    return report_usage("model", "name a preset (--list) or a config.json");
  }
  const auto settings = options.settings.apply({});
  if (!settings.ok()) {
    return report_usage("model", settings.error().message);
  }
  if (const Status fit = check_model_settings(options.model, settings.value()); !fit.ok())
    return report_usage("model", fit.error().message);
  const auto setup = make_engine_setup(options.model, settings.value());
  if (!setup.ok()) {
    // An unknown name is a usage error; a file that cannot be read is not.
    if (setup.error().kind == ErrorKind::not_found)
      return report_usage("model", setup.error().message);
    return report_error("model", name_right_command("model", options.model, setup.error()));
  }
  for (const std::string& note : start_up_notes(setup.value())) report_note(note);
  if (options.json) {
    nlohmann::ordered_json json = explain_model_json(setup.value().layout);
    json["start_up"] = start_up_to_json(setup.value());
    print_json(json);
  } else {
    fmt::print("{}{}", explain_model(setup.value().layout), explain_start_up(setup.value()));
  }
  return kExitFine;
}

}  // namespace hybridscope
