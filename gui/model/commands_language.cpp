// Commands about the language model that runs on the decisions of a run.
#include <fmt/core.h>

#include <limits>
#include <memory>
#include <utility>

#include "core/numeric/hybrid_model.h"
#include "gui/model/command_arguments.h"
#include "gui/model/command_table.h"
#include "gui/model/live_speech.h"
#include "gui/model/workbench.h"
#include "sessions/weights/load_model.h"

namespace hybridscope {
namespace {

Status load_weights(Workbench& workbench, const std::string& argument) {
  auto loaded = load_model(argument);
  if (!loaded.ok()) return loaded.error();
  workbench.note_read({.what = "of the language model", .path = argument});
  const LanguageModel* before = workbench.speaking();
  workbench.speak_with(std::make_shared<const LanguageModel>(
      LanguageModel{.folder = argument,
                    .form = before == nullptr ? NumericForm::recurrent : before->form,
                    .model = std::make_shared<const HybridModel>(std::move(loaded).value().model),
                    .make_machine = workbench.language_machine()}));
  if (workbench.view().find_panel("text") != nullptr) workbench.view().layout.show_panel("text");
  workbench.say(NoticeKind::info,
                fmt::format("{} runs on the decisions of live runs", weights_name(argument)));
  return Ok{};
}

Status set_form(Workbench& workbench, const std::string& argument) {
  const auto form = parse_numeric_form(argument);
  if (!form)
    return invalid_input(fmt::format("expected recurrent or chunked, found \"{}\"", argument));
  if (workbench.speaking() == nullptr)
    return invalid_input("no language model runs: run.weights opens one");
  LanguageModel changed = *workbench.speaking();
  changed.form = *form;
  if (changed.form != workbench.speaking()->form)
    workbench.speak_with(std::make_shared<const LanguageModel>(std::move(changed)));
  return Ok{};
}

Status show_token(Workbench& workbench, const std::string& argument) {
  if (argument == "last") {
    workbench.options().text.token = 0;
    return Ok{};
  }
  const auto token = read_number(argument, {"TOKEN", 1, std::numeric_limits<std::int32_t>::max()});
  if (!token.ok()) return token.error();
  workbench.options().text.token = static_cast<std::int32_t>(token.value());
  return Ok{};
}

constexpr CommandRow kLanguageCommands[] = {
    {"run.weights", "Run", "Run a language model on the decisions", "", "DIR", kNeedsNothing,
     load_weights},
    {"run.form", "Run", "Language model: form of prompt rows", "", "recurrent|chunked",
     kNeedsNothing, set_form},
    {"text.token", "", "Text: show the probabilities of a token", "", "TOKEN|last", kNeedsNothing,
     show_token},
};

}  // namespace

std::span<const CommandRow> language_commands() { return kLanguageCommands; }

}  // namespace hybridscope
