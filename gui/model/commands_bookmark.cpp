// Commands that mark steps of the run and go from mark to mark.
#include <fmt/format.h>

#include <algorithm>

#include "gui/model/command_table.h"
#include "gui/model/workbench.h"

namespace hybridscope {
namespace {

// Null: the step that is shown has none. The last one of several.
const ShownBookmark* bookmark_here(const Workbench& workbench) {
  const ShownBookmark* found = nullptr;
  for (const ShownBookmark& bookmark : workbench.run()->bookmarks())
    if (bookmark.step == workbench.run()->step()) found = &bookmark;
  return found;
}

Status set(Workbench& workbench, const std::string& note) {
  ShownRun& run = *workbench.run();
  if (Status done = run.set_bookmark(run.step(), note); !done.ok()) return done;
  workbench.say(NoticeKind::info, fmt::format("step {} is bookmarked", run.step()));
  return Ok{};
}

Status add(Workbench& workbench, const std::string&) {
  if (bookmark_here(workbench) == nullptr) return set(workbench, {});
  workbench.say(NoticeKind::info,
                fmt::format("step {} is bookmarked already; bookmark.note changes its note",
                            workbench.run()->step()));
  return Ok{};
}

// A note that has several lines cannot be edited in the one line of the dialog.
std::string note_here(const Workbench& workbench) {
  const ShownBookmark* here = bookmark_here(workbench);
  return here == nullptr || here->note.find('\n') != std::string::npos ? std::string() : here->note;
}

Status remove(Workbench& workbench, const std::string&) {
  ShownRun& run = *workbench.run();
  if (Status done = run.remove_bookmarks(run.step()); !done.ok()) return done;
  workbench.say(NoticeKind::info, fmt::format("step {} is no longer bookmarked", run.step()));
  return Ok{};
}

Status say_and_go(Workbench& workbench, const ShownBookmark& bookmark) {
  if (Status moved = workbench.go_to(bookmark.step); !moved.ok()) return moved;
  workbench.say(NoticeKind::info, fmt::format("bookmark at step {}{}{}", bookmark.step,
                                              bookmark.note.empty() ? "" : ": ", bookmark.note));
  return Ok{};
}

Status next_bookmark(Workbench& workbench, const std::string&) {
  workbench.control.pause();
  const std::int64_t here = workbench.run()->step();
  for (const ShownBookmark& bookmark : bookmarks_of_known_steps(*workbench.run()))
    if (bookmark.step > here) return say_and_go(workbench, bookmark);
  workbench.say(NoticeKind::info, "no step behind this one is bookmarked");
  return Ok{};
}

Status previous_bookmark(Workbench& workbench, const std::string&) {
  workbench.control.pause();
  const std::int64_t here = workbench.run()->step();
  auto known = bookmarks_of_known_steps(*workbench.run());
  std::ranges::reverse(known);
  for (const ShownBookmark& bookmark : known)
    if (bookmark.step < here) return say_and_go(workbench, bookmark);
  workbench.say(NoticeKind::info, "no step before this one is bookmarked");
  return Ok{};
}

constexpr CommandNeeds kStep = CommandNeeds::step;
constexpr CommandNeeds kBookmark = CommandNeeds::bookmark;

constexpr CommandRow kBookmarkCommands[] = {
    {"bookmark.add", "Run", "Bookmark this step", "Ctrl+B", "", kStep, add},
    {"bookmark.note", "Run", "Bookmark this step with a note, or change its note", "Ctrl+Shift+B",
     "NOTE", kStep, set, note_here},
    {"bookmark.remove", "Run", "Remove the bookmark of this step", "Ctrl+Alt+B", "", kBookmark,
     remove},
    {"bookmark.next", "Run", "Next bookmark", "F2", "", kBookmark, next_bookmark},
    {"bookmark.previous", "Run", "Previous bookmark", "Shift+F2", "", kBookmark, previous_bookmark},
};

}  // namespace

std::span<const CommandRow> bookmark_commands() { return kBookmarkCommands; }

}  // namespace hybridscope
