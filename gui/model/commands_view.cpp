// Commands that change how things look.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "gui/model/command_table.h"
#include "gui/model/workbench.h"

namespace hybridscope {
namespace {

Status show_side(Workbench& workbench, const std::string& argument) {
  if (argument != "scheduler" && argument != "worker")
    return invalid_input(fmt::format("expected scheduler or worker, found \"{}\"", argument));
  workbench.options().block_tables.side =
      argument == "worker" ? TableSide::worker : TableSide::scheduler;
  return Ok{};
}

Status cell_size(Workbench& workbench, const std::string& argument) {
  if (argument == "fit" || argument == "readable") {
    workbench.options().block_tables.cell_size = argument == "fit" ? kAllCells : kReadableCells;
    return Ok{};
  }
  const auto size = read_number(argument, {"PIXELS", 1, 200});
  if (!size.ok()) return size.error();
  workbench.options().block_tables.cell_size = static_cast<std::int32_t>(size.value());
  return Ok{};
}

Status set_theme(Workbench& workbench, const std::string& argument) {
  const std::optional<ThemeKind> theme = theme_of_name(argument);
  if (!theme)
    return invalid_input(
        fmt::format("expected dark, light or high_contrast, found \"{}\"", argument));
  workbench.view().theme = *theme;
  return Ok{};
}

Status next_theme(Workbench& workbench, const std::string&) {
  const auto at = std::ranges::find(kThemeKinds, workbench.view().theme) - kThemeKinds.begin();
  const auto count = static_cast<std::ptrdiff_t>(kThemeKinds.size());
  workbench.view().theme = kThemeKinds[static_cast<std::size_t>((at + 1) % count)];
  return Ok{};
}

void rescale(Workbench& workbench, float scale) {
  workbench.view().scale = std::clamp(scale, kLeastScale, kMostScale);
  workbench.say(NoticeKind::info, fmt::format("scale {:.0f} %", workbench.view().scale * 100));
}

Status set_scale(Workbench& workbench, const std::string& argument) {
  const auto percent = read_number(argument, {"PERCENT", 50, 400});
  if (!percent.ok()) return percent.error();
  rescale(workbench, static_cast<float>(percent.value()) / 100);
  return Ok{};
}
Status scale_up(Workbench& workbench, const std::string&) {
  rescale(workbench, workbench.view().scale + 0.1F);
  return Ok{};
}
Status scale_down(Workbench& workbench, const std::string&) {
  rescale(workbench, workbench.view().scale - 0.1F);
  return Ok{};
}
Status scale_reset(Workbench& workbench, const std::string&) {
  rescale(workbench, 1);
  return Ok{};
}

Status show_panel(Workbench& workbench, const std::string& argument) {
  const auto panel = read_panel(argument, workbench.view());
  if (!panel.ok()) return panel.error();
  workbench.view().layout.show_panel(argument);
  workbench.view().focused_panel = argument;
  return Ok{};
}

Status hide_panel(Workbench& workbench, const std::string& argument) {
  const auto panel = read_panel(argument, workbench.view());
  if (!panel.ok()) return panel.error();
  workbench.view().layout.hide_panel(argument);
  return Ok{};
}

// The panel's place among the tabs of its leaf once `moved` is removed.
std::int32_t tab_before(const LayoutLeaf& leaf, std::string_view panel, std::string_view moved) {
  std::int32_t tab = 0;
  for (const std::string& id : leaf.panels) {
    if (id == panel) break;
    if (id != moved) ++tab;
  }
  return tab;
}

Status move_panel(Workbench& workbench, const std::string& argument) {
  const auto words = read_words(argument, "PANEL TO_PANEL tab|before|left|right|top|bottom");
  if (!words.ok()) return words.error();
  const std::string& moved = words.value()[0];
  const std::string& to_panel = words.value()[1];
  const auto panel = read_panel(moved, workbench.view());
  if (!panel.ok()) return panel.error();
  const auto beside = read_panel(to_panel, workbench.view());
  if (!beside.ok()) return beside.error();
  LayoutTree& layout = workbench.view().layout;
  const std::optional<std::int32_t> leaf = layout.leaf_of(to_panel);
  if (!leaf) return invalid_input(fmt::format("panel {} is not shown", to_panel));
  constexpr std::array<std::pair<std::string_view, LeafPlace>, 6> kPlaces{
      {{"tab", LeafPlace::tab},
       {"before", LeafPlace::tab},
       {"left", LeafPlace::left},
       {"right", LeafPlace::right},
       {"top", LeafPlace::top},
       {"bottom", LeafPlace::bottom}}};
  for (const auto& [name, place] : kPlaces) {
    if (name != words.value()[2]) continue;
    PanelTarget target{.leaf = *leaf, .place = place};
    if (name == "before") {
      const auto& there = layout.nodes()[static_cast<std::size_t>(*leaf)];
      target.tab = tab_before(std::get<LayoutLeaf>(there), to_panel, moved);
    }
    layout.move_panel(moved, target);
    return Ok{};
  }
  return invalid_input(fmt::format("expected tab, before, left, right, top or bottom, found \"{}\"",
                                   words.value()[2]));
}

// Splits are numbered as LayoutTree numbers its nodes.
Status set_ratio(Workbench& workbench, const std::string& argument) {
  const auto words = read_words(argument, "SPLIT PERMILLE");
  if (!words.ok()) return words.error();
  const auto nodes = workbench.view().layout.nodes();
  const auto split =
      read_number(words.value()[0], {"SPLIT", 0, static_cast<std::int64_t>(nodes.size()) - 1});
  if (!split.ok()) return split.error();
  if (!std::holds_alternative<LayoutSplit>(nodes[static_cast<std::size_t>(split.value())]))
    return invalid_input(fmt::format("node {} of the layout is not a split", split.value()));
  const auto permille = read_number(words.value()[1], {"PERMILLE", 0, 1000});
  if (!permille.ok()) return permille.error();
  workbench.view().layout.set_ratio(static_cast<std::int32_t>(split.value()),
                                    static_cast<double>(permille.value()) / 1000);
  return Ok{};
}

Status reset_layout(Workbench& workbench, const std::string&) {
  workbench.view().layout = default_layout(workbench.view().panels);
  return Ok{};
}

Status save_layout(Workbench& workbench, const std::string& argument) {
  return workbench.memory().save_layout(argument, workbench.view().layout);
}

Status load_layout(Workbench& workbench, const std::string& argument) {
  auto layout = workbench.memory().load_layout(argument, workbench.view());
  if (!layout.ok()) {
    const auto names = workbench.memory().layout_names();
    if (layout.error().kind != ErrorKind::not_found || !names.ok()) return layout.error();
    return Error{ErrorKind::not_found, fmt::format("{} (there are: {})", layout.error().message,
                                                   fmt::join(names.value(), ", "))};
  }
  workbench.view().layout = std::move(layout.value().tree);
  if (!layout.value().notes.empty())
    workbench.say(NoticeKind::warning, layout.value().notes.front());
  return Ok{};
}

Status remove_layout(Workbench& workbench, const std::string& argument) {
  return workbench.memory().remove_layout(argument);
}

Status open_dialog(Workbench& workbench, Dialog dialog) {
  const bool open = workbench.view().dialog == dialog;
  workbench.view().close_dialog();
  if (!open) workbench.view().dialog = dialog;
  return Ok{};
}
Status open_palette(Workbench& workbench, const std::string&) {
  return open_dialog(workbench, Dialog::palette);
}
Status open_keys(Workbench& workbench, const std::string&) {
  return open_dialog(workbench, Dialog::keys);
}
Status close_dialog(Workbench& workbench, const std::string&) {
  workbench.view().close_dialog();
  return Ok{};
}

Status dismiss(Workbench& workbench, const std::string&) {
  workbench.dismiss_banner();
  return Ok{};
}

constexpr CommandRow kViewCommands[] = {
    {"block_tables.side", "View", "Block tables: view", "", "scheduler|worker", kNeedsNothing,
     show_side},
    {"block_tables.cell_size", "View", "Block tables: size of a cell", "", "PIXELS|fit|readable",
     kNeedsNothing, cell_size},
    {"view.theme", "View", "Theme", "", "dark|light|high_contrast", kNeedsNothing, set_theme},
    {"view.next_theme", "View", "Next theme", "F6", "", kNeedsNothing, next_theme},
    {"view.scale", "View", "Scale", "", "PERCENT", kNeedsNothing, set_scale},
    {"view.scale_up", "View", "Larger", "Ctrl+= Ctrl++", "", kNeedsNothing, scale_up},
    {"view.scale_down", "View", "Smaller", "Ctrl+-", "", kNeedsNothing, scale_down},
    {"view.scale_reset", "View", "Usual size", "Ctrl+0", "", kNeedsNothing, scale_reset},
    {"panel.show", "View", "Show a panel", "", "PANEL", kNeedsNothing, show_panel},
    {"panel.hide", "View", "Hide a panel", "", "PANEL", kNeedsNothing, hide_panel},
    {"panel.move", "View", "Move a panel", "", "PANEL TO_PANEL tab|before|left|right|top|bottom",
     kNeedsNothing, move_panel},
    {"layout.ratio", "", "Move a splitter", "", "SPLIT PERMILLE", kNeedsNothing, set_ratio},
    {"layout.reset", "View", "Usual layout", "Ctrl+Shift+L", "", kNeedsNothing, reset_layout},
    {"layout.save", "View", "Save the layout", "", "NAME", kNeedsNothing, save_layout},
    {"layout.load", "View", "Load a layout", "", "NAME", kNeedsNothing, load_layout},
    {"layout.remove", "View", "Delete a layout", "", "NAME", kNeedsNothing, remove_layout},
    {"help.palette", "Help", "Find a command", "Ctrl+Shift+P F1", "", kNeedsNothing, open_palette},
    {"help.keys", "Help", "Keys", "?", "", kNeedsNothing, open_keys},
    {"view.close_dialog", "", "Close the dialog", "", "", kNeedsNothing, close_dialog},
    {"view.dismiss_banner", "View", "Dismiss the banner", "", "", CommandNeeds::banner, dismiss},
};

}  // namespace

std::span<const CommandRow> view_commands() { return kViewCommands; }

}  // namespace hybridscope
