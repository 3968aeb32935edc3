#include "gui/model/panel_export.h"

#include <fmt/core.h>

#include "gui/model/command_arguments.h"
#include "gui/model/command_table.h"
#include "gui/model/plan_model.h"
#include "gui/model/workbench.h"

namespace hybridscope {
namespace {

constexpr std::string_view kCopyUsage = "text|json|markdown [PANEL]";
constexpr std::string_view kPictureUsage = "FILE.png [PANEL]";

Result<const PanelInfo*> panel_in_focus(const Workbench& workbench) {
  if (const PanelInfo* panel = workbench.view().panel_in_focus()) return panel;
  return invalid_input("no panel is shown");
}

// One word, and the panel named by the second word or in focus.
struct WordAndPanel {
  std::string word;
  const PanelInfo* panel = nullptr;
};
Result<WordAndPanel> read_word_and_panel(const Workbench& workbench, const std::string& argument,
                                         std::string_view usage) {
  const auto read = words_of(argument);
  if (!read.ok()) return read.error();
  const std::vector<std::string>& words = read.value();
  if (words.empty() || words.size() > 2)
    return invalid_input(
        fmt::format("expected {}, found {} words; put a name with spaces in double quotes", usage,
                    words.size()));
  const auto panel =
      words.size() == 2 ? read_panel(words[1], workbench.view()) : panel_in_focus(workbench);
  if (!panel.ok()) return panel.error();
  return WordAndPanel{words[0], panel.value()};
}

Status copy(Workbench& workbench, const PanelInfo& panel, ContentFormat format) {
  if (panel.make == nullptr)
    return invalid_input(fmt::format("{} has nothing to copy", panel.title));
  if (panel.of == PanelOf::plan && workbench.plan_results() == nullptr)
    return invalid_input(std::string(kNoPlan));
  if (panel.of != PanelOf::plan && !workbench.has_step())
    return invalid_input(
        fmt::format("{}: {}", panel.title, what_it_needs(CommandNeeds::step, workbench.run())));
  const PanelDocument document = make_panel_document(workbench, panel.id);
  workbench.outbox().clipboard = render_content(document, format);
  workbench.say(NoticeKind::info, fmt::format("Copied: {} as {}, {}", panel.title,
                                              content_format_title(format), size_words(document)));
  return Ok{};
}

}  // namespace

Status copy_panel_in_focus(Workbench& workbench, ContentFormat format) {
  const auto panel = panel_in_focus(workbench);
  if (!panel.ok()) return panel.error();
  return copy(workbench, *panel.value(), format);
}

Status copy_panel(Workbench& workbench, const std::string& argument) {
  const auto read = read_word_and_panel(workbench, argument, kCopyUsage);
  if (!read.ok()) return read.error();
  const auto format = content_format_of(read.value().word);
  if (!format)
    return invalid_input(
        fmt::format("expected text, json or markdown, found \"{}\"", read.value().word));
  return copy(workbench, *read.value().panel, *format);
}

Status order_panel_picture(Workbench& workbench, const std::string& argument) {
  const auto read = read_word_and_panel(workbench, argument, kPictureUsage);
  if (!read.ok()) return read.error();
  if (!read.value().word.ends_with(".png"))
    return invalid_input(fmt::format("expected FILE.png, found \"{}\"", read.value().word));
  if (Status apart = workbench.check_output({.option = {}, .path = read.value().word}); !apart.ok())
    return apart;
  const std::string id(read.value().panel->id);
  workbench.view().layout.show_panel(id);
  workbench.view().focused_panel = id;
  workbench.outbox().pictures.push_back({.path = read.value().word, .panel = id});
  return Ok{};
}

std::string suggested_picture(const Workbench& workbench) {
  const PanelInfo* panel = workbench.view().panel_in_focus();
  if (panel == nullptr) return {};
  if (workbench.run() == nullptr) return fmt::format("{}.png", panel->id);
  return fmt::format("{}-step-{}.png", panel->id, workbench.run()->step());
}

}  // namespace hybridscope
